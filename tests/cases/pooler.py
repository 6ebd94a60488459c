"""A transaction pooler between operators and server: pgbouncer where it is installed, else a stand-in.

The stand-in is one server connection that consecutive operators get one after the other, without
DISCARD in between: what one leaves behind, the next one finds.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from airflow_idempotent.testing.postgres import NOBODY
from tests.cases.faults import wait_for
from tests.cases.wiring import wrapping

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
        wait_for(lambda: _answers(listen), "pgbouncer")
        yield urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{listen}"))
    finally:
        process.terminate()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


class Shared:
    """A server connection that outlives those who close it, as behind a pooler."""

    def __init__(self, connection: Any) -> None:
        object.__setattr__(self, "_inner", connection)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._inner, name, value)

    def close(self) -> None:
        """What a pooler does when a client goes: roll back, and keep the connection."""
        self._inner.rollback()


@contextmanager
def standing_in(server: dict[str, Any]) -> Iterator[None]:
    """Hand operators the one connection in ``server``, which the first of them opens."""

    def shared(connection: Any) -> Any:
        if "connection" in server:
            connection.close()
        return Shared(server.setdefault("connection", connection))

    with wrapping(shared):
        yield
