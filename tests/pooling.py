"""Transaction poolers: pgbouncer where it is installed, and one of our own that lets us look into its connections."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from airflow_idempotent.testing.postgres import NOBODY

PGBOUNCER = shutil.which("pgbouncer")

_INI = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listen}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 50
logfile = {folder}/log
"""


@contextmanager
def pgbouncer(dsn: str, size: int) -> Iterator[str]:
    """Run pgbouncer in transaction mode; the address to connect to."""
    parts, folder = urlsplit(dsn), Path(mkdtemp(prefix="idem-pool-", dir="/tmp"))
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        listen = probe.getsockname()[1]
    words = {"host": parts.hostname, "port": parts.port or 5432, "user": parts.username, "size": size}
    (folder / "pgbouncer.ini").write_text(_INI.format(listen=listen, folder=folder, **words))
    owner: dict[str, Any] = {}
    if os.getuid() == 0:  # it refuses to run as root
        owner = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        for path in (folder, folder / "pgbouncer.ini"):
            os.chown(path, NOBODY, NOBODY)
    silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(PGBOUNCER), str(folder / "pgbouncer.ini")], **silent, **owner)
    try:
        _wait_for(listen)
        yield urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{listen}"))
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise TimeoutError("pgbouncer does not answer")


class Rotating:
    """A client of a pooler: each of its transactions is on another server connection than the one before."""

    def __init__(self, servers: list[Any]) -> None:
        object.__setattr__(self, "servers", servers)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.servers[0], name)

    def __setattr__(self, name: str, value: Any) -> None:
        for server in self.servers:
            setattr(server, name, value)

    def commit(self) -> None:
        try:
            self.servers[0].commit()
        finally:
            self.servers.append(self.servers.pop(0))

    def rollback(self) -> None:
        try:
            self.servers[0].rollback()
        finally:
            self.servers.append(self.servers.pop(0))

    def close(self) -> None:
        """What a pooler does when a client goes: roll back, and keep the connection."""
        self.servers[0].rollback()


class Pool:
    """Server connections that outlive their clients, and what clients left behind on them."""

    def __init__(self, connect: Callable[[], Any], size: int = 3) -> None:
        self.servers = [connect() for _ in range(size)]
        self.before = [_settings(server) for server in self.servers]

    def connect(self) -> Rotating:
        self.servers.append(self.servers.pop(0))
        return Rotating(self.servers)

    def leftovers(self) -> list[tuple[Any, ...]]:
        """Transactions, locks, temporary things, statements and settings: nothing, when all is well."""
        states = [_state(server) for server in self.servers]
        found = [item for server in self.servers for item in _asked(server, _LEFT)]
        now = sorted(map(_settings, self.servers), key=repr)
        before = sorted(self.before, key=repr)
        return [(state,) for state in states if state] + found + ([("settings", now, before)] if now != before else [])


_LEFT = """
SELECT 'temporary', relname::text FROM pg_catalog.pg_class
WHERE relnamespace = pg_my_temp_schema() AND relkind IN ('r', 'S', 'v')
UNION ALL SELECT 'prepared', name FROM pg_catalog.pg_prepared_statements
UNION ALL SELECT 'cursor', name FROM pg_catalog.pg_cursors WHERE name <> ''
UNION ALL SELECT 'lock', locktype || ' ' || mode FROM pg_catalog.pg_locks
WHERE pid = pg_backend_pid() AND locktype NOT IN ('virtualxid', 'relation')
"""


def _asked(server: Any, text: str) -> list[tuple[Any, ...]]:
    with server.cursor() as cursor:
        cursor.execute(text)
        rows = list(cursor.fetchall())
    server.rollback()
    return rows


def _settings(server: Any) -> list[tuple[Any, ...]]:
    """Those of the session; PostgreSQL sets what is of a transaction alone anew for each."""
    asked = (
        "SELECT name, setting FROM pg_catalog.pg_settings WHERE source = 'session' AND name NOT LIKE 'transaction_%'"
    )
    return sorted(_asked(server, asked))


def _state(server: Any) -> str:
    """What transaction a server connection is in; empty for none. Both drivers number the states alike."""
    info = server.info
    return "" if int(info.transaction_status) == 0 else f"in transaction {info.transaction_status}"
