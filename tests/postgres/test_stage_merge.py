"""stage_merge against a real PostgreSQL: what ends up in the table, and what is counted."""

from __future__ import annotations

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
    RepeatedKeyError,
    SchemaDriftError,
    StatementTimeoutError,
    TargetMissingError,
    UnreachableError,
)
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import Warehouse, now

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"])
UNVERSIONED = LoadSpec(table="orders", unique_key=["id"])


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    return warehouse


def rows(warehouse: Warehouse, table: str = "orders") -> list[tuple[Any, ...]]:
    return warehouse.sql(f"SELECT * FROM {table} ORDER BY 1, 2")


# --- effects ---------------------------------------------------------------------------------------


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


# --- which row wins --------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["id int PRIMARY KEY", "id int"])
@pytest.mark.parametrize("order", [("alpha", "beta"), ("beta", "alpha")])
def test_a_tie_has_one_winner_in_whatever_order(warehouse: Warehouse, key: str, order: tuple[str, str]) -> None:
    warehouse.sql(f"CREATE TABLE orders ({key}, v text, ver int)")

    within = warehouse.load(ORDERS, "id,v,ver\n" + "".join(f"1,{name},5\n" for name in order))
    for name in order:
        warehouse.load(ORDERS, f"id,v,ver\n2,{name},5\n", partition="2025-05-02")

    assert within.effects == Effects(inserted=1, duplicate=1)
    assert rows(warehouse) == [(1, "beta", 5), (2, "beta", 5)]


def test_null_is_older_than_every_version(orders: Warehouse) -> None:
    orders.sql("INSERT INTO orders VALUES (1, 'seven', 7), (2, 'none', null)")

    receipt = orders.load(ORDERS, "id,v,ver\n1,null,\n2,three,3\n3,null,\n3,four,4\n")

    assert receipt.effects == Effects(inserted=1, updated=1, stale=1, duplicate=1)
    assert rows(orders) == [(1, "seven", 7), (2, "three", 3), (3, "four", 4)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_versions_of_several_columns_are_compared_one_after_the_other(warehouse: Warehouse, order: tuple[int, ...]) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, major int, minor int, v text)")
    spec = LoadSpec(table="orders", unique_key="id", version=["major", "minor"])
    lines = ["1,2,,null minor\n", "1,2,1,winner\n", "1,1,99,old major\n"]

    for number in order:
        warehouse.load(spec, "id,major,minor,v\n" + lines[number])
    warehouse.load(spec, "id,major,minor,v\n" + "".join(lines[number] for number in order).replace("1,", "2,", 1))

    assert rows(warehouse)[0] == (1, 2, 1, "winner")


