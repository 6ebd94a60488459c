"""SQL that must give the same rows again: what is refused, what to write instead, what it reads."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import BINDS, Transform, problems
from airflow_idempotent.sql.user_query import QueryTextError, bind_places, columns_of, one_line, parsed, text_of

# SQL, and what is said about it; each text is found in exactly one problem.
BAD: list[tuple[str, str]] = [
    # clocks
    ("select now() as a", "line 1: now() gives another value in every run, write :cutoff_ts"),
    ("select\n  current_timestamp as a", "line 2: current_timestamp gives another value"),
    ("select current_date as a", "write :start, or :cutoff_ts::date"),
    ("select current_time as a", "write :cutoff_ts::time"),
    ("select localtime as a", "localtime gives another value"),
    ("select LOCALTIMESTAMP as a", "localtimestamp gives another value"),
    ("select clock_timestamp() as a", "clock_timestamp() gives"),
    ("select statement_timestamp() as a", "statement_timestamp() gives"),
    ("select transaction_timestamp() as a", "transaction_timestamp() gives"),
    ("select timeofday() as a", "timeofday() gives"),
    ("select pg_catalog.now() as a", "now() gives"),
    ('select "now"() as a', "now() gives"),
    ("select 'now'::timestamp as a", "'now' as a date gives another value"),
    ("select date 'yesterday' as a", "'yesterday' as a date gives another value"),
    ("select age(b) as a from t", "age(x) counts from today"),
    ("select a from t where b > now() - interval '1 day'", "now() gives"),
    ("select (select max(b) from u where c < current_date) as a from t", "current_date gives"),
    # chance
    ("select random() as a", "derive the value from the key"),
    ("select gen_random_uuid() as a", "gen_random_uuid() gives"),
    ("select uuid_generate_v4() as a", "uuid_generate_v4() gives"),
    ("select a from t order by random()", "random() gives"),
    ("select a from t tablesample bernoulli (10)", "TABLESAMPLE takes other rows in every run"),
    ("select a from t tablesample system (1) where b", "TABLESAMPLE takes other rows in every run"),
    # sequences, transactions, sessions, deeds
    ("select nextval('s') as a", "advances or reads a sequence"),
    ("select txid_current() as a", "write :run_id"),
    ("select pg_current_xact_id() as a", "write :run_id"),
    ("select current_user as a", "depends on who asks"),
    ("select set_config('TimeZone', 'CET', true) as a", "does something instead of reading"),
    ("select xmin as a from t", "xmin says where a row lies now"),
    # arbitrary rows
    ("select a from t limit 3", "LIMIT without ORDER BY takes arbitrary rows"),
    ("select a from t offset 3", "LIMIT without ORDER BY takes arbitrary rows"),
    ("select a from t fetch first 3 rows only", "LIMIT without ORDER BY takes arbitrary rows"),
    ("select a from (select a from t limit 3) s", "LIMIT without ORDER BY takes arbitrary rows"),
    ("select a from t union all (select a from u limit 1)", "LIMIT without ORDER BY takes arbitrary rows"),
    ("select distinct on (a) a, b from t", "DISTINCT ON keeps an arbitrary row"),
    ("select distinct on (a) a, b from t order by a", "DISTINCT ON keeps an arbitrary row"),
    ("select row_number() over () as a from t", "row_number() over rows without ORDER BY"),
    ("select row_number() over (partition by b) as a from t", "row_number() over rows without ORDER BY"),
    ("select lag(b) over w as a from t window w as (partition by c)", "lag() over rows without ORDER BY"),
    ("select first_value(b) over (partition by c) as a from t", "first_value() over rows without ORDER BY"),
    ("select any_value(b) as a from t", "write min() or max()"),
    # more or other than one SELECT
    ("select 1 as a; select 2 as a", "more than one statement"),
    ("select 1 as a;\ndrop table t", "line 1: more than one statement"),
    ("select 1 as a) q; commit; select (1", "more than one statement"),
    ("select 1 as a) q, (select 2 as b", "not SQL"),
    ("insert into t select 1", "not a query"),
    ("update t set a = 1", "not a query"),
    ("create table t (a int)", "not a query"),
    ("commit", "not a query"),
    ("explain select 1 as a", "not a query"),
    ("values (1)", "not a query"),
    ("table t", "not a query"),
    ("-- nothing", "not a query"),
    ("with d as (delete from t returning a) select a from d", "DELETE is not allowed"),
    ("with d as (insert into t select 1 returning a) select a from d", "INSERT is not allowed"),
    ("with d as (update t set a = 1 returning a) select a from d", "UPDATE is not allowed"),
    ("select a into u from t", "INTO is not allowed"),
    ("select a from t for update", "FOR UPDATE and the like are not allowed"),
    ("select a b c from t", "line 1: not SQL near 'c'"),
    ("select 'a", "not SQL"),
    ("select {{ params.x }} as a", "write binds like :start and :key"),
    ("select a from {{ params.schema }}.t", "write binds like :start and :key"),
    ("select {% if x %} 1 {% endif %} as a", "write binds like :start and :key"),
    # columns
    ("select * from t", "* may mean other columns tomorrow"),
    ("select a, t.* from t", "t.* may mean other columns tomorrow"),
    ("select a,\n  b + 1 from t", "line 2: column 2 has no name: write … AS name"),
    ("select count(*) from t", "column 1 has no name"),
    ("select b::date from t", "column 1 has no name"),
    ("select a, b as a from t", "2 columns are called 'a'"),
    ("select a, b as A from t", "2 columns are called 'a'"),
    # binds
    ("select :strat as a", "unknown bind :strat, did you mean 'start'?"),
    ("select :xyzzy as a", "unknown bind :xyzzy, there are :start, :end, :cutoff_ts, :key, :run_id"),
    (
        "select a from t where b > :watermark",
        "the bind :watermark is not for a transform, which",
    ),
    ("select a from t where b = any(:keys)", "the bind :keys comes in a later version"),
    ("select %(start)s as a", "%(start)s is no bind, write them like :start"),
    ("select $1 as a", "$1 is no bind, write them like :start"),
]

GOOD = [
    "select a, b from t where c >= :start and c < :end",
    "SELECT a FROM t;",
    "  -- why\nselect a from t -- because\n;\n",
    "with c as (select a from t) select a from c",
    "with recursive r as (select a from t union all select r.a + 1 as a from r where r.a < 9) select a from r",
    "(select a from t) union all (select a from u)",
    "select a from t intersect select a from u",
    "select :cutoff_ts as now, :key as key, :run_id as run_id",
    "select t.now, t.random, t.user from t",
    "select b as current_date from t",
    "select 'now()' as a, 'current_date' as b, $$random()$$ as c from t -- now()",
    "select a /* random() */ from t",
    "select a from t order by a, b limit 3",
    "select count(*) as a from t limit 1",
    "select a from t where exists (select 1 from u where u.a = t.a limit 1)",
    "select distinct on (a) a, b from t order by a, b desc",
    "select distinct a from t",
    "select a from t tablesample bernoulli (10) repeatable (42)",
    "select row_number() over (partition by b order by a) as n from t",
    "select lag(b) over w as a from t window w as (partition by c order by d)",
    "select rank() over (partition by b) as n, sum(a) over (partition by b) as s from t",
    "select age(:cutoff_ts, b) as a from t",
    "select uuid_generate_v5(b, 'x') as a, md5(c) as d from t",
    "select b[1:2] as a from t",
    "select payload ->> 'a' as a, payload @> '{\"b\": {}}' as b from t",
    "select a from t, lateral (select b from u where u.a = t.a) l, generate_series(1, 3) g",
    'select "A b" from "S"."T"',
    # Words of PostgreSQL's own grammar, where strings and comments end as PostgreSQL ends them.
    r"select 'a\' as b, '; now()' as c",
    r"select E'it\'s; now()' as b",
    "select $a$ ; now() $a$ as b",
    "select 1 as a /* x /* ; */ ; now() */",
    'select "a;""b" as c from t',
    "select a from t union select a from u order by a limit 3",
    "select a from t where a ~ '^x' and b !~* 'y' and c ?| array['a'] and d ? 'k'",
    "select extract(epoch from a) as e, substring(b from 1 for 2) as s, a at time zone 'UTC' as z from t",
    "select count(*) filter (where a > 0) as n, percentile_cont(0.5) within group (order by a) as p from t",
    "select sum(b) over (order by c rows between unbounded preceding and current row) as s from t",
    "select x.a from json_to_recordset(:key::json) as x (a int)",
    "select date_bin('15 minutes', ts, :start) as bin from only t where (a, b) in (select a, b from u)",
]


@pytest.mark.parametrize(("sql", "text"), BAD)
def test_what_cannot_give_the_same_rows_again_is_refused_and_told(sql: str, text: str) -> None:
    found = [str(item) for item in problems(sql) if not item.warning]

    assert [text in problem for problem in found].count(True) == 1, found


@pytest.mark.parametrize("sql", GOOD)
def test_what_gives_the_same_rows_again_is_not(sql: str) -> None:
    assert problems(sql) == []
    assert Transform(sql).sql == sql


def test_everything_is_said_at_once_with_its_line() -> None:
    with pytest.raises(SpecError) as refused:
        daily("select\n  now() as id,\n  random(),\n  :strat as c\nfrom t")

    assert [(path, text[:29]) for path, text in refused.value.problems] == [
        ("source.sql", "line 2: now() gives another v"),
        ("source.sql", "line 3: column 2 has no name:"),
        ("source.sql", "line 3: random() gives anothe"),
        ("source.sql", "line 4: unknown bind :strat, "),
    ]


def test_an_aggregate_that_keeps_an_order_nobody_gave_is_a_warning_only() -> None:
    made = Transform("select a, array_agg(b) as bs, string_agg(c, ',' order by c) as cs from t group by a")

    assert made.warnings == ("line 1: an aggregate that keeps its input's order has no ORDER BY inside it",)
    assert Transform("select a, array_agg(b order by b) as bs from t group by a").warnings == ()
    assert Transform("select a, mode() within group (order by b) as m from t group by a").warnings == ()


# --- in a spec ---------------------------------------------------------------------------------------------


def daily(sql: str, **changes: Any) -> TableSpec:
    """A table made by that SQL."""
    words = {"table": "features.daily", "start_date": "2025-01-01", "unique_key": ["id"], **changes}
    return load_mapping({**words, "source": {"kind": "transform", "sql": sql}}, name="daily.yaml")


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({"unique_key": ["idd"]}, "'idd' is not selected, did you mean 'id'?"),
        ({"version": ["seen"]}, "'seen' is not selected"),
        ({"columns": [{"name": "id", "data_type": "int"}, {"name": "n", "data_type": "int"}]}, "'n' is not selected"),
    ],
)
def test_a_column_that_the_spec_needs_is_selected(changes: dict[str, Any], column: str) -> None:
    with pytest.raises(SpecError, match=r"source\.sql: column ") as refused:
        daily("select id from t", **changes)

    assert column in str(refused.value)


def test_its_rows_have_no_line_to_be_quarantined_with() -> None:
    with pytest.raises(SpecError, match=r"reject\.mode: 'quarantine' keeps rows with their file and line"):
        daily("SELECT 1 AS id", reject="quarantine")


def test_in_a_dag_file_the_same_is_said() -> None:
    with pytest.raises(ValidationError, match=r"line 1: now\(\) gives another value"):
        Transform("select now() as a")


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("select a from t", ["public.t"]),
        ("select a from raw.events join dim.users using (id)", ["dim.users", "raw.events"]),
        ("with e as (select a from raw.events) select a from e", ["raw.events"]),
        ("with events as (select a from events) select a from events", ["public.events"]),
        (
            "with recursive r as (select a from b union all select a from c join r using (a)) select a from r",
            ["b", "c"],
        ),
        ("select a from t where a in (select a from u) and exists (select 1 from v where v.a = t.a)", ["t", "u", "v"]),
        ("select (select max(a) from u) as a", ["public.u"]),
        ("select a from t union all select a from u", ["public.t", "public.u"]),
        ("select a from t, lateral (select a from u) l", ["public.t", "public.u"]),
        ("select a from generate_series(1, 3) g (a)", []),
        ('select a from Raw.Events, "Raw"."Events" e', ['"Raw"."Events"', "raw.events"]),
    ],
)
def test_the_tables_it_reads_are_known(sql: str, tables: list[str]) -> None:
    assert [str(table) for table in Transform(sql).tables] == [
        table if "." in table else f"public.{table}" for table in tables
    ]


def test_tables_that_its_sql_does_not_show_can_be_named() -> None:
    made = Transform("select a from recent_orders() o (a) join t using (a)", inputs=["Raw.orders", "t"])

    assert [str(table) for table in made.tables] == ['"Raw".orders', "public.t"]
    with pytest.raises(ValidationError, match="is not a table name"):
        Transform("select 1 as a", inputs=["a b"])


# --- as it is sent -------------------------------------------------------------------------------------------


def test_the_text_stays_as_it_was_written_but_for_its_binds() -> None:
    sql = "-- é\nSELECT ':start' AS a, x[1:2] AS b, :start::date AS c -- :end\nFROM t WHERE d < :end; -- done"

    assert text_of(sql, lambda name: f"<{name}>") == (
        "SELECT ':start' AS a, x[1:2] AS b, <start>::date AS c -- :end\nFROM t WHERE d < <end>"
    )
    assert columns_of(sql) == ("a", "b", "c")
    assert Transform(sql).binds == ("end", "start")
    assert one_line(sql) == "SELECT ':start' AS a, x[1:2] AS b, :start::date AS c FROM t WHERE d < :end"


@pytest.mark.parametrize("bind", BINDS)
def test_every_bind_is_found_by_words_and_by_tree(bind: str) -> None:
    assert [name for _, _, name in bind_places(f"select :{bind} as a, :{bind}::text as b")] == [bind, bind]


def test_a_colon_that_may_be_a_slice_is_refused() -> None:
    with pytest.raises(QueryTextError, match="a colon may be a bind or a slice"):
        bind_places("select :start as a, x[b:start] as c from t")


@pytest.mark.parametrize("sql", ["select 1; commit", "delete from t", "select 1 into t"])
def test_text_that_was_never_part_of_a_spec_is_not_sent_either(sql: str) -> None:
    """A manifest is a file, and somebody may have written another query into it."""
    with pytest.raises(QueryTextError):
        parsed(sql)
