"""Where the columns of a query come from."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.lineage import Use
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.lineage import column_lineage
from airflow_idempotent.sql.user_query import QueryTextError

ORDERS = Relation("public", "orders")
RATES = Relation("public", "rates")
KNOWN = {ORDERS: ["order_id", "day", "amount"], RATES: ["day", "rate"]}


def columns(sql: str, known: dict[Relation, list[str]] | None = None) -> dict[str, str]:
    """Each column of the result, and what it is made of: ``table.column use``."""
    found = column_lineage(sql, known).columns
    return {
        name: ", ".join(f"{item.relation.name}.{item.column} {item.use.lower()}" for item in origins)
        for name, origins in found.items()
    }


def deciding(sql: str, known: dict[Relation, list[str]] | None = None) -> set[str]:
    """What decides over the rows."""
    return {f"{item.relation.name}.{item.column} {item.use.lower()}" for item in column_lineage(sql, known).rows}


def test_a_join_gives_each_column_its_own_table() -> None:
    sql = """
        select o.id, c.name as who, o.amount * c.rate as total from sales.orders o join crm.customers c on c.id = o.who
    """

    assert columns(sql) == {
        "id": "orders.id identity",
        "who": "customers.name identity",
        "total": "customers.rate transformation, orders.amount transformation",
    }
    assert {item.relation for item in column_lineage(sql).columns["total"]} == {
        Relation("sales", "orders"),
        Relation("crm", "customers"),
    }
    assert deciding(sql) == {"customers.id join", "orders.who join"}


def test_with_is_looked_through_and_a_star_in_it_too() -> None:
    sql = """
        with a as (select * from t), b as (select id, sum(x) as s from a where f group by id)
        select id, s + 1 as more, count(*) as n from b group by 1, 2
    """

    assert columns(sql) == {"id": "t.id identity", "more": "t.x aggregation", "n": ""}
    assert deciding(sql) == {"t.f filter", "t.id group_by", "t.x group_by"}


@pytest.mark.parametrize(
    ("expression", "made_of"),
    [
        ("x", "t.x identity"),
        ("x::text", "t.x transformation"),
        ("cast(x as int)", "t.x transformation"),
        ("coalesce(x, y)", "t.x transformation, t.y transformation"),
        ("case when f then x else y end", "t.f conditional, t.x transformation, t.y transformation"),
        ("case f when 1 then x end", "t.f conditional, t.x transformation"),
        ("sum(x)", "t.x aggregation"),
        ("sum(x) filter (where f)", "t.f conditional, t.x aggregation"),
        ("array_agg(x order by y)", "t.x aggregation, t.y sort"),
        ("row_number() over (partition by f order by y)", "t.f window, t.y window"),
        ("sum(x) over (partition by f)", "t.f window, t.x aggregation"),
        ("lag(x) over (order by y)", "t.x transformation, t.y window"),
        ("(select max(u.x) from u where u.y = t.y)", "u.x aggregation"),
        ("array(select x from u)", "u.x transformation"),
        (":start::date", ""),
        ("1", ""),
    ],
)
def test_what_a_column_is_used_for(expression: str, made_of: str) -> None:
    assert columns(f"select {expression} as c from t") == {"c": made_of}


def test_one_column_may_become_two() -> None:
    assert columns("select x as a, x as b from t") == {"a": "t.x identity", "b": "t.x identity"}


def test_both_sides_of_a_union_give_a_column_by_its_place() -> None:
    sql = "select a, b from t union all select c, max(d) from u group by c"

    assert columns(sql) == {"a": "t.a identity, u.c identity", "b": "t.b identity, u.d aggregation"}
    assert columns("(select a from t) except (select b from u)") == {"a": "t.a identity, u.b identity"}


def test_subqueries_in_from_may_rename_and_may_look_outside() -> None:
    assert columns("select q.z from (select a, b from t) as q(y, z)") == {"z": "t.b identity"}
    assert columns("select s.* from t, lateral (select t.a, max(u.b) as m from u) s") == {
        "a": "t.a identity",
        "m": "u.b aggregation",
    }


def test_a_recursive_query_ends() -> None:
    sql = """
        with recursive r(id, top) as (select id, id from n union all select n.id, r.top from n join r on n.up = r.id)
        select id, top from r
    """

    assert columns(sql) == {"id": "n.id identity", "top": "n.id identity"}


def test_functions_that_give_rows_give_what_goes_into_them() -> None:
    assert columns("select id, tag from t, unnest(t.tags) as u(tag)") == {
        "id": "t.id identity",
        "tag": "t.tags transformation",
    }
    assert columns("select j.k from t, jsonb_to_recordset(t.doc) as j(k int)") == {"k": "t.doc transformation"}
    assert columns("select g from generate_series(1, 3) g") == {"g": ""}
    assert columns("select v.a from (values (1, 2)) v(a, b)") == {"a": ""}


def test_tables_that_are_known_tell_whose_a_bare_column_is() -> None:
    sql = "select order_id, amount * rate as euros from orders join rates on orders.day = rates.day"

    assert columns(sql, KNOWN) == {
        "order_id": "orders.order_id identity",
        "euros": "orders.amount transformation, rates.rate transformation",
    }
    assert columns(sql) == {"order_id": "", "euros": ""}, "of one of two tables, nobody knows which"


def test_one_known_table_is_enough_where_it_has_the_column() -> None:
    assert columns("select amount from orders join rates using (day)", {ORDERS: KNOWN[ORDERS]}) == {
        "amount": "orders.amount identity"
    }


def test_tables_that_are_known_tell_what_a_star_means() -> None:
    assert list(columns("select o.*, r.rate from orders o join rates r on true", KNOWN)) == [*KNOWN[ORDERS], "rate"]
    assert columns("select rate from (select * from orders natural join rates) j", KNOWN) == {
        "rate": "rates.rate identity"
    }


def test_using_makes_one_column_of_two() -> None:
    sql = "select day, rate from orders join rates using (day)"

    assert columns(sql, KNOWN) == {"day": "orders.day identity, rates.day identity", "rate": "rates.rate identity"}
    assert deciding(sql, KNOWN) == {"orders.day join", "rates.day join"}


def test_a_subquery_asks_the_query_around_it_for_what_its_own_tables_lack() -> None:
    sql = (
        "select order_id, (select max(rate) from rates where rates.day < orders.day and rate < amount) as r from orders"
    )

    assert columns(sql, KNOWN) == {"order_id": "orders.order_id identity", "r": "rates.rate aggregation"}
    assert deciding(sql, KNOWN) == {
        "orders.amount filter",
        "orders.day filter",
        "rates.day filter",
        "rates.rate filter",
    }


def test_subqueries_in_where_decide_over_rows() -> None:
    sql = "select id from t where z in (select y from u) and exists (select 1 from w where w.k = t.k)"

    assert deciding(sql) == {"t.z filter", "u.y filter", "w.k filter", "t.k filter"}


def test_distinct_order_and_having_decide_over_rows() -> None:
    sql = "select distinct on (k) k, v as w from t order by k, w desc"

    assert deciding(sql) == {"t.k group_by", "t.k sort", "t.v sort"}
    assert deciding("select k from t group by k having sum(v) > 1") == {"t.k group_by", "t.v filter"}


def test_names_keep_their_case_where_they_are_quoted() -> None:
    [(name, (origin,))] = column_lineage('select "Odd"."Col" as "C" from "S"."Odd"').columns.items()

    assert (name, origin.relation, origin.column) == ("C", Relation("S", "Odd"), "Col")
    assert columns("select Odd.Col as C from Odd") == {"c": "odd.col identity"}


def test_what_is_no_query_has_no_lineage() -> None:
    with pytest.raises(QueryTextError, match="write one SELECT"):
        column_lineage("delete from t")


@pytest.mark.parametrize(
    ("outer", "inner", "both"),
    [
        (Use.IDENTITY, Use.AGGREGATION, Use.AGGREGATION),
        (Use.TRANSFORMATION, Use.IDENTITY, Use.TRANSFORMATION),
        (Use.AGGREGATION, Use.WINDOW, Use.WINDOW),
        (Use.FILTER, Use.AGGREGATION, Use.FILTER),
        (Use.FILTER, Use.JOIN, Use.FILTER),
    ],
)
def test_uses_add_up(outer: Use, inner: Use, both: Use) -> None:
    assert outer.of(inner) is both


def test_columns_without_a_name_are_called_as_postgresql_calls_them() -> None:
    assert columns("select max as most, q.a from (select max(x), a::int from t group by 2) q") == {
        "most": "t.x aggregation",
        "a": "t.a transformation",
    }


def test_a_long_chain_of_queries_is_followed_once_per_column() -> None:
    steps = ", ".join(
        f"q{n} as (select a.x + b.x as x from q{n - 1} a join q{n - 1} b on a.x = b.x)" for n in range(1, 40)
    )

    assert columns(f"with q0 as (select x from t), {steps} select x from q39") == {"x": "t.x transformation"}
