"""Names as keys of PostgreSQL's advisory locks."""

from __future__ import annotations

import hashlib


def lock_key(name: str) -> int:
    """A name as a key for PostgreSQL's advisory locks: signed, 64 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def locks_of(table: str, partition: str) -> tuple[int, int]:
    """The keys of the table's lock and of the partition's."""
    return lock_key(f"airflow_idempotent/{table}"), lock_key(f"airflow_idempotent/{table}/{partition}")


def locks_beside(table: str, number: int, partition: str) -> tuple[int, int, int]:
    """The keys for what is loaded beside the live table: of all such versions, of this one, of its partition.

    None of them is asked for by loads of the live table, so that those never wait for a version beside it.
    """
    version = f"airflow_idempotent/{table}/v{number}"
    return lock_key(f"airflow_idempotent/{table}/beside"), lock_key(version), lock_key(f"{version}/{partition}")
