"""stage_merge against a real PostgreSQL: what ends up in the table, and what is counted."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects, State
from airflow_idempotent.errors import (
    BadRowError,
    BatchDamagedError,
    ConnectionLostError,
    ConstraintError,
    GateClosedError,
    NullKeyError,
    PrecisionError,
    StatementTimeoutError,
    UnreachableError,
)
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import Warehouse

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"])
UNVERSIONED = LoadSpec(table="orders", unique_key=["id"])


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    return warehouse


def rows(warehouse: Warehouse, table: str = "orders") -> list[tuple[Any, ...]]:
    return warehouse.sql(f"SELECT * FROM {table} ORDER BY 1, 2")


# --- effects ---------------------------------------------------------------------------------------------------------


def test_every_row_of_a_batch_is_counted_once(orders: Warehouse) -> None:
    orders.sql("INSERT INTO orders VALUES (1, 'old', 1), (2, 'same', 1), (3, 'newer', 9)")

    receipt = orders.load(ORDERS, "id,v,ver\n1,new,2\n2,same,1\n3,late,3\n4,first,1\n4,last,2\n")

    assert receipt.effects == Effects(inserted=1, updated=1, unchanged=1, stale=1, duplicate=1)
    assert receipt.state is State.PUBLISHED
    assert receipt.measure.staged_rows == 5
    assert (receipt.measure.min_version, receipt.measure.max_version) == ("1", "3")
    assert rows(orders) == [(1, "new", 2), (2, "same", 1), (3, "newer", 9), (4, "last", 2)]


def test_a_second_run_writes_nothing(orders: Warehouse) -> None:
    text = "id,v,ver\n1,a,1\n2,b,\n3,,3\n"
    orders.load(ORDERS, text)
    before = orders.physical("orders")

    again = orders.load(ORDERS, text)

    assert again.effects == Effects(unchanged=3)
    assert orders.physical("orders") == before


def test_a_second_run_heals_what_somebody_changed_and_counts_the_rest(orders: Warehouse) -> None:
    text = "id,v,ver\n1,a,1\n2,b,2\n3,c,3\n4,d,4\n4,d,3\n"
    orders.load(ORDERS, text)
    orders.sql("UPDATE orders SET ver = 0, v = 'hacked' WHERE id = 1; UPDATE orders SET ver = 9 WHERE id = 2")

    receipt = orders.load(ORDERS, text)

    assert receipt.effects == Effects(updated=1, unchanged=2, stale=1, duplicate=1)
    assert rows(orders) == [(1, "a", 1), (2, "b", 9), (3, "c", 3), (4, "d", 4)]


def test_a_second_run_counts_what_has_become_stale(orders: Warehouse) -> None:
    text = "id,v,ver\n1,a,1\n2,b,2\n2,b,1\n"
    orders.load(ORDERS, text)
    orders.sql("UPDATE orders SET ver = 9 WHERE id = 2")
    before = orders.physical("orders")

    receipt = orders.load(ORDERS, text)

    assert receipt.effects == Effects(unchanged=1, stale=1, duplicate=1)
    assert orders.physical("orders") == before


def test_a_run_heals_a_row_that_somebody_deleted(orders: Warehouse) -> None:
    orders.load(ORDERS, "id,v,ver\n1,a,1\n2,b,1\n")
    orders.sql("DELETE FROM orders WHERE id = 2")

    assert orders.load(ORDERS, "id,v,ver\n1,a,1\n2,b,1\n").effects == Effects(inserted=1, unchanged=1)


def test_several_parts_are_one_batch_whatever_the_order_of_their_columns(orders: Warehouse) -> None:
    receipt = orders.load(ORDERS, "id,v,ver\n1,a,1\n", "ver,v,id\n2,b,1\n3,c,2\n", zipped=True)

    assert receipt.effects == Effects(inserted=2, duplicate=1)
    assert rows(orders) == [(1, "b", 2), (2, "c", 3)]


def test_a_batch_without_rows_writes_nothing_and_is_published(orders: Warehouse) -> None:
    assert orders.load(ORDERS, "id,v,ver\n").effects == Effects()
    assert orders.events("public.orders") == [("2025-05-01", "20250501_01", "stage_merge", "published")]


def test_a_batch_without_parts_is_empty(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED)")

    assert warehouse.load(UNVERSIONED).effects == Effects()


# --- values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", ["1.005", "0.001", "-7.123", "99999.9999"])
def test_digits_that_would_be_rounded_are_refused(warehouse: Warehouse, digits: str) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, n numeric(7,2))")

    with pytest.raises(PrecisionError, match=r"'n' is numeric\(7,2\): 1 value"):
        warehouse.load(UNVERSIONED, f"id,n\n1,{digits}\n2,3.5\n")

    assert rows(warehouse) == []


@pytest.mark.parametrize(
    ("kind", "lost", "kept"),
    [
        ("numeric(5,2)[]", "{1.5,NULL,1.005}", "{1.5,NULL,2.000}"),
        ("numeric(5,-2)[]", "{50}", "{300}"),
        ("timestamp(0)", "2025-05-01 10:00:00.5", "2025-05-01 10:00:00.000"),
        ("timestamptz(3)", "2025-05-01 10:00:00.0005Z", "2025-05-01 10:00:00.250Z"),
        ("timestamp(0)[]", "{2025-05-01 10:00:00.5}", "{2025-05-01 10:00:00.0}"),
        ("time(0)", "10:00:00.5", "10:00:00.0"),
        ("timetz(1)", "10:00:00.55+02", "10:00:00.50+02"),
        ("interval(0)", "1.5 seconds", "1 day 2.0 seconds"),
        ("interval day to second(1)", "1.55 seconds", "1.50 seconds"),
        ("interval(0)[]", "{1.5 seconds}", "{1.0 seconds}"),
        ("whole_seconds", "2025-05-01 10:00:00.5", "2025-05-01 10:00:00.0"),
    ],
)
def test_what_any_type_would_round_is_refused_and_zeros_are_no_digits(
    warehouse: Warehouse, kind: str, lost: str, kept: str
) -> None:
    warehouse.sql("CREATE DOMAIN whole_seconds AS timestamp(0)")
    warehouse.sql(f"CREATE TABLE orders (id int PRIMARY KEY, n {kind})")

    with pytest.raises(PrecisionError, match=r"'n' is .*: 1 value"):
        warehouse.load(UNVERSIONED, f'id,n\n1,"{lost}"\n2,"{kept}"\n3,\n')

    assert warehouse.load(UNVERSIONED, f'id,n\n2,"{kept}"\n3,\n', revision=2).effects == Effects(inserted=2)
    assert warehouse.load(UNVERSIONED, f'id,n\n2,"{kept}"\n3,\n', revision=3).effects == Effects(unchanged=2)


def test_a_number_in_an_array_that_is_too_great_names_the_column(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, n numeric(5,2)[])")

    with pytest.raises(BadRowError, match=r"1 value\(s\) do not fit numeric\(5,2\)\[\]"):
        warehouse.load(UNVERSIONED, 'id,n\n1,"{1,1000}"\n')


def test_trailing_zeros_are_no_digits(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, n numeric(7,2), ver numeric(7,2))")

    assert warehouse.load(ORDERS, "id,n,ver\n1,1.50000,1.0\n").effects == Effects(inserted=1)
    assert warehouse.load(ORDERS, "id,n,ver\n1,1.5,1.00\n").effects == Effects(unchanged=1)


def test_a_value_too_great_for_its_column_names_it(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, n numeric(5,2), c varchar(3), i int)")
    for line, column in (("1,1234.5,a,1", "n"), ("1,1,abcd,1", "c"), ("1,1,a,3000000000", "i")):
        with pytest.raises((BadRowError, PrecisionError, ConstraintError), match=f"'{column}'|{column}: "):
            warehouse.load(UNVERSIONED, f"id,n,c,i\n{line}\n")


def test_a_null_in_the_key_is_refused_with_column_and_count(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (a int NOT NULL, b int, v text)")

    with pytest.raises(NullKeyError) as caught:
        warehouse.load(LoadSpec(table="orders", unique_key=["a", "b"]), "a,b,v\n1,,x\n2,7,y\n")

    assert caught.value.columns == (("b", 1),)


def test_a_bad_value_is_shown_with_file_line_and_column(orders: Warehouse) -> None:
    with pytest.raises(BadRowError) as caught:
        orders.load(ORDERS, 'id,v,ver\n1,"two\nlines",1\n2,x,angry\n')

    assert (caught.value.file, caught.value.line, caught.value.column) == ("in0.csv", 4, "ver")
    assert rows(orders) == []
    assert orders.events("public.orders")[-1][3] == "failed"


@pytest.mark.parametrize("zipped", [False, True])
def test_a_nul_byte_is_shown_with_file_line_and_column(orders: Warehouse, zipped: bool) -> None:
    with pytest.raises(BadRowError) as caught:
        orders.load(ORDERS, b'id,v,ver\n1,"a\nb",1\n2,b\0b,1\n', zipped=zipped)

    assert (caught.value.line, caught.value.column) == (4, "v")


def test_types_that_only_their_text_can_hash_are_digested(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE DOMAIN doc AS json")
    warehouse.sql("CREATE TYPE pair AS (a int, j json)")
    warehouse.sql(
        "CREATE TABLE orders (id int PRIMARY KEY, d date, j doc, p pair, js json[], b bit(3), t tsvector, m money)"
    )
    spec = LoadSpec(table="orders", unique_key="id", event_time="d")
    text = 'id,d,j,p,js,b,t,m\n1,2025-05-01,{},"(1,{})","{}",101,a,1.5\n'

    receipt = warehouse.load(spec, text)

    assert receipt.measure.row_count == 1
    assert warehouse.load(spec, text).measure == receipt.measure


@pytest.mark.parametrize(
    "kind", ["int4range", "daterange", "uuid", "text", "interval", "inet", "numeric(5,1)", "bool", "oid"]
)
def test_any_ordered_type_may_be_a_version(warehouse: Warehouse, kind: str) -> None:
    older, newer = {
        "int4range": ('"[1,5)"', '"[1,6)"'),
        "daterange": ('"[2025-01-01,2025-02-01)"', '"[2025-01-01,2025-03-01)"'),
        "uuid": ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
        "text": ("a", "b"),
        "interval": ("23:00:00", "1 day"),
        "inet": ("10.0.0.1", "10.0.0.2"),
        "numeric(5,1)": ("9.5", "10"),
        "bool": ("f", "t"),
        "oid": ("9", "10"),
    }[kind]
    warehouse.sql(f"CREATE TABLE orders (id int PRIMARY KEY, ver {kind})")
    warehouse.load(ORDERS, f"id,ver\n1,{newer}\n")

    assert warehouse.load(ORDERS, f"id,ver\n1,{older}\n").effects == Effects(stale=1)


# --- the bytes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("damage", ["flipped", "cut", "longer", "replaced"])
def test_bytes_other_than_the_manifest_says_are_refused(orders: Warehouse, zipped: bool, damage: str) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,aaaaaaaa,1\n2,bbbbbbbb,1\n", zipped=zipped)
    key = (manifest.batch_id, manifest.parts[0].name)
    raw = bytearray(orders.batches.content[key])
    if damage == "flipped":
        raw[-12] ^= 0x01
    elif damage == "cut":
        raw = raw[:-9]
    elif damage == "longer":
        raw += b"3,c,1\n"
    else:
        raw = bytearray(b"id,v,ver\n1,a,not a number\n")
    orders.batches.content[key] = bytes(raw)

    with pytest.raises(BatchDamagedError):
        orders.load_again(ORDERS, manifest)

    assert rows(orders) == []


class Torn(io.BytesIO):
    """A file on a network that fails in its middle."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise OSError("network is unreachable")
        return super().read(10)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_file_that_cannot_be_read_to_its_end_is_no_bad_row_and_no_timeout(orders: Warehouse, zipped: bool) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n", zipped=zipped)
    whole = orders.batches.open_part
    orders.batches.open_part = lambda manifest, part: Torn(whole(manifest, part).read())  # type: ignore[method-assign]

    with pytest.raises(OSError, match="network is unreachable"):
        orders.load_again(ORDERS, manifest)

    assert rows(orders) == []


