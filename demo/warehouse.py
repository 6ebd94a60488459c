"""The warehouse as a reader sees it: the table, its digest, and the ledger beside it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import psycopg
from flights import COLUMNS
from psycopg import sql
from psycopg.rows import dict_row

EFFECTS = ("inserted", "updated", "deleted", "unchanged", "stale", "duplicate")

# The state of each partition, beside what its newest load did.
LEDGER = """
select partition_key, state, published_batch_id as batch_id, row_count, seconds, inserted, updated, deleted, unchanged,
       stale, duplicate
from airflow_idempotent.partitions
where table_name = %s
order by partition_key
"""


@dataclass(frozen=True)
class Entry:
    """One partition in the ledger: its state, and batch, rows, effects and duration of its newest load."""

    partition: str
    state: str
    batch: str
    rows: int
    effects: dict[str, int]
    seconds: float


class Warehouse:
    """A reader's connection; each question is a transaction of its own."""

    def __init__(self, dsn: str, table: str) -> None:
        self.table = table
        self.connection = psycopg.connect(dsn, autocommit=True, row_factory=dict_row)
        self.connection.execute("set time zone 'UTC'")

    def image(self) -> str:
        """Return the whole table as sorted CSV lines."""
        columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        table = sql.Identifier(*self.table.split("."))
        question = sql.SQL("copy (select {} from {}) to stdout (format csv)").format(columns, table)
        with self.connection.cursor().copy(question) as rows:
            text = b"".join(bytes(block) for block in rows).decode()
        return "".join(sorted(text.splitlines(keepends=True)))

    def ledger(self) -> list[Entry]:
        """Return the ledger's newest word on every partition of the table."""
        return [_entry(row) for row in self.connection.execute(LEDGER, [self.table])]


def _entry(row: dict[str, Any]) -> Entry:
    effects = {name: int(row[name]) for name in EFFECTS}
    return Entry(row["partition_key"], row["state"], row["batch_id"], row["row_count"], effects, row["seconds"])


def digest(image: str) -> str:
    """Return a short fingerprint of a table image."""
    return hashlib.sha256(image.encode()).hexdigest()[:16]
