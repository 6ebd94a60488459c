"""A version that is built, and one that is kept, are loaded with the live table; they never stand in its way."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from airflow_idempotent.core.locks import locks_beside
from airflow_idempotent.core.version import RollbackOrder, SwapOrder
from airflow_idempotent.engine.beside import kept_up
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.operators.cutover import order_of
from tests.cli_fixtures import Command
from tests.loading import Warehouse
from tests.postgres.versions import DAYS, Table
from tests.postgres_fixtures import Connect

FIRST, SECOND, THIRD = DAYS


@pytest.fixture
def table(
    tmp_path: Path, database: str, connect_once: Connect, command: Command, monkeypatch: pytest.MonkeyPatch
) -> Table:
    """Give a table that has two days, one of its versions being built: it has the column ``note`` besides."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    found = Table(tmp_path, command, Warehouse(connect_once).sql)
    found.deliver(FIRST, (1, 10, "a"))
    found.deliver(SECOND, (2, 20, "b"))
    found.deliver(THIRD, (3, 30, "c"))
    found.write()
    for day in (FIRST, SECOND):
        assert found.run(day).code == 0
    found.write(2, ("id", "amount", "note", "d"))
    return found


def test_nothing_is_written_beside_the_table_before_somebody_builds_a_version(table: Table) -> None:
    answer = table.run(THIRD)

    assert "beside" not in answer.out
    assert table.sql("SELECT to_regclass('orders__v2')") == [(None,)]


def test_each_load_of_the_live_table_goes_into_the_version_that_is_built_too(table: Table) -> None:
    table.build(FIRST, SECOND)

    answer = table.run(THIRD)

    assert "version 2 beside it: validated" in answer.out
    assert table.rows("orders__v2", "id, note") == [(1, "a"), (2, "b"), (3, "c")]
    assert table.rows() == [(1, "10.00"), (2, "20.00"), (3, "30.00")]
    batches = table.sql("SELECT DISTINCT batch_id FROM airflow_idempotent.events WHERE partition_key = %s", [THIRD])
    assert batches == [("20250503_01",)]


def test_until_the_swap_the_live_table_keeps_its_columns_and_its_meaning(table: Table) -> None:
    table.write(2, ("id", "amount", "note", "d"), on_schema_change="append_new_columns", unique_key=["id", "d"])
    table.build(FIRST)

    assert table.run(THIRD).code == 0

    names = "SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attnum > 0 AND attrelid = "
    assert table.sql(names + "'orders'::regclass") == [("id,amount,d",)]
    assert table.sql(names + "'orders__v2'::regclass") == [("id,amount,note,d",)]
    said = table.sql(
        "SELECT table_version, count(DISTINCT spec_fingerprint) FROM airflow_idempotent.events GROUP BY 1 ORDER BY 1"
    )
    assert said == [(1, 1), (2, 1)]


def test_a_version_with_a_source_of_its_own_gets_the_batches_of_that(table: Table) -> None:
    table.write(2, ("id", "amount", "d"), source={"kind": "files", "path": "net/{{ partition.key }}/*.csv"})
    for day in (FIRST, THIRD):
        (table.folder / "net" / day).mkdir(parents=True)
        (table.folder / "net" / day / "orders.csv").write_text(f"id,amount,d\n{day[-1]},5,{day}\n")
    table.build(FIRST)

    answer = table.run(THIRD)

    assert "version 2 beside it: validated" in answer.out
    assert table.rows("orders__v2") == [(1, "5.00"), (3, "5.00")]
    assert table.rows() == [(1, "10.00"), (2, "20.00"), (3, "30.00")]
    assert (table.folder / "lake/public.orders__v2").is_dir()


def test_a_version_that_cannot_be_loaded_stays_behind_and_fails_nothing(table: Table) -> None:
    table.build(FIRST, SECOND)
    table.sql("ALTER TABLE orders__v2 ADD CHECK (amount < 25)")

    answer = table.run(THIRD)

    assert answer.code == 0
    assert "version 2 stays behind: public.orders 2025-05-03: the target refused" in answer.out
    assert table.rows()[-1] == (3, "30.00")
    assert table.states(1)[THIRD] == "validated"
    assert table.states(2) == {FIRST: "validated", SECOND: "validated", THIRD: "failed"}


def test_by_request_only_the_live_table_is_loaded(table: Table) -> None:
    table.write(2, publish={"mode": "swap", "dual_write": False})
    table.build(FIRST)

    assert "beside" not in table.run(THIRD).out
    assert table.rows("orders__v2") == [(1, "10.00")]


def test_a_load_of_the_live_table_never_waits_for_one_beside_it(table: Table, connect_once: Connect) -> None:
    table.build(FIRST)
    table.write(2, ("id", "amount", "note", "d"), lock_timeout=1)
    with closing(connect_once()) as other:  # somebody loads the version, and does not come to an end
        cursor = other.cursor()
        for key in locks_beside("public.orders", 2, THIRD):
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])
        cursor.execute("LOCK TABLE orders__v2")

        answer = table.run(THIRD)

    assert answer.code == 0
    assert "version 2 stays behind: public.orders 2025-05-03: locked by another session" in answer.out
    assert table.states(1)[THIRD] == "validated"
    assert table.states(2)[THIRD] == "failed"


def test_after_the_swap_loads_keep_up_the_version_before_it(table: Table, connect_once: Connect) -> None:
    table.build(FIRST, SECOND)
    swap(SwapOrder(table.spec.live, version=2, allow_changes=True), connect=connect_once)

    answer = table.run(THIRD)

    assert "version 1 beside it: validated" in answer.out
    assert table.rows("orders", "id, note")[-1] == (3, "c")
    assert table.rows("orders__v1") == [(1, "10.00"), (2, "20.00"), (3, "30.00")]
    assert [item.version.number for item in kept_up(table.spec, connect=connect_once)] == [1]


def test_the_version_before_is_kept_up_for_as_long_as_the_spec_says(table: Table, connect_once: Connect) -> None:
    table.write(2, publish={"mode": "swap", "rollback_window": 0})
    table.build(FIRST, SECOND)
    swap(SwapOrder(table.spec.live, version=2, allow_changes=True), connect=connect_once)

    assert kept_up(table.spec, connect=connect_once) == ()
    assert table.run(THIRD).code == 0
    assert len(table.rows("orders__v1")) == 2


@pytest.mark.parametrize("by", ["rename", "view"])
def test_however_readers_get_to_the_table_both_versions_are_loaded(
    table: Table, connect_once: Connect, by: str
) -> None:
    publish = {"mode": "swap", "by": by, "expect": {"new_columns": "note"}}
    table.write(2, ("id", "amount", "note", "d"), publish=publish)
    table.build(FIRST, SECOND)
    swap(order_of(table.spec), connect=connect_once)

    assert "version 1 beside it: validated" in table.run(THIRD).out
    done = rollback(RollbackOrder(table.spec.live), connect=connect_once)
    assert table.run(SECOND).code == 0

    assert (done.version, done.lost) == (1, ())
    assert table.rows() == [(1, "10.00"), (2, "20.00"), (3, "30.00")]
    table.write(3, ("id", "amount", "d"), publish=publish | {"expect": {}})
    table.build(FIRST, SECOND, THIRD)
    assert swap(order_of(table.spec), connect=connect_once).version == 3
