"""Columns that differ: refused, left out, added, or made as the spec says; never a silent cast."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.core.step import Receipt
from airflow_idempotent.errors import SchemaDriftError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect


@pytest.fixture
def warehouse(connect: Connect) -> Warehouse:
    found = Warehouse(connect)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, v varchar(3), amount numeric(5,2))")
    found.sql("INSERT INTO orders VALUES (1, 'a', 1.50)")
    return found


def spec(policy: str, **types: str) -> LoadSpec:
    columns = [{"name": name, "data_type": data_type} for name, data_type in types.items()]
    return LoadSpec(table="orders", unique_key="id", on_schema_change=policy, columns=columns)


def load(warehouse: Warehouse, policy: str, text: str, **types: str) -> Receipt:
    return warehouse.load(spec(policy, **types), text)


def types_of(warehouse: Warehouse) -> dict[str, str]:
    return dict(
        warehouse.sql(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = 'orders'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
        )
    )


NEW = "id,v,amount,extra\n1,b,2.00,7\n2,c,3.00,8\n"
TABLE = {"id": "integer", "v": "character varying(3)", "amount": "numeric(5,2)"}


def test_a_new_column_is_there_and_filled_by_the_same_load(warehouse: Warehouse) -> None:
    receipt = load(warehouse, "append_new_columns", NEW)

    assert types_of(warehouse) == TABLE | {"extra": "text"}
    assert warehouse.sql("SELECT id, extra FROM orders ORDER BY id") == [(1, "7"), (2, "8")]
    assert receipt.notes == ("column added: extra text",)
    assert warehouse.sql("SELECT message FROM airflow_idempotent.events") == [("column added: extra text",)]


def test_a_new_column_has_the_type_of_the_spec_and_is_added_once(warehouse: Warehouse) -> None:
    given = {**TABLE, "extra": "int"}
    load(warehouse, "append_new_columns", NEW, **given)
    again = load(warehouse, "append_new_columns", NEW, **given)

    assert types_of(warehouse) == TABLE | {"extra": "integer"}
    assert (again.effects.touched, again.effects.unchanged, again.notes) == (0, 2, ())


def test_an_older_batch_without_the_new_column_leaves_its_values_alone(warehouse: Warehouse) -> None:
    load(warehouse, "append_new_columns", NEW)

    warehouse.load(spec("append_new_columns"), "id,v,amount\n2,d,3.00\n", partition="2025-05-02")

    assert warehouse.sql("SELECT v, extra FROM orders WHERE id = 2") == [("d", "8")]


def test_a_dry_run_adds_nothing(warehouse: Warehouse) -> None:
    receipt = warehouse.load(spec("append_new_columns"), NEW, dry_run=True)

    assert receipt.effects.inserted == 1
    assert types_of(warehouse) == TABLE


@pytest.mark.parametrize("policy", ["ignore", "append_new_columns"])
def test_a_type_of_the_spec_never_changes_the_tables_and_that_is_said(warehouse: Warehouse, policy: str) -> None:
    receipt = load(warehouse, policy, "id,v\n1,b\n", id="bigint", v="varchar(3)")

    assert types_of(warehouse) == TABLE
    assert receipt.notes == ("column id stays integer, the spec says bigint",)


def test_another_type_is_refused_by_default_with_what_would_become_of_it(warehouse: Warehouse) -> None:
    with pytest.raises(SchemaDriftError) as caught:
        load(warehouse, "fail", "id,v,amount\n1,b,2.00\n", id="bigint", v="integer", amount="numeric(5,2)")

    assert caught.value.problems[:2] == (
        "column 'id' is integer in the target, bigint in the spec; sync_all_columns would widen it",
        "column 'v' is character varying(3) in the target, integer in the spec; "
        "values could be lost: alter the table by hand",
    )


def test_a_table_that_is_wider_than_the_spec_takes_all_it_says(warehouse: Warehouse) -> None:
    receipt = load(warehouse, "fail", "id,v\n1,b\n", id="smallint", v="varchar(3)")

    assert receipt.notes == ("column id stays integer, the spec says smallint",)


def test_a_table_in_step_with_its_spec_gets_loses_and_widens_columns(warehouse: Warehouse) -> None:
    given = {"id": "bigint", "v": "text", "extra": "int"}
    receipt = load(warehouse, "sync_all_columns", "id,v,extra\n1,longer than three,7\n", **given)

    assert types_of(warehouse) == {"id": "bigint", "v": "text", "extra": "integer"}
    assert warehouse.sql("SELECT * FROM orders") == [(1, "longer than three", 7)]
    assert receipt.notes == (
        "column added: extra integer",
        "column dropped: amount",
        "column widened: id integer → bigint",
        "column widened: v character varying(3) → text",
    )


def test_a_narrower_type_is_never_made(warehouse: Warehouse) -> None:
    with pytest.raises(SchemaDriftError, match="values could be lost"):
        load(warehouse, "sync_all_columns", "id,amount\n1,2.0\n", id="int", amount="numeric(5,1)")

    assert types_of(warehouse) == TABLE


def test_a_column_that_a_view_reads_is_not_dropped(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW amounts AS SELECT amount FROM orders")

    with pytest.raises(Exception, match="depend"):
        load(warehouse, "sync_all_columns", "id,v\n1,b\n", id="int", v="varchar(3)")

    assert types_of(warehouse) == TABLE


def test_what_the_batch_has_and_the_spec_has_not_is_told(warehouse: Warehouse) -> None:
    with pytest.raises(SchemaDriftError, match="'extra' of the batch is not in 'columns'"):
        load(warehouse, "sync_all_columns", NEW, **TABLE)


def test_a_reader_makes_the_change_wait_for_a_moment_only(warehouse: Warehouse) -> None:
    with warehouse.session() as reader:
        reader.execute("BEGIN; SELECT * FROM orders")
        with pytest.raises(Exception, match="lock") as caught:
            warehouse.load(spec("append_new_columns").model_copy(update={"lock_timeout": 0.5}), NEW)
        reader.execute("COMMIT")

    error: Any = caught.value
    assert error.retryable
    assert types_of(warehouse) == TABLE
