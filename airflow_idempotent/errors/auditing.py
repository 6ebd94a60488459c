"""What an audit found: published partitions that are no longer what they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class DriftError(IdempotentError):
    """One cause of drift, in as many partitions as it was found in. ``dag_id`` is the DAG that loads the table.

    ``examples`` are some of them as (partition, what was found); ``count`` is how many there are.
    """

    anchor: ClassVar[str] = "drift"
    table: str
    cause: str
    count: int
    examples: tuple[tuple[str, str], ...]
    dag_id: str = ""

    @property
    def headline(self) -> str:
        said = f"{self.cause.replace('_', ' ')} since it was published"
        if any(partition == "*" for partition, _ in self.examples):
            return f"{self.table}: {said}; nothing was written."
        many = "partition" if self.count == 1 else "partitions"
        return f"{self.table}: {said}, in {self.count:,} {many}; nothing was written."

    @property
    def details(self) -> Sequence[str]:
        shown = [message if key == "*" else f"{key}: {message}" for key, message in self.examples]
        more = self.count - len(shown)
        return [*shown, *([f"and {more:,} more"] if more > 0 else [])]

    @property
    def next_move(self) -> str:
        accept = "airflow-idempotent reconcile SPEC --accept --apply"
        if self.cause == "schema_changed":
            return f"Change the columns back, or let them be right as they are: {accept}"
        conf = '{"from_date": "…", "to_date": "…", "reprocess_behavior": "drifted"}'
        load = f"Load them anew: trigger {self.dag_id or 'the DAG of the table'} with {conf}"
        return f"{load}; or let the table be right as it is: {accept}" if self.cause == "target_changed" else f"{load}."
