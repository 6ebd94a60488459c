"""Hold a load in the middle of its transaction, and find the process that runs it.

A statement trigger on the table waits while the switch is on, after the rows are
written and before they are committed: the worst moment for a crash.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import processes
import psutil
import psycopg
from psycopg.rows import dict_row
from servers import DemoError, Servers

SWITCH = """
create schema demo;
create table demo.hold ();
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

# The load that waits in the trigger, and the port from which its worker is connected.
HELD = """
select pid, application_name, client_port
from pg_stat_activity
where wait_event = 'PgSleep' and datname = current_database()
"""


@dataclass(frozen=True)
class HeldLoad:
    """A load in the middle of its transaction: its database session and its worker process."""

    session: int
    application: str
    worker: psutil.Process

    @property
    def title(self) -> str:
        """What ``ps`` shows for the worker."""
        return " ".join(self.worker.cmdline()).strip()


class Hold:
    """The switch. While it is on, whoever writes to the table waits with rows written and not committed."""

    def __init__(self, servers: Servers, table: str) -> None:
        self.servers = servers
        self.table = table
        self.connection = psycopg.connect(servers.warehouse, autocommit=True, row_factory=dict_row)
        self.connection.execute(SWITCH.format(table=table))

    @contextmanager
    def on(self) -> Iterator[None]:
        """Turn the switch on for the block; it is off afterwards whatever happens."""
        self.connection.execute("insert into demo.hold default values")
        try:
            yield
        finally:
            self.connection.execute("delete from demo.hold")

    def wait_for_load(self) -> HeldLoad:
        """Return the load that waits, as soon as there is one.

        Raises:
            DemoError: none came in time, or its process cannot be found.
        """
        look = self.connection.execute
        row = self.servers.wait_for("a load writes its rows", lambda: look(HELD).fetchone())
        worker = processes.client_of(row["client_port"], server=self.connection.info.port)
        if worker is None:
            raise DemoError(f"no process of ours is connected from port {row['client_port']}, as the load is")
        return HeldLoad(row["pid"], row["application_name"], worker)

    def wait_for_end_of(self, load: HeldLoad) -> None:
        """Wait until the database has noticed that the worker is gone, and rolled back."""
        question = "select from pg_stat_activity where pid = %s"
        look = self.connection.execute
        self.servers.wait_for("PostgreSQL rolls back", lambda: look(question, [load.session]).fetchone() is None, 30)

    def remove(self) -> None:
        """Take the trigger and the switch away again."""
        self.connection.execute(f"drop trigger demo_hold on {self.table}")
        self.connection.execute("drop schema demo cascade")
        self.connection.close()
