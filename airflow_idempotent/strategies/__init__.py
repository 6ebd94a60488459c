"""Write strategies: one file each. A strategy turns a batch into actions, without touching a database.

Adding one means one new file, one line in ``STRATEGIES`` and its name in ``AnyStrategy``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_idempotent.strategies.cdc import Cdc, OpMap
from airflow_idempotent.strategies.merge import Merge
from airflow_idempotent.strategies.strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {
    "cdc": Cdc,
    "merge": Merge,
}
AnyStrategy = Annotated[Merge | Cdc, Field(discriminator="kind")]

__all__ = ["STRATEGIES", "AnyStrategy", "Cdc", "Merge", "OpMap", "Strategy"]
