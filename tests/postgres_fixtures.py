"""One PostgreSQL server for the run, an empty database for each test, a connection of each driver.

A test that asks for any of these is marked ``postgres`` by conftest.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from airflow_idempotent.testing import embedded_postgres

DRIVERS = [driver for driver in ("psycopg", "psycopg2") if find_spec(driver)]

Connect = Callable[[], Any]
"""Opens one more DB-API connection to the test's database; the fixture closes it."""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """Give the DSN of the server's maintenance database."""
    # A test may hold several connections, and a crashed one leaves its own behind for a while.
    with embedded_postgres({"max_connections": "200"}) as dsn:
        yield dsn


@pytest.fixture(scope="session")
def postgres_admin(postgres_server: str) -> Iterator[Any]:
    """Give a cursor in autocommit mode on the maintenance database."""
    connection = import_module(DRIVERS[0]).connect(postgres_server)
    connection.autocommit = True
    with connection.cursor() as cursor:
        yield cursor
    connection.close()


@pytest.fixture(scope="session")
def database_template(postgres_admin: Any) -> Iterator[str]:
    """Name the database that each test gets a copy of. Override it to start from one with tables."""
    name = f"idem_template_{os.getpid()}"
    postgres_admin.execute(f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'")
    yield name
    postgres_admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


_serial = count(1)


@pytest.fixture
def database(postgres_server: str, postgres_admin: Any, database_template: str) -> Iterator[str]:
    """Give the DSN of a fresh database, which goes with the test and with whatever is still connected to it."""
    name = f"idem_test_{os.getpid()}_{next(_serial)}"
    postgres_admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{database_template}"')
    yield urlunsplit(urlsplit(postgres_server)._replace(path=f"/{name}"))
    postgres_admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def opening(driver: str, dsn: str) -> Iterator[Connect]:
    """A way to open connections by that driver; all are closed at the end."""
    module = import_module(driver)
    opened: list[Any] = []

    def open_one() -> Any:
        opened.append(module.connect(dsn))
        return opened[-1]

    yield open_one
    for connection in opened:
        connection.close()


@pytest.fixture(params=DRIVERS)
def connect(request: pytest.FixtureRequest, database: str) -> Iterator[Connect]:
    """Give a way to open connections to the test's database; the test runs once for each driver installed."""
    with opening(request.param, database) as connect:
        yield connect


@pytest.fixture
def connect_once(database: str) -> Iterator[Connect]:
    """The same by one driver only, for tests of what SQL does rather than of how it gets there."""
    with opening(DRIVERS[0], database) as connect:
        yield connect
