"""Which changes of type keep every value."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.drift import Retyped, SchemaChange, widens


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("smallint", "bigint"),
        ("real", "double precision"),
        ("integer", "numeric"),
        ("integer", "numeric(12,2)"),
        ("character varying(3)", "character varying(5)"),
        ("character varying(3)", "character varying"),
        ("character varying", "text"),
        ("numeric(5,2)", "numeric(7,4)"),
        ("numeric(5,2)", "numeric"),
        ("timestamp(3) with time zone", "timestamp(6) with time zone"),
    ],
)
def test_a_wider_type_keeps_every_value_and_the_way_back_does_not(old: str, new: str) -> None:
    assert widens(old, new)
    assert not widens(new, old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("integer", "numeric(11,2)"),
        ("numeric(5,2)", "numeric(5,3)"),
        ("bigint", "double precision"),
        ("timestamp without time zone", "timestamp with time zone"),
        ("date", "timestamp without time zone"),
        ("text", "jsonb"),
        ("json", "jsonb"),
        ("text", "text"),
        ("integer[]", "bigint[]"),
    ],
)
def test_what_could_lose_a_value_or_change_its_meaning_is_not_wider(old: str, new: str) -> None:
    assert not widens(old, new)


def test_a_change_says_each_thing_that_it_does() -> None:
    change = SchemaChange(
        added=(Column("a", "text"),),
        dropped=("b",),
        retyped=(Retyped("c", "integer", "bigint"),),
        kept=(Retyped("d", "bigint", "integer"),),
    )

    assert change.notes == (
        "column added: a text",
        "column dropped: b",
        "column widened: c integer → bigint",
        "column d stays bigint, the spec says integer",
    )
    assert not SchemaChange(kept=change.kept)
