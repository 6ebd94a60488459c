"""What a swap does about everything that hangs on a table: pure, from two inventories."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.inventory import Inventory, Item, Kind, difference
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.plan.carrying import carrying

LIVE, SHADOW = Relation("shop", 'the "orders"'), Relation("shop", "orders__v2")
ODD = 'odd"; DROP TABLE x; --%s'
QUOTED = '"odd""; DROP TABLE x; --%s"'


def inventories(*items: Item, shadow: tuple[Item, ...] = ()) -> tuple[Inventory, Inventory]:
    return Inventory(LIVE, 1, (ODD,), items), Inventory(SHADOW, 2, (ODD,), shadow)


def test_a_difference_is_what_is_missing_what_is_otherwise_and_what_is_besides() -> None:
    here, changed, there = Item(Kind.GRANT, "a"), Item(Kind.TRIGGER, "b", "x"), Item(Kind.RULE, "c")

    found = difference(*inventories(here, changed, shadow=(Item(Kind.TRIGGER, "b", "y"), there)))

    assert found.missing == (here,)
    assert found.other == ((changed, Item(Kind.TRIGGER, "b", "y")),)
    assert found.besides == (there,)
    assert not difference(*inventories(here, shadow=(here,)))


@pytest.mark.parametrize(
    ("item", "sql"),
    [
        (Item(Kind.OWNER, "", ODD, (ODD,)), f'ALTER TABLE "shop"."orders__v2" OWNER TO {QUOTED}'),
        (
            Item(Kind.GRANT, "", "", ("UPDATE", ODD, ODD, "true")),
            f'GRANT UPDATE ({QUOTED}) ON TABLE "shop"."orders__v2" TO {QUOTED} WITH GRANT OPTION',
        ),
        (Item(Kind.GRANT, "", "", ("SELECT", "", "", "false")), 'GRANT SELECT ON TABLE "shop"."orders__v2" TO PUBLIC'),
        (
            Item(Kind.COMMENT, "", "", ("COLUMN", ODD, "it's 100%")),
            f'COMMENT ON COLUMN "shop"."the ""orders""".{QUOTED} IS \'it\'\'s 100%\'',
        ),
        (
            Item(Kind.POLICY, ODD, "", ("false", "r", "a > 1", "", ODD, "other")),
            f'CREATE POLICY {QUOTED} ON "shop"."the ""orders""" AS RESTRICTIVE FOR SELECT TO {QUOTED}, "other" '
            "USING (a > 1)",
        ),
        (
            Item(Kind.INDEX, "", "true", ("UNIQUE", "USING btree (a)")),
            'CREATE UNIQUE INDEX ON "shop"."orders__v2" USING btree (a)',
        ),
        (
            Item(Kind.ROW_SECURITY, "forced", "true", ("forced", "true")),
            'ALTER TABLE "shop"."orders__v2" FORCE ROW LEVEL SECURITY',
        ),
        (
            Item(Kind.STORAGE_PARAMETER, "", "70", ("fillfactor", "70")),
            'ALTER TABLE "shop"."orders__v2" SET ( "fillfactor" = \'70\' )',
        ),
    ],
)
def test_names_are_quoted_and_values_are_literals(item: Item, sql: str) -> None:
    carried = carrying(*inventories(item))

    assert [statement.sql for statement in (*carried.before, *carried.moment)] == [sql]
    assert carried.after == ()


def test_a_foreign_key_to_the_table_is_checked_when_nobody_waits_any_more() -> None:
    facts = ("shop", "lines", "fk", "FOREIGN KEY (a) REFERENCES shop.orders(id)", "true", "r")

    carried = carrying(*inventories(Item(Kind.REFERENCE, "fk of lines", "", facts)), dependents=True)

    assert [statement.sql for statement in carried.moment] == [
        'ALTER TABLE "shop"."lines" DROP CONSTRAINT "fk"',
        'ALTER TABLE "shop"."lines" ADD CONSTRAINT "fk" FOREIGN KEY (a) REFERENCES shop.orders(id) NOT VALID',
    ]
    assert [statement.sql for statement in carried.after] == ['ALTER TABLE "shop"."lines" VALIDATE CONSTRAINT "fk"']


def test_the_owner_comes_first_since_it_changes_grants_and_comments_come_last() -> None:
    items = (
        Item(Kind.COMMENT, "on trigger t", "x", ("TRIGGER", "t", "x")),
        Item(Kind.GRANT, "", "", ("SELECT", "", "", "false")),
        Item(Kind.OWNER, "", "me", ("me",)),
        Item(Kind.TRIGGER, "t", "", ("CREATE TRIGGER …", "O")),
    )

    carried = carrying(*inventories(*items))

    assert [statement.sql.split()[0] for statement in (*carried.before, *carried.moment)] == [
        "ALTER", "GRANT", "CREATE", "COMMENT",
    ]  # fmt: skip


def test_what_cannot_be_given_is_refused_and_nothing_is_said_of_views_on_views() -> None:
    view = Item(Kind.MATERIALIZED_VIEW, "shop.totals", "", ("shop", "totals", " SELECT 1;", ""))

    carried = carrying(*inventories(view, Item(Kind.VIEW_ABOVE, "shop.above")))

    assert carried.refused == (
        "materialised view shop.totals reads it: drop it, swap, and make it again: "
        "CREATE MATERIALIZED VIEW shop.totals AS SELECT 1",
    )
    assert carried.before == carried.moment == carried.kept == ()


def test_things_of_others_are_refused_unless_they_may_be_changed() -> None:
    view = Item(Kind.VIEW, "shop.seen", "", ("shop", "seen", " SELECT 1;", "security_barrier=true"))

    assert carrying(*inventories(view)).refused == (
        "view shop.seen reads it: on_dependents: carry lets it follow to the new table",
    )
    [statement] = carrying(*inventories(view), dependents=True).moment
    assert statement.sql == 'CREATE OR REPLACE VIEW "shop"."seen" WITH (security_barrier=true) AS SELECT 1'


def test_a_version_that_is_meant_to_differ_stays_as_it_was_built() -> None:
    items = (
        Item(Kind.INDEX, "i", "true", ("", "USING btree (a)")),
        Item(Kind.GRANT, "SELECT (gone)", "", ("SELECT", "gone", "", "false")),
        Item(Kind.COMMENT, "on index i", "x", ("INDEX", "i", "x")),
        Item(Kind.OWNER, "", "me", ("me",)),
    )

    carried = carrying(*inventories(*items), as_built=True)

    assert carried.kept == ("owner",)
    assert carried.notes == (
        "comment on index i: the new table has none",
        "grant SELECT (gone): the new table has none",
        "index i: the new table has none",
    )
