"""How a new version of a table is expected to differ from the live one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from airflow_idempotent.core.divergence import Bounds, Expected
from airflow_idempotent.spec.model import Model
from airflow_idempotent.spec.options import Names


class Changed(Model):
    """How far a column may be from the live one's; ``any`` in its place sets no bound. All that is given must hold."""

    tolerance: float | None = Field(None, ge=0, description="Of each row: the part of the live value, e.g. 0.01.")
    absolute_tolerance: float | None = Field(None, ge=0, description="Of each row: by how much; the wider one counts.")
    total: float | None = Field(None, ge=0, description="The part by which the partition's sum may differ.")
    distribution: float | None = Field(None, ge=0, description="The greatest PSI of its values, e.g. 0.1.")

    @property
    def bounds(self) -> Bounds:
        """The same as a value."""
        return Bounds(self.tolerance, self.absolute_tolerance, self.total, self.distribution)


def _changed(value: Any) -> Any:
    if value in ("any", None):
        return {}
    if isinstance(value, int | float) and not isinstance(value, bool):
        return {"tolerance": value}
    if isinstance(value, Mapping | Changed):
        return value
    raise ValueError(f"{value!r}: write 'any', a tolerance like 0.01, or a mapping like {{tolerance: 0.01}}")


AnyChanged = Annotated[Changed, BeforeValidator(_changed)]


class Expect(Model):
    """Differences to the live table that are meant; any other keeps the new version from being swapped in."""

    new_columns: Names = Field((), description="Columns that only the new version has.")
    dropped_columns: Names = Field((), description="Columns that only the live table has.")
    changed: Mapping[str, AnyChanged] = Field(
        default_factory=dict,
        description="Columns whose values differ: {amount: any}, {amount: 0.01} or {amount: {total: 0.001}}.",
    )
    added_rows: float = Field(0, ge=0, description="Rows that only the new version has, as a part of the live ones.")
    removed_rows: float = Field(0, ge=0, description="Rows that only the live table has, as a part of them.")

    @property
    def expected(self) -> Expected:
        """The same as a value."""
        bounds = {name: item.bounds for name, item in self.changed.items()}
        return Expected(self.new_columns, self.dropped_columns, bounds, self.added_rows, self.removed_rows)

    @property
    def columns_of_version(self) -> Iterator[tuple[str, str]]:
        """Columns that the new version must have: (option, name)."""
        yield from (("new_columns", name) for name in self.new_columns)
        yield from (("changed", name) for name in self.changed)
