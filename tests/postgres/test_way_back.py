"""Going back after a swap: what keeps the loads made since, what would lose them, and who is told before."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_idempotent.core.version import RollbackOrder, SwapOrder, Swapped
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.errors import WritesLostError
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
    """Give a table of two days, of which version 2 holds the same."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    found = Table(tmp_path, command, Warehouse(connect_once).sql)
    for number, day in enumerate(DAYS, start=1):
        found.deliver(day, (number, number * 10, "x"))
    found.write()
    for day in (FIRST, SECOND):
        found.run(day)
    found.write(2)
    found.build(FIRST, SECOND)
    return found


def cut_over(table: Table, connect: Connect) -> Swapped:
    return swap(order_of(table.spec), connect=connect)


def back(table: Table, connect: Connect, *, accept_loss: bool = False) -> Swapped:
    return rollback(RollbackOrder(table.spec.live, accept_loss=accept_loss), connect=connect)


def test_what_was_loaded_since_the_swap_is_there_after_a_rollback(table: Table, connect_once: Connect) -> None:
    cut_over(table, connect_once)
    table.run(THIRD)
    table.deliver(FIRST, (1, 11, "late"))
    table.run(FIRST)

    done = back(table, connect_once)

    assert (done.version, done.lost) == (1, ())
    assert table.rows() == [(1, "11.00"), (2, "20.00"), (3, "30.00")]


def test_loads_after_the_rollback_go_on_by_the_spec_of_the_version_that_is_live_again(
    table: Table, connect_once: Connect
) -> None:
    cut_over(table, connect_once)
    back(table, connect_once)

    assert table.run(THIRD).code == 0

    assert table.rows()[-1] == (3, "30.00")
    assert table.states(1)[THIRD] == "validated"
    assert THIRD not in table.states(2)


def test_a_rollback_that_would_lose_loads_is_refused_and_names_them(table: Table, connect_once: Connect) -> None:
    table.write(2, publish={"mode": "swap", "rollback_window": 0})
    cut_over(table, connect_once)
    table.run(THIRD)

    with pytest.raises(WritesLostError) as refused:
        back(table, connect_once)
    assert refused.value.partitions == (THIRD,)
    assert "rollback public.orders --accept-loss" in refused.value.next_move
    assert len(table.rows()) == 3

    done = back(table, connect_once, accept_loss=True)
    assert (done.version, done.lost) == (1, (THIRD,))
    assert len(table.rows()) == 2


def test_a_load_that_failed_in_the_version_before_is_one_that_would_be_lost(
    table: Table, connect_once: Connect, command: Command
) -> None:
    cut_over(table, connect_once)
    table.sql("ALTER TABLE orders__v1 ADD CHECK (amount < 25)")
    table.run(THIRD)

    answer = command("rollback", "orders")
    assert (answer.code, f"{THIRD} was loaded into version 2 only" in answer.err) == (1, True)
    listed = command("versions", "orders", "--json").document["public.orders"]
    assert [item.get("lost_by_rollback") for item in listed] == [[THIRD], None]

    table.sql("ALTER TABLE orders__v1 DROP CONSTRAINT orders__v1_amount_check")
    table.run(THIRD)  # loaded once more, and this time into both
    assert command("rollback", "orders").code == 0
    assert len(table.rows()) == 3


def test_a_partition_that_only_the_new_version_ever_had_would_be_lost(table: Table, connect_once: Connect) -> None:
    table.build(THIRD)
    cut_over(table, connect_once)

    with pytest.raises(WritesLostError) as refused:
        back(table, connect_once)

    assert refused.value.partitions == (THIRD,)


def test_what_a_load_did_not_change_is_not_lost(table: Table, connect_once: Connect) -> None:
    table.write(2, publish={"mode": "swap", "rollback_window": 0})
    cut_over(table, connect_once)
    table.run(SECOND)

    assert back(table, connect_once).lost == ()


def test_a_way_back_is_told_with_the_swap(table: Table, connect_once: Connect) -> None:
    told = cut_over(table, connect_once).way_back

    assert told.startswith("A rollback to version 1 is possible at least until ")
    assert "loads write it until " in told


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"keep_for": 0, "keep_versions": 0}, "There will be no way back to version 1: keep_for and keep_versions"),
        ({"rollback_window": 0}, "it goes back to the rows of the swap: loads write the new version only"),
    ],
)
def test_so_is_that_there_is_none_or_that_it_loses_something(
    table: Table, connect_once: Connect, options: dict[str, int], said: str
) -> None:
    table.write(2, publish={"mode": "swap", **options})

    assert said in cut_over(table, connect_once).way_back


def test_a_version_of_which_no_spec_is_known_is_not_kept_up_and_that_is_told(
    table: Table, connect_once: Connect
) -> None:
    table.sql("CREATE TABLE items AS SELECT 1 AS id; CREATE TABLE items_new AS SELECT 2 AS id")
    order = order_of(table.spec)
    live = table.spec.live.__class__("public", "items")
    shadow = table.spec.live.__class__("public", "items_new")

    done = swap(
        SwapOrder(live, shadow, keeping=order.keeping, rollback_window=order.rollback_window), connect=connect_once
    )

    assert "it goes back to the rows of the swap: by which spec version 1 is loaded is not known" in done.way_back


def test_the_swap_waits_for_intervals_that_scheduled_runs_have_found_alike(table: Table, connect_once: Connect) -> None:
    from airflow_idempotent.core.step import Attempt
    from airflow_idempotent.engine.stage_merge import stage_merge
    from airflow_idempotent.engine.validate import validate
    from airflow_idempotent.errors import CutoverError
    from airflow_idempotent.landing.store import BatchStore
    from airflow_idempotent.plan.build import Load

    table.write(2, publish={"mode": "swap", "clean_intervals": 2})
    store = BatchStore(table.folder / "lake")

    def scheduled(day: str) -> None:
        manifest = store.latest("public.orders", day)
        assert manifest
        load = Load(table.spec, table.spec.partition(day), manifest, target="shadow")
        words = {"connect": connect_once, "batches": store, "attempt": Attempt("d", "r", "t", lane="scheduled")}
        stage_merge(load, **words)
        validate(load, **words)

    with pytest.raises(CutoverError, match=f"partition {SECOND}, one of its newest, was not loaded by a scheduled run"):
        cut_over(table, connect_once)
    scheduled(SECOND)
    with pytest.raises(CutoverError, match=f"partition {FIRST}, one of its newest"):
        cut_over(table, connect_once)
    scheduled(FIRST)
    assert cut_over(table, connect_once).version == 2
