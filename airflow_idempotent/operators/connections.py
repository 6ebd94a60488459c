"""How Airflow's connections and paths reach the engine, which knows neither."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from airflow.providers.common.compat.sdk import BaseHook, ObjectStoragePath, conf

Connect = Callable[[], Any]


class Connections:
    """Opens connections and remembers the last one, so that a killed task can cancel its query."""

    def __init__(self) -> None:
        self._last: Any = None

    def warehouse(self, conn_id: str) -> Connect:
        """What opens a connection to the PostgreSQL that holds the table."""
        from airflow.providers.postgres.hooks.postgres import PostgresHook

        return lambda: self._opened(PostgresHook(postgres_conn_id=conn_id).get_conn())

    def source(self, conn_id: str) -> Connect:
        """What opens a connection to any database that Airflow has a hook for."""
        return lambda: self._opened(BaseHook.get_hook(conn_id).get_conn())

    def cancel(self) -> None:
        """End the query that is running, if one is; the transaction rolls back by itself."""
        with suppress(Exception):  # the task is being killed: whatever goes wrong here, the server notices the end
            self._last.cancel()

    def _opened(self, connection: Any) -> Any:
        self._last = connection
        return connection


def storage_path(address: str, conn_id: str | None = None) -> Any:
    """The path of an address: plain for this machine, ``ObjectStoragePath`` for everything else."""
    if address.startswith("file:"):
        return Path(unquote(urlsplit(address).path))
    if "://" in address:
        return ObjectStoragePath(address, conn_id=conn_id)
    return Path(address)


def landing_root(root: str) -> Any:
    """The path below which batches lie: the one given, the one configured, or a folder in AIRFLOW_HOME."""
    configured = root or conf.get("idempotent", "landing_root", fallback="")
    return storage_path(configured or os.path.join(_airflow_home(), "idempotent"))


def _airflow_home() -> str:
    return os.path.expanduser(os.environ.get("AIRFLOW_HOME", "~/airflow"))
