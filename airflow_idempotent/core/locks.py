"""Names as keys of PostgreSQL's advisory locks."""

from __future__ import annotations

import hashlib


def lock_key(name: str) -> int:
    """A name as a key for PostgreSQL's advisory locks: signed, 64 bits."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big", signed=True)


def locks_of(table: str, partition: str) -> tuple[int, int]:
    """The keys of the table's lock and of the partition's."""
    return lock_key(f"airflow_idempotent/{table}"), lock_key(f"airflow_idempotent/{table}/{partition}")
