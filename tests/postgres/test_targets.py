"""Which row wins, and targets as people make them: without keys, with odd ones, partitioned, with odd names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from airflow_idempotent.core.step import Effects, State
from airflow_idempotent.engine.states import partition_states
from airflow_idempotent.errors import (
    ConstraintError,
    DatabaseError,
    RepeatedKeyError,
    SchemaDriftError,
    TargetMissingError,
)
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import Warehouse, now
from tests.postgres_fixtures import DRIVERS, Connect, opening

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"])
UNVERSIONED = LoadSpec(table="orders", unique_key=["id"])


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    return warehouse


def rows(warehouse: Warehouse, table: str = "orders") -> list[tuple[Any, ...]]:
    return warehouse.sql(f"SELECT * FROM {table} ORDER BY 1, 2")


GRANTS = re.findall(r"```sql\n(.*?)```", (Path(__file__).parents[2] / "docs/grants.md").read_text(), re.DOTALL)
"""To load a table, to make one, to read the ledger: as the page says."""


@contextmanager
def role_of(database: str, warehouse: Warehouse, grants: Sequence[str]) -> Iterator[Warehouse]:
    """The database as a role sees it that may do nothing but what is granted to it."""
    name = database.rpartition("/")[2]
    role = f"role_{uuid4().hex[:12]}"
    warehouse.sql(f"CREATE ROLE {role} LOGIN")
    for text in grants:
        for word, real in (("warehouse", name), ("loader", role), ("reader", role)):
            text = re.sub(rf"\b{word}\b", real, text)
        warehouse.sql(text)
    with opening(DRIVERS[0], database.replace("postgres@", f"{role}@")) as connect:
        yield Warehouse(connect, warehouse.batches)
    warehouse.sql(f"DROP OWNED BY {role}; DROP ROLE {role}")


# --- which row wins --------------------------------------------------------------------------------------------------


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
def test_versions_of_several_columns_are_compared_one_after_the_other(
    warehouse: Warehouse, order: tuple[int, ...]
) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, major int, minor int, v text)")
    spec = LoadSpec(table="orders", unique_key="id", version=["major", "minor"])
    lines = ["1,2,,null minor\n", "1,2,1,winner\n", "1,1,99,old major\n"]

    for number in order:
        warehouse.load(spec, "id,major,minor,v\n" + lines[number])
    warehouse.load(spec, "id,major,minor,v\n" + "".join(lines[number] for number in order).replace("1,", "2,", 1))

    assert rows(warehouse)[0] == (1, 2, 1, "winner")


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("numeric", ("1.0", "1.00")),
        ("float8", ("0", "-0")),
        ("interval", ("1 day", "24:00:00")),
        ("jsonb", ('"{""a"": 1}"', '"{""a"": 1.0}"')),
        ("citext", ("abc", "ABC")),
        ("numeric[]", ("{1.0}", "{1.00}")),
        ("char(3)", ("a", '"a "')),
    ],
)
@pytest.mark.parametrize("role", ["id", "ver", "v"])
def test_values_equal_but_written_otherwise_end_the_same_in_any_order(
    warehouse: Warehouse, kind: str, values: tuple[str, str], role: str
) -> None:
    warehouse.sql("CREATE EXTENSION IF NOT EXISTS citext")
    lines = [",".join(value if name == role else "1" for name in ("id", "ver", "v")) for value in values]
    ends = []
    for turn, order in enumerate((lines, lines[::-1], None)):
        table = f"orders_{turn}"
        types = [f"{name} {kind if name == role else 'int'}" for name in ("id", "ver", "v")]
        warehouse.sql(f"CREATE TABLE {table} ({', '.join(types)}, PRIMARY KEY (id))")
        spec = LoadSpec(table=table, unique_key="id", version="ver")
        texts = [f"id,ver,v\n{line}\n" for line in order or ()] or ["id,ver,v\n" + "\n".join(lines) + "\n"]
        for text in texts:
            warehouse.load(spec, text)
        before = warehouse.physical(table)
        for text in texts:
            assert warehouse.load(spec, text).effects.touched == 0
        assert warehouse.physical(table) == before
        ends.append(warehouse.sql(f"SELECT id::text, ver::text, v::text FROM {table}"))

    assert ends[0] == ends[1] == ends[2]


def test_without_version_a_key_written_otherwise_settles(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id numeric PRIMARY KEY, v text)")
    warehouse.load(UNVERSIONED, "id,v\n1.0,a\n")

    assert warehouse.load(UNVERSIONED, "id,v\n1.00,a\n", revision=2).effects == Effects(updated=1)
    assert warehouse.load(UNVERSIONED, "id,v\n1.00,a\n", revision=2).effects == Effects(unchanged=1)


def test_a_version_may_be_part_of_the_key(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, ver int, v text, PRIMARY KEY (id, ver))")
    spec = LoadSpec(table="orders", unique_key=["id", "ver"], version=["ver"])

    assert warehouse.load(spec, "id,ver,v\n1,1,a\n1,2,b\n").effects == Effects(inserted=2)
    assert warehouse.load(spec, "id,ver,v\n1,1,b\n1,2,a\n").effects == Effects(updated=1, stale=1)


def test_a_null_version_where_the_target_allows_none_never_wins(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int NOT NULL)")
    warehouse.load(ORDERS, "id,v,ver\n1,a,1\n")

    assert warehouse.load(ORDERS, "id,v,ver\n1,z,\n").effects == Effects(stale=1)
    with pytest.raises(ConstraintError, match="null value in column"):
        warehouse.load(ORDERS, "id,v,ver\n2,z,\n")


def test_a_table_of_nothing_but_keys(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (a int, b int, PRIMARY KEY (a, b))")
    warehouse.sql("INSERT INTO orders VALUES (1, 1)")

    receipt = warehouse.load(LoadSpec(table="orders", unique_key=["a", "b"]), "a,b\n1,1\n1,2\n")

    assert receipt.effects == Effects(inserted=1, unchanged=1)


# --- without version -------------------------------------------------------------------------------------------------


def test_without_version_the_newest_batch_wins_in_any_order(warehouse: Warehouse) -> None:
    texts = {1: "id,v\n1,first\n2,only in first\n", 2: "id,v\n1,second\n3,only in second\n"}
    ends = []
    for order in ([1, 2], [2, 1], [2, 1, 2, 1], [1, 2, 1], [1, 1, 2, 2]):
        warehouse.sql("DROP TABLE IF EXISTS orders")
        warehouse.sql("DROP SCHEMA IF EXISTS airflow_idempotent CASCADE")
        warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text)")
        manifests = {
            number: warehouse.batches.land(UNVERSIONED, text, revision=number) for number, text in texts.items()
        }
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


# --- targets as people make them -------------------------------------------------------------------------------------


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
    assert "nothing" in str(caught.value)
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


def test_a_temporary_table_of_the_same_name_is_not_the_target(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY)")

    def connect() -> Any:
        connection = warehouse.connect()
        connection.cursor().execute("CREATE TEMPORARY TABLE orders (other text)")
        connection.commit()
        return connection

    assert warehouse.load(UNVERSIONED, "id\n1\n", connect=connect).effects == Effects(inserted=1)


def test_rows_that_a_policy_hides_are_not_overwritten(warehouse: Warehouse, database: str) -> None:
    warehouse.sql("CREATE SCHEMA analytics; CREATE TABLE analytics.orders (id int PRIMARY KEY, v text, ver int)")
    warehouse.sql("INSERT INTO analytics.orders VALUES (1, 'hidden', 1)")
    warehouse.sql("ALTER TABLE analytics.orders ENABLE ROW LEVEL SECURITY")
    warehouse.sql("CREATE POLICY mine ON analytics.orders USING (id > 1) WITH CHECK (id > 0)")
    spec = ORDERS.model_copy(update={"table": "analytics.orders"})

    with role_of(database, warehouse, GRANTS[:1]) as tenant:
        assert tenant.load(spec, "id,v,ver\n2,mine,1\n").effects == Effects(inserted=1)
        with pytest.raises(ConstraintError, match="duplicate key"):
            tenant.load(spec, "id,v,ver\n1,seen,2\n")
        with pytest.raises(DatabaseError, match="row-level security"):
            tenant.load(spec, "id,v,ver\n0,seen,2\n")

    assert rows(warehouse, "analytics.orders") == [(1, "hidden", 1), (2, "mine", 1)]


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
    warehouse.sql(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET search_path TO raw, public', current_database()); END $$"
    )

    warehouse.load(LoadSpec(table="mart.orders", unique_key="id"), "id,v\n1,new\n")

    assert warehouse.sql("SELECT * FROM mart.orders") == [(1, "new", 1)]
    assert warehouse.sql("SELECT * FROM raw.orders") == []
    with pytest.raises(TargetMissingError, match="did you mean"):
        warehouse.load(UNVERSIONED, "id,v\n1,new\n")


# --- columns ---------------------------------------------------------------------------------------------------------


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

    with pytest.raises(SchemaDriftError, match=r"'d'.*date, timestamp or timestamptz"):
        warehouse.load(spec, "id,d\n1,1\n")


# --- tables that we make ----------------------------------------------------------------------------------------------

EVENTS = LoadSpec(
    table="lake.events",
    columns=[
        {"name": "id", "data_type": "BIGINT"},
        {"name": "at", "data_type": "Timestamp(3)"},
        {"name": "v", "data_type": "varchar (10)", "constraints": ["not_null"]},
    ],
    unique_key=["id", "at"],
    partition_by={"column": "at", "grain": "day", "declarative": True},
    timezone="Europe/Berlin",
)


def test_a_table_is_made_from_its_columns(warehouse: Warehouse) -> None:
    spec = EVENTS.model_copy(update={"partition_by": EVENTS.partition_by.model_copy(update={"declarative": False})})

    warehouse.load(spec, "id,at,v\n1,2025-05-01 10:00,a\n")

    assert warehouse.sql(
        "SELECT attname, format_type(atttypid, atttypmod), attnotnull FROM pg_attribute "
        "WHERE attrelid = 'lake.events'::regclass AND attnum > 0 ORDER BY attnum"
    ) == [
        ("id", "bigint", True),
        ("at", "timestamp(3) without time zone", True),
        ("v", "character varying(10)", True),
    ]
    assert warehouse.sql("SELECT reloptions FROM pg_class WHERE oid = 'lake.events'::regclass") == [
        (["fillfactor=85"],)
    ]


def test_a_table_by_partitions_has_one_child_for_each_cut_in_its_own_time_zone(warehouse: Warehouse) -> None:
    for day in ("2025-05-01", "2025-05-02", "2025-05-01"):
        warehouse.load(EVENTS, f"id,at,v\n1,{day} 23:30,a\n", partition=day)

    assert warehouse.sql(
        "SELECT c.relname, pg_get_expr(c.relpartbound, c.oid), c.reloptions FROM pg_inherits i "
        "JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'lake.events'::regclass ORDER BY 1"
    ) == [
        (
            f"events_p2025050{day}",
            f"FOR VALUES FROM ('2025-05-0{day} 00:00:00') TO ('2025-05-0{day + 1} 00:00:00')",
            ["fillfactor=85"],
        )
        for day in (1, 2)
    ]
    assert warehouse.sql("SELECT tableoid::regclass::text FROM lake.events ORDER BY 1") == [
        ("lake.events_p20250501",),
        ("lake.events_p20250502",),
    ]


@pytest.mark.parametrize(
    ("kind", "bound"),
    [("date", "2025-10-26"), ("timestamptz", "2025-10-25 22:00:00+00"), ("timestamp", "2025-10-26 00:00:00")],
)
def test_a_child_begins_when_the_day_does(warehouse: Warehouse, kind: str, bound: str) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "at", "data_type": kind.upper()}]
    spec = EVENTS.model_copy(update={"columns": LoadSpec(table="t", unique_key="id", columns=columns).columns})

    warehouse.load(spec, "id,at\n", partition="2025-10-26")

    [(found,)] = warehouse.sql("SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE relname = 'events_p20251026'")
    assert f"FROM ('{bound}')" in found


def test_a_child_of_another_name_is_used(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE TABLE mayday PARTITION OF orders FOR VALUES FROM ('2025-05-01') TO ('2025-05-02')")
    spec = LoadSpec(table="orders", unique_key=["id", "d"], partition_by={"column": "d", "declarative": True})

    warehouse.load(spec, "id,d\n1,2025-05-01\n")

    assert warehouse.sql("SELECT tableoid::regclass::text FROM orders") == [("mayday",)]


def test_a_table_that_only_has_the_name_of_a_child_is_not_attached(warehouse: Warehouse) -> None:
    warehouse.load(EVENTS, "id,at,v\n", partition="2025-05-02")
    warehouse.sql("CREATE TABLE lake.events_p20250501 (LIKE lake.events INCLUDING ALL)")
    warehouse.sql("INSERT INTO lake.events_p20250501 VALUES (666, '2025-05-01', 'secret')")

    with pytest.raises(DatabaseError, match="already exists"):
        warehouse.load(EVENTS, "id,at,v\n1,2025-05-01 10:00,a\n")

    assert warehouse.sql("SELECT count(*) FROM lake.events") == [(0,)]


def test_a_parent_with_an_identity_gets_children(warehouse: Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE orders (sid int GENERATED BY DEFAULT AS IDENTITY, id int, d date, n int, "
        "twice int GENERATED ALWAYS AS (n * 2) STORED, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)"
    )
    spec = LoadSpec(table="orders", unique_key=["id", "d"], partition_by={"column": "d", "declarative": True})

    assert warehouse.load(spec, "id,d,n\n1,2025-05-01,4\n").effects == Effects(inserted=1)
    assert warehouse.load(spec, "id,d,n\n1,2025-05-01,4\n").effects == Effects(unchanged=1)
    assert warehouse.sql("SELECT sid, twice FROM orders") == [(1, 8)]


def test_a_load_of_one_partition_visits_one_child(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders (id int, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    for day in range(1, 30):
        bounds = f"FROM ('2025-05-{day:02d}') TO ('2025-05-{day + 1:02d}')"
        warehouse.sql(f"CREATE TABLE orders_{day} PARTITION OF orders FOR VALUES {bounds}")
    warehouse.sql("CREATE TABLE locks (relation text)")
    warehouse.sql(
        "CREATE FUNCTION note_locks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO locks "
        "SELECT relation::regclass::text FROM pg_locks WHERE pid = pg_backend_pid() "
        "AND relation::regclass::text LIKE 'orders%'; RETURN NULL; END $$"
    )
    warehouse.sql("CREATE TRIGGER note AFTER INSERT ON orders FOR EACH STATEMENT EXECUTE FUNCTION note_locks()")
    spec = LoadSpec(table="orders", unique_key=["id", "d"], partition_by={"column": "d"})

    warehouse.load(spec, "id,d\n1,2025-05-07\n", partition="2025-05-07")

    assert warehouse.sql("SELECT DISTINCT relation FROM locks WHERE relation NOT LIKE '%pkey' ORDER BY 1") == [
        ("orders",),
        ("orders_7",),
    ]
    # A row of another day is found there all the same.
    warehouse.load(spec, "id,d\n1,2025-05-07\n1,2025-05-08\n", partition="2025-05-08")
    again = warehouse.load(spec, "id,d\n1,2025-05-07\n1,2025-05-08\n", partition="2025-05-08")
    assert again.effects == Effects(unchanged=2)


def test_rows_that_a_trigger_drops_are_rejected(orders: Warehouse) -> None:
    orders.sql(
        "CREATE FUNCTION no_odd_ones() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN IF new.ver % 2 = 1 THEN RETURN NULL; END IF; RETURN new; END $$"
    )
    orders.sql(
        "CREATE TRIGGER no_odd_ones BEFORE INSERT OR UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION no_odd_ones()"
    )
    orders.load(ORDERS, "id,v,ver\n1,a,2\n2,b,2\n3,c,2\n")

    effects = orders.load(ORDERS, "id,v,ver\n1,a,3\n2,b,4\n3,c,2\n4,d,5\n5,e,6\n5,e,6\n").effects

    assert effects.touched == 2  # which of the two was inserted, a server before 17 does not tell
    assert (effects.unchanged, effects.duplicate, effects.rejected) == (1, 1, 2)


# --- what a role needs ------------------------------------------------------------------------------------------------


@pytest.fixture
def granted(warehouse: Warehouse) -> LoadSpec:
    """The table that the page speaks of."""
    warehouse.sql("REVOKE ALL ON SCHEMA public FROM PUBLIC; CREATE SCHEMA analytics")
    warehouse.sql("CREATE TABLE analytics.orders (id int PRIMARY KEY, v text, ver int)")
    return LoadSpec(table="analytics.orders", unique_key="id", version="ver", checks=[{"not_null": "v"}])


def test_what_the_page_grants_is_enough_to_load(warehouse: Warehouse, database: str, granted: LoadSpec) -> None:
    manifest = warehouse.batches.land(granted, "id,v,ver\n1,a,1\n")

    with role_of(database, warehouse, GRANTS[:1]) as loader:
        assert loader.load_again(granted, manifest).effects == Effects(inserted=1)
        assert loader.load_again(granted, manifest).effects == Effects(unchanged=1)
        assert loader.validate(granted, manifest).state is State.VALIDATED
        with pytest.raises(DatabaseError, match="permission denied for schema analytics"):
            loader.load(made("analytics.plain"), "id,d\n1,2025-05-01\n")


def made(table: str, **options: Any) -> LoadSpec:
    columns = [{"name": "id", "data_type": "int"}, {"name": "d", "data_type": "date"}]
    return LoadSpec(table=table, unique_key=["id", "d"], columns=columns, partition_by={"column": "d", **options})


def test_what_the_page_grants_is_enough_to_make_tables(warehouse: Warehouse, database: str, granted: LoadSpec) -> None:
    with role_of(database, warehouse, GRANTS[:2]) as loader:
        for spec in (made("analytics.plain"), made("analytics.cut", declarative=True)):
            assert loader.load(spec, "id,d\n1,2025-05-01\n").effects == Effects(inserted=1)


def test_what_the_page_grants_is_enough_to_read_the_ledger(
    warehouse: Warehouse, database: str, granted: LoadSpec
) -> None:
    warehouse.load(granted, "id,v,ver\n1,a,1\n")

    with role_of(database, warehouse, GRANTS[-1:]) as reader:
        assert [row["state"] for row in partition_states(reader.connect)] == ["published"]


def test_a_right_that_is_missing_is_named(warehouse: Warehouse, database: str, granted: LoadSpec) -> None:
    with role_of(database, warehouse, [GRANTS[0].replace(", UPDATE", "")]) as loader:
        with pytest.raises(DatabaseError) as caught:
            loader.load(granted, "id,v,ver\n1,a,1\n")
        recorded = warehouse.events("analytics.orders")

    assert "permission denied for table orders" in str(caught.value)
    assert [event[3] for event in recorded] == ["failed"]
