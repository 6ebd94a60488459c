"""merge with options: columns that are kept, ties that are refused, rows that the newest batch lacks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects
from airflow_idempotent.errors import GateClosedError, OutsidePartitionError, SchemaDriftError, TieError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse

NEXT = "2025-05-02"


@pytest.fixture
def orders(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, by text, ver int, d date)")
    return warehouse


def spec(version: str = "ver", **options: Any) -> LoadSpec:
    by = {"partition_by": {"column": "d"}} if "on_missing" in options else {}
    return LoadSpec(table="orders", unique_key="id", version=version, strategy={"kind": "merge", **options}, **by)


def rows(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.sql("SELECT id, v, by, ver FROM orders ORDER BY 1")


# --- columns that a row which is there keeps ------------------------------------------------------


@pytest.mark.parametrize("options", [{"merge_update_columns": ["v"]}, {"merge_exclude_columns": ["by", "d"]}])
def test_a_row_that_is_there_keeps_other_columns_and_a_new_one_takes_all(
    orders: Warehouse, options: dict[str, Any]
) -> None:
    orders.load(spec(**options), "id,v,by,ver\n1,a,ann,1\n2,b,ann,5\n")

    again = orders.load(spec(**options), "id,v,by,ver\n1,A,bob,2\n2,B,bob,4\n3,c,bob,1\n", revision=2)

    assert again.effects == Effects(inserted=1, updated=1, stale=1)
    assert rows(orders) == [(1, "A", "ann", 2), (2, "b", "ann", 5), (3, "c", "bob", 1)]


def test_a_row_that_differs_only_in_columns_it_keeps_is_unchanged(orders: Warehouse) -> None:
    options = {"merge_update_columns": ["v"]}
    orders.load(spec(**options), "id,v,by,ver\n1,a,ann,1\n")
    before = orders.physical("orders")

    receipt = orders.load(spec(**options), "id,v,by,ver\n1,a,bob,1\n", revision=2)

    assert receipt.effects == Effects(unchanged=1)
    assert orders.physical("orders") == before


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_columns_that_are_updated_end_alike_in_any_order(orders: Warehouse, order: tuple[int, int]) -> None:
    """Also when a column that is kept comes before them and would decide the tie inside a batch otherwise."""
    orders.sql("ALTER TABLE orders DROP COLUMN v, ADD v text")
    texts = ("id,by,ver,v\n1,x,1,small\n1,a,1,zebra\n", "id,by,ver,v\n1,y,1,middle\n")

    for number in order:
        orders.load(spec(merge_update_columns=["v"]), texts[number], partition=(DAY, NEXT)[number])

    assert orders.sql("SELECT v FROM orders") == [("zebra",)]


def test_without_version_the_newest_batch_gives_the_columns_that_are_updated(orders: Warehouse) -> None:
    partial = LoadSpec(
        table="orders", unique_key="id", strategy={"kind": "merge", "merge_exclude_columns": ["by", "ver", "d"]}
    )
    orders.load(partial, "id,v,by\n1,a,ann\n")
    orders.load(partial, "id,v,by\n1,b,bob\n", revision=2)

    assert rows(orders) == [(1, "b", "ann", None)]


def test_a_column_that_the_target_lacks_is_named_with_the_one_that_was_meant(orders: Warehouse) -> None:
    with pytest.raises(SchemaDriftError) as refused:
        orders.load(spec(merge_update_columns=["vv"]), "id,v,by,ver\n1,a,ann,1\n")

    assert "column 'vv' is missing in the target, did you mean 'v'?" in refused.value.problems


# --- ties -----------------------------------------------------------------------------------------


def test_ties_in_the_batch_and_with_the_target_are_refused_and_nothing_is_loaded(orders: Warehouse) -> None:
    strict = spec(on_tie="fail")
    orders.load(strict, "id,v,ver\n1,a,1\n2,b,1\n")
    before = orders.physical("orders")

    with pytest.raises(TieError) as refused:
        orders.load(strict, "id,v,ver\n1,other,1\n2,b,1\n3,x,\n3,y,\n4,new,1\n", revision=2)

    tie = refused.value
    assert (tie.in_batch, tie.with_target, tie.samples) == (1, 1, ("3", "1"))
    assert "(id) = (3)" in tie.details
    assert "other" not in str(tie)
    assert orders.physical("orders") == before
    assert orders.events("public.orders")[-1][-1] == "failed"


def test_a_tie_that_decides_nothing_is_none(orders: Warehouse) -> None:
    strict = spec(on_tie="fail")
    orders.load(strict, "id,v,ver\n1,a,3\n")

    receipt = orders.load(strict, "id,v,ver\n1,x,2\n2,x,1\n2,y,1\n2,z,2\n2,z,2\n", revision=2)
    again = orders.load(strict, "id,v,ver\n1,x,2\n2,z,2\n", revision=3)

    assert receipt.effects == Effects(inserted=1, stale=1, duplicate=3)
    assert again.effects == Effects(unchanged=1, stale=1)


def test_a_tie_in_columns_that_are_kept_is_one_inside_a_batch_only(orders: Warehouse) -> None:
    strict = spec(on_tie="fail", merge_update_columns=["v"])
    orders.load(strict, "id,v,by,ver\n1,a,ann,1\n")

    assert orders.load(strict, "id,v,by,ver\n1,a,bob,1\n", revision=2).effects == Effects(unchanged=1)
    with pytest.raises(TieError):
        orders.load(strict, "id,v,by,ver\n2,a,ann,1\n2,a,bob,1\n", revision=3)


def test_ties_are_refused_behind_a_gate_and_on_a_re_run_too(orders: Warehouse) -> None:
    words = {"table": "orders", "unique_key": "id", "version": "ver", "strategy": {"kind": "merge", "on_tie": "fail"}}
    gated = LoadSpec(**words, checks=[{"row_count": {"min": 1}}])
    text = "id,v,ver\n1,a,1\n"
    orders.load(gated, text)
    orders.sql("UPDATE orders SET v = 'somebody'")

    with pytest.raises(TieError):
        orders.load(gated, text)


# --- rows that the newest batch lacks -------------------------------------------------------------


def test_rows_of_the_partition_that_the_newest_batch_lacks_are_deleted(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    orders.sql("INSERT INTO orders VALUES (9, 'other day', NULL, 1, '2025-05-02'), (8, 'no day', NULL, 1, NULL)")
    orders.load(complete, "id,v,ver,d\n1,a,1,2025-05-01\n2,b,5,2025-05-01\n3,c,1,2025-05-01\n")

    receipt = orders.load(complete, "id,v,ver,d\n1,a,1,2025-05-01\n2,B,4,2025-05-01\n", revision=2)

    assert receipt.effects == Effects(deleted=1, unchanged=1, stale=1)
    assert receipt.measure.beyond_batch == 1
    assert [row[0] for row in rows(orders)] == [1, 2, 8, 9]


def test_an_older_batch_writes_nothing(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    first = orders.batches.land(complete, "id,v,ver,d\n1,a,9,2025-05-01\n2,b,1,2025-05-01\n")
    orders.load(complete, "id,v,ver,d\n1,a,1,2025-05-01\n", revision=2)
    before = orders.physical("orders")

    receipt = orders.load_again(complete, first)

    assert receipt.effects == Effects(stale=2)
    assert orders.physical("orders") == before


def test_an_empty_batch_empties_its_partition(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    orders.load(complete, "id,v,ver,d\n1,a,1,2025-05-01\n")

    assert orders.load(complete, "id,v,ver,d\n", revision=2).effects == Effects(deleted=1)
    assert orders.load(complete, "id,v,ver,d\n", revision=2).effects == Effects()
    assert rows(orders) == []


def test_a_row_outside_the_partition_refuses_the_batch(orders: Warehouse) -> None:
    with pytest.raises(OutsidePartitionError):
        orders.load(spec(on_missing="delete"), "id,v,ver,d\n1,a,1,2025-05-02\n")


def test_a_closed_gate_deletes_nothing(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    orders.load(complete, "id,v,ver,d\n1,a,1,2025-05-01\n")
    gated = complete.model_copy(update={"checks": LoadSpec(table="t", unique_key="id", checks=[{"count": 2}]).checks})

    with pytest.raises(GateClosedError):
        orders.load(gated, "id,v,ver,d\n2,a,1,2025-05-01\n", revision=2)

    assert [row[0] for row in rows(orders)] == [1]


def test_triggers_for_each_statement_are_quiet_when_nothing_is_missing(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    text = "id,v,ver,d\n1,a,1,2025-05-01\n"
    orders.load(complete, text)
    orders.sql("CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a delete'; END $$")
    orders.sql("CREATE TRIGGER no BEFORE DELETE ON orders FOR EACH STATEMENT EXECUTE FUNCTION no()")

    assert orders.load(complete, text).effects == Effects(unchanged=1)


def test_two_partitions_at_once_delete_their_own_rows_only(orders: Warehouse) -> None:
    complete = spec(on_missing="delete")
    for number, day in enumerate((DAY, NEXT)):
        text = "".join(f"{number}{n},a,1,{day}\n" for n in range(100, 200))
        orders.load(complete, f"id,v,ver,d\n{text}", partition=day)

    def halve(number: int) -> Effects:
        day = (DAY, NEXT)[number]
        text = "".join(f"{number}{n},a,1,{day}\n" for n in range(100, 150))
        return orders.load(complete, f"id,v,ver,d\n{text}", partition=day, revision=2).effects

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(halve, (0, 1))) == [Effects(deleted=50, unchanged=50)] * 2