def test_fewer_records_than_the_manifest_says_are_refused(orders: Warehouse) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    lying = replace(manifest, parts=(replace(manifest.parts[0], rows=2),))

    with pytest.raises(BatchDamagedError, match="2 rows"):
        orders.load_again(ORDERS, lying)


# --- the gate --------------------------------------------------------------------------------------------------------


def test_a_failed_check_publishes_nothing(orders: Warehouse) -> None:
    spec = LoadSpec(
        table="orders", unique_key="id", version="ver", checks=[{"row_count": {"min": 5}}, {"not_null": "v"}]
    )

    with pytest.raises(GateClosedError) as caught:
        orders.load(spec, "id,v,ver\n1,,1\n2,b,1\n")

    assert "2 checks failed, nothing was published" in str(caught.value)
    assert "1 of 2 rows have NULL" in str(caught.value)
    assert rows(orders) == []
    assert orders.events("public.orders") == [("2025-05-01", "20250501_01", "stage_merge", "rejected")]
    assert orders.sql("SELECT check_name, verdict FROM airflow_idempotent.check_results ORDER BY 1") == [
        ("not_null(v)", "failed"),
        ("row_count(min 5)", "failed"),
    ]


def test_a_warning_is_recorded_and_publishes(orders: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", checks=[{"not_null": {"columns": ["v"], "severity": "warn"}}])

    receipt = orders.load(spec, "id,v,ver\n1,,1\n")

    assert [str(result.verdict) for result in receipt.checks] == ["warned"]
    assert len(rows(orders)) == 1


def test_no_check_passes_on_no_rows(orders: Warehouse) -> None:
    checks = [{"not_null": "v"}, {"unique": ["v"]}, {"row_count": {"max": 5}}]
    spec = LoadSpec(table="orders", unique_key="id", checks=checks)

    receipt = orders.load(spec, "id,v,ver\n")

    assert [str(result.verdict) for result in receipt.checks] == ["not_evaluated", "not_evaluated", "passed"]


# --- dry runs and receipts -------------------------------------------------------------------------------------------


def test_a_dry_run_counts_exactly_and_changes_nothing(orders: Warehouse) -> None:
    orders.load(ORDERS, "id,v,ver\n1,a,1\n")
    before, events = orders.physical("orders"), orders.events("public.orders")

    receipt = orders.load(ORDERS, "id,v,ver\n1,b,2\n2,c,1\n", revision=2, dry_run=True)

    assert receipt.dry_run
    assert receipt.effects == Effects(inserted=1, updated=1)
    assert orders.physical("orders") == before
    assert orders.events("public.orders") == events
    assert orders.load(ORDERS, "id,v,ver\n1,b,2\n2,c,1\n", revision=2).effects == receipt.effects


def test_a_dry_run_of_a_table_that_does_not_exist_leaves_none(warehouse: Warehouse) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "n", "data_type": "NUMERIC (5, 2)"}]
    spec = LoadSpec(table="fresh.orders", unique_key="id", columns=columns)

    assert warehouse.load(spec, "id,n\n1,1.25\n", dry_run=True).effects == Effects(inserted=1)
    assert warehouse.sql("SELECT to_regclass('fresh.orders')") == [(None,)]
    with pytest.raises(PrecisionError):
        warehouse.load(spec, "id,n\n1,1.005\n", dry_run=True)


