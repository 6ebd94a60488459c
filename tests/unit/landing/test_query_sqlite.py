"""Landing the rows of a query from a database that is not PostgreSQL."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.errors import BadFileError, SourceChangedError, SourceQueryError
from airflow_idempotent.landing.dbapi import driver_of
from airflow_idempotent.landing.inputs import QueryInput
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import DAY, TABLE, land_day, tree, verified


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "orders.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            create table orders (id integer, note text, amount real, day text);
            insert into orders values (3, '', 0.1, '2025-05-01'), (1, null, 2.0, '2025-05-01'),
                (2, 'a "q", b' || char(10) || 'c', null, '2025-05-02'), (1, null, 2.0, '2025-05-01');
        """)
    return path


def query(database: Path, sql: str, binds: dict[str, Any] | None = None, **options: Any) -> QueryInput:
    return QueryInput(sql, binds or {}, lambda: sqlite3.connect(database), **options)


def content(store: BatchStore) -> str:
    manifest = verified(store)[-1]
    with store.open_part(manifest, manifest.parts[0]) as file:
        return file.read().decode()


def test_rows_land_sorted_with_null_and_empty_text_told_apart(store: BatchStore, database: Path) -> None:
    landed = land_day(store, query(database, "select id, note, amount from orders;  -- all"))

    assert content(store) == 'id,note,amount\n1,,2.0\n1,,2.0\n2,"a ""q"", b\nc",\n3,"",0.1\n'
    assert landed.manifest.rows == 4
    assert landed.manifest.parts[0].columns == ("id", "note", "amount")
    assert landed.manifest.source["kind"] == "query"


def test_equal_rows_in_another_physical_order_are_the_same_batch(store: BatchStore, database: Path) -> None:
    source = query(database, "select id, note, amount from orders")
    land_day(store, source)
    before = tree(store.root)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("create table again as select * from orders order by id desc, amount")
        connection.execute("drop table orders")
        connection.execute("alter table again rename to orders")

    assert land_day(store, source).replayed
    assert tree(store.root) == before


def test_the_order_of_a_query_that_has_one_is_kept(store: BatchStore, database: Path) -> None:
    land_day(store, query(database, "select distinct id from orders order by id desc"))

    assert content(store) == "id\n3\n2\n1\n"


@pytest.mark.parametrize("style", ["qmark", "named", "numeric"])
def test_binds_are_values_whatever_is_in_them(
    store: BatchStore, database: Path, style: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "paramstyle", style)
    sql = "select id, :text as text, ':text' as plain from orders where id = :id and day < :end -- :nobody"
    text = "'); drop table orders; --"

    land_day(store, query(database, sql, {"id": 1, "text": text, "end": "2025-05-02", "unused": 1}))

    assert content(store) == f"id,text,plain\n1,{text},:text\n1,{text},:text\n"


def test_dates_are_bound_as_iso_texts_where_the_database_has_no_dates(store: BatchStore, database: Path) -> None:
    binds = {"start": datetime(2025, 5, 1, tzinfo=UTC), "day": date(2025, 5, 1)}

    land_day(store, query(database, "select :start as start, :day as day", binds))

    assert content(store) == "start,day\n2025-05-01 00:00:00+00:00,2025-05-01\n"


def test_a_bind_without_a_value_is_refused_before_anything_is_run(store: BatchStore, database: Path) -> None:
    with pytest.raises(SourceQueryError, match=r"the bind :begin has no value \(known: :end, :start"):
        land_day(store, query(database, "select :begin, :start", {"start": 1, "end": 2}))


def test_an_error_of_the_database_names_table_and_partition(store: BatchStore, database: Path) -> None:
    with pytest.raises(SourceQueryError, match=r"analytics.orders 2025-05-01: .*no such table: absent") as refused:
        land_day(store, query(database, "select * from absent"))

    assert not refused.value.retryable
    assert tree(store.root) == {}


def test_two_columns_of_one_name_are_refused(store: BatchStore, database: Path) -> None:
    with pytest.raises(BadFileError, match="the result of the query: has more than one column 'id'"):
        land_day(store, query(database, "select id, id from orders order by 1"))


def test_no_rows_is_a_batch_with_a_header(store: BatchStore, database: Path) -> None:
    assert land_day(store, query(database, "select id from orders where false")).manifest.rows == 0


def test_changed_rows_are_refused_when_the_source_must_not_change(store: BatchStore, database: Path) -> None:
    land_day(store, query(database, "select id from orders"))
    before = tree(store.root)

    with pytest.raises(
        SourceChangedError, match=r"2 rows in 7 bytes, sha256 \w{12}, in the batch 4 rows in 11 bytes, sha256 \w{12}"
    ):
        land_day(store, query(database, "select id from orders where id = 1"), on_source_change="fail")

    assert tree(store.root) == before


def test_the_query_is_hashed_and_values_stay_out_of_the_manifest(store: BatchStore, database: Path) -> None:
    manifest = land_day(store, query(database, "select :token as t", {"token": "hunter2"})).manifest

    assert manifest.source["binds"] == ["token"]
    assert len(manifest.source["query_hash"]) == 64
    assert "hunter2" not in manifest.to_json()


def test_the_format_of_the_query_is_written(store: BatchStore, database: Path) -> None:
    form = CsvFormat(delimiter=";", quote="'", null="NULL")

    land_day(store, query(database, "select note, 'a;b' as x, 'it''s' as y, 'NULL' as z from orders", format=form))

    assert content(store).splitlines()[1] == "NULL;'a;b';'it''s';'NULL'"


def test_fewer_rows_than_there_are_fit_in_one_fetch(store: BatchStore, database: Path) -> None:
    sql = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000) select i from n order by i"

    assert land_day(store, query(database, sql, fetch_size=7)).manifest.rows == 1000


class FakeCursor:
    """Keeps what was executed."""

    description = (("id",),)

    def __init__(self, told: list[Any]) -> None:
        self.told, self.rows = told, [[(1,)], []]

    def execute(self, *arguments: Any) -> None:
        self.told.append(arguments)

    def fetchmany(self, size: int) -> list[Any]:
        return self.rows.pop(0)

    def close(self) -> None:
        """Nothing to close."""


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Give a driver module called ``otherdb``."""
    module = ModuleType("otherdb")
    module.paramstyle = "pyformat"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "otherdb", module)
    return module


def test_a_driver_with_percent_placeholders_and_named_cursors_gets_what_it_understands(
    store: BatchStore, driver: ModuleType
) -> None:
    told: list[Any] = []

    class Connection:
        __module__ = "otherdb.connections"

        def cursor(self, name: str = "") -> FakeCursor:
            told.append(name)
            return FakeCursor(told)

        def close(self) -> None:
            told.append("closed")

    assert driver_of(Connection()) == "otherdb"
    land_day(store, QueryInput("select id from t where a like '5%' and b = :b order by id", {"b": 2}, Connection))
    land_day(store, QueryInput("select id from t where a like '5%' order by id", {}, Connection))

    assert told == [
        "airflow_idempotent",
        ("select id from t where a like '5%%' and b = %(b)s order by id", {"b": 2}),
        "closed",
        "airflow_idempotent",
        ("select id from t where a like '5%' order by id",),
        "closed",
    ]
    assert store.latest(TABLE, DAY.key) is not None
