"""Write strategies: one file each. A strategy turns a batch into actions, without touching a database.

Adding one means one new file, one line in ``STRATEGIES`` and its name in ``AnyStrategy``.
"""

from __future__ import annotations

from airflow_idempotent.strategies.merge import Merge
from airflow_idempotent.strategies.strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {
    "merge": Merge,
}
AnyStrategy = Merge

__all__ = ["STRATEGIES", "AnyStrategy", "Merge", "Strategy"]
