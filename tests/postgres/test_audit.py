"""audit: what is there against what the ledger says, after any history; only the ledger is written to."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.core.audit import Cause, Report, Sample, SourceVerdict
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.version import SwapOrder
from airflow_idempotent.engine.audit import Asked, audit
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

NEXT_DAY, THIRD_DAY = "2025-05-02", "2025-05-03"
DATED = LoadSpec(table="orders", unique_key=["id"], version=["ver"], event_time="d")


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, d date, ver int, v text)")
    return found


def three_days(warehouse: Warehouse, spec: LoadSpec = DATED) -> None:
    for number, day in enumerate((DAY, NEXT_DAY, THIRD_DAY)):
        first = 2 * number + 1
        warehouse.load(spec, f"id,d,ver,v\n{first},{day},1,a\n{first + 1},{day},1,b\n", partition=day)


def looked(warehouse: Warehouse, spec: LoadSpec = DATED, *, run: str = "r", **asked: Any) -> Report:
    """An audit of the table alone: sources are judged by tests of the command line."""
    return audit(
        spec, Asked(run, **asked), connect=warehouse.connect, compare_source=lambda due, partition: SourceVerdict()
    )


def found(report: Report, *, new: bool = True) -> list[tuple[str, str]]:
    return [(item.partition, str(item.cause)) for item in (report.new if new else report.findings)]


def test_an_audit_after_loads_finds_nothing_and_writes_no_row(warehouse: Warehouse) -> None:
    three_days(warehouse)
    before = warehouse.physical("orders")

    report = looked(warehouse)

    assert (found(report), report.published, len(report.looks)) == ([], 3, 3)
    assert all(Cause.TARGET_CHANGED in look.judged for look in report.looks)
    assert warehouse.physical("orders") == before


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM orders WHERE id = 3", "the ledger has 2 rows, the table 1"),
        ("INSERT INTO orders VALUES (9, '2025-05-02', 1, 'x')", "the ledger has 2 rows, the table 3"),
        ("UPDATE orders SET v = 'edited' WHERE id = 3", "the ledger and the table have 2 rows, with other content"),
    ],
)
def test_an_audit_after_one_edit_finds_exactly_that_partition(warehouse: Warehouse, sql: str, said: str) -> None:
    three_days(warehouse)
    warehouse.sql(sql)

    report = looked(warehouse)

    assert found(report) == [(NEXT_DAY, "target_changed")]
    assert report.new[0].message == said


def test_what_is_open_is_found_once_and_closed_when_it_is_healed(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 3")

    first, second = looked(warehouse, run="monday"), looked(warehouse, run="tuesday")
    retried = looked(warehouse, run="monday")
    warehouse.sql("UPDATE orders SET v = 'a' WHERE id = 3")
    healed = looked(warehouse, run="wednesday")

    assert [found(first), found(second), found(retried)] == [[(NEXT_DAY, "target_changed")], [], found(first)]
    assert found(second, new=False) == [(NEXT_DAY, "target_changed")]
    assert (found(healed, new=False), healed.closed) == ([], 1)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 3")
    assert found(looked(warehouse, run="thursday")) == [(NEXT_DAY, "target_changed")]


def test_a_load_heals_what_was_found_in_its_partition(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.sql("DELETE FROM orders WHERE id = 3")
    looked(warehouse, run="1")

    warehouse.load(DATED, "id,d,ver,v\n3,2025-05-02,1,a\n4,2025-05-02,1,b\n", partition=NEXT_DAY)

    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.open_drift") == [(0,)]
    assert found(looked(warehouse, run="2"), new=False) == []


def test_a_later_batch_explains_a_difference_and_the_next_edit_is_found_all_the_same(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.load(DATED, "id,d,ver,v\n1,2025-05-01,2,late\n", partition=THIRD_DAY, revision=2)

    explained = looked(warehouse, run="1")
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 1")
    edited = looked(warehouse, run="2")

    assert found(explained) == []
    assert explained.looks[0].unjudged == ("target: batch 20250503_02 has written to it since",)
    assert found(edited) == [(DAY, "target_changed")]


def test_a_row_that_a_later_batch_took_to_its_own_day_is_no_drift(warehouse: Warehouse) -> None:
    three_days(warehouse)

    warehouse.load(DATED, "id,d,ver,v\n1,2025-05-03,2,moved\n", partition=THIRD_DAY, revision=2)

    assert found(looked(warehouse)) == []


def test_an_edit_is_found_although_later_days_update_rows_of_their_own(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 1")

    warehouse.load(DATED, "id,d,ver,v\n5,2025-05-03,2,newer\n", partition=THIRD_DAY, revision=2)

    assert found(looked(warehouse)) == [(DAY, "target_changed")]


def test_a_changed_spec_makes_partitions_stale_until_they_are_loaded_by_it(warehouse: Warehouse) -> None:
    three_days(warehouse)
    newer = DATED.model_copy(update={"on_empty": "skip"})

    report = looked(warehouse, newer)

    assert found(report) == [(day, "spec_changed") for day in (DAY, NEXT_DAY, THIRD_DAY)]
    warehouse.load(newer, "id,d,ver,v\n1,2025-05-01,1,a\n2,2025-05-01,1,b\n")
    assert found(looked(warehouse, newer, run="2"), new=False) == [
        (NEXT_DAY, "spec_changed"),
        (THIRD_DAY, "spec_changed"),
    ]


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("ALTER TABLE orders ADD seen boolean", "column seen boolean is new"),
        ("ALTER TABLE orders DROP v", "column v is gone"),
        ("ALTER TABLE orders ALTER v TYPE varchar(5)", "column v is character varying(5), was text"),
        ("DROP TABLE orders", "the table is gone"),
    ],
)
def test_a_changed_schema_is_one_finding_of_the_table(warehouse: Warehouse, sql: str, said: str) -> None:
    three_days(warehouse)
    warehouse.sql(sql)

    report = looked(warehouse)

    assert [(item.partition, item.cause, item.message) for item in report.new] == [("*", Cause.SCHEMA_CHANGED, said)]


def test_a_column_that_a_load_has_added_is_no_drift(warehouse: Warehouse) -> None:
    three_days(warehouse)
    wider = DATED.model_copy(update={"on_schema_change": "append_new_columns"})

    warehouse.load(wider, "id,d,ver,v,w\n7,2025-05-04,1,a,x\n", partition="2025-05-04")

    assert {cause for _, cause in found(looked(warehouse, wider))} == {"spec_changed"}
    warehouse.sql("UPDATE orders SET w = 'edited' WHERE id = 1")
    assert found(looked(warehouse, wider, run="2")) == [(DAY, "target_changed")]


def test_a_version_that_took_the_place_of_the_table_is_no_drift(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.sql("CREATE TABLE orders__v2 (LIKE orders INCLUDING ALL)")
    warehouse.sql("INSERT INTO orders__v2 SELECT id, d, ver, 'rebuilt' FROM orders")
    swap(SwapOrder(Relation.parse("orders"), Relation.parse("orders__v2")), connect=warehouse.connect)

    report = looked(warehouse)

    assert found(report) == []
    assert report.looks[0].unjudged == ("target: batch of version 2 has written to it since",)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 1")
    assert found(looked(warehouse, run="2")) == [(DAY, "target_changed")]


def test_every_partition_has_its_turn(warehouse: Warehouse) -> None:
    three_days(warehouse)

    audits = [looked(warehouse, run=str(number), sample=Sample(count=1)) for number in range(4)]

    assert [look.partition for report in audits for look in report.looks] == [DAY, NEXT_DAY, THIRD_DAY, DAY]


def test_a_retry_looks_at_what_the_run_has_looked_at(warehouse: Warehouse) -> None:
    three_days(warehouse)

    first, retried = (looked(warehouse, run="same", sample=Sample(count=2)) for _ in range(2))

    assert [look.partition for look in first.looks] == [look.partition for look in retried.looks] == [DAY, NEXT_DAY]


def test_a_table_without_partition_column_is_not_judged(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", version="ver")
    three_days(warehouse, spec)
    warehouse.sql("DELETE FROM orders")

    report = looked(warehouse, spec)

    assert found(report) == []
    assert report.looks[0].unjudged == ("target: no partition column says which rows are its own",)


def test_nothing_published_is_nothing_to_audit(warehouse: Warehouse) -> None:
    report = looked(warehouse)

    assert (report.published, report.looks, report.findings) == (0, (), ())


def test_what_an_older_release_has_loaded_is_measured_first_and_judged_from_then_on(warehouse: Warehouse) -> None:
    three_days(warehouse)
    warehouse.sql("DELETE FROM orders WHERE id = 1")
    warehouse.sql("ALTER TABLE airflow_idempotent.shapes DISABLE TRIGGER append_only")
    warehouse.sql("DELETE FROM airflow_idempotent.shapes")  # version 2 of the ledger did not know columns

    report = looked(warehouse)

    assert found(report) == []
    assert report.looks[0].unjudged == ("target: an older release has loaded it",)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 2")
    assert found(looked(warehouse, run="2")) == [(DAY, "target_changed")]


@pytest.mark.parametrize("table", ["shapes", "audits", "drift"])
def test_what_an_audit_wrote_is_never_changed(warehouse: Warehouse, table: str) -> None:
    three_days(warehouse)
    warehouse.sql("DELETE FROM orders WHERE id = 1")
    looked(warehouse)

    with pytest.raises(Exception, match="append-only"):
        warehouse.sql(f"DELETE FROM airflow_idempotent.{table}")
