"""Groups of options, and the ways each may be written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from airflow_idempotent.core.partition import Grain
from airflow_idempotent.spec.model import Model
from airflow_idempotent.spec.words import meant
from airflow_idempotent.strategies import STRATEGIES


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def named_strategy(value: Any) -> Any:
    """A strategy by its name alone, as the mapping it stands for."""
    kind = value.get("kind") if isinstance(value, Mapping) else value
    if isinstance(kind, str) and kind not in STRATEGIES:
        raise PydanticCustomError(
            "strategy", "unknown strategy {kind}{meant}", {"kind": repr(kind), "meant": meant(kind, STRATEGIES)}
        )
    return {"kind": value} if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]


# Words that may follow a type in SQL, and would be lost when the table is created.
_NO_TYPE = re.compile(
    r"\b(default|primary|unique|references|check|collate|generated|not|null|constraint)\b|;", re.IGNORECASE
)


class ColumnSpec(Model):
    """One column, laid out as in a dbt schema.yml."""

    name: str = Field(min_length=1, description="As the table and the header of the batch have it.")
    data_type: str = Field(min_length=1, description="PostgreSQL type, e.g. bigint, numeric(12,2), timestamptz.")
    constraints: tuple[Literal["not_null"], ...] = Field((), description="not_null; key columns have it anyway.")
    description: str = Field("", description="For readers of the spec; not put into the database.")

    @field_validator("data_type")
    @classmethod
    def _a_type_alone(cls, value: str) -> str:
        if found := _NO_TYPE.search(value):
            raise ValueError(
                f"{found[0].lower()!r} is no part of a type; the only constraint is 'constraints: [not_null]'"
            )
        return value


class PartitionBy(Model):
    """How the table's time axis is cut."""

    column: str | None = Field(None, description="Column that says which partition a row belongs to.")
    grain: Grain = Field(Grain.DAY, description="hour, day, week, month or year.")
    declarative: bool = Field(
        False, description="Create the table PARTITION BY RANGE, with one child table per partition."
    )


class Landing(Model):
    """Where batches are kept as they came."""

    root: str = Field(
        "",
        description="Folder or object store URL; default: [idempotent] landing_root in airflow.cfg.",
    )
    keep_batches: int = Field(7, ge=1, description="Newest batches kept per partition.")
    on_source_change: Literal["new_batch", "fail"] = Field(
        "new_batch", description="When a partition's source differs from its batch."
    )


class Reject(Model):
    """What happens to rows that cannot be loaded."""

    mode: Literal["fail", "quarantine"] = Field(
        "fail", description="Refuse the batch, or keep bad rows in airflow_idempotent.quarantine and load the others."
    )
    max_rows: int | None = Field(None, ge=0, description="Bad rows of a batch that are tolerated; default: no limit.")
    max_share: float = Field(0.1, ge=0, le=1, description="Share of the rows of a batch that may be bad.")


def named_mode(value: Any) -> Any:
    """A mode by its name alone, as the mapping it stands for."""
    return {"mode": value} if isinstance(value, str) else value
