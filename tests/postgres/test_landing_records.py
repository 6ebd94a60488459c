"""Records are counted as PostgreSQL counts them when it reads the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.errors import BadFileError
from airflow_idempotent.landing.csv_records import CsvScan

WORDS = ["a", "é", '"', '""', '"a"', '"\n"', '"\r\n"', '"\r"', "\n", "\n", "\n", "\r\n", "\r", " ", "\\", "\\N"]


@pytest.fixture
def psycopg_connection(database: str) -> Iterator[Any]:
    connection = import_module("psycopg").connect(database)
    yield connection
    connection.close()


def copied(connection: Any, data: bytes) -> int | None:
    """Let PostgreSQL read a CSV of one column; None when it refuses."""
    cursor = connection.cursor()
    cursor.execute("CREATE TEMPORARY TABLE IF NOT EXISTS words (word text)")
    cursor.execute("TRUNCATE words")
    try:
        with cursor.copy("COPY words FROM STDIN (FORMAT csv, HEADER)") as copy:
            copy.write(data)
        count = int(cursor.rowcount)
    except connection.DataError:
        connection.rollback()
        return None
    connection.commit()
    return count


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.lists(st.sampled_from(WORDS), max_size=12), size=st.integers(1, 6))
def test_a_file_has_the_rows_that_postgresql_copies_from_it(
    psycopg_connection: Any, words: list[str], size: int
) -> None:
    data = ("id" + words[0] if words and words[0] in ("\n", "\r", "\r\n") else "id\n").encode()
    data += "".join(words).encode()
    expected = copied(psycopg_connection, data)
    scan = CsvScan(CsvFormat(), "words.csv")
    try:
        for place in range(0, len(data), size):
            scan.feed(data[place : place + size])
        rows = scan.finish()
    except BadFileError:
        assert expected is None
        return

    assert expected in (rows, None)
