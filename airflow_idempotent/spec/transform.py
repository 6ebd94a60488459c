"""Rows that are made inside the warehouse: one SELECT whose result depends on its tables and binds alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.spec.determinism import Finding, findings
from airflow_idempotent.spec.model import Model
from airflow_idempotent.spec.words import meant
from airflow_idempotent.sql.user_query import (
    QueryTextError,
    bind_places,
    binds_of,
    columns_of,
    line_of,
    parsed,
    placeholders,
    select_list,
    tables_of,
)

BINDS = ("start", "end", "cutoff_ts", "key", "run_id")
"""What a query may ask for; values are bound, never text."""

REFUSED = {
    "watermark": "is not for a transform, which makes its partition anew: read what came late by late_data.lookback, "
    "or land the rows by 'kind: query' with a cursor (how-to/late-data)",
    "keys": "comes in a later version",
}
"""Binds that are known elsewhere, and why not here."""

NO_PLACE = "keeps rows with their file and line, and those of a query have neither: leave them out by its WHERE"
"""Why the rows of a transform cannot be quarantined."""


class Transform(Model):
    """SQL run inside the warehouse; ``:start :end :cutoff_ts :key :run_id`` are bound as values, never text.

    It must give the same rows whenever it runs on the same tables: clocks, chance and arbitrary
    rows are refused.
    """

    kind: Literal["transform"] = "transform"
    sql: str = Field(min_length=1, description="One SELECT with binds :start :end :cutoff_ts :key :run_id.")
    inputs: tuple[str, ...] = Field(
        (), description="Tables it reads that its SQL does not show, e.g. inside functions; lineage only."
    )

    def __init__(self, sql: str | None = None, /, **values: Any) -> None:
        super().__init__(**({"sql": sql} | values if sql is not None else values))

    @field_validator("inputs")
    @classmethod
    def _tables(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(str(Relation.parse(name)) for name in value)

    @model_validator(mode="after")
    def _can_run_again(self) -> Transform:
        if found := [item for item in problems(self.sql) if not item.warning]:
            texts = tuple(("source.sql", str(item)) for item in found)
            lines = "; ".join(map(str, found))
            raise PydanticCustomError("problems", "{lines}", {"lines": lines, "problems": texts})
        return self

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is allowed but rarely meant."""
        return tuple(str(item) for item in findings(self.sql) if item.warning)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of its rows."""
        return columns_of(self.sql)

    @property
    def binds(self) -> tuple[str, ...]:
        """The binds that its SQL uses."""
        return binds_of(self.sql)

    @property
    def tables(self) -> tuple[Relation, ...]:
        """The tables it reads, those that are only named in ``inputs`` too."""
        return tuple(sorted({*tables_of(self.sql), *map(Relation.parse, self.inputs)}))


def problems(sql: str) -> list[Finding]:
    """All that is wrong with a query, by line, and what is only rarely meant."""
    try:
        tree = parsed(sql)
        found = [*_of_columns(tree), *_of_binds(tree), *findings(sql)]
        if not found:
            bind_places(sql)
    except QueryTextError as error:
        return [Finding(error.line, str(error))]
    return sorted(found)


def _of_columns(tree: exp.Query) -> Iterator[Finding]:
    """Every column has a name, of its own."""
    items = select_list(tree)
    for place, (name, item) in enumerate(items, start=1):
        if item.find(exp.Star) is not None and isinstance(item, exp.Star | exp.Column):
            yield Finding(line_of(item), f"{item.sql('postgres')} may mean other columns tomorrow: name each of them")
        elif name is None:
            yield Finding(line_of(item), f"column {place} has no name: write … AS name")
    for name, count in Counter(name for name, _ in items if name).items():
        if count > 1:
            yield Finding(0, f"{count} columns are called {name!r}: give each a name of its own")


def _of_binds(tree: exp.Query) -> Iterator[Finding]:
    for node in (*placeholders(tree), *tree.find_all(exp.Parameter, exp.SessionParameter)):
        name = node.this
        if not isinstance(name, str) or isinstance(node, exp.Parameter | exp.SessionParameter):
            yield Finding(line_of(node), f"{node.sql('postgres')} is no bind, write them like :start")
        elif name in REFUSED:
            yield Finding(line_of(node), f"the bind :{name} {REFUSED[name]}")
        elif name not in BINDS:
            known = ", ".join(f":{item}" for item in BINDS)
            yield Finding(line_of(node), f"unknown bind :{name}{meant(name, BINDS) or f', there are {known}'}")