def test_an_unchanged_batch_may_be_skipped_by_its_receipt(orders: Warehouse) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    first = orders.load_again(ORDERS, manifest)

    again = orders.load_again(ORDERS, manifest, skip_unchanged=True)

    assert again.replayed
    assert (again.event_id, again.effects) == (first.event_id, first.effects)
    assert len(orders.events("public.orders")) == 1


def test_a_receipt_does_not_stand_for_another_spec_or_another_last_batch(orders: Warehouse) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    orders.load_again(ORDERS, manifest)
    narrower = LoadSpec(table="orders", unique_key="id", version="ver", checks=[{"not_null": "v"}])

    assert not orders.load_again(narrower, manifest, skip_unchanged=True).replayed
    orders.load(ORDERS, "id,v,ver\n1,b,2\n", revision=2)
    assert not orders.load_again(ORDERS, manifest, skip_unchanged=True).replayed


# --- the connection --------------------------------------------------------------------------------------------------


def test_a_role_that_sets_everything_otherwise_changes_nothing(orders: Warehouse) -> None:
    orders.sql("CREATE TABLE odd (id int PRIMARY KEY, d date, t timestamptz, s text, a text[], i interval, ver int)")
    settings = {
        "TimeZone": "America/New_York",
        "DateStyle": "SQL, DMY",
        "IntervalStyle": "sql_standard",
        "standard_conforming_strings": "off",
        "array_nulls": "off",
        "default_transaction_isolation": "serializable",
        "client_encoding": "LATIN1",
        "timezone_abbreviations": "India",
    }
    for name, value in settings.items():
        text = f"ALTER DATABASE %I SET {name} TO ''{value}''"
        orders.sql(f"DO $$ BEGIN EXECUTE format('{text}', current_database()); END $$")
    spec = LoadSpec(table="odd", unique_key="id", version="ver")
    text = 'id,d,t,s,a,i,ver\n1,02/03/2025,2025-05-01 22:30:00,\\N,"{a,NULL}",-1 day,1\n2,\\N,\\N,é,\\N,\\N,1\n'

    orders.load(spec, text, null="\\N")

    read = (
        "SELECT d = make_date(2025, 2, 3), t = timestamptz '2025-05-01 22:30:00+00', s IS NULL, a[2] IS NULL, "
        "extract(day FROM i) = -1 FROM odd ORDER BY id"
    )
    assert orders.sql(read) == [(True,) * 5, (None, None, False, True, None)]
    assert orders.load(spec, text, null="\\N").effects == Effects(unchanged=2)


