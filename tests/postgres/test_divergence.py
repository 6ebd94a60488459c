"""A new version held against the live table: what differs, what was expected to, and whether it may be swapped in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.divergence import Comparison, Likeness
from airflow_idempotent.core.version import SwapOrder, Swapped
from airflow_idempotent.engine.states import comparisons
from airflow_idempotent.engine.swap import swap
from airflow_idempotent.errors import CutoverError
from tests.cli_fixtures import Command
from tests.loading import Warehouse
from tests.postgres.versions import DAYS, Table
from tests.postgres_fixtures import Connect

FIRST, SECOND, THIRD = DAYS
ROWS = [(1, 10, "a"), (2, 20, "b"), (3, 30, "c")]
NARROW, WIDE = ("id", "amount", "d"), ("id", "amount", "note", "d")


@pytest.fixture
def table(
    tmp_path: Path, database: str, connect_once: Connect, command: Command, monkeypatch: pytest.MonkeyPatch
) -> Table:
    """Give a table of three rows on one day; version 2 is described, and has nothing yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    found = Table(tmp_path, command, Warehouse(connect_once).sql)
    found.deliver(FIRST, *ROWS)
    found.write()
    assert found.run(FIRST).code == 0
    found.write(2)
    return found


def other_source(table: Table, *rows: tuple[Any, ...], day: str = FIRST, **options: Any) -> None:
    """Let version 2 come from other files, with these rows."""
    place = table.folder / "other" / day
    place.mkdir(parents=True, exist_ok=True)
    lines = [",".join(map(str, (*row, day))) + "\n" for row in rows]
    (place / "orders.csv").write_text("id,amount,note,d\n" + "".join(lines))
    table.write(2, source={"kind": "files", "path": "other/{{ partition.key }}/*.csv"}, **options)


def expecting(**expect: Any) -> dict[str, Any]:
    return {"mode": "swap", "expect": expect}


def compared(connect: Connect) -> Comparison:
    [found] = comparisons(connect, everything=True)
    return found.comparison


def cut_over(table: Table, connect: Connect) -> Swapped:
    publish = table.spec.publish
    return swap(SwapOrder(table.spec.live, version=2, allow_changes=True, gates=publish.gates), connect=connect)


def test_equal_rows_are_alike_by_their_digests(table: Table, connect_once: Connect) -> None:
    table.build(FIRST)

    found = compared(connect_once)

    assert (found.likeness, found.rows, found.live_rows, found.unlike) == (Likeness.CLEAN, 3, 3, ())
    assert found.digest == found.live_digest
    assert cut_over(table, connect_once).version == 2


UNLIKE = [
    ([(1, 10, "a"), (2, 21, "b"), (3, 30, "c")], "amount differs in 1 of 3 rows, e.g. 2"),
    ([(1, 10, "a"), (2, 20, "b")], "1 rows are only in the live table, which has 3, e.g. 3"),
    ([*ROWS, (4, 1, "d")], "1 rows are only in the new version; the live table has 3, e.g. 4"),
    ([*ROWS[:2], (4, 1, "d")], "1 rows are only in the new version; the live table has 3, e.g. 4"),
]


@pytest.mark.parametrize(("rows", "said"), UNLIKE)
def test_what_differs_keeps_a_version_from_being_swapped_in(
    table: Table, connect_once: Connect, rows: list[Any], said: str
) -> None:
    other_source(table, *rows)
    table.build(FIRST)

    with pytest.raises(CutoverError) as refused:
        cut_over(table, connect_once)

    assert f"partition {FIRST} is not as in the live table: {said}" in refused.value.reasons[0]
    assert refused.value.waiting
    assert "versions public.orders --divergence" in refused.value.next_move


def test_the_report_names_the_rows_and_the_query_that_shows_them(table: Table, command: Command) -> None:
    other_source(table, (1, 10, "a"), (2, 21, "b"), (3, 30, "c"))
    table.build(FIRST)

    answer = command("versions", "orders", "--divergence")
    document = command("versions", "orders", "--divergence", "--json").document

    assert answer.code == 1
    assert f"public.orders {FIRST}: version 2 is diverged (3 rows, live 3; " in answer.out
    assert "NOT EXPECTED: amount differs in 1 of 3 rows, e.g. 2" in answer.out
    assert "NOT EXPECTED: sum(amount) is 61.00, in the live table 60.00: 1.667% apart" in answer.out
    [report] = document
    query = report["differences"][0]["query"]
    assert query in answer.out
    assert table.sql(query.replace("%", "%%")) == [("2", True, True, "amount")]


EXPECTED = [
    (WIDE, ROWS, {"new_columns": "note"}),
    (NARROW, [(1, 10, ""), (2, 21, ""), (3, 30, "")], {"changed": {"amount": "any"}}),
    (NARROW, [(1, 10, ""), (2, 20.1, ""), (3, 30, "")], {"changed": {"amount": 0.01}}),
    (NARROW, [(1, 10, ""), (2, 21, ""), (3, 30, "")], {"changed": {"amount": {"absolute_tolerance": 1}}}),
    (NARROW, [(1, 11, ""), (2, 19, ""), (3, 30, "")], {"changed": {"amount": {"total": 0.001}}}),
    (NARROW, [*ROWS, (4, 0, "")], {"added_rows": 0.34}),
    (NARROW, ROWS[:2], {"removed_rows": 0.34}),
]


