"""Write strategies: one file each. A strategy turns a batch into actions, without touching a database.

Adding one means one new file, one line in ``STRATEGIES`` and its name in ``AnyStrategy``.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from airflow_idempotent.strategies.append import Append
from airflow_idempotent.strategies.cdc import Cdc, OpMap
from airflow_idempotent.strategies.delete_insert import DeleteInsert
from airflow_idempotent.strategies.insert_only import InsertOnly
from airflow_idempotent.strategies.insert_overwrite import InsertOverwrite
from airflow_idempotent.strategies.merge import Merge
from airflow_idempotent.strategies.scd2 import Scd2
from airflow_idempotent.strategies.snapshot import Snapshot
from airflow_idempotent.strategies.strategy import Strategy

STRATEGIES: dict[str, type[Strategy]] = {
    "merge": Merge,
    "insert_only": InsertOnly,
    "append": Append,
    "delete_insert": DeleteInsert,
    "insert_overwrite": InsertOverwrite,
    "snapshot": Snapshot,
    "cdc": Cdc,
    "scd2": Scd2,
}
AnyStrategy = Annotated[
    Merge | InsertOnly | Append | DeleteInsert | InsertOverwrite | Snapshot | Cdc | Scd2, Field(discriminator="kind")
]

__all__ = [
    "STRATEGIES",
    "AnyStrategy",
    "Append",
    "Cdc",
    "DeleteInsert",
    "InsertOnly",
    "InsertOverwrite",
    "Merge",
    "OpMap",
    "Scd2",
    "Snapshot",
    "Strategy",
]
