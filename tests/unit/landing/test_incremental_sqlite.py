"""Incremental queries against a database that is no PostgreSQL: the same rows, and nothing proved of who writes."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.window import Window
from airflow_idempotent.errors import CursorError
from airflow_idempotent.landing.inputs import QueryInput, Reading
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import DAY, TABLE

LOW, NOW = datetime(2025, 4, 30, 10, tzinfo=UTC), datetime(2025, 5, 3, tzinfo=UTC)
ROWS = {
    1: "2025-04-30 09:59:59+00:00",
    2: "2025-04-30 10:00:00+00:00",
    3: "2025-05-01 12:00:00+00:00",
    4: "2025-05-02 00:00:00+00:00",
    5: "2099-01-01 00:00:00+00:00",
    6: None,
}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "shop.db") as connection:
        connection.execute('create table orders (id integer, "changed at" text)')
        connection.executemany("insert into orders values (?, ?)", ROWS.items())
    return tmp_path / "shop.db"


def landed(shop: Path, sql: str = "select * from orders", **options: Any) -> tuple[list[int], Window]:
    reading = Reading("changed at", LOW, DAY.end, NOW, **{"on_null": "exclude", **options})
    store = BatchStore(shop.parent / "raw")
    source = QueryInput(sql, {}, lambda: sqlite3.connect(shop), reading=reading)
    manifest = land(source, store=store, table=TABLE, partition=DAY).manifest
    with store.open_part(manifest, manifest.parts[0]) as file:
        ids = sorted(int(line.split(b",")[0]) for line in file.read().splitlines()[1:])
    assert manifest.window
    return ids, manifest.window


def test_rows_from_the_watermark_on_are_landed_and_those_of_the_future(shop: Path) -> None:
    ids, window = landed(shop)

    assert ids == [2, 3, 5]
    assert (window.null_rows, window.future_rows) == (1, 1)


@pytest.mark.parametrize(("policy", "ids"), [("include", [2, 3, 5, 6]), ("exclude", [2, 3, 5])])
def test_rows_without_a_cursor_follow_the_policy(shop: Path, policy: str, ids: list[int]) -> None:
    assert landed(shop, on_null=policy)[0] == ids


def test_rows_without_a_cursor_are_refused_by_default(shop: Path) -> None:
    with pytest.raises(CursorError, match="'changed at': 1 row"):
        landed(shop, on_null="raise")


def test_a_query_may_place_the_watermark_itself(shop: Path) -> None:
    assert landed(shop, 'select * from orders where id = 1 or "changed at" >= :watermark')[0] == [1, 2, 3, 5]


def test_the_watermark_stays_unless_the_spec_says_how_late_rows_can_be(shop: Path) -> None:
    stays, moves = landed(shop)[1], landed(shop, on_future="exclude", has_lag=True)[1]

    assert (stays.watermark, stays.note) == (
        "",
        "sqlite3 does not tell who is writing; the watermark stays where it is, or set late_data.watermark_lag",
    )
    assert (moves.watermark, moves.note) == ("2025-05-01T12:00:00+00:00", "")
