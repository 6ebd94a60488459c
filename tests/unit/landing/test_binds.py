"""Finding binds in SQL."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.landing.binds import Piece, bind_names, ends_ordered, fill, split_sql, without_semicolon


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select * from t where ts >= :start and ts < :end", ("start", "end")),
        ("select :start::date, ':x', x::text, y :: int", ("start",)),
        ("select 'it''s :x', E'it\\'s :y', U&'\\0041:z', \"a:b\", \"a\"\":c\", :d", ("d",)),
        ("select $$ :x $$, $q$ :y $$ :z $q$, :d", ("d",)),
        ("select a$1$:x", ("x",)),
        ("select 1 -- :x\n, :y /* :a /* :b */ :c */ , :z", ("y", "z")),
        ("select 1 /* never closed :x", ()),
        ("select `a:b`, arr[1 : n], arr[1::int], f(p := :v)", ("v",)),
        ("select :a, :A, :a_1, :ä", ("a", "A", "a_1", "ä")),
        ("select '12:30'::time, timestamp '2025-01-01 10:00:00', :t", ("t",)),
        ("select nameE'x', :y", ("y",)),
        ("", ()),
    ],
)
def test_binds_are_found_outside_strings_names_comments_and_casts(sql: str, names: tuple[str, ...]) -> None:
    assert bind_names(split_sql(sql)) == names


@given(
    st.lists(st.sampled_from(["'", '"', "$$", "$a$", "--", "\n", "/*", "*/", ":", ":a", "E'", "\\", "`", " x ", ";"]))
)
def test_pieces_together_are_the_text(words: list[str]) -> None:
    sql = "".join(words)

    assert fill(split_sql(sql), lambda name: f":{name}") == sql


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select 1;", "select 1"),
        ("select 1 ; ; \n", "select 1"),
        ("select ';'", "select ';'"),
        ("select 1; -- done;\n", "select 1-- done;"),
        ("select 1 /* a */ ; /* b */", "select 1/* a *//* b */"),
        ("select :a;", "select :a"),
        ("select 1; select 2", "select 1; select 2"),
        (";", ""),
    ],
)
def test_a_last_semicolon_is_dropped(sql: str, text: str) -> None:
    assert fill(without_semicolon(split_sql(sql)), lambda name: f":{name}") == text


@pytest.mark.parametrize(
    ("sql", "ordered"),
    [
        ("select a from t order by a", True),
        ("select a from t ORDER\n  BY a limit 10", True),
        ("select a from (select a from t order by a) q", False),
        ("select row_number() over (order by a) from t", False),
        ("select a from t -- order by a", False),
        ("select ' order by ' from t", False),
        ("(select a from t) union (select b from u) order by 1", True),
        ("with q as (select 1 order by 1) select * from q", False),
    ],
)
def test_an_order_of_the_whole_query_is_told_from_one_inside_it(sql: str, ordered: bool) -> None:
    assert ends_ordered(split_sql(sql)) == ordered


def test_other_text_can_be_escaped_for_a_driver() -> None:
    pieces = split_sql("select 5 % 2, '%' where a = :a")

    assert fill(pieces, lambda name: f"%({name})s", escape=lambda text: text.replace("%", "%%")) == (
        "select 5 %% 2, '%%' where a = %(a)s"
    )
    assert Piece("bind", "a") in pieces
