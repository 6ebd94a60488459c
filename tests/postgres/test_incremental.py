"""Incremental queries: what is read from a PostgreSQL source, and how far it may be called complete."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.window import Position, Window
from airflow_idempotent.errors import CursorError, SourceChangedError, SourceQueryError
from airflow_idempotent.landing import settled
from airflow_idempotent.landing.inputs import QueryInput, Reading
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.settled import MARGIN
from airflow_idempotent.landing.store import BatchStore
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

DAY = Grain.DAY.partition(datetime(2025, 5, 2, tzinfo=UTC))
LOW = datetime(2025, 5, 1, 10, tzinfo=UTC)


class Shop:
    """A source, and what an incremental query of it lands."""

    def __init__(self, connect: Connect, folder: Path) -> None:
        self.connect, self.store = connect, BatchStore(folder / "raw")
        self.sql("create table orders (id int primary key, at timestamptz)")

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return Warehouse(self.connect).sql(text)

    @contextmanager
    def writing(self, text: str) -> Any:
        """A transaction that has written and is open; it commits at the end."""
        with closing(self.connect()) as connection:
            connection.cursor().execute(text)
            yield connection
            connection.commit()

    def land(
        self, sql: str = "select * from orders", *, low: Position = LOW, connect: Any = None, **options: Any
    ) -> Landed:
        policies = {"on_source_change": options.pop("on_source_change", "new_batch")}
        high = options.pop("high", DAY.end)
        reading = Reading("at" if isinstance(low, datetime) else "id", low, high, now=datetime.now(UTC), **options)
        source = QueryInput(sql, {"end": DAY.end}, connect or self.connect, reading=reading)
        return land(
            source, store=self.store, table="public.orders", partition=DAY, unique_key=["id"], cutoff_ts="c", **policies
        )

    def landed(self, *words: Any, **options: Any) -> tuple[list[int], Window]:
        """The ids that are landed, and the window."""
        manifest = self.land(*words, **options).manifest
        assert manifest.window is not None
        with self.store.open_part(manifest, manifest.parts[0]) as file:
            ids = [int(line.split(b",")[0]) for line in file.read().splitlines()[1:]]
        return sorted(ids), manifest.window


@pytest.fixture
def shop(connect: Connect, tmp_path: Path) -> Shop:
    return Shop(connect, tmp_path)


ROWS = """insert into orders values (1, '2025-05-01 09:59:59+00'), (2, '2025-05-01 10:00+00'),
    (3, '2025-05-02 12:00+00'), (4, '2025-05-03 00:00+00')"""


def test_rows_from_the_watermark_on_are_landed_ties_included_and_none_at_the_end(shop: Shop) -> None:
    shop.sql(ROWS)

    ids, window = shop.landed()

    assert ids == [2, 3]
    assert (window.low, window.high) == ("2025-05-01T10:00:00+00:00", "2025-05-03T00:00:00+00:00")
    assert (window.watermark, window.note) == ("2025-05-02T12:00:00+00:00", "")


@pytest.mark.parametrize("kind", ["timestamp", "date"])
def test_a_cursor_may_be_a_local_time_in_utc_or_a_date(shop: Shop, kind: str) -> None:
    shop.sql(f"set timezone to 'UTC'; {ROWS}; alter table orders alter at type {kind}")

    ids, window = shop.landed(low=datetime(2025, 5, 1, tzinfo=UTC))

    assert ids == [1, 2, 3]
    assert window.watermark == f"2025-05-02T{'12' if kind == 'timestamp' else '00'}:00:00+00:00"


def test_a_query_may_place_the_watermark_itself(shop: Shop) -> None:
    shop.sql(ROWS)

    ids, window = shop.landed("select * from orders where id = 1 or at >= :watermark order by id; -- 100 %")

    assert ids == [1, 2, 3]
    assert window.watermark == "2025-05-02T12:00:00+00:00"


def test_what_is_no_time_is_refused_as_a_cursor(shop: Shop) -> None:
    with pytest.raises(SourceQueryError, match="where it is an integer set source"):
        shop.land("select id, id as at from orders")


@pytest.mark.parametrize(("policy", "ids"), [("include", [2, 3, 9]), ("exclude", [2, 3])])
def test_rows_without_a_cursor_are_landed_or_left_out_and_counted(shop: Shop, policy: str, ids: list[int]) -> None:
    shop.sql(f"{ROWS}, (9, null)")

    found, window = shop.landed(on_null=policy)

    assert (found, window.null_rows) == (ids, 1)
    assert window.watermark == "2025-05-02T12:00:00+00:00"


def test_rows_without_a_cursor_refuse_the_batch_when_nobody_has_said_what_they_are(shop: Shop) -> None:
    shop.sql(f"{ROWS}, (9, null)")

    with pytest.raises(CursorError, match=r"1 row.s. of the source have none; nothing was landed"):
        shop.land()

    assert shop.store.latest("public.orders", DAY.key) is None


def test_a_batch_of_rows_without_a_cursor_says_nothing_of_the_watermark(shop: Shop) -> None:
    shop.sql("insert into orders values (9, null)")

    assert shop.landed(on_null="include")[1].watermark == ""


@pytest.mark.parametrize(("policy", "ids"), [("include", [2, 3, 8]), ("exclude", [2, 3])])
def test_rows_of_the_future_are_counted_and_the_watermark_stays_below(shop: Shop, policy: str, ids: list[int]) -> None:
    shop.sql(f"{ROWS}, (8, now() + interval '1 year')")

    found, window = shop.landed(on_future=policy)

    assert (found, window.future_rows, window.watermark) == (ids, 1, "2025-05-02T12:00:00+00:00")


def test_rows_of_the_future_may_refuse_the_batch(shop: Shop) -> None:
    shop.sql(f"{ROWS}, (8, 'infinity')")

    with pytest.raises(CursorError, match="dated in the future"):
        shop.land(on_future="raise")


def test_a_transaction_that_still_writes_keeps_the_watermark_before_its_begin(shop: Shop) -> None:
    today = Grain.DAY.partition(datetime.now(UTC))
    with shop.writing("insert into orders values (1, now())") as connection:
        cursor = connection.cursor()
        cursor.execute("select now()")
        [(begun,)] = cursor.fetchall()
        shop.sql("insert into orders values (2, clock_timestamp())")
        ids, window = shop.landed(low=today.start - timedelta(days=1), high=today.end)

    assert ids == [2]
    assert datetime.fromisoformat(window.watermark) < begun
    later, _ = shop.landed(low=datetime.fromisoformat(window.watermark), high=today.end)
    assert later == [1, 2]


def test_a_transaction_that_has_begun_and_not_yet_written_counts_too(shop: Shop) -> None:
    today = Grain.DAY.partition(datetime.now(UTC))
    with shop.writing("select 1") as connection:
        shop.sql("insert into orders values (2, clock_timestamp())")
        _, window = shop.landed(low=today.start, high=today.end)
        connection.cursor().execute("insert into orders values (1, now())")

    assert shop.landed(low=datetime.fromisoformat(window.watermark), high=today.end)[0] == [1, 2]


def test_sessions_that_hide_their_begin_keep_the_watermark_unless_there_is_a_lag(shop: Shop) -> None:
    role = f"reader_{shop.sql('select oid from pg_database where datname = current_database()')[0][0]}"
    shop.sql(f"create role {role}; grant {role} to current_user; grant select on orders to {role}; {ROWS}")

    def as_reader() -> Any:
        connection = shop.connect()
        connection.cursor().execute(f"set role {role}")
        connection.commit()
        return connection

    try:
        with shop.writing("insert into orders values (7, now())"):
            _, hidden = shop.landed(connect=as_reader)
            shop.sql("insert into orders values (6, '2025-05-02 13:00+00')")
            _, lagging = shop.landed(connect=as_reader, has_lag=True)
    finally:
        shop.sql(f"drop owned by {role}; drop role {role}")

    assert hidden.watermark == ""
    assert "1 session(s) of the source hide when they began: GRANT pg_read_all_stats" in hidden.note
    assert lagging.watermark == "2025-05-02T13:00:00+00:00"


def test_the_same_rows_are_the_same_batch_and_others_are_named_by_their_keys(shop: Shop) -> None:
    shop.sql(ROWS)
    first = shop.land()
    again = shop.land()
    shop.sql("update orders set at = at + interval '1 hour' where id = 3; delete from orders where id = 2")
    shop.sql("insert into orders values (5, '2025-05-02 01:00+00')")

    with pytest.raises(SourceChangedError) as refused:
        shop.land(on_source_change="fail")
    other = shop.land()

    assert (first.replayed, again.replayed, again.changed) == (False, True, ())
    assert other.drifted
    assert other.changed[1:] == ("1 rows new, id: 5", "1 rows gone, id: 2", "1 rows changed, id: 3")
    assert refused.value.changed == other.changed
    assert "2 rows in" in other.changed[0]


# --- numbers ---------------------------------------------------------------------------------------


def test_by_a_number_all_from_the_watermark_on_is_landed_up_to_the_greatest_there_is(shop: Shop) -> None:
    shop.sql("insert into orders select n, now() from generate_series(1, 5) n; create view shown as table orders")

    ids, window = shop.landed("select * from shown", low=3, high=None)

    assert ids == [3, 4, 5]
    assert (window.low, window.high, window.watermark, window.note) == ("3", "6", "5", "")
    assert window.is_numbered


def test_a_later_try_of_a_batch_reads_no_further(shop: Shop) -> None:
    shop.sql("insert into orders select n, now() from generate_series(1, 5) n")

    assert shop.landed(low=0, high=4, has_lag=True)[0] == [1, 2, 3]


def test_no_rows_say_nothing_of_the_watermark(shop: Shop) -> None:
    _, window = shop.landed(low=7, high=None, has_lag=True)

    assert (window.low, window.high, window.watermark) == ("7", "7", "")


@pytest.mark.parametrize(("policy", "ids"), [("include", [0, 1]), ("exclude", [1])])
def test_rows_without_a_number_are_landed_or_left_out_and_counted(shop: Shop, policy: str, ids: list[int]) -> None:
    shop.sql("insert into orders values (1, now()), (0, now())")

    found, window = shop.landed(
        "select id as key, nullif(id, 0) as id, at from orders", low=0, high=None, on_null=policy, has_lag=True
    )

    assert (found, window.null_rows) == (ids, 1)


def test_a_number_that_is_taken_and_not_committed_keeps_the_watermark(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settled, "PATIENCE", MARGIN)
    with shop.writing("insert into orders values (1, now())"):
        shop.sql("insert into orders values (2, now())")
        ids, window = shop.landed(low=0, high=None)
        shop.sql("insert into orders values (3, now())")
        _, trusted = shop.landed(low=0, high=None, has_lag=True)
    after, proved = shop.landed(low=0, high=None)

    assert (ids, window.watermark) == ([2], "")
    assert "is still open; the watermark stays where it is, or set late_data.watermark_lag" in window.note
    assert trusted.watermark == "3"
    assert (after, proved.watermark) == ([1, 2, 3], "3")


def test_a_writer_that_ends_soon_is_waited_for(shop: Shop) -> None:
    with ThreadPoolExecutor() as pool:
        with shop.writing("insert into orders values (1, now())"):
            shop.sql("insert into orders values (2, now())")
            landing = pool.submit(shop.landed, low=0, high=None)
            time.sleep(1.5)
        ids, window = landing.result()

    assert (ids, window.watermark) == ([1, 2], "2")


def test_what_is_no_number_is_refused_as_one(shop: Shop) -> None:
    with pytest.raises(SourceQueryError, match=r"operator does not exist: .* read as an integer"):
        shop.land("select 'a'::text as id, at from orders", low=0, high=None)
