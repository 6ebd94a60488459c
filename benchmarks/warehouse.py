"""The database side of the benchmark: fresh copies of the target, and what a load did to it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

BENCH = "bench"

CREATE = """
create table orders (order_id bigint primary key, customer_id int, status text, amount numeric(12,2), note text,
    order_date date not null, updated_at timestamptz not null)
"""
INDEX = "create index orders_order_date on orders (order_date)"
COPY = "copy orders from stdin (format csv, header)"
# Two seeds, 128 bits: rows that differ would have to collide in both.
IMAGE = """
select count(*), sum(hash_record_extended(row(o.*), 0)::numeric), sum(hash_record_extended(row(o.*), 1)::numeric)
from (select {} from orders) o
"""
REMEMBER = """
create temp table places as
select tableoid as child, ctid as place, xmin::text as writer, xmax::text as locker from orders
"""
# A row that moved counts twice: it is gone from one place, and new at another.
TOUCHED = """
select count(*) from places p full join (select tableoid as child, ctid as place, xmin, xmax from orders) o
    using (child, place)
where (p.writer, p.locker) is distinct from (o.xmin::text, o.xmax::text)
"""
ORDERS = "order_id, customer_id, status, amount, note, order_date, updated_at"

SETTINGS = ["server_version", "shared_buffers", "max_wal_size", "fsync", "synchronous_commit", "data_checksums"]

SETTLE_S = 0.1

Image = tuple[Any, ...]
"""Rows and digests of the table, whatever the order of its rows."""


@dataclass(frozen=True, slots=True)
class Warehouse:
    """One server. The contenders work on its database ``bench``, a fresh copy of a template each time."""

    server: str
    """DSN of the database postgres."""
    columns: str = ORDERS
    """What is compared."""

    def dsn(self, database: str = BENCH) -> str:
        return f"{self.server.rpartition('/')[0]}/{database}"

    @contextmanager
    def session(self, database: str = BENCH) -> Iterator[psycopg.Connection]:
        """A connection in autocommit mode."""
        with psycopg.connect(self.dsn(database), autocommit=True) as connection:
            yield connection

    def facts(self) -> dict[str, str]:
        """Version and the settings that matter."""
        with self.session("postgres") as db:
            return dict(
                db.execute("select name, current_setting(name) from pg_settings where name = any(%s)", [SETTINGS])
            )

    def create(self, database: str) -> None:
        """An empty database, in place of one of that name."""
        self.drop(database)
        self.execute("postgres", f'create database "{database}"')

    def fill(self, database: str, file: Path, *, create: str = CREATE, copy: str = COPY, after: str = "") -> None:
        """A table as anybody would create it, with these rows; ``after`` is run in the same session."""
        with self.session(database) as db:
            db.execute(create)
            with file.open("rb") as rows, db.cursor().copy(copy) as stream:
                while data := rows.read(1 << 20):
                    stream.write(data)
            if after:
                db.execute(after)

    def finish(self, database: str) -> None:
        """The index on the date, and the statistics and maps of a table that is looked after."""
        with self.session(database) as db:
            db.execute(INDEX)
            db.execute("vacuum (analyze)")

    def drop(self, database: str) -> None:
        """Remove a database, if it exists."""
        with self.session("postgres") as db:
            db.execute(f'drop database if exists "{database}" with (force)')

    def execute(self, database: str, sql: str) -> None:
        """Run SQL on its own."""
        with self.session(database) as db:
            db.execute(sql)

    def value(self, database: str, query: str, *binds: Any) -> Any:
        """The first value of the first row; None without rows."""
        with self.session(database) as db:
            row = db.execute(query, binds or None).fetchone()
        return row[0] if row else None

    def restore(self, template: str) -> None:
        """A fresh copy of a template as ``bench``; what it cost is written out before anything is timed."""
        with self.session("postgres") as db:
            db.execute(f"drop database if exists {BENCH} with (force)")
            db.execute(f'create database {BENCH} template "{template}" strategy file_copy')
            db.execute("checkpoint")

    def read(self) -> None:
        """Read every row and index entry once, as any reader of the new rows would.

        The first one marks rows and entries of ended transactions. That is a debt of the load before,
        and would be counted against the next one.
        """
        with self.session() as db:
            for scan in ("bitmapscan", "seqscan"):
                db.execute(f"set enable_{scan} = off")
            db.execute("select count(note) from orders where order_id > 0")

    def wal(self) -> int:
        """Bytes logged since the server was made."""
        with self.session("postgres") as db:
            return int(db.execute("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()[0])

    def cpu(self) -> float:
        """Processor seconds of all sessions that ended; 0 where the system does not tell."""
        with self.session("postgres") as db, suppress(OSError):
            server = _stat(db.info.backend_pid)[0]
            time.sleep(SETTLE_S)  # the last client is gone before its session is
            return sum(_stat(server)[12:14]) / os.sysconf("SC_CLK_TCK")
        return 0.0

    def image(self, database: str = BENCH) -> Image:
        with self.session(database) as db:
            return db.execute(IMAGE.format(self.columns)).fetchone()

    @contextmanager
    def counting_touched(self) -> Iterator[list[int]]:
        """Count the rows that the block wrote, moved, locked or removed, by where they are and who wrote them last."""
        counted: list[int] = []
        with self.session() as db:
            db.execute(REMEMBER)
            yield counted
            counted.append(db.execute(TOUCHED).fetchone()[0])


def _stat(pid: int) -> list[int]:
    """What Linux says of a process: first its parent; 12 and 13 are the times of its ended children."""
    return [int(word) for word in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1:16]]
