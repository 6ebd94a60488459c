"""Connecting: which database, and never its password in a message."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_idempotent.cli.connection import connector, shown_dsn, without_secrets
from airflow_idempotent.errors import UnreachableError, UsageError
from tests.cli_fixtures import Command

SECRET = "hunter%2"
PORT = 1  # nobody listens there


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        (f"postgresql://me:{SECRET}@db.example:5432/shop", "postgresql://me@db.example:5432/shop"),
        (f"postgres://me:{SECRET}@db.example/shop?sslmode=require", "postgresql://me@db.example/shop"),
        (f"postgresql+psycopg2://me:{SECRET}@db/shop", "postgresql://me@db/shop"),
        (f"postgresql://db/shop?user=me&password={SECRET}", "postgresql://db/shop"),
        (f"host=db port=5432 dbname=shop user=me password={SECRET}", "host=db port=5432 dbname=shop user=me"),
        (f"host=db password = '{SECRET}' dbname=shop", "host=db dbname=shop"),
        (f"postgresql:/me:{SECRET}@db/shop", "the database"),
        (SECRET, "the database"),
    ],
)
def test_an_address_is_shown_without_its_password(dsn: str, shown: str) -> None:
    assert shown_dsn(dsn) == shown


@pytest.mark.parametrize("dsn", [f"postgresql://me:{SECRET}@db/shop", f"host=db password='{SECRET}'"])
def test_a_driver_that_quotes_the_password_is_not_repeated(dsn: str) -> None:
    assert SECRET not in without_secrets(f"cannot log in with {SECRET} to {dsn}", dsn)


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgresql://me:{SECRET}5@127.0.0.1:{PORT}/shop",
        f"postgresql://me:{SECRET}@127.0.0.1:{PORT}/shop",
        f"postgresql:/me:{SECRET}@127.0.0.1:{PORT}/shop",
        f"postgresql://127.0.0.1:{PORT}/shop?user=me&password={SECRET}5",
        f"host=127.0.0.1 port={PORT} user=me password={SECRET}",
        f"host=127.0.0.1 port={PORT} user=me password {SECRET}",
        f"postgresql://me:{SECRET}5@127.0.0.1:{PORT}/shop?nosuch=option",
        SECRET,
    ],
)
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_no_password_is_ever_printed(folder: Path, command: Command, dsn: str, as_json: list[str]) -> None:
    answer = command("status", "--dsn", dsn, *as_json)

    assert answer.code in (2, 3)
    assert "hunter" not in answer.out + answer.err


def test_a_server_that_is_away_says_where_it_should_be() -> None:
    with pytest.raises(UnreachableError) as refused:
        connector(f"postgresql://me:{SECRET}5@127.0.0.1:{PORT}/shop", command="run")()

    assert str(refused.value).startswith(f"postgresql://me@127.0.0.1:{PORT}/shop: cannot connect (")


def test_the_environment_names_the_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AIRFLOW_IDEMPOTENT_DSN", raising=False)
    with pytest.raises(UsageError, match="no database is named"):
        connector(None, command="status")
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", f"postgresql://me@127.0.0.1:{PORT}/shop")
    with pytest.raises(UnreachableError):
        connector(None, command="status")()
