"""Which rows differ between two landings of a query."""

from __future__ import annotations

from airflow_idempotent.landing.changed_rows import changed_rows

BEFORE = b'id,shop,v\n1,a,x\n2,a,"x,y"\n3,b,z\n'


def test_keys_of_new_gone_and_changed_rows_are_named_and_no_other_value() -> None:
    after = b"id,shop,v\n1,a,secret\n3,b,z\n4,b,z\n"

    assert changed_rows(BEFORE, after, ["id"]) == ("1 rows new, id: 4", "1 rows gone, id: 2", "1 rows changed, id: 1")


def test_a_key_of_two_columns_is_shown_as_one() -> None:
    assert changed_rows(BEFORE, BEFORE + b"1,b,z\n", ["id", "shop"]) == ("1 rows new, id, shop: (1, b)",)


def test_many_keys_are_counted_and_a_few_shown() -> None:
    after = BEFORE + b"".join(b"%d,c,v\n" % number for number in range(10, 20))

    assert changed_rows(BEFORE, after, ["id"]) == ("10 rows new, id: 10, 11, 12, 13, 14 and 5 more",)


def test_without_the_key_nothing_can_be_named() -> None:
    assert changed_rows(BEFORE, b"v\nx\n", ["id"]) == ()


def test_the_same_rows_in_another_order_are_the_same() -> None:
    assert changed_rows(BEFORE, b'id,shop,v\n3,b,z\n2,a,"x,y"\n1,a,x\n', ["id"]) == ()
