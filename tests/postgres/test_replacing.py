"""What strategies that replace rows do to tables as they are: keys elsewhere, triggers, other writers, no child."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from airflow_idempotent.core.step import Receipt
from airflow_idempotent.core.verdict import Verdict
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.errors import (
    EmptySnapshotError,
    GateClosedError,
    KeyElsewhereError,
    NoChildTableError,
    NullKeyError,
    OtherSpecError,
    RepeatedInBatchError,
    RowsChangedError,
)
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from tests.faults import Watched
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

NEXT = "2025-05-02"
BY_DAY = {"strategy": "insert_overwrite", "partition_by": {"column": "d"}}


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


def spec(**words: Any) -> LoadSpec:
    return LoadSpec(table="t", **words)


def counted(receipt: Receipt) -> dict[str, int]:
    return {name: count for name, count in receipt.effects.as_dict().items() if count}


# --- insert_overwrite -----------------------------------------------------------------------------


def test_a_key_that_stands_in_another_partition_is_refused_by_name(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int PRIMARY KEY, v text)")
    overwrite = spec(unique_key="id", **BY_DAY)
    warehouse.load(overwrite, "d,id,v\n2025-05-01,1,a\n2025-05-01,2,b\n")
    before = warehouse.physical("t")

    with pytest.raises(KeyElsewhereError, match=r"1 key\(s\) stand in another partition") as refused:
        warehouse.load(overwrite, "d,id,v\n2025-05-02,1,moved\n2025-05-02,3,c\n", partition=NEXT)

    assert refused.value.count == 1
    assert "merge" in refused.value.next_move
    assert warehouse.physical("t") == before


def test_a_key_moves_once_the_partition_that_it_left_is_loaded(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int PRIMARY KEY, v text)")
    overwrite = spec(unique_key="id", **BY_DAY)
    warehouse.load(overwrite, "d,id,v\n2025-05-01,1,a\n")
    warehouse.load(overwrite, "d,id,v\n", revision=2)

    assert counted(warehouse.load(overwrite, "d,id,v\n2025-05-02,1,a\n", partition=NEXT)) == {"inserted": 1}


def test_another_constraint_that_is_broken_is_told_as_such(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int PRIMARY KEY, v text UNIQUE)")
    overwrite = spec(unique_key="id", **BY_DAY)

    with pytest.raises(Exception, match="t_v_key"):
        warehouse.load(overwrite, "d,id,v\n2025-05-01,1,a\n2025-05-01,2,a\n")

    assert warehouse.sql("SELECT count(*) FROM t") == [(0,)]


def test_a_key_twice_in_a_table_without_an_index_is_there_once_afterwards(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int, v text)")
    warehouse.sql("INSERT INTO t VALUES ('2025-05-01', 1, 'a'), ('2025-05-01', 1, 'b'), ('2025-05-02', 1, 'c')")
    receipt = warehouse.load(spec(unique_key="id", **BY_DAY), "d,id,v\n2025-05-01,1,b\n")

    assert warehouse.sql("SELECT d::text, v FROM t ORDER BY 1") == [("2025-05-01", "b"), ("2025-05-02", "c")]
    assert receipt.effects.deleted == receipt.measure.beyond_batch == 1


@pytest.mark.parametrize(
    ("before", "batch", "effects"),
    [
        ("a a b", "a b", {"deleted": 1, "unchanged": 2}),
        ("a b", "a a b", {"inserted": 1, "unchanged": 2}),
        ("a b", "a c", {"inserted": 1, "deleted": 1, "unchanged": 1}),
        ("a NULL NULL", "NULL a", {"deleted": 1, "unchanged": 2}),
        ("a NULL", "NULL a", {"unchanged": 2}),
        ("a a b", "a b b", {"inserted": 1, "deleted": 1, "unchanged": 2}),
        ("a a b", "a b c", {"inserted": 1, "deleted": 1, "unchanged": 2}),
        ("a a", "b b", {"inserted": 2, "deleted": 2}),
        ("a " * 3000, "a " * 3001, {"inserted": 1, "unchanged": 3000}),
    ],
)
def test_rows_without_a_key_are_there_as_often_as_in_the_batch(
    warehouse: Warehouse, before: str, batch: str, effects: dict[str, int]
) -> None:
    warehouse.sql("CREATE TABLE t (d date, v text)")
    for revision, values in enumerate((before, batch), start=1):
        rows = (f"2025-05-01,{value.replace('NULL', '')}\n" for value in values.split())
        receipt = warehouse.load(spec(**BY_DAY), "d,v\n" + "".join(rows), revision=revision)

    assert counted(receipt) == effects
    assert sorted(str(value) for (value,) in warehouse.sql("SELECT coalesce(v, 'NULL') FROM t")) == sorted(
        batch.split()
    )


@pytest.mark.parametrize(
    ("kinds", "keys"),
    [
        ("k bigint", ["1", "2", "1"]),
        ("k text", ["a", "b", "a"]),
        ("k numeric", ["1.0", "2", "1.00"]),
        ("k double precision", ["0", "2", "-0"]),
        ("k bit varying", ["101", "11", "101"]),
        ("k date, l text", ["2025-05-01,a", "2025-05-01,b", "2025-05-01,a"]),
    ],
)
def test_a_key_of_any_type_that_repeats_in_the_batch_is_there_once(
    warehouse: Warehouse, kinds: str, keys: list[str]
) -> None:
    names = [kind.split()[0] for kind in kinds.split(", ")]
    warehouse.sql(f"CREATE TABLE t ({kinds}, d date, PRIMARY KEY ({', '.join(names)}))")
    header = ",".join(names) + ",d\n"

    receipt = warehouse.load(spec(unique_key=names, **BY_DAY), header + "".join(f"{key},2025-05-01\n" for key in keys))

    assert counted(receipt) == {"inserted": 2, "duplicate": 1}


def test_no_child_for_the_range_names_table_and_range(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2025-05-02') TO ('2025-05-03')")

    with pytest.raises(NoChildTableError, match=r"public\.t 2025-05-01.*\n.*'d': from 2025-05-01T00:00"):
        warehouse.load(spec(**BY_DAY), "d,id\n2025-05-01,1\n")


def test_rows_in_the_default_child_are_loaded_with_a_warning(
    warehouse: Warehouse, caplog: pytest.LogCaptureFixture
) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2025-05-02') TO ('2025-05-03')")
    warehouse.sql('CREATE TABLE "t Rest" PARTITION OF t DEFAULT')

    with caplog.at_level(logging.WARNING):
        receipt = warehouse.load(spec(**BY_DAY), "d,id\n2025-05-01,1\n")
    quiet = warehouse.load(spec(**BY_DAY), "d,id\n2025-05-02,1\n", partition=NEXT)

    assert 'public."t Rest"' in caplog.text
    assert [(check.check, check.verdict) for check in receipt.checks] == [("default_child", Verdict.WARNED)]
    assert quiet.checks == ()
    assert warehouse.sql("SELECT check_name, observed FROM airflow_idempotent.check_results") == [("default_child", 1)]


def test_generated_and_identity_columns_are_left_to_the_table(warehouse: Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE t (n int GENERATED ALWAYS AS IDENTITY, d date, v int,"
        " twice int GENERATED ALWAYS AS (v * 2) STORED)"
    )
    for number, text in enumerate(("d,v\n2025-05-01,1\n2025-05-01,2\n", "d,v\n2025-05-01,2\n2025-05-01,3\n"), start=1):
        warehouse.load(spec(**BY_DAY), text, revision=number)

    assert warehouse.sql("SELECT n, v, twice FROM t ORDER BY n") == [(2, 2, 4), (3, 3, 6)]


def test_values_that_only_look_equal_are_told_apart(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, n numeric, j json, p point)")
    header, first = "d,n,j,p\n", '2025-05-01,1.0,"{""a"": 1}","(1,2)"\n2025-05-01,,,\n'
    warehouse.load(spec(**BY_DAY), header + first)
    again = warehouse.load(spec(**BY_DAY), header + first)
    changed = warehouse.load(spec(**BY_DAY), header + first.replace("1.0", "1.00"), revision=2)

    assert counted(again) == {"unchanged": 2}
    assert counted(changed) == {"inserted": 1, "deleted": 1, "unchanged": 1}
    assert warehouse.sql("SELECT n::text FROM t ORDER BY 1") == [("1.00",), (None,)]


# --- append ---------------------------------------------------------------------------------------


def test_rows_of_before_and_of_other_partitions_are_none_of_a_batch(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int)")
    warehouse.sql("INSERT INTO t VALUES (1)")
    warehouse.load(spec(strategy="append"), "id\n1\n1\n")
    warehouse.load(spec(strategy="append"), "id\n1\n", partition=NEXT)

    assert counted(warehouse.load(spec(strategy="append"), "id\n1\n2\n", revision=2)) == {
        "inserted": 1,
        "deleted": 1,
        "unchanged": 1,
    }
    assert warehouse.sql("SELECT id, _idem_batch_id FROM t ORDER BY 2, 1") == [
        (1, "20250501_01"),
        (2, "20250501_02"),
        (1, "20250502_01"),
        (1, None),
    ]


def test_the_rows_of_a_partition_are_found_by_the_index_of_a_table_of_ours(warehouse: Warehouse) -> None:
    append = spec(strategy="append", columns=[{"name": "id", "data_type": "int"}])
    warehouse.load(append, "id\n" + "".join(f"{number}\n" for number in range(5000)))
    warehouse.load(append, "id\n1\n", partition=NEXT)
    warehouse.sql("ANALYZE t")

    bounded = """_idem_batch_id COLLATE "C" >= '20250502_' AND _idem_batch_id COLLATE "C" < '20250502`'"""
    plan = warehouse.sql(f"EXPLAIN SELECT FROM t WHERE {bounded}")
    assert "idem_index_" in str(plan)


# --- snapshot -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [{"strategy": {"kind": "snapshot", "allow_empty": True}}, {"on_empty": "publish_empty"}]
)
def test_an_empty_snapshot_needs_to_be_allowed(warehouse: Warehouse, words: dict[str, Any]) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY)")
    snapshot = spec(unique_key="id", strategy="snapshot")
    assert counted(warehouse.load(snapshot, "id\n")) == {}  # nothing is taken away from an empty table
    warehouse.load(snapshot, "id\n1\n2\n", revision=2)

    with pytest.raises(EmptySnapshotError, match=r"2 rows; nothing was changed"):
        warehouse.load(snapshot, "id\n", revision=3)

    allowed = spec(unique_key="id", **{"strategy": "snapshot"} | words)
    assert counted(warehouse.load(allowed, "id\n", revision=3)) == {"deleted": 2}


def test_a_snapshot_with_a_key_twice_is_refused_unless_a_version_says_which(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, ver int)")
    text = "id,ver\n1,1\n1,2\n2,1\n"

    with pytest.raises(RepeatedInBatchError, match="1 row"):
        warehouse.load(spec(unique_key="id", strategy="snapshot"), text)
    warehouse.load(spec(unique_key="id", strategy="snapshot", version="ver"), text)

    assert warehouse.sql("SELECT * FROM t ORDER BY 1") == [(1, 2), (2, 1)]


def test_rows_that_are_gone_are_marked_in_a_column_that_is_added(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    warehouse.sql("INSERT INTO t VALUES (9, 'old')")
    marks = spec(
        unique_key="id", strategy={"kind": "snapshot", "on_missing": "soft_delete", "soft_delete_column": "gone"}
    )
    receipts = [
        warehouse.load(marks, text, revision=number)
        for number, text in enumerate(("id,v\n1,a\n2,b\n", "id,v\n1,a\n", "id,v\n1,a\n", "id,v\n2,c\n9,old\n"), start=1)
    ]

    assert [counted(receipt) for receipt in receipts] == [
        {"inserted": 2, "deleted": 1},
        {"deleted": 1, "unchanged": 1},
        {"unchanged": 1},
        {"updated": 2, "deleted": 1},
    ]
    assert warehouse.sql("SELECT id, v, gone FROM t ORDER BY 1") == [(1, "a", True), (2, "c", False), (9, "old", False)]


def test_a_snapshot_is_validated_against_the_whole_table(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY)")
    snapshot = spec(unique_key="id", strategy="snapshot")
    first = warehouse.batches.land(snapshot, "id\n1\n2\n")
    warehouse.load_again(snapshot, first)
    [check] = warehouse.validate(snapshot, first).checks
    assert (check.verdict, check.observed) == (Verdict.PASSED, 2)

    warehouse.load(snapshot, "id\n1\n", partition=NEXT)
    [check] = warehouse.validate(snapshot, first).checks
    assert check.verdict is Verdict.NOT_EVALUATED
    assert "20250502_01" in str(check)

    warehouse.sql("INSERT INTO t VALUES (5)")
    with pytest.raises(GateClosedError, match="ledger has 1 rows, the table 2"):
        warehouse.validate(snapshot, warehouse.batches.land(snapshot, "id\n1\n", partition=NEXT))


# --- delete_insert --------------------------------------------------------------------------------


def test_columns_that_the_batch_lacks_get_their_default_when_a_row_is_replaced(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, v text, note text DEFAULT 'none')")
    warehouse.sql("INSERT INTO t VALUES (1, 'a', 'kept'), (2, 'b', 'lost'), (3, 'c', 'other key')")
    receipt = warehouse.load(spec(unique_key="id", strategy="delete_insert"), "id,v\n1,a\n2,B\n4,d\n")

    assert counted(receipt) == {"inserted": 1, "updated": 1, "unchanged": 1}
    assert warehouse.sql("SELECT id, v, note FROM t ORDER BY 1") == [
        (1, "a", "kept"),
        (2, "B", "none"),
        (3, "c", "other key"),
        (4, "d", "none"),
    ]


def test_null_in_the_merge_key_is_refused(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int, v text)")

    with pytest.raises(NullKeyError, match="'id': 1 row"):
        warehouse.load(spec(strategy={"kind": "delete_insert", "merge_key": "id"}), "id,v\n1,a\n,b\n")


def test_two_partitions_at_once_with_the_same_keys_end_with_the_greatest_version(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, ver int)")
    replaced = spec(unique_key="id", version="ver", strategy="delete_insert")
    keys = range(300)

    def lane(number: int) -> int:
        rows = "".join(f"{key},{(key + number) % 2}\n" for key in keys)
        return warehouse.load(replaced, "id,ver\n" + rows, partition=f"2025-05-0{number + 1}").effects.inserted

    with ThreadPoolExecutor(2) as pool:
        inserted = sum(pool.map(lane, (0, 1)))

    assert inserted == len(keys)
    assert warehouse.sql("SELECT count(*), min(ver) FROM t") == [(len(keys), 1)]


# --- of all ---------------------------------------------------------------------------------------


def test_a_trigger_that_drops_rows_makes_them_rejected(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int, v text)")
    warehouse.sql("INSERT INTO t VALUES ('2025-05-01', 7, 'stays'), ('2025-05-01', 8, 'goes')")
    warehouse.sql(
        "CREATE FUNCTION no_odd_ones() RETURNS trigger LANGUAGE plpgsql AS "
        "'DECLARE r t := coalesce(NEW, OLD); BEGIN IF r.id % 2 = 0 THEN RETURN r; END IF; RETURN NULL; END'"
    )
    warehouse.sql("CREATE TRIGGER no_odd BEFORE INSERT OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION no_odd_ones()")
    receipt = warehouse.load(spec(**BY_DAY), "d,id,v\n2025-05-01,1,a\n2025-05-01,2,b\n")

    assert counted(receipt) == {"inserted": 1, "deleted": 1, "rejected": 1}
    assert receipt.measure.beyond_batch == 1
    assert warehouse.sql("SELECT id FROM t ORDER BY 1") == [(2,), (7,)]


def test_triggers_of_a_statement_are_quiet_when_nothing_differs(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int)")
    warehouse.sql("CREATE TABLE calls (what text)")
    warehouse.sql(
        "CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN INSERT INTO calls VALUES (TG_OP); RETURN NULL; END'"
    )
    warehouse.sql("CREATE TRIGGER n AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH STATEMENT EXECUTE FUNCTION note()")
    warehouse.load(spec(**BY_DAY), "d,id\n2025-05-01,1\n")
    warehouse.load(spec(**BY_DAY), "d,id\n2025-05-01,1\n")

    assert warehouse.sql("SELECT what FROM calls") == [("INSERT",)]


def meddling(warehouse: Warehouse, sql: str, *, times: int) -> Callable[[], Any]:
    """Connections before whose first write of each transaction somebody else runs a statement."""
    left = [times]

    def watch(what: str) -> None:
        if what.startswith('before UPDATE "public"."t"') and left[0]:
            left[0] -= 1
            with closing(warehouse.connect()) as other:
                other.cursor().execute(sql)
                other.commit()

    return lambda: Watched(warehouse.connect(), watch)


def test_a_row_that_somebody_writes_meanwhile_is_looked_at_again(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int PRIMARY KEY, v text, hits int DEFAULT 0)")
    overwrite = spec(unique_key="id", **BY_DAY)
    warehouse.load(overwrite, "d,id,v\n2025-05-01,1,a\n")
    connect = meddling(warehouse, "UPDATE t SET hits = hits + 1", times=1)
    receipt = warehouse.load(overwrite, "d,id,v\n2025-05-01,1,b\n", revision=2, connect=connect)

    assert counted(receipt) == {"updated": 1}
    assert warehouse.sql("SELECT v, hits FROM t") == [("b", 1)]


def test_a_row_that_somebody_writes_again_and_again_is_an_error_to_be_retried(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int PRIMARY KEY, v text, hits int DEFAULT 0)")
    overwrite = spec(unique_key="id", **BY_DAY)
    warehouse.load(overwrite, "d,id,v\n2025-05-01,1,a\n")
    connect = meddling(warehouse, "UPDATE t SET hits = hits + 1", times=99)

    with pytest.raises(RowsChangedError, match=r"1 rows were to be written, 0 were still as found") as refused:
        warehouse.load(overwrite, "d,id,v\n2025-05-01,1,b\n", revision=2, connect=connect)

    assert refused.value.retryable
    assert warehouse.sql("SELECT v FROM t") == [("a",)]
    assert warehouse.events("public.t")[-1][1] == "20250501_01"


@pytest.mark.parametrize("kind", ["insert_overwrite", "delete_insert", "snapshot"])
def test_a_batch_of_another_spec_is_loaded_again_only_when_forced(warehouse: Warehouse, kind: str) -> None:
    warehouse.sql("CREATE TABLE t (d date, id int, v text)")
    words: dict[str, Any] = {"strategy": kind, "partition_by": {"column": "d"}}
    wide, narrow = spec(unique_key=["id", "v"], **words), spec(unique_key=["id"], **words)
    batch = warehouse.batches.land(wide, "d,id,v\n2025-05-01,1,a\n")
    warehouse.load_again(wide, batch)
    before = warehouse.physical("t")

    with pytest.raises(OtherSpecError, match="20250501_01 was published under another version of the spec"):
        warehouse.load_again(narrow, batch)
    assert warehouse.physical("t") == before
    assert warehouse.load_again(narrow, batch, dry_run=True).effects.unchanged == 1

    forced = Load(narrow, narrow.partition(DAY), batch, force=True)
    receipt = stage_merge(forced, connect=warehouse.connect, batches=warehouse.batches)
    assert counted(receipt) == {"unchanged": 1}
    assert counted(warehouse.load_again(narrow, batch)) == {"unchanged": 1}
