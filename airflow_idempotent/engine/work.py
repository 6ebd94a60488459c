"""A step in progress: what it works with, and what was counted so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from airflow_idempotent.core.buckets import Buckets
from airflow_idempotent.core.profile import Profile
from airflow_idempotent.core.step import Effects, Measure, Step
from airflow_idempotent.core.verdict import CheckResult
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import RepeatedKeyError
from airflow_idempotent.sql.statement import Statement


@dataclass
class Work:
    """A step in progress: what was counted and measured so far.

    ``rows`` are in staging; those that were rejected before are not.
    ``winners`` are left of them with one row per key; None where nobody needs that.
    ``buckets`` and ``profile`` are of the partition after the write, where somebody will ask for them.
    ``is_rerun`` says that this batch was the last thing published: look before you write.
    """

    step: Step
    session: Session
    batches: PartOpener
    effects: Effects = field(default_factory=Effects)
    measure: Measure = field(default_factory=Measure)
    checks: tuple[CheckResult, ...] = ()
    is_rerun: bool = False
    rows: int = 0
    winners: int | None = None
    buckets: Buckets | None = None
    profile: Profile | None = None

    @property
    def publishable(self) -> int:
        """Rows of the batch, once deduplicated where they must be."""
        return self.rows if self.winners is None else self.winners

    @property
    def repeated(self) -> int:
        """Rows of the batch that lost to another one of their key."""
        return self.rows - self.publishable

    @property
    def where(self) -> dict[str, Any]:
        """The table and the partition, as errors take them."""
        return {"table": self.step.table, "partition": self.step.partition.key}

    def refuse_repeated(self, unique_key: tuple[str, ...], counting: Statement) -> None:
        """Stop where the target holds keys more than once, which no index of it forbids.

        Raises:
            RepeatedKeyError: it does.
        """
        [(count,)] = self.session.query(counting)
        if count:
            raise RepeatedKeyError(**self.where, unique_key=unique_key, count=count)

    def count(self, effects: Effects, *, beyond: int = 0) -> None:
        """Add what an action did; ``beyond`` rows of it are of the table alone, and none of the batch."""
        self.effects += effects
        self.measure = replace(self.measure, beyond_batch=self.measure.beyond_batch + beyond)

    def measured(self) -> Measure:
        """What the ledger writes down: of a partition that is read again, whatever was written came late."""
        if not self.step.looks_back:
            return self.measure
        written = self.effects.inserted + self.effects.updated
        return replace(self.measure, late_rows=self.measure.late_rows + written)
