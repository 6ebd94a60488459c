"""What a test of your own tables needs: a real PostgreSQL, batches that misbehave, and a proof that it does not matter.

The names of ``__all__`` are imported when they are first used: neither pytest nor hypothesis is needed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airflow_idempotent.errors.proofs import LawBrokenError
    from airflow_idempotent.testing.batches import Batch
    from airflow_idempotent.testing.cdc import simulate_cdc
    from airflow_idempotent.testing.late_data import simulate_late_data
    from airflow_idempotent.testing.postgres import PostgresUnavailableError, embedded_postgres, postgres_bin
    from airflow_idempotent.testing.proof import Proof, assert_idempotent
    from airflow_idempotent.testing.simulation import Simulation

__all__ = [
    "Batch",
    "LawBrokenError",
    "PostgresUnavailableError",
    "Proof",
    "Simulation",
    "assert_idempotent",
    "embedded_postgres",
    "postgres_bin",
    "simulate_cdc",
    "simulate_late_data",
]

_HOMES = {
    "Batch": "airflow_idempotent.testing.batches",
    "LawBrokenError": "airflow_idempotent.errors.proofs",
    "PostgresUnavailableError": "airflow_idempotent.testing.postgres",
    "Proof": "airflow_idempotent.testing.proof",
    "Simulation": "airflow_idempotent.testing.simulation",
    "assert_idempotent": "airflow_idempotent.testing.proof",
    "embedded_postgres": "airflow_idempotent.testing.postgres",
    "postgres_bin": "airflow_idempotent.testing.postgres",
    "simulate_cdc": "airflow_idempotent.testing.cdc",
    "simulate_late_data": "airflow_idempotent.testing.late_data",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, and keep it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
