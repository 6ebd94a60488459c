"""Names of tables: read once, quoted once, compared as PostgreSQL stores them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES, Relation, short_name, stored_name

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=80)


@pytest.mark.parametrize(
    ("text", "schema", "name", "shown"),
    [
        ("orders", "public", "orders", "public.orders"),
        ("analytics.orders", "analytics", "orders", "analytics.orders"),
        ("Analytics.Orders", "Analytics", "Orders", '"Analytics"."Orders"'),
        ('"Sales-2024"."Order"', "Sales-2024", "Order", '"Sales-2024"."Order"'),
        ('"a.b".c', "a.b", "c", '"a.b".c'),
        ('analytics."say ""hi"""', "analytics", 'say "hi"', 'analytics."say ""hi"""'),
        ('" "', "public", " ", 'public." "'),
        ("größe.straße", "größe", "straße", '"größe"."straße"'),
        ("sales-2024.orders", "sales-2024", "orders", '"sales-2024".orders'),
    ],
)
def test_a_name_is_read_and_shown(text: str, schema: str, name: str, shown: str) -> None:
    found = Relation.parse(text)

    assert (found.schema, found.name, str(found)) == (schema, name, shown)


def test_another_default_schema_may_be_named() -> None:
    assert Relation.parse("orders", default_schema="raw") == Relation("raw", "orders")


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "orders.",
        ".orders",
        "a.b.c",
        "a b",
        "a.b c",
        '"orders',
        'orders"',
        'or"ders',
        '"a"b',
        '"".orders',
        "orders\n",
        "orders; DROP TABLE users",
        "orders;--",
        "orders -- comment",
        "orders'",
        "orders(id)",
        'orders" CASCADE; DROP TABLE "users',
        "(select 1)",
        "orders\\",
        "{{ table }}",
        "%(table)s",
    ],
)
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a table name: write"):
        Relation.parse(text)


@pytest.mark.parametrize(("schema", "name"), [("", "a"), ("a", ""), ("a\0", "b"), ("a", "\0")])
def test_an_empty_part_or_a_nul_is_refused(schema: str, name: str) -> None:
    with pytest.raises(ValueError, match="is not a name"):
        Relation(schema, name)


@given(texts, texts)
@settings(max_examples=100, deadline=None)
def test_what_is_shown_is_read_back_as_the_same_table(schema: str, name: str) -> None:
    relation = Relation(schema, name)

    assert Relation.parse(str(relation)) == relation


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("a" * 63, "a" * 63),
        ("a" * 64, "a" * 63),
        ("ä" * 31, "ä" * 31),
        ("ä" * 32, "ä" * 31),
        ("a" * 62 + "ä", "a" * 62),
        ("a" * 61 + "ä", "a" * 61 + "ä"),
        ("😀" * 16, "😀" * 15),
        ("a" * 60 + "€", "a" * 60 + "€"),
        ("a" * 61 + "€", "a" * 61),
    ],
)
def test_a_long_name_is_cut_where_postgres_cuts_it_never_inside_a_character(name: str, stored: str) -> None:
    assert stored_name(name) == Relation("public", name).name == stored


@given(texts)
@settings(max_examples=100, deadline=None)
def test_a_stored_name_fits_and_stays(name: str) -> None:
    stored = stored_name(name)

    assert len(stored.encode()) <= MAX_IDENTIFIER_BYTES
    assert stored_name(stored) == stored
    assert name.startswith(stored)


def test_two_names_that_postgres_stores_alike_are_one_table() -> None:
    assert Relation("public", "o" * 63 + "1") == Relation("public", "o" * 63 + "2")


def test_a_helper_name_is_short_and_depends_on_every_part() -> None:
    names = {short_name("idem", "a", "bc"), short_name("idem", "ab", "c"), short_name("idem", "x" * 500, "bc")}

    assert short_name("idem", "a", "bc") in names
    assert len(names) == 3
    assert all(len(name) == len("idem_") + 16 for name in names)
