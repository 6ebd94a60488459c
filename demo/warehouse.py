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


@dataclass(frozen=True)
class Entry:
    """One partition in the ledger: its newest state, batch, rows now in it, and what its last load did."""

    partition: str
    state: str
    batch: str
    rows: int
    effects: dict[str, int]

    @property
    def written(self) -> int:
        """Rows the last load touched."""
        return sum(self.effects[name] for name in ("inserted", "updated", "deleted"))


class Warehouse:
    """One reading connection, each question in a transaction of its own."""

    def __init__(self, dsn: str, table: str) -> None:
        self.table = sql.Identifier(*table.split("."))
        self.name = table
        self.connection = psycopg.connect(dsn, autocommit=True, row_factory=dict_row)
        self.connection.execute("set time zone 'UTC'")

    def image(self) -> str:
        """Return the whole table as sorted CSV lines."""
        columns = sql.SQL(", ").join(map(sql.Identifier, COLUMNS))
        question = sql.SQL("copy (select {} from {}) to stdout (format csv)").format(columns, self.table)
        with self.connection.cursor().copy(question) as rows:
            text = b"".join(bytes(block) for block in rows).decode()
        return "".join(sorted(text.splitlines(keepends=True)))

    def entries(self) -> list[Entry]:
        """Return the ledger's newest word on every partition of the table."""
        question = "select * from airflow_idempotent.partitions order by partition_key"
        return [_entry(row) for row in self.connection.execute(question)]


def _entry(row: dict[str, Any]) -> Entry:
    effects = {name: int(row[name] or 0) for name in EFFECTS}
    return Entry(row["partition_key"], row["state"], row["batch_id"], row["row_count"], effects)


def digest(image: str) -> str:
    """Return a short fingerprint of a table image."""
    return hashlib.sha256(image.encode()).hexdigest()[:16]