def test_a_key_equal_but_written_otherwise_ends_the_same_in_any_order(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", version="ver")
    seen = []
    for turn, order in enumerate((["1.0,a", "1.00,a"], ["1.00,a", "1.0,a"])):
        warehouse.sql("DROP TABLE IF EXISTS orders")
        warehouse.sql("CREATE TABLE orders (id numeric PRIMARY KEY, v text, ver int)")
        for line in order:
            warehouse.load(spec, f"id,v,ver\n{line},1\n")
        before = warehouse.physical("orders")
        for line in order:
            assert warehouse.load(spec, f"id,v,ver\n{line},1\n").effects.touched == 0, turn
        assert warehouse.physical("orders") == before
        seen.append(warehouse.sql("SELECT id::text, v, ver FROM orders"))

    assert seen[0] == seen[1]


def test_without_version_a_key_written_otherwise_settles(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id numeric PRIMARY KEY, v text)")
    warehouse.load(UNVERSIONED, "id,v\n1.0,a\n")

    assert warehouse.load(UNVERSIONED, "id,v\n1.00,a\n", revision=2).effects == Effects(updated=1)
    assert warehouse.load(UNVERSIONED, "id,v\n1.00,a\n", revision=2).effects == Effects(unchanged=1)


def test_a_table_of_nothing_but_keys(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (a int, b int, PRIMARY KEY (a, b))")
    warehouse.sql("INSERT INTO orders VALUES (1, 1)")

    receipt = warehouse.load(LoadSpec(table="orders", unique_key=["a", "b"]), "a,b\n1,1\n1,2\n")

    assert receipt.effects == Effects(inserted=1, unchanged=1)


# --- without version -------------------------------------------------------------------------------


def test_without_version_the_newest_batch_wins_in_any_order(warehouse: Warehouse) -> None:
    texts = {1: "id,v\n1,first\n2,only in first\n", 2: "id,v\n1,second\n3,only in second\n"}
    ends = []
    for order in ([1, 2], [2, 1], [2, 1, 2, 1], [1, 2, 1], [1, 1, 2, 2]):
        warehouse.sql("DROP TABLE IF EXISTS orders")
        warehouse.sql("DROP SCHEMA IF EXISTS airflow_idempotent CASCADE")
        warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text)")
        manifests = {number: warehouse.batches.land(UNVERSIONED, text, revision=number) for number, text in texts.items()}
        for number in order:
            warehouse.load_again(UNVERSIONED, manifests[number])
        ends.append(rows(warehouse))

    assert ends == [[(1, "second"), (2, "only in first"), (3, "only in second")]] * 5


def test_without_version_an_older_batch_counts_as_stale(orders: Warehouse) -> None:
    old = orders.batches.land(UNVERSIONED, "id,v,ver\n1,old,1\n2,same,1\n3,more,1\n", revision=1)
    orders.load(UNVERSIONED, "id,v,ver\n1,new,1\n2,same,1\n", revision=2)

    assert orders.load_again(UNVERSIONED, old).effects == Effects(inserted=1, unchanged=1, stale=1)
    assert orders.load_again(UNVERSIONED, old).effects == Effects(unchanged=2, stale=1)


def test_without_version_another_partition_is_no_newer_batch(orders: Warehouse) -> None:
    orders.load(UNVERSIONED, "id,v,ver\n1,a,1\n", revision=3, partition="2025-05-02")

    assert orders.load(UNVERSIONED, "id,v,ver\n1,b,1\n", revision=1).effects == Effects(updated=1)


def test_without_version_a_landing_begun_anew_is_not_taken_for_old(orders: Warehouse) -> None:
    orders.load(UNVERSIONED, "id,v,ver\n1,second,1\n", revision=2, created_at=now())

    receipt = orders.load(UNVERSIONED, "id,v,ver\n1,after the folder was deleted,1\n", revision=1, created_at=now())

    assert receipt.effects == Effects(updated=1)


def test_with_version_an_older_batch_may_still_win(orders: Warehouse) -> None:
    orders.load(ORDERS, "id,v,ver\n1,corrected too early,1\n", revision=2)

    assert orders.load(ORDERS, "id,v,ver\n1,greater version,2\n", revision=1).effects == Effects(updated=1)


# --- targets as people make them --------------------------------------------------------------------


def test_a_target_without_index_is_merged_all_the_same(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int)")
    text = "id,v,ver\n5,a,1\n5,b,2\n6,c,1\n"

    assert warehouse.load(ORDERS, text).effects == Effects(inserted=2, duplicate=1)
    assert warehouse.load(ORDERS, text).effects == Effects(unchanged=2, duplicate=1)
    assert warehouse.load(ORDERS, "id,v,ver\n5,z,3\n").effects == Effects(updated=1)
    assert rows(warehouse) == [(5, "z", 3), (6, "c", 1)]


def test_keys_that_the_target_holds_twice_are_refused(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int)")
    warehouse.sql("INSERT INTO orders VALUES (1, 'a', 1), (1, 'b', 2), (2, 'x', 1), (3, 'y', 1), (3, 'y', 1)")
    before = warehouse.physical("orders")

    with pytest.raises(RepeatedKeyError) as caught:
        warehouse.load(ORDERS, "id,v,ver\n1,c,3\n2,z,9\n")

    assert caught.value.count == 1
    assert "nothing loaded" in str(caught.value)
    assert warehouse.physical("orders") == before


def test_repeated_keys_outside_the_batch_do_not_matter(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int)")
    warehouse.sql("INSERT INTO orders VALUES (3, 'y', 1), (3, 'y', 1)")

    assert warehouse.load(ORDERS, "id,v,ver\n1,c,3\n").effects == Effects(inserted=1)


def test_a_unique_index_on_more_columns_keeps_no_key_unique(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int, PRIMARY KEY (id, ver))")

    warehouse.load(ORDERS, "id,v,ver\n1,a,1\n")
    warehouse.load(ORDERS, "id,v,ver\n1,b,2\n")

    assert rows(warehouse) == [(1, "b", 2)]


@pytest.mark.parametrize(
    "index",
    [
        "CREATE UNIQUE INDEX ON orders (id) WHERE ver > 0",
        "CREATE UNIQUE INDEX ON orders ((id + 0))",
        "ALTER TABLE orders ADD UNIQUE (id) DEFERRABLE",
    ],
)
def test_an_index_that_cannot_stop_a_second_row_is_not_relied_on(warehouse: Warehouse, index: str) -> None:
    warehouse.sql("CREATE TABLE orders (id int, v text, ver int)")
    warehouse.sql(index)
    text = "id,v,ver\n1,a,-1\n2,b,1\n"

    assert warehouse.load(ORDERS, text).effects == Effects(inserted=2)
    assert warehouse.load(ORDERS, text).effects == Effects(unchanged=2)


def test_a_second_unique_constraint_refuses_loudly(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text UNIQUE, ver int)")
    warehouse.sql("INSERT INTO orders VALUES (1, 'taken', 1)")

    with pytest.raises(ConstraintError, match="orders_v_key"):
        warehouse.load(ORDERS, "id,v,ver\n2,taken,1\n3,free,1\n")

    assert rows(warehouse) == [(1, "taken", 1)]


def test_a_value_that_its_row_gives_up_can_be_taken_by_a_new_one(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text UNIQUE, ver int)")
    warehouse.sql("INSERT INTO orders VALUES (1, 'taken', 1)")

    assert warehouse.load(ORDERS, "id,v,ver\n1,given up,2\n2,taken,1\n").effects == Effects(inserted=1, updated=1)


def test_generated_columns_fill_themselves(warehouse: Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE orders (sid int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id text UNIQUE, n numeric, "
        "twice numeric GENERATED ALWAYS AS (n * 2) STORED)"
    )
    warehouse.load(UNVERSIONED, "id,n\na,5\nb,6\n")
    before = warehouse.physical("orders")

    assert warehouse.load(UNVERSIONED, "id,n\na,5\nb,6\n").effects == Effects(unchanged=2)
    assert warehouse.physical("orders") == before
    assert [row[3] for row in rows(warehouse)] == [10, 12]
    with pytest.raises(SchemaDriftError, match="'twice' is generated"):
        warehouse.load(UNVERSIONED, "id,n,twice\na,5,9\n")
    with pytest.raises(SchemaDriftError, match="'sid' is generated"):
        warehouse.load(UNVERSIONED, "sid,id,n\n7,a,5\n")


def test_no_sequence_number_is_burnt_by_updates(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (sid int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, id text UNIQUE, v int)")
    warehouse.load(UNVERSIONED, "id,v\na,1\n")

    for number in range(2, 6):
        warehouse.load(UNVERSIONED, f"id,v\na,{number}\n", revision=number)

    assert warehouse.sql("SELECT last_value FROM orders_sid_seq") == [(1,)]


def test_columns_missing_in_the_file_take_their_default_and_are_never_overwritten(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, status text NOT NULL DEFAULT 'new')")
    warehouse.sql("INSERT INTO orders VALUES (1, 'old', 'paid')")

    warehouse.load(UNVERSIONED, "id,v\n1,new\n2,two\n")

    assert rows(warehouse) == [(1, "new", "paid"), (2, "two", "new")]


def test_a_row_moves_between_partitions_when_the_key_lacks_the_partition_column(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, v text, ver int, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2025-01-01') TO ('2025-02-01')")
    warehouse.sql("CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2025-02-01') TO ('2025-03-01')")
    text = "id,d,v,ver\n1,2025-02-05,feb,2\n"
    warehouse.load(ORDERS, "id,d,v,ver\n1,2025-01-05,jan,1\n")

    assert warehouse.load(ORDERS, text).effects == Effects(updated=1)
    assert warehouse.sql("SELECT tableoid::regclass::text, v FROM orders") == [("orders_2", "feb")]
    assert warehouse.load(ORDERS, text).effects == Effects(unchanged=1)


def test_a_row_without_a_partition_is_refused(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")

    with pytest.raises(ConstraintError, match="no partition of relation"):
        warehouse.load(LoadSpec(table="orders", unique_key=["id", "d"]), "id,d\n1,2025-02-05\n")


@pytest.mark.parametrize(
    "name",
    ['"Order"', 'analytics."order"', '"Sales-2024"."we""ird"', "p" * 63, "ж" * 31, '"' + "x" * 70 + '"'],
)
def test_names_are_quoted_exactly_once(warehouse: Warehouse, name: str) -> None:
    spec = LoadSpec(
        table=name,
        unique_key=["select"],
        version=["end"],
        columns=[
            {"name": "select", "data_type": "int"},
            {"name": 'we"ird; --', "data_type": "text"},
            {"name": "100%", "data_type": "numeric(6,2)"},
            {"name": "%(x)s", "data_type": "text"},
            {"name": "end", "data_type": "timestamptz"},
        ],
        partition_by={"column": "end"},
        checks=[{"not_null": ['we"ird; --', "100%"]}, {"unique": ["select"]}],
    )
    text = 'select,"we""ird; --",100%,%(x)s,end\n1,a,1.50,z,2025-05-01 10:00+00\n'

    assert warehouse.load(spec, text).effects == Effects(inserted=1)
    assert warehouse.load(spec, text.replace("10:00", "11:00")).effects == Effects(updated=1)
    assert warehouse.load(spec, text.replace("10:00", "11:00")).effects == Effects(unchanged=1)
    assert warehouse.validate(spec, warehouse.batches.land(spec, text)).state is State.VALIDATED


def test_columns_that_differ_by_case_only_are_two(warehouse: Warehouse) -> None:
    warehouse.sql('CREATE TABLE orders ("Id" int PRIMARY KEY, id int, v text)')

    warehouse.load(LoadSpec(table="orders", unique_key=["Id"]), "Id,id,v\n1,99,x\n")

    assert rows(warehouse) == [(1, 99, "x")]
    with pytest.raises(SchemaDriftError, match=r"'ID' is missing in the target, did you mean 'Id'\?(.|\n)*Id, id, v"):
        warehouse.load(LoadSpec(table="orders", unique_key=["ID"]), "Id,id,v\n1,99,x\n")


def test_the_search_path_changes_nothing(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE SCHEMA raw; CREATE SCHEMA mart")
    warehouse.sql("CREATE TABLE raw.orders (id int PRIMARY KEY, v text)")
    warehouse.sql("CREATE TABLE mart.orders (id int PRIMARY KEY, v text, extra int DEFAULT 1)")
    warehouse.sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path TO raw, public', current_database()); END $$")

    warehouse.load(LoadSpec(table="mart.orders", unique_key="id"), "id,v\n1,new\n")

    assert warehouse.sql("SELECT * FROM mart.orders") == [(1, "new", 1)]
    assert warehouse.sql("SELECT * FROM raw.orders") == []
    with pytest.raises(TargetMissingError, match="did you mean"):
        warehouse.load(UNVERSIONED, "id,v\n1,new\n")


# --- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("digits", ["1.005", "0.001", "-7.123", "99999.9999"])
def test_digits_that_would_be_rounded_are_refused(warehouse: Warehouse, digits: str) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, n numeric(7,2))")

    with pytest.raises(PrecisionError, match=r"'n' is numeric\(7,2\): 1 value"):
        warehouse.load(UNVERSIONED, f"id,n\n1,{digits}\n2,3.5\n")

    assert rows(warehouse) == []


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
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, d date, j doc, p pair, js json[], b bit(3), t tsvector, m money)")
    spec = LoadSpec(table="orders", unique_key="id", event_time="d")
    text = 'id,d,j,p,js,b,t,m\n1,2025-05-01,{},"(1,{})","{}",101,a,1.5\n'

    receipt = warehouse.load(spec, text)

    assert receipt.measure.row_count == 1
    assert warehouse.load(spec, text).measure == receipt.measure


@pytest.mark.parametrize("kind", ["int4range", "daterange", "uuid", "text", "interval", "inet", "numeric(5,1)", "bool", "oid"])
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


# --- the bytes -------------------------------------------------------------------------------------


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


def test_fewer_records_than_the_manifest_says_are_refused(orders: Warehouse) -> None:
    manifest = orders.batches.land(ORDERS, "id,v,ver\n1,a,1\n")
    lying = replace(manifest, parts=(replace(manifest.parts[0], rows=2),))

    with pytest.raises(BatchDamagedError, match="2 rows"):
        orders.load_again(ORDERS, lying)


# --- columns ---------------------------------------------------------------------------------------


def test_columns_are_matched_by_name(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, price int, qty int)")

    warehouse.load(UNVERSIONED, "id,qty,price\n1,2,500\n")

    assert rows(warehouse) == [(1, 500, 2)]


def test_an_unknown_column_is_refused_or_left_out(orders: Warehouse) -> None:
    text = "id,v,ver,surprise\n1,a,1,boo\n"

    with pytest.raises(SchemaDriftError, match="'surprise' of the batch is not in the target"):
        orders.load(ORDERS, text)

    ignoring = ORDERS.model_copy(update={"on_schema_change": "ignore"})
    assert orders.load(ignoring, text).effects == Effects(inserted=1)
    assert rows(orders) == [(1, "a", 1)]


def test_a_column_that_no_check_can_find_is_refused_before_anything_is_written(orders: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", checks=[{"not_null": "vv"}])

    with pytest.raises(SchemaDriftError, match=r"'vv' is missing in the target, did you mean 'v'\?"):
        orders.load(spec, "id,v,ver\n1,a,1\n")

    assert rows(orders) == []


def test_a_check_on_a_column_that_only_the_target_has_waits_for_validate(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, status text DEFAULT 'new')")
    spec = LoadSpec(table="orders", unique_key="id", checks=[{"not_null": "status"}])
    manifest = warehouse.batches.land(spec, "id,v\n1,a\n")

    receipt = warehouse.load_again(spec, manifest)

    assert [str(result.verdict) for result in receipt.checks] == ["not_evaluated"]
    verdicts = {result.check: str(result.verdict) for result in warehouse.validate(spec, manifest).checks}
    assert verdicts["not_null(status)"] == "passed"


@pytest.mark.parametrize("kind", ["int", "text", "bool"])
def test_a_partition_column_that_is_no_time_is_refused(warehouse: Warehouse, kind: str) -> None:
    warehouse.sql(f"CREATE TABLE orders (id int PRIMARY KEY, d {kind})")
    spec = LoadSpec(table="orders", unique_key="id", event_time="d")

    with pytest.raises(SchemaDriftError, match="'d'.*date, timestamp or timestamptz"):
        warehouse.load(spec, "id,d\n1,1\n")


# --- the gate --------------------------------------------------------------------------------------


def test_a_failed_check_publishes_nothing(orders: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", version="ver", checks=[{"row_count": {"min": 5}}, {"not_null": "v"}])

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


# --- dry runs and receipts -------------------------------------------------------------------------


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


# --- the connection --------------------------------------------------------------------------------


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

    for number in range(3):
        orders.load(ORDERS, f"id,v,ver\n{number},a,1\n", connect=lambda: Pooled(connection))
        with pytest.raises(BadRowError):
            orders.load(ORDERS, "id,v,ver\nx,a,1\n", connect=lambda: Pooled(connection))

    assert len(rows(orders)) == 3
    cursor = connection.cursor()
    cursor.execute("SELECT current_setting('TimeZone'), count(*) FROM pg_class WHERE relpersistence = 't' GROUP BY 1")
    assert cursor.fetchall() == []
    cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    assert cursor.fetchall() == [(0,)]
    connection.rollback()


def test_a_statement_timeout_of_the_role_is_reported_as_one(orders: Warehouse) -> None:
    orders.sql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.5); RETURN new; END $$")
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
    orders.sql("CREATE FUNCTION suicide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END $$")
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
