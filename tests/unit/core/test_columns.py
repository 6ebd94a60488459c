"""Columns and their types, as the catalogue spells them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.data_types import catalogue_spelling
from airflow_idempotent.core.relation import Relation

SHAPE = TableShape(
    Relation("public", "orders"),
    (Column("order_id", "bigint", nullable=False), Column("line", "integer"), Column("amount", "numeric(12,2)")),
    unique_keys=(frozenset({"order_id", "line"}),),
)


@pytest.mark.parametrize(
    ("data_type", "scale", "greatest"),
    [
        ("numeric(12,2)", 2, Decimal(10**10)),
        ("numeric(12,0)", 0, Decimal(10**12)),
        ("numeric(12)", 0, Decimal(10**12)),
        ("numeric(3,5)", 5, Decimal("0.01")),
        ("numeric(3,-2)", -2, Decimal(10**5)),
        ("DECIMAL ( 5 , 1 )", 1, Decimal(10**4)),
        ("numeric", None, None),
        ("numeric(12,2)[]", 2, Decimal(10**10)),
        ("double precision", None, None),
        ("character varying(10)", None, None),
        ("timestamp(3) with time zone", None, None),
    ],
)
def test_only_numerics_with_digits_have_a_scale(data_type: str, scale: int | None, greatest: Decimal | None) -> None:
    column = Column("amount", data_type)

    assert (column.scale, column.greatest) == (scale, greatest)


@pytest.mark.parametrize(
    ("data_type", "staged"),
    [
        ("numeric(12,2)", "numeric"),
        ("numeric(12,2)[]", "numeric[]"),
        ("timestamp(0) without time zone", "timestamp without time zone"),
        ("timestamp(3) with time zone[]", "timestamp with time zone[]"),
        ("time(0) with time zone", "time with time zone"),
        ("interval(0)", "interval"),
        ("interval day to second(1)", "interval day to second"),
    ],
)
def test_staging_keeps_the_digits_that_the_type_would_round_away(data_type: str, staged: str) -> None:
    assert (Column("a", data_type).staged_type, Column("a", data_type).rounds) == (staged, True)
    assert Column("a", "a_domain", domain_of=data_type).staged_type == staged


@pytest.mark.parametrize("data_type", ["numeric", "text", "varchar(10)", "bit(3)", "timestamp with time zone"])
def test_other_types_are_staged_as_they_are(data_type: str) -> None:
    assert (Column("a", data_type).staged_type, Column("a", data_type).rounds) == (data_type, False)


@pytest.mark.parametrize(
    ("data_type", "base"),
    [
        ("timestamp(3) without time zone", "timestamp without time zone"),
        ("numeric(12,2)", "numeric"),
        ("character varying(10)", "character varying"),
        ("bigint", "bigint"),
    ],
)
def test_a_base_type_is_the_type_without_its_modifiers(data_type: str, base: str) -> None:
    assert Column("c", data_type).base_type == base


def test_columns_are_found_by_name_in_the_order_asked_for() -> None:
    assert SHAPE.names == ("order_id", "line", "amount")
    assert [column.name for column in SHAPE.select(["amount", "order_id"])] == ["amount", "order_id"]
    assert "amount" in SHAPE
    assert "Amount" not in SHAPE
    assert SHAPE["line"].data_type == "integer"


@pytest.mark.parametrize(
    ("key", "unique"),
    [
        (["order_id", "line"], True),
        (["line", "order_id"], True),
        (["order_id"], False),
        (["order_id", "line", "amount"], False),
    ],
)
def test_a_key_is_unique_when_an_index_has_exactly_its_columns(key: list[str], unique: bool) -> None:
    assert SHAPE.is_unique(key) is unique


@pytest.mark.parametrize(
    ("written", "spelled"),
    [
        ("int8", "bigint"),
        ("INT", "integer"),
        ("float8", "double precision"),
        ("float(24)", "real"),
        ("float(25)", "double precision"),
        ("float", "double precision"),
        ("decimal(12, 2)", "numeric(12,2)"),
        ("NUMERIC( 12 )", "numeric(12,0)"),
        ("numeric", "numeric"),
        ("varchar(10)", "character varying(10)"),
        ("character  varying (10)", "character varying(10)"),
        ("varchar", "character varying"),
        ("char", "character(1)"),
        ("bit", "bit(1)"),
        ("varbit(3)", "bit varying(3)"),
        ("timestamptz", "timestamp with time zone"),
        ("TIMESTAMPTZ(3)", "timestamp(3) with time zone"),
        ("timestamp (3)  with  time zone", "timestamp(3) with time zone"),
        ("timestamp", "timestamp without time zone"),
        ("timetz", "time with time zone"),
        ("bool", "boolean"),
        ("TEXT[]", "text[]"),
        ("int4[][]", "integer[]"),
        ("varchar(5)[]", "character varying(5)[]"),
        ("jsonb", "jsonb"),
        ('"MyType"', '"MyType"'),
        ("analytics.Mood", "analytics.Mood"),
    ],
)
def test_a_type_is_spelled_as_the_catalogue_spells_it(written: str, spelled: str) -> None:
    assert catalogue_spelling(written) == spelled
    assert catalogue_spelling(spelled) == spelled
