"""Bad rows are set aside with file, line, column and reason; the others are loaded."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.errors import (
    BadRowError,
    EventTimeMissingError,
    OutsidePartitionError,
    PrecisionError,
    TooManyRejectedError,
)
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect
from tests.tried import TRIED, every_strategy

TABLE = """
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE TYPE mood AS ENUM ('good', 'bad day');
CREATE TABLE orders (id int PRIMARY KEY, v varchar(3), n small, m mood, amount numeric(5,2), j jsonb, d date)
"""
KEPT = (
    "SELECT file, record, line, column_name, reason FROM airflow_idempotent.quarantine ORDER BY batch_id, file, record"
)


@pytest.fixture
def warehouse(connect: Connect) -> Warehouse:
    found = Warehouse(connect)
    found.sql(TABLE)
    return found


def spec(**words: Any) -> LoadSpec:
    given = {"table": "orders", "unique_key": "id", "reject": {"mode": "quarantine", "max_share": 1}}
    return LoadSpec(**(given | words))


GOOD_AND_BAD = """id,v,n,m,amount,j,d
1,abc,1,good,1.50,{},2025-05-01
x,abc,1,good,1.50,{},2025-05-01
3,"ab
cd",1,good,1.50,{},2025-05-01
4,abc,100,good,1.50,{},2025-05-01
5,abc,1,glad,1.50,{},2025-05-01
,abc,1,good,1.50,{},2025-05-01
7,abc,1,good,1.555,{},2025-05-01
8,abc,1,good,1000.00,{},2025-05-01
9,abc,1,good,1.50,{broken,2025-05-01
10,abc,1,good,1.500,"{""a"": [1, null]}",2025-05-01
"""


def test_what_can_be_read_is_loaded_and_the_rest_is_kept_with_its_place(warehouse: Warehouse) -> None:
    receipt = warehouse.load(spec(), GOOD_AND_BAD)

    assert warehouse.sql("SELECT id, amount FROM orders ORDER BY id") == [(1, Decimal("1.50")), (10, Decimal("1.50"))]
    assert (receipt.effects.inserted, receipt.effects.rejected, receipt.measure.staged_rows) == (2, 8, 10)
    assert [(row[1], row[2], row[3]) for row in warehouse.sql(KEPT)] == [
        (2, 3, "id"),
        (3, 5, "v"),
        (4, 6, "n"),
        (5, 7, "m"),
        (6, 8, "id"),
        (7, 9, "amount"),
        (8, 10, "amount"),
        (9, 11, "j"),
    ]
    reasons = [row[4] for row in warehouse.sql(KEPT)]
    assert reasons[0] == 'invalid input syntax for type integer: "x"'
    assert reasons[1] == "value too long for type character varying(3)"
    assert reasons[4:7] == [
        "NULL where a value is required",
        "digits would be rounded away by numeric(5,2)",
        "does not fit numeric(5,2)",
    ]


def test_the_whole_record_is_kept_as_it_was_written(warehouse: Warehouse) -> None:
    warehouse.load(spec(), GOOD_AND_BAD)

    [(unread,)] = warehouse.sql("SELECT content FROM airflow_idempotent.quarantine WHERE record = 2")
    [(read,)] = warehouse.sql("SELECT content FROM airflow_idempotent.quarantine WHERE record = 7")

    assert unread == {"id": "x", "v": "abc", "n": "1", "m": "good", "amount": "1.50", "j": "{}", "d": "2025-05-01"}
    assert (read["id"], read["amount"]) == ("7", "1.555")


def test_a_second_run_writes_nothing_into_the_quarantine_either(warehouse: Warehouse) -> None:
    warehouse.load(spec(), GOOD_AND_BAD)
    before = warehouse.sql("SELECT ctid, xmin::text FROM airflow_idempotent.quarantine ORDER BY 1")

    again = warehouse.load(spec(), GOOD_AND_BAD)

    assert (again.effects.touched, again.effects.unchanged, again.effects.rejected) == (0, 2, 8)
    assert warehouse.sql("SELECT ctid, xmin::text FROM airflow_idempotent.quarantine ORDER BY 1") == before


def test_parts_are_told_apart(warehouse: Warehouse) -> None:
    receipt = warehouse.load(spec(), "id,v\n1,a\nx,b\n", "id,v\ny,c\n2,d\n,e\n")

    assert receipt.effects.rejected == 3
    assert [row[:4] for row in warehouse.sql(KEPT)] == [
        ("in0.csv", 2, 3, "id"),
        ("in1.csv", 1, 2, "id"),
        ("in1.csv", 3, 4, "id"),
    ]


@pytest.mark.parametrize(
    ("bounds", "allowed"), [({"max_rows": 7, "max_share": 1}, "7 are"), ({"max_share": 0.5}, "50.00% are")]
)
def test_more_bad_rows_than_allowed_refuse_the_batch(
    warehouse: Warehouse, bounds: dict[str, Any], allowed: str
) -> None:
    with pytest.raises(TooManyRejectedError) as caught:
        warehouse.load(spec(reject={"mode": "quarantine", **bounds}), GOOD_AND_BAD)

    assert f"8 of 10 rows are bad, {allowed} allowed" in caught.value.headline
    assert caught.value.samples[0] == "in0.csv line 3 column 'id': invalid input syntax for type integer: \"x\""
    assert warehouse.sql("SELECT count(*) FROM orders") == [(0,)]
    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.quarantine") == [(0,)]


def test_what_is_no_record_refuses_the_batch_all_the_same(warehouse: Warehouse) -> None:
    with pytest.raises(BadRowError, match="line 3"):
        warehouse.load(spec(), "id,v\n1,a\n2,b,c\n")


def test_a_batch_without_bad_rows_leaves_no_trace(warehouse: Warehouse) -> None:
    assert warehouse.load(spec(), "id,v\n1,a\n").effects.rejected == 0
    assert warehouse.sql(KEPT) == []


def test_by_default_one_bad_row_refuses_all(warehouse: Warehouse) -> None:
    with pytest.raises(BadRowError):
        warehouse.load(spec(reject="fail"), "id,v\n1,a\nx,b\n")
    with pytest.raises(PrecisionError):
        warehouse.load(spec(reject="fail"), "id,amount\n1,1.555\n")


# --- the time of a row ------------------------------------------------------------------------------------------------

DAYS = "id,d\n1,2025-05-01\n2,\n3,2025-05-02\n"
BY_DAY: dict[str, Any] = {"partition_by": {"column": "d"}, "reject": "fail"}


@pytest.mark.parametrize(
    ("words", "ids", "rejected"),
    [
        ({}, [1, 2, 3], 0),
        ({"on_event_time_missing": "exclude"}, [1, 3], 1),
        ({"on_outside_partition": "exclude"}, [1, 2], 1),
        ({"on_event_time_missing": "exclude", "on_outside_partition": "exclude"}, [1], 2),
        ({"on_outside_partition": "exclude", "reject": {"mode": "quarantine", "max_share": 1}}, [1, 2], 1),
        ({"on_outside_partition": "raise", "reject": {"mode": "quarantine", "max_share": 1}}, [1, 2], 1),
    ],
)
def test_rows_without_a_time_or_of_another_day_are_loaded_or_left_out(
    warehouse: Warehouse, words: dict[str, Any], ids: list[int], rejected: int
) -> None:
    receipt = warehouse.load(spec(**(BY_DAY | words)), DAYS)

    assert warehouse.sql("SELECT array_agg(id ORDER BY id) FROM orders") == [(ids,)]
    assert receipt.effects.rejected == rejected
    assert warehouse.load(spec(**(BY_DAY | words)), DAYS).effects.touched == 0


def test_rows_without_a_time_or_of_another_day_refuse_the_batch_where_the_spec_says_so(warehouse: Warehouse) -> None:
    with pytest.raises(EventTimeMissingError, match="1 row"):
        warehouse.load(spec(**BY_DAY, on_event_time_missing="raise"), DAYS)
    with pytest.raises(OutsidePartitionError, match="1 row"):
        warehouse.load(spec(**BY_DAY, on_outside_partition="raise"), DAYS)

    assert warehouse.sql("SELECT count(*) FROM orders") == [(0,)]


# --- every strategy ---------------------------------------------------------------------------------------------------


@every_strategy
@pytest.mark.parametrize("mode", ["quarantine", "exclude"])
def test_a_row_that_is_left_out_is_counted_once_whatever_the_strategy(
    connect_once: Connect, name: str, mode: str
) -> None:
    warehouse, tried = Warehouse(connect_once), TRIED[name]
    warehouse.sql(tried.ddl())
    words = {"reject": {"mode": "quarantine", "max_share": 1}} if mode == "quarantine" else {}
    found = tried.spec(partition_by={"column": "d"}, on_outside_partition="exclude", **words)
    rows = [(1, 1, DAY, "a"), (2, 1, "2025-05-02", "b")] + ([("x", 1, DAY, "c")] if words else [])

    first, again = (warehouse.load(found, tried.csv("id,ver,d,v", rows)) for _ in range(2))

    assert (first.effects.inserted, first.effects.rejected, first.effects.duplicate) == (1, len(rows) - 1, 0)
    assert (again.effects.touched, again.effects.unchanged, again.effects.rejected) == (0, 1, len(rows) - 1)


# --- any mixture ------------------------------------------------------------------------------------------------------

VALUES = {
    "id": ["1", "2", "3", "", "x", "99999999999"],
    "v": ["a", "abc", "abcd", ""],
    "n": ["1", "99", "100", "no"],
    "j": ["{}", "[1]", "{", "null"],
}
FINE = {"id": {"1", "2", "3"}, "v": {"a", "abc", ""}, "n": {"1", "99"}, "j": {"{}", "[1]", "null"}}


@settings(max_examples=40)
@given(st.lists(st.tuples(*(st.sampled_from(values) for values in VALUES.values())), max_size=30))
def test_of_any_mixture_the_good_rows_are_loaded_and_the_bad_ones_kept(
    connect_once: Connect, rows: list[tuple[str, ...]]
) -> None:
    warehouse = Warehouse(connect_once)
    warehouse.sql("DROP TABLE IF EXISTS orders; DROP DOMAIN IF EXISTS small; DROP TYPE IF EXISTS mood;" + TABLE)
    warehouse.sql("DROP SCHEMA IF EXISTS airflow_idempotent CASCADE")
    good = [row for row in rows if all(value in FINE[name] for name, value in zip(VALUES, row, strict=True))]
    quoted = (",".join(f'"{value}"' if value else "" for value in row) for row in rows)

    receipt = warehouse.load(spec(), "\n".join([",".join(VALUES), *quoted, ""]))

    assert receipt.effects.rejected == len(rows) - len(good)
    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.quarantine") == [(len(rows) - len(good),)]
    assert {row[0] for row in warehouse.sql("SELECT id FROM orders")} == {int(row[0]) for row in good}
