"""The statements that find and delete duplicates: every name quoted, every value bound."""

from __future__ import annotations

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.duplicates import KeyRange
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql import deduplicate as sql

ORDERS = TableShape(
    Relation("public", "orders"),
    (Column("id", "bigint"), Column("line", "integer", nullable=False), Column("j", "json"), Column("ver", "integer")),
)


def test_the_repeated_keys_of_a_range_never_hold_null() -> None:
    found = sql.find_repeated(ORDERS, ("id", "line"), KeyRange(("1", "2"), ("3", "4")))

    assert found.sql == (
        'CREATE TEMPORARY TABLE "idem_repeated_keys" ON COMMIT DROP AS '
        'SELECT "id" AS "k0", "line" AS "k1" FROM "public"."orders" WHERE NOT "id" IS NULL '
        'AND ("id", "line") > (%(after0)s, %(after1)s) AND ("id", "line") <= (%(upto0)s, %(upto1)s) '
        'GROUP BY "id", "line" HAVING COUNT(*) > 1'
    )
    assert found.binds == {"after0": "1", "after1": "2", "upto0": "3", "upto1": "4"}


def test_a_range_of_a_single_column_is_compared_as_that_column() -> None:
    found = sql.find_repeated(ORDERS, ("line",), KeyRange(after=("1",)))

    assert 'WHERE "line" > %(after0)s GROUP BY' in found.sql


def test_the_best_row_is_first_by_version_then_content_then_place() -> None:
    picked = sql.pick_duplicates(ORDERS, ("id", "line"), ("ver",), most=10).sql

    assert (
        'ROW_NUMBER() OVER (PARTITION BY "t"."id", "t"."line" ORDER BY "t"."ver" DESC NULLS LAST, '
        'CAST("t"."j" AS TEXT) COLLATE "C" DESC, "t"."tableoid", "t"."ctid") AS "rank"'
    ) in picked
    assert picked.endswith('WHERE "rank" > 1 LIMIT 10')


def test_a_row_is_deleted_by_child_and_place() -> None:
    assert sql.delete_duplicates(ORDERS).sql == (
        'DELETE FROM "public"."orders" AS "t" USING "pg_temp"."idem_duplicates" AS "d" '
        'WHERE "t"."ctid" = "d"."place" AND "t"."tableoid" = "d"."child"'
    )


def test_writers_wait_and_readers_do_not() -> None:
    lock = sql.keep_writers_out(Relation("Sales", 'Or"der')).sql

    assert lock == 'LOCK TABLE "Sales"."Or""der" IN SHARE ROW EXCLUSIVE MODE'


def test_names_of_columns_are_never_taken_for_ours() -> None:
    odd = TableShape(
        Relation("public", "odd"), (Column("k1", "integer"), Column("k0", "integer"), Column("upto", "text"))
    )

    survey = sql.survey(odd, ("k1", "k0", "upto"), 10).sql

    assert 'SELECT "k1" AS "k0", "k0" AS "k1", "upto" AS "k2", COUNT(*) - 1 AS "extra" FROM "public"."odd"' in survey
    assert '"public"."odd" WHERE NOT "k1" IS NULL AND NOT "k0" IS NULL AND NOT "upto" IS NULL' in survey


def test_a_key_that_is_never_null_is_not_asked_whether_it_is() -> None:
    assert sql.count_rows(ORDERS, ("line",)).sql == (
        'SELECT COUNT(*), COUNT(*) FILTER(WHERE FALSE) FROM "public"."orders"'
    )
