"""Values as CSV text."""

from __future__ import annotations

import csv
import io
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.landing.csv_text import CsvText

TEXT = CsvText(CsvFormat())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", '""'),
        ("a", "a"),
        ("a,b", '"a,b"'),
        ('a"b', '"a""b"'),
        ("a\nb", '"a\nb"'),
        ("a\rb", '"a\rb"'),
        ("\\.", '"\\."'),
        (" a ", " a "),
        (True, "t"),
        (False, "f"),
        (9007199254740993, "9007199254740993"),
        (0.1, "0.1"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
        (Decimal("1E+2"), "100"),
        (Decimal("1.10"), "1.10"),
        (Decimal("NaN"), "NaN"),
        (Decimal("Infinity"), "Infinity"),
        (datetime(2025, 5, 1, 12, 0, 0, 1), "2025-05-01 12:00:00.000001"),  # noqa: DTZ001
        (datetime(2025, 5, 1, 12, tzinfo=UTC), "2025-05-01 12:00:00+00:00"),
        (datetime(2025, 5, 1, 12, tzinfo=timezone(timedelta(hours=2))), "2025-05-01 10:00:00+00:00"),
        (date(2025, 5, 1), "2025-05-01"),
        (time(12, 30), "12:30:00"),
        (timedelta(days=-1, seconds=5, microseconds=7), "-1 days 5 seconds 7 microseconds"),
        (b"\x00\xff", "\\x00ff"),
        (memoryview(b"\x01"), "\\x01"),
        ({"b": 1, "a": ["ä"]}, '"{""a"":[""ä""],""b"":1}"'),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
    ],
)
def test_a_value_is_written_so_that_postgresql_reads_it_back(value: Any, text: str) -> None:
    assert TEXT.rows([[value, 1]]).decode() == f"{text},1\n"


def test_what_looks_like_the_null_text_is_quoted() -> None:
    assert CsvText(CsvFormat(null="NA")).rows([[None, "NA", ""]]) == b'NA,"NA",""\n'


@given(st.lists(st.lists(st.text(st.characters(codec="utf-8"), max_size=5), min_size=2, max_size=2), max_size=5))
def test_texts_come_back_as_they_were(rows: list[list[str]]) -> None:
    read = csv.reader(io.StringIO(TEXT.rows(rows).decode(), newline=""))

    assert list(read) == rows
