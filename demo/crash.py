"""Hold a load in the middle of its transaction, and find the process that runs it.

A statement trigger on the table waits while the switch is on, after the rows are
written and before they are committed: the moment at which a crash is worst.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import processes
import psutil
import psycopg
from psycopg.rows import dict_row
from servers import DemoError

SWITCH = """
create schema demo;
create table demo.hold (since timestamptz not null default now());
create function demo.wait_while_held() returns trigger language plpgsql as $$
begin
    while exists (select from demo.hold) loop
        perform pg_sleep(0.1);
    end loop;
    return null;
end $$;
create trigger demo_hold after insert or update on {table}
    for each statement execute function demo.wait_while_held();
"""

# The load that waits in the trigger, and the address from which its client is connected.
HELD = """
select a.pid, a.application_name, a.client_port,
       (select count(*) from pg_locks l where l.pid = a.pid and l.locktype = 'advisory' and l.granted) as locks
from pg_stat_activity a
where a.wait_event = 'PgSleep' and a.datname = current_database()
"""


@dataclass(frozen=True)
class HeldLoad:
    """A load in the middle of its transaction: its database session and its worker process."""

    session: int
    application: str
    advisory_locks: int
    worker: psutil.Process


class Hold:
    """The switch. While it is on, whoever writes to the table waits with rows written and not committed."""

    def __init__(self, dsn: str, table: str) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True, row_factory=dict_row)
        self.server_port = self.connection.info.port
        self.connection.execute(SWITCH.format(table=table))
        self.table = table

    @contextmanager
    def on(self) -> Iterator[None]:
        """Turn the switch on for the block; it is off afterwards whatever happens."""
        self.connection.execute("insert into demo.hold default values")
        try:
            yield
        finally:
            self.connection.execute("truncate demo.hold")

    def wait_for_load(self, check: Callable[[], None], timeout_s: float = 90.0) -> HeldLoad:
        """Return the load that waits, as soon as there is one.

        Raises:
            DemoError: none came in time, or its process cannot be found.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            check()
            if row := self.connection.execute(HELD).fetchone():
                worker = processes.client_of(row["client_port"], self.server_port)
                if worker is None:
                    raise DemoError(f"no process of ours holds port {row['client_port']}, the load's connection")
                return HeldLoad(row["pid"], row["application_name"], row["locks"], worker)
            time.sleep(0.2)
        raise DemoError(f"no load reached the middle of its transaction within {timeout_s:.0f} s")

    def session_is_there(self, session: int) -> bool:
        """Whether the database still runs this session."""
        found = self.connection.execute("select from pg_stat_activity where pid = %s", [session])
        return found.fetchone() is not None

    def remove(self) -> None:
        """Take the trigger and the switch away again."""
        self.connection.execute(f"drop trigger demo_hold on {self.table}")
        self.connection.execute("drop schema demo cascade")
        self.connection.close()
