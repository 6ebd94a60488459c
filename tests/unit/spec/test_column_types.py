"""Types of columns: a type and nothing else, since what follows it would be lost without a word."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from airflow_idempotent.spec.options import ColumnSpec


@pytest.mark.parametrize(
    "data_type", ["int default 5", "int PRIMARY KEY", 'text collate "C"', "int not null", "int; drop table x"]
)
def test_what_follows_a_type_is_refused(data_type: str) -> None:
    with pytest.raises(ValidationError, match="is no part of a type"):
        ColumnSpec(name="a", data_type=data_type)


@pytest.mark.parametrize(
    "data_type", ["bigint", "numeric(12, 2)", "timestamp(3) with time zone", "text[]", '"My Type"']
)
def test_a_type_is_kept_as_written(data_type: str) -> None:
    assert ColumnSpec(name="a", data_type=data_type).data_type == data_type
