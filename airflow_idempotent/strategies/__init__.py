"""Write strategies: one file each. A strategy turns a batch into actions, without touching a database.

Adding one means one new file and one line in ``STRATEGIES``.
"""

from __future__ import annotations

from airflow_idempotent.strategies.merge import Merge

STRATEGIES: dict[str, type[Merge]] = {"merge": Merge}

__all__ = ["STRATEGIES", "Merge"]
