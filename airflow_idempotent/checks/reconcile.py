"""reconcile: the target holds what the manifest brought and the ledger says was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.checks.check import Check
from airflow_idempotent.checks.facts import Seen
from airflow_idempotent.core.buckets import MOST_BUCKETS
from airflow_idempotent.core.step import Effects, Measure
from airflow_idempotent.core.verdict import CheckResult


@dataclass(frozen=True, kw_only=True)
class Reconcile(Check):
    """Counts and digests agree: manifest with ledger, ledger with table.

    Runs in ``validate`` only, since inside stage_merge there is no ledger event yet to compare with. With ``buckets``
    digests are kept of so many parts of each partition, cut by the unique key, so that a difference is traced to its
    parts, and there to its keys, without comparing the rest.

    Raises:
        ValueError: too few or too many buckets.
    """

    kind: ClassVar[str] = "reconcile"
    shorthand: ClassVar[str] = "severity"
    counts_rows: ClassVar[bool] = True
    counts_violations: ClassVar[bool] = False
    buckets: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.buckets is not None and not 2 <= self.buckets <= MOST_BUCKETS:
            raise ValueError(f"buckets is 2 to {MOST_BUCKETS:,}")

    def judge(self, seen: Seen) -> CheckResult:
        return self.not_evaluated("compared in validate, against manifest and ledger")

    def compare(
        self, *, landed: int, effects: Effects, recorded: Measure, now: Measure, changed_since: str = ""
    ) -> CheckResult:
        """Judge three counts of one batch.

        ``landed`` is the manifest's rows; ``recorded`` what the ledger measured in the transaction
        that wrote; ``now`` the same measured again; ``changed_since`` names a later batch that
        reached into this partition, which makes a difference to the table explained.
        """
        accounted = sum(effects.as_dict().values()) - recorded.beyond_batch
        if accounted != landed:
            return self.result(
                True, f"manifest has {landed:,} rows, the ledger accounts for {accounted:,}", accounted, landed
            )
        if recorded.digest is None:
            return self.not_evaluated(
                "the table has no partition column: manifest and ledger agree, the table was not recounted"
            )
        if (recorded.row_count, recorded.digest) == (now.row_count, now.digest):
            return self.result(False, f"{now.row_count or 0:,} rows, digest equal", now.row_count, now.row_count or 0)
        if changed_since:
            return self.not_evaluated(f"batch {changed_since} has written to this partition since")
        message = f"ledger has {recorded.row_count or 0:,} rows, the table {now.row_count or 0:,}"
        if recorded.row_count == now.row_count:
            message += " with other content"
        return self.result(True, message, now.row_count, now.row_count or 0)
