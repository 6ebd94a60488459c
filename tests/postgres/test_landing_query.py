"""Landing the rows of a query from PostgreSQL, by both drivers."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.errors import SourceQueryError, SourceUnavailableError
from airflow_idempotent.landing.inputs import QueryInput
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.store import BatchStore
from tests.postgres_fixtures import Connect

DAY = Grain.DAY.partition(datetime(2025, 5, 1, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path) -> BatchStore:
    return BatchStore(tmp_path / "raw")


@pytest.fixture
def land_query(connect: Connect, store: BatchStore) -> Callable[..., Landed]:
    def run(sql: str, binds: dict[str, Any] | None = None, **options: Any) -> Landed:
        source = QueryInput(sql, binds or {}, connect, **options)
        return land(source, store=store, table="public.orders", partition=DAY)

    return run


LandQuery = Callable[..., Landed]


def execute(connect: Connect, sql: str) -> None:
    connection = connect()
    connection.cursor().execute(sql)
    connection.commit()
    connection.close()


def content(store: BatchStore) -> str:
    latest = store.latest("public.orders", DAY.key)
    assert latest is not None
    with store.open_part(latest, latest.parts[0]) as file:
        return file.read().decode()


@pytest.fixture
def orders(connect: Connect) -> None:
    execute(
        connect,
        """create table orders (id int, note text, amount numeric, at timestamptz);
        insert into orders values (3, '', 1.10, '2025-05-01 23:30+00'), (1, null, 1.1, '2025-05-01 00:00+02'),
            (2, 'a "q", b' || chr(10) || 'ü', null, '2025-05-02 00:00+00'), (1, null, 1.1, '2025-05-01 00:00+02')""",
    )


@pytest.mark.usefixtures("orders")
def test_rows_land_in_an_order_of_their_own_with_null_and_empty_text_told_apart(
    land_query: LandQuery, store: BatchStore
) -> None:
    landed = land_query("select * from orders; -- all of them")

    assert content(store) == (
        "id,note,amount,at\n"
        "1,,1.1,2025-04-30 22:00:00+00\n"
        "1,,1.1,2025-04-30 22:00:00+00\n"
        '2,"a ""q"", b\nü",,2025-05-02 00:00:00+00\n'
        '3,"",1.10,2025-05-01 23:30:00+00\n'
    )
    assert (landed.manifest.rows, landed.manifest.parts[0].source) == (4, "query")


@pytest.mark.usefixtures("orders")
def test_equal_rows_are_equal_bytes_whatever_the_session_says_and_wherever_they_lie(
    connect: Connect, store: BatchStore
) -> None:
    settings = {
        "TimeZone": "Asia/Tokyo", "DateStyle": "German", "IntervalStyle": "iso_8601", "extra_float_digits": "0",
        "bytea_output": "escape", "client_encoding": "LATIN1", "standard_conforming_strings": "off",
    }  # fmt: skip

    def odd_session() -> Any:
        connection = connect()
        for name, value in settings.items():
            connection.cursor().execute("select set_config(%s, %s, false)", (name, value))
        connection.commit()
        return connection

    sql = (
        "select *, 0.1::float8 + 0.2 as f, interval '1 day 2 hours' as i, '\\x00ff'::bytea as b,"
        " date '2025-05-01' as d, at as again from orders where at < :end"
    )
    binds = {"end": datetime(2025, 5, 2, tzinfo=UTC)}
    first = land(QueryInput(sql, binds, connect), store=store, table="public.orders", partition=DAY)
    execute(
        connect,
        "create table o2 as select * from orders order by note desc;"
        " drop table orders; alter table o2 rename to orders",
    )

    again = land(QueryInput(sql, binds, odd_session), store=store, table="public.orders", partition=DAY)

    assert again.replayed
    assert again.manifest == first.manifest
    assert '3,"",1.10,2025-05-01 23:30:00+00,0.30000000000000004,1 day 02:00:00,\\x00ff,2025-05-01,' in content(store)


def test_rows_of_types_without_an_order_are_ordered_all_the_same(land_query: LandQuery, store: BatchStore) -> None:
    land_query("select j::json as j, point(i, i) as p from (values (2, '{\"b\": 1}'), (1, '{\"a\": 1}')) v(i, j)")

    assert content(store) == 'j,p\n"{""a"": 1}","(1,1)"\n"{""b"": 1}","(2,2)"\n'


def test_rows_that_compare_equal_but_look_different_have_one_order(land_query: LandQuery) -> None:
    first = land_query("select x from (values (1.0), (1.00), (1)) v(x)")

    assert land_query("select x from (values (1), (1.00), (1.0)) v(x)").manifest == first.manifest


@pytest.mark.usefixtures("orders")
def test_the_order_of_a_query_that_has_one_is_kept(land_query: LandQuery, store: BatchStore) -> None:
    land_query("select distinct id from orders order by id desc;")

    assert content(store) == "id\n3\n2\n1\n"


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    "text", ["'); drop table orders; --", "\\'; drop table orders; --", "$$", ":other", "100%s", "ü"]
)
def test_binds_are_values_whatever_is_in_them(
    land_query: LandQuery, connect: Connect, store: BatchStore, text: str
) -> None:
    sql = """
        select :text::text as text, ':text' as plain, E'it\\'s :text' as "a:text", $$ :text $$ as dollars /* :text */
        from orders where :text <> ':nobody' limit 1 -- :text
    """

    land_query(sql, {"text": text, "other": "wrong"})

    assert content(store).splitlines()[1].replace('"', "") == f"{text},:text,it's :text, :text "
    execute(connect, "select count(*) from orders")


def test_binds_keep_their_types(land_query: LandQuery, store: BatchStore) -> None:
    binds = {
        "start": datetime(2025, 5, 1, tzinfo=UTC), "day": date(2025, 5, 1), "n": -5, "d": Decimal("1.50"),
        "nothing": None, "keys": [1, 2], "flag": True,
    }  # fmt: skip

    land_query(
        "select pg_typeof(:start) as a, :day::date + 1 as b, 3 - :n as c, :d * 2 as d, :nothing::int as e,"
        " 2 = any(:keys) as f, not :flag as g, :start::date as h",
        binds,
    )

    assert content(store) == ("a,b,c,d,e,f,g,h\ntimestamp with time zone,2025-05-02,8,3.00,,t,f,2025-05-01\n")


@pytest.mark.usefixtures("orders")
@pytest.mark.parametrize(
    "sql",
    [
        "delete from orders returning id",
        "with gone as (delete from orders returning id) select * from gone",
        "select 1; delete from orders",
        "select nextval('s')",
        "select * from absent",
        "select 1 as a where :a",
    ],
)
def test_a_query_that_fails_or_would_write_is_refused(
    land_query: LandQuery, connect: Connect, store: BatchStore, sql: str
) -> None:
    execute(connect, "create sequence s")

    with pytest.raises(SourceQueryError, match=r"public.orders 2025-05-01: the source query failed: .*\[") as refused:
        land_query(sql, {"a": "x'y"})

    assert not refused.value.retryable
    assert "\n" not in refused.value.reason
    assert store.latest("public.orders", DAY.key) is None
    execute(connect, "do $$ begin assert (select count(*) from orders) = 4; end $$")


def test_the_export_sees_one_moment_of_the_database(connect: Connect, store: BatchStore) -> None:
    execute(connect, "create table a as select 1 as n; create table b as select 1 as n")
    sql = "select (select n from a) as a, (select n from b) as b, pg_sleep(0.3) is null as slept, pair() as c"
    execute(
        connect,
        "create function pair() returns text language plpgsql as "
        "$$ begin perform pg_sleep(0.5); return (select n from a) || '/' || (select n from b); end $$",
    )
    timer = threading.Timer(0.25, execute, [connect, "update a set n = 2; update b set n = 2"])
    timer.start()

    land(QueryInput(sql, {}, connect), store=store, table="public.orders", partition=DAY)
    timer.join()

    assert content(store) == "a,b,slept,c\n1,1,f,1/1\n"


def test_a_connection_that_breaks_is_worth_a_retry(land_query: LandQuery, store: BatchStore) -> None:
    with pytest.raises(SourceUnavailableError) as refused:
        land_query("select pg_terminate_backend(pg_backend_pid())")

    assert refused.value.retryable
    assert store.latest("public.orders", DAY.key) is None


def test_a_statement_timeout_is_worth_a_retry(connect: Connect, store: BatchStore) -> None:
    def impatient() -> Any:
        connection = connect()
        connection.cursor().execute("set statement_timeout = 100")
        connection.commit()
        return connection

    with pytest.raises(SourceUnavailableError, match="57014"):
        land(QueryInput("select pg_sleep(5)", {}, impatient), store=store, table="public.orders", partition=DAY)


def test_the_connection_is_closed_and_may_have_been_in_autocommit(connect: Connect, store: BatchStore) -> None:
    opened: list[Any] = []

    def in_autocommit() -> Any:
        opened.append(connect())
        opened[0].autocommit = True
        return opened[0]

    land(QueryInput("select 1 as a", {}, in_autocommit), store=store, table="public.orders", partition=DAY)

    assert opened[0].closed


def test_the_format_of_the_query_is_written(land_query: LandQuery, store: BatchStore) -> None:
    land_query(
        "select 'a;b' as x, 'it''s' as y, 'NA' as z, null as n", format=CsvFormat(delimiter=";", quote="'", null="NA")
    )

    assert content(store) == "x;y;z;n\n'a;b';'it''s';'NA';NA\n"


def test_odd_column_names_and_no_rows_land(land_query: LandQuery, store: BatchStore) -> None:
    landed = land_query('select 1 as "a,b", 2 as "source_rows", 3 as "ü" where false')

    assert landed.manifest.parts[0].columns == ("a,b", "source_rows", "ü")
    assert landed.manifest.rows == 0