def test_a_connection_in_autocommit_mode_is_still_one_transaction(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text CHECK (v <> 'bad'), ver int)")

    def autocommitting() -> Any:
        connection = warehouse.connect()
        connection.autocommit = True
        return connection

    with pytest.raises(ConstraintError, match="nothing was changed"):
        warehouse.load(ORDERS, "id,v,ver\n1,good,1\n2,bad,1\n", connect=autocommitting)

    assert rows(warehouse) == []
    assert warehouse.sql("SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'") == [(0,)]


class Pooled:
    """One server connection lent to one client after the other, as a transaction pooler does."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def close(self) -> None:
        self._connection.rollback()


def test_one_pooled_connection_serves_one_load_after_the_other(orders: Warehouse) -> None:
    connection = orders.connect()
    strict = LoadSpec(table="orders", unique_key="id", version="ver", checks=[{"row_count": 9}])

    for number in range(3):
        orders.load(ORDERS, f"id,v,ver\n{number},a,1\n", connect=lambda: Pooled(connection))
        orders.load(ORDERS, f"id,v,ver\n{number},b,2\n", connect=lambda: Pooled(connection), dry_run=True)
        with pytest.raises(BadRowError):
            orders.load(ORDERS, "id,v,ver\nx,a,1\n", connect=lambda: Pooled(connection))
        with pytest.raises(GateClosedError):
            orders.load(strict, "id,v,ver\n1,z,9\n", connect=lambda: Pooled(connection))

    assert len(rows(orders)) == 3
    cursor = connection.cursor()
    cursor.execute("SELECT current_setting('TimeZone'), count(*) FROM pg_class WHERE relpersistence = 't' GROUP BY 1")
    assert cursor.fetchall() == []
    cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    assert cursor.fetchall() == [(0,)]
    connection.rollback()


def test_a_statement_timeout_of_the_role_is_reported_as_one(orders: Warehouse) -> None:
    orders.sql(
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN new; END $$"
    )
    orders.sql("CREATE TRIGGER slow BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION slow()")
    for name in ("statement_timeout", "idle_in_transaction_session_timeout"):
        text = f"ALTER DATABASE %I SET {name} TO ''200ms''"
        orders.sql(f"DO $$ BEGIN EXECUTE format('{text}', current_database()); END $$")

    with pytest.raises(StatementTimeoutError, match="timeout"):
        orders.load(ORDERS, "id,v,ver\n1,a,1\n")

    assert rows(orders) == []
    patient = ORDERS.model_copy(update={"statement_timeout": timedelta(seconds=60).total_seconds()})
    assert orders.load(patient, "id,v,ver\n1,a,1\n").effects == Effects(inserted=1)


def test_a_server_that_cannot_be_reached_is_an_error_of_ours(orders: Warehouse, database: str) -> None:
    driver = __import__(type(orders.connect()).__module__.partition(".")[0])

    with pytest.raises(UnreachableError) as caught:
        orders.load(ORDERS, "id,v,ver\n", connect=lambda: driver.connect("postgresql://me:secret@127.0.0.1:1/none"))

    assert caught.value.retryable
    assert "secret" not in str(caught.value)


def test_a_connection_that_is_killed_is_retryable_and_leaves_nothing(orders: Warehouse) -> None:
    orders.sql(
        "CREATE FUNCTION suicide() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END $$"
    )
    orders.sql("CREATE TRIGGER suicide BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION suicide()")

    with pytest.raises(ConnectionLostError) as caught:
        orders.load(ORDERS, "id,v,ver\n1,a,1\n")

    assert caught.value.retryable
    assert rows(orders) == []


def test_a_deferred_constraint_fails_at_commit_with_nothing_written(orders: Warehouse) -> None:
    orders.sql("CREATE TABLE parent (id int PRIMARY KEY)")
    orders.sql("ALTER TABLE orders ADD FOREIGN KEY (ver) REFERENCES parent DEFERRABLE INITIALLY DEFERRED")

    with pytest.raises(ConstraintError, match="foreign key"):
        orders.load(ORDERS, "id,v,ver\n1,a,1\n")

    assert rows(orders) == []
    assert orders.events("public.orders")[-1][3] == "failed"
