"""Opening connections for the command line: psycopg 3 or psycopg2, and no password in any message."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from airflow_idempotent.errors import UnreachableError, UsageError

DSN_VARIABLE = "AIRFLOW_IDEMPOTENT_DSN"
SOURCE_DSN_VARIABLE = "AIRFLOW_IDEMPOTENT_SOURCE_DSN"
DRIVERS = ("psycopg2", "psycopg")
"""In this order: psycopg2 is imported in a third of the time, and a command is short."""
CONNECT_TIMEOUT = 10
_URL = re.compile(r"postgres(?:ql)?(?:\+\w+)?://")
_EXAMPLE = "Write it like postgresql://user@host:5432/database, the password in ~/.pgpass or PGPASSWORD."

Connect = Callable[[], Any]


def dsn_of(given: str | None) -> str:
    """The address given, else the one of the environment, else nothing."""
    return given or os.environ.get(DSN_VARIABLE, "")


def connector(dsn: str | None, *, command: str) -> Connect:
    """A way to open connections to the database of the table.

    Raises:
        UsageError: neither ``--dsn`` nor the environment names it, or no driver is installed.
    """
    if not (found := dsn_of(dsn)):
        hint = f"Pass --dsn or set {DSN_VARIABLE}. {_EXAMPLE}"
        raise UsageError(command=command, reason="no database is named", hint=hint)
    return partial(open_connection, _libpq(found), _driver(command))


def source_connector(dsn: str | None, target: Connect) -> Connect:
    """A way to open connections to the database of a query source: its own, else the one of the table."""
    found = dsn or os.environ.get(SOURCE_DSN_VARIABLE, "")
    return connector(found, command="run") if found else target


def _driver(command: str) -> Any:
    for name in DRIVERS:
        try:
            return import_module(name)
        except ImportError:  # psycopg 3 is there but finds no libpq: the next one may
            continue
    hint = "pip install 'psycopg[binary]'"
    raise UsageError(command=command, reason="neither psycopg nor psycopg2 can be imported", hint=hint)


def open_connection(dsn: str, driver: Any) -> Any:
    """One new connection.

    Raises:
        UnreachableError: the server cannot be reached or lets nobody in; the text holds no password.
        UsageError: the address cannot be read.
    """
    options = {} if "connect_timeout" in dsn else {"connect_timeout": CONNECT_TIMEOUT}
    try:
        return driver.connect(dsn, **options)
    except driver.ProgrammingError:
        raise UsageError(command="--dsn", reason="the address cannot be read", hint=_EXAMPLE) from None
    except driver.Error as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise UnreachableError(address=shown_dsn(dsn), reason=without_secrets(lines[0], dsn)) from None


def shown_dsn(dsn: str) -> str:
    """Who, where and what of an address, without its password; never more than those."""
    if _URL.match(dsn):
        address = urlsplit(dsn)
        who = f"{address.username}@" if address.username else ""
        return f"postgresql://{who}{address.netloc.rpartition('@')[2]}{address.path}"
    words = dict(re.findall(r"(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|\S+)", dsn))
    kept = [f"{name}={words[name]}" for name in ("host", "port", "dbname", "user") if name in words]
    return " ".join(kept) or "the database"


def without_secrets(text: str, dsn: str) -> str:
    """The text with every form of the address's password blotted out."""
    for secret in _secrets(dsn):
        text = text.replace(secret, "***")
    return text.replace(dsn, shown_dsn(dsn))


def _secrets(dsn: str) -> set[str]:
    found = {word.strip("'") for word in re.findall(r"password\s*=\s*('(?:[^'\\]|\\.)*'|[^\s&]+)", dsn)}
    if _URL.match(dsn):
        address = urlsplit(dsn)
        found |= {address.password or "", *parse_qs(address.query).get("password", [])}
    return {form for secret in found if secret for form in (secret, unquote(secret))}


def _libpq(dsn: str) -> str:
    """The address as libpq reads it: SQLAlchemy's ``postgresql+psycopg2://`` loses its driver."""
    return re.sub(r"^(postgres(?:ql)?)\+\w+://", r"\1://", dsn)
