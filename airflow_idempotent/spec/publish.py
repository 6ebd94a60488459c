"""How a version of a table becomes what readers read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from pydantic import Field, field_validator

from airflow_idempotent.core.opening import DailyWindow
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import Cutover, Keeping, SwapOrder
from airflow_idempotent.spec.durations import Duration
from airflow_idempotent.spec.expect import Expect
from airflow_idempotent.spec.model import Model


class Publish(Model):
    """Loads write what readers read, or a version beside it that is swapped in as a whole."""

    mode: Literal["direct", "swap"] = Field(
        "direct", description="swap: the DAG ends with a task that swaps version table_version in when it is ready."
    )
    by: Literal["rename", "view"] = Field(
        "rename",
        description="rename: the live version is the table of the table's name. view: from the first swap on that name "
        "is a view of the live version, which is called table__v2 and so on.",
    )
    cutover: Literal["auto", "manual"] = Field(
        "auto",
        description="Swap as soon as it is ready; manual: only when somebody says yes to the task approve (Airflow 3.1 "
        "and later), or in a run with the param cutover.",
    )
    clean_intervals: int = Field(
        0,
        ge=0,
        description="How many of its newest partitions scheduled runs must have loaded into both and found alike "
        "before it is swapped in (without compare: must be there and validated).",
    )
    window: str | None = Field(
        None,
        description="Time of day in which it is swapped in, in the table's time zone: 01:00-05:00. Outside of it the "
        "task waits when the window opens before the next run is due, else it leaves it to that.",
    )
    max_row_change: float | None = Field(
        None, ge=0, description="Share by which its number of rows may differ from the live table's; default: any."
    )
    on_dependents: Literal["refuse", "carry"] = Field(
        "refuse",
        description="When views or foreign keys of other tables refer to the live table: swap nothing, or let them "
        "refer to the new one.",
    )
    dual_write: bool = Field(
        True,
        description="While a version is built, runs that load the live table load it too, and compare both; false: it "
        "is loaded by runs with target shadow alone.",
    )
    compare: bool = Field(
        True,
        description="Hold each partition of a new version against the live table, and swap it in only when nothing "
        "differs but what expect says.",
    )
    expect: Expect = Field(default_factory=Expect, description="How the new version may differ from the live table.")
    rollback_window: Duration = Field(
        timedelta(days=2),
        description="How long after a swap loads write the version before it, too, so that a rollback keeps them; 0: "
        "not at all.",
    )
    keep_for: Duration = Field(timedelta(days=7), description="How long retired versions stay at least, e.g. 7d.")
    keep_versions: int = Field(1, ge=0, description="How many retired versions stay at least.")

    @field_validator("keep_for", "rollback_window")
    @classmethod
    def _not_before(cls, value: timedelta) -> timedelta:
        if value < timedelta(0):
            raise ValueError("cannot be negative")
        return value

    @field_validator("window")
    @classmethod
    def _a_time_of_day(cls, value: str | None) -> str | None:
        if value is not None:
            DailyWindow.parse(value)
        return value

    @property
    def keeping(self) -> Keeping:
        """What becomes of versions that are no longer live."""
        return Keeping(self.keep_for, self.keep_versions)

    @property
    def gates(self) -> Cutover:
        """What must hold before a version is swapped in."""
        return Cutover(self.clean_intervals, self.max_row_change, compared=self.compare)

    def order(self, live: Relation, version: int, timeouts: Timeouts) -> SwapOrder:
        """The swap of a version that loads have built, once its gates are open."""
        return SwapOrder(
            live,
            version=version,
            allow_changes=True,
            gates=self.gates,
            by=self.by,
            on_dependents=self.on_dependents,
            timeouts=timeouts,
            keeping=self.keeping,
            rollback_window=self.rollback_window,
        )


def named_publish(value: Any) -> Any:
    """A mode by its name alone, as the mapping it stands for."""
    return value if isinstance(value, Mapping | Publish) else {"mode": value}
