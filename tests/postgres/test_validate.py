"""validate: the second look, and what it says to tables that somebody has changed meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import State
from airflow_idempotent.core.verdict import Verdict
from airflow_idempotent.errors import GateClosedError, SchemaDriftError, TargetMissingError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

DATED = LoadSpec(table="orders", unique_key=["id"], version=["ver"], event_time="d")
TEXT = "id,d,ver\n1,2025-05-01,1\n2,2025-05-01,1\n"


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, d date, ver int)")
    return found


def verdicts(warehouse: Warehouse, spec: LoadSpec = DATED, manifest: Manifest | None = None) -> dict[str, str]:
    """What each check says, failed or not."""
    try:
        results = warehouse.validate(spec, manifest).checks
    except GateClosedError as closed:
        results = closed.results
    return {result.check: f"{result.verdict}: {result.message}" for result in results}


def checked(warehouse: Warehouse, *checks: Any, **options: Any) -> dict[str, str]:
    """The same by hand-written checks on the table as it is."""
    spec = LoadSpec(table="orders", unique_key="id", event_time="d", checks=checks, **options)
    return {name: text.partition(":")[0] for name, text in verdicts(warehouse, spec).items()}


def test_what_was_loaded_is_found_again(warehouse: Warehouse) -> None:
    manifest = warehouse.batches.land(DATED, TEXT)
    loaded = warehouse.load_again(DATED, manifest)

    receipt = warehouse.validate(DATED, manifest)

    assert receipt.state is State.VALIDATED
    assert (receipt.measure.row_count, receipt.measure.digest) == (2, loaded.measure.digest)
    assert [result.verdict for result in receipt.checks] == [Verdict.PASSED]
    assert warehouse.events("public.orders")[-1] == (DAY, "20250501_01", "validate", "validated")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("DELETE FROM orders WHERE id = 1", "ledger has 2 rows, the table 1"),
        ("INSERT INTO orders VALUES (9, '2025-05-01', 1)", "ledger has 2 rows, the table 3"),
        ("UPDATE orders SET ver = 7 WHERE id = 1", "with other content"),
    ],
)
def test_rows_changed_by_somebody_else_fail_it(warehouse: Warehouse, sql: str, said: str) -> None:
    manifest = warehouse.batches.land(DATED, TEXT)
    warehouse.load_again(DATED, manifest)
    warehouse.sql(sql)

    with pytest.raises(GateClosedError) as caught:
        warehouse.validate(DATED, manifest)

    assert said in str(caught.value)
    assert "published but not validated" in str(caught.value)
    assert warehouse.events("public.orders")[-1][2:] == ("validate", "failed")
    warehouse.load_again(DATED, manifest)
    warehouse.sql("DELETE FROM orders WHERE id = 9")
    assert warehouse.load_again(DATED, manifest).state is State.PUBLISHED


@pytest.mark.parametrize(
    ("kind", "zone", "reaches"),
    [
        ("date", "UTC", "2025-05-01"),
        ("timestamp", "Asia/Tokyo", "2025-05-01 00:00:00"),
        ("timestamptz", "UTC", "2025-05-01 00:00+00"),
    ],
)
def test_a_later_batch_of_another_partition_explains_a_difference(
    warehouse: Warehouse, kind: str, zone: str, reaches: str
) -> None:
    warehouse.sql(f"ALTER TABLE orders ALTER d TYPE {kind}")
    spec = DATED.model_copy(update={"timezone": zone})
    manifest = warehouse.batches.land(
        spec, "id,d,ver\n1,2025-05-01,1\n" if zone == "UTC" else f"id,d,ver\n1,{reaches},1\n"
    )
    warehouse.load_again(spec, manifest)

    # All of its rows lie exactly at the beginning of the partition before.
    warehouse.load(spec, f"id,d,ver\n3,{reaches},1\n", partition="2025-05-02")

    assert "batch 20250502_01 has written to this partition since" in verdicts(warehouse, spec, manifest)["reconcile"]
    # One that did not reach so far explains nothing.
    warehouse.load_again(spec, manifest)
    warehouse.load(spec, "id,d,ver\n4,2025-05-02 10:00,1\n", partition="2025-05-02", revision=2)
    warehouse.sql("DELETE FROM orders WHERE id = 1")
    assert verdicts(warehouse, spec, manifest)["reconcile"].startswith("failed")


def test_a_table_without_partition_column_is_compared_with_the_ledger_only(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="orders", unique_key="id", version="ver")
    manifest = warehouse.batches.land(spec, TEXT)
    warehouse.load_again(spec, manifest)

    assert verdicts(warehouse, spec, manifest)["reconcile"].startswith(
        "not_evaluated: the table has no partition column"
    )


def test_nothing_published_is_not_passed(warehouse: Warehouse) -> None:
    assert verdicts(warehouse)["reconcile"].startswith("not_evaluated: nothing was published")


# --- checks on what is there ------------------------------------------------------------------------------------------


def test_no_check_passes_on_an_empty_partition(warehouse: Warehouse) -> None:
    warehouse.sql("INSERT INTO orders VALUES (1, '2025-05-02', 5)")
    checks = [{"not_null": "id"}, {"unique": ["id"]}, {"row_count": {"min": 1}}]

    found = checked(warehouse, *checks)

    assert found == {
        "not_null(id)": "not_evaluated",
        "unique(id)": "not_evaluated",
        "row_count(min 1)": "failed",
        "not_empty": "failed",
        "reconcile": "not_evaluated",
    }
    assert "not_empty" not in checked(warehouse, *checks, on_empty="publish_empty")


def test_only_the_partition_is_looked_at(warehouse: Warehouse) -> None:
    warehouse.sql("INSERT INTO orders VALUES (1, '2025-05-01', 1), (2, '2025-05-02', NULL)")

    assert checked(warehouse, {"not_null": "ver"}, {"count": 1}) == {
        "not_null(ver)": "passed",
        "row_count(equals 1)": "passed",
        "reconcile": "not_evaluated",
    }


@pytest.mark.parametrize(
    ("values", "verdict"),
    [("(1, NULL), (1, NULL)", "failed"), ("(1, NULL), (2, NULL)", "passed"), ("(1, 1), (1, 2)", "passed")],
)
def test_null_is_a_value_to_the_unique_check(warehouse: Warehouse, values: str, verdict: str) -> None:
    warehouse.sql("CREATE TABLE pairs (a int, b int)")
    warehouse.sql(f"INSERT INTO pairs VALUES {values}")

    spec = LoadSpec(table="pairs", unique_key="a", checks=[{"unique": ["a", "b"]}])

    assert verdicts(warehouse, spec)["unique(a, b)"].startswith(verdict)


def test_a_failed_check_shows_values_and_the_query_that_finds_them(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE pairs (a int, b text)")
    warehouse.sql("INSERT INTO pairs VALUES (1, 'x'), (1, 'x'), (2, NULL)")
    spec = LoadSpec(table="pairs", unique_key="a", checks=[{"unique": ["a", "b"]}, {"not_null": ["b"]}])

    with pytest.raises(GateClosedError) as caught:
        warehouse.validate(spec)

    assert "unique(a, b): 1 keys repeated, e.g. (1, x)" in str(caught.value)
    assert "not_null(b): 1 of 3 rows have NULL, e.g. (2, NULL)" in str(caught.value)
    assert warehouse.sql(caught.value.results[0].query) == [(1, "x", 2)]
    assert warehouse.sql("SELECT samples FROM airflow_idempotent.check_results WHERE check_name = 'unique(a, b)'") == [
        (["(1, x)"],)
    ]


def test_a_warning_lets_it_pass(warehouse: Warehouse) -> None:
    warehouse.sql("INSERT INTO orders VALUES (1, '2025-05-01', NULL)")

    assert checked(warehouse, {"not_null": {"columns": ["ver"], "severity": "warn"}})["not_null(ver)"] == "warned"


def test_columns_and_tables_that_are_not_there_are_named(warehouse: Warehouse) -> None:
    with pytest.raises(SchemaDriftError, match=r"column 'verr' is missing in the target, did you mean 'ver'\?"):
        warehouse.validate(LoadSpec(table="orders", unique_key="id", checks=[{"not_null": "verr"}]))
    with pytest.raises(TargetMissingError, match=r"did you mean 'public\.orders'"):
        warehouse.validate(LoadSpec(table="Orders", unique_key="id"))


def test_years_and_instants_that_python_does_not_know_are_compared_in_the_database(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders ALTER d TYPE timestamptz")
    days = ("infinity", "-infinity", "15000-01-01", "0044-03-15 00:00:00+00 BC", "", "2025-05-01 10:00+00")
    text = "id,d,ver\n" + "".join(f"{number},{day},1\n" for number, day in enumerate(days, 1))
    manifest = warehouse.batches.land(DATED, text)

    receipt = warehouse.load_again(DATED, manifest)

    assert (receipt.measure.row_count, receipt.measure.max_event_time) == (1, "infinity")
    assert verdicts(warehouse, DATED, manifest)["reconcile"].startswith("passed")
    warehouse.load(DATED, "id,d,ver\n7,infinity,1\n8,-infinity,1\n", partition="2025-05-02")
    assert verdicts(warehouse, DATED, manifest)["reconcile"].startswith("passed")


def test_a_second_look_gives_the_same_verdict_and_leaves_the_table_alone(warehouse: Warehouse) -> None:
    manifest = warehouse.batches.land(DATED, TEXT)
    warehouse.load_again(DATED, manifest)
    before = warehouse.physical("orders")

    assert verdicts(warehouse, DATED, manifest) == verdicts(warehouse, DATED, manifest)
    assert warehouse.physical("orders") == before
