"""What a landing takes over from those before it: a retry, weeks later too, asks its source the same question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition


@dataclass(frozen=True, slots=True)
class Pinned:
    """The cutoff, and the bounds of an incremental query, as texts; ``high`` only where it is a number."""

    cutoff_ts: str
    low: str
    high: str = ""


def pinned_for(
    partition: Partition,
    landed: Sequence[Manifest],
    *,
    run: str,
    cutoff_ts: str,
    cutoff_given: bool = False,
    low: str = "",
    cursor: str | None = None,
) -> Pinned:
    """What the run asks its source, given the batches that have landed (oldest first).

    A batch that the same run landed before has both; otherwise they are what the plan says. The cutoff never
    goes back behind that of the newest batch, or rows that it holds would be gone again; unless somebody
    ``cutoff_given`` asked for just that.
    """
    own = next((item for item in reversed(landed) if run and item.attempt.startswith(run)), None)
    cutoff = own.cutoff_ts if own and own.cutoff_ts and not cutoff_given else cutoff_ts
    if landed and not cutoff_given:
        cutoff = _later(cutoff, landed[-1].cutoff_ts)
    begin = low or partition.start.isoformat()
    if own and own.window and own.window.cursor == cursor:
        return Pinned(cutoff, own.window.low, own.window.high if own.window.is_numbered else "")
    return Pinned(cutoff, begin)


def _later(one: str, other: str) -> str:
    if not one or not other:
        return one or other
    return max(one, other, key=datetime.fromisoformat)