@pytest.mark.parametrize(("columns", "rows", "expect"), EXPECTED)
def test_what_is_expected_does_not_stand_in_the_way(
    table: Table, connect_once: Connect, columns: tuple[str, ...], rows: list[Any], expect: dict[str, Any]
) -> None:
    other_source(table, *rows, columns=columns, publish=expecting(**expect))
    table.build(FIRST)

    found = compared(connect_once)

    assert (found.likeness, found.message) == (Likeness.CLEAN, "")
    assert found.unlike
    assert cut_over(table, connect_once).version == 2


BEYOND = [
    (WIDE, ROWS, {}, "column note is only in the new version"),
    (("id", "d"), ROWS, {}, "column amount is only in the live table"),
    (NARROW, [(1, 10, ""), (2, 21, ""), (3, 30, "")], {"changed": {"amount": 0.01}}, "by more than expected in 1 of 3"),
    (NARROW, [(1, 11, ""), (2, 20, ""), (3, 30, "")], {"changed": {"amount": {"total": 0.001}}}, "1.667% apart"),
    (NARROW, [*ROWS, (4, 0, ""), (5, 0, "")], {"added_rows": 0.34}, "2 rows are only in the new version"),
]


@pytest.mark.parametrize(("columns", "rows", "expect", "said"), BEYOND)
def test_what_goes_beyond_what_is_expected_does(
    table: Table, connect_once: Connect, columns: tuple[str, ...], rows: list[Any], expect: dict[str, Any], said: str
) -> None:
    other_source(table, *rows, columns=columns, publish=expecting(**expect))
    table.build(FIRST)

    found = compared(connect_once)

    assert found.likeness is Likeness.DIVERGED
    assert said in found.message


def test_once_it_is_declared_the_same_rows_are_compared_again_and_nothing_is_written(
    table: Table, connect_once: Connect
) -> None:
    other_source(table, (1, 10, "a"), (2, 21, "b"), (3, 30, "c"))
    table.build(FIRST)
    before = table.sql("SELECT ctid, xmin FROM orders__v2")
    table.write(2, source=table.spec.source.model_dump(), publish=expecting(changed={"amount": "any"}))

    table.build(FIRST)

    assert table.sql("SELECT ctid, xmin FROM orders__v2") == before
    assert compared(connect_once).likeness is Likeness.CLEAN
    assert cut_over(table, connect_once).version == 2


def test_rows_are_compared_as_sets_where_the_new_key_is_none_of_the_live_table(
    table: Table, connect_once: Connect
) -> None:
    table.deliver(SECOND, (7, 5, "x"), (8, 5, "y"))
    table.write()
    table.run(SECOND)
    table.write(2, unique_key="amount")
    table.build(FIRST, SECOND)

    [one, two] = comparisons(connect_once, everything=True)

    assert one.comparison.likeness is Likeness.CLEAN
    why = "key (amount) is not unique in the live table: rows are compared as they are"
    assert f"1 rows are only in the live table ({why})" in two.comparison.message


def test_other_types_that_hold_the_same_values_are_no_difference(table: Table, connect_once: Connect) -> None:
    kinds = {"id": "bigint", "amount": "double precision", "d": "timestamp"}
    table.write(2, kinds=kinds)
    table.build(FIRST)

    found = compared(connect_once)

    assert (found.likeness, found.unlike) == (Likeness.CLEAN, ())


def test_a_load_of_the_live_table_alone_leaves_the_version_behind(table: Table, connect_once: Connect) -> None:
    table.write(2, publish={"mode": "swap", "dual_write": False})
    table.build(FIRST)
    table.deliver(FIRST, (1, 11, "a"), *ROWS[1:])
    table.run(FIRST)

    with pytest.raises(CutoverError, match=f"partition {FIRST} is behind the live table, which was loaded since"):
        cut_over(table, connect_once)
    table.build(FIRST)

    assert cut_over(table, connect_once).version == 2


def test_a_loaded_partition_that_was_not_compared_since_is_not_ready(table: Table, connect_once: Connect) -> None:
    table.write(2, publish={"mode": "swap", "compare": False})
    table.build(FIRST)
    table.write(2)

    with pytest.raises(CutoverError, match="is not compared with the live table since it was loaded"):
        cut_over(table, connect_once)


def test_distributions_are_told_where_enough_rows_differ(table: Table, connect_once: Connect) -> None:
    many = [(number, number % 50, "x") for number in range(100, 500)]
    table.deliver(SECOND, *many)
    table.write()
    table.run(SECOND)
    other_source(table, *ROWS)
    other_source(table, *((number, number % 50 + 40, "x") for number in range(100, 500)), day=SECOND)
    table.build(FIRST, SECOND)

    [second] = comparisons(connect_once, everything=False)

    told = [item.message for item in second.comparison.unlike if item.what == "distribution"]
    assert len(told) == 1
    assert told[0].startswith("amount is spread otherwise: psi ")
