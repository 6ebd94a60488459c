"""The fingerprint: the same for the same meaning, another when rows may differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from airflow_idempotent.spec.fingerprint import fingerprint, normal_sql
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.loader import load_file
from airflow_idempotent.spec.table import TableSpec
from tests.unit.spec.orders import COLUMNS, options, orders

FILES = options(
    columns=COLUMNS,
    unique_key=["order_id", "order_date"],
    version=["updated_at"],
    event_time="order_date",
    partition_by={"column": "order_date"},
    checks=[{"row_count": {"min": 1}}],
)
PYTHON = FILES | {"source": {"kind": "python", "callable": "feeds.orders:rows", "kwargs": {"region": "eu"}}}
TRANSFORM = FILES | {
    "source": {
        "kind": "transform",
        "sql": "SELECT order_id, order_date, amount, updated_at FROM o WHERE t >= :start",
    }
}
QUERY = FILES | {
    "source": {"kind": "query", "sql": "SELECT * FROM o", "conn_id": "shop", "cursor": "updated_at"},
    "late_data": {"watermark_lag": "15m"},
}
SAME, DIFFERENT, NO_OTHER = "same", "different", "there is no other value"

# Every option of a spec, another value for it, and whether rows that are there may have become wrong by the change.
TABLE = [
    ("table", "analytics.lines", DIFFERENT),
    ("table_version", 2, DIFFERENT),
    ("conn_id", "other", SAME),
    ("columns.0.name", "id", DIFFERENT),
    ("columns.0.data_type", "integer", DIFFERENT),
    ("columns.2.constraints", ["not_null"], DIFFERENT),
    ("columns.0.description", "What tells orders apart.", SAME),
    ("unique_key", ["order_date"], DIFFERENT),
    ("version", [], DIFFERENT),
    ("event_time", "updated_at", DIFFERENT),
    ("partition_by.column", "updated_at", DIFFERENT),
    ("partition_by.grain", "month", DIFFERENT),
    ("partition_by.declarative", True, DIFFERENT),
    ("timezone", "Europe/Berlin", DIFFERENT),
    ("strategy.kind", NO_OTHER, NO_OTHER),
    ("landing.root", "/lake", SAME),
    ("landing.keep_batches", 1, SAME),
    ("landing.on_source_change", "fail", SAME),
    ("on_schema_change", "ignore", DIFFERENT),
    ("on_event_time_missing", "exclude", DIFFERENT),
    ("on_outside_partition", "exclude", DIFFERENT),
    ("reject.mode", "quarantine", DIFFERENT),
    ("reject.max_rows", 1, DIFFERENT),
    ("reject.max_share", 0.5, DIFFERENT),
    ("on_empty", "skip", DIFFERENT),
    ("checks", [], DIFFERENT),
    ("fillfactor", 100, SAME),
    ("lock_timeout", 1, SAME),
    ("statement_timeout", 1, SAME),
    ("publish.mode", "swap", SAME),
    ("publish.by", "view", SAME),
    ("publish.cutover", "manual", SAME),
    ("publish.clean_intervals", 3, SAME),
    ("publish.window", "01:00-05:00", SAME),
    ("publish.max_row_change", 0.1, SAME),
    ("publish.on_dependents", "carry", SAME),
    ("publish.dual_write", False, SAME),
    ("publish.rollback_window", "1d", SAME),
    ("publish.compare", False, SAME),
    ("publish.expect.new_columns", ["note"], SAME),
    ("publish.expect.dropped_columns", ["note"], SAME),
    ("publish.expect.changed.tolerance", 0.01, SAME),
    ("publish.expect.changed.absolute_tolerance", 0.01, SAME),
    ("publish.expect.changed.total", 0.01, SAME),
    ("publish.expect.changed.distribution", 0.01, SAME),
    ("publish.expect.added_rows", 0.1, SAME),
    ("publish.expect.removed_rows", 0.1, SAME),
    ("publish.keep_for", "1d", SAME),
    ("publish.keep_versions", 2, SAME),
    ("description", "One row per order.", SAME),
    ("source.files.kind", NO_OTHER, NO_OTHER),
    ("source.files.path", "/outbox/*.csv", DIFFERENT),
    ("source.files.format", "jsonl", DIFFERENT),
    ("source.files.csv.delimiter", ";", DIFFERENT),
    ("source.files.csv.quote", "'", DIFFERENT),
    ("source.files.csv.null", "NULL", DIFFERENT),
    ("source.files.csv.encoding", "latin1", DIFFERENT),
    ("source.files.csv.header", False, DIFFERENT),
    ("source.files.csv.columns", ["order_id"], DIFFERENT),
    ("source.files.conn_id", "other", DIFFERENT),
    ("source.query.kind", NO_OTHER, NO_OTHER),
    ("source.query.sql", "SELECT * FROM o WHERE t > :start", DIFFERENT),
    ("source.query.conn_id", "other", DIFFERENT),
    ("source.query.cursor", "order_date", DIFFERENT),
    ("source.query.initial_value", 5, DIFFERENT),
    ("source.query.on_cursor_null", "include", DIFFERENT),
    ("source.query.on_cursor_future", "exclude", DIFFERENT),
    ("source.python.kind", NO_OTHER, NO_OTHER),
    ("source.python.callable", "feeds.orders:all_rows", DIFFERENT),
    ("source.python.kwargs", {"region": "us"}, DIFFERENT),
    ("source.transform.kind", NO_OTHER, NO_OTHER),
    ("source.transform.sql", "SELECT order_id, order_date, amount, updated_at FROM o WHERE t > :start", DIFFERENT),
    ("source.transform.inputs", ["raw.orders"], SAME),
    ("schedule", "0 6 * * *", SAME),
    ("start_date", "2024-01-01", SAME),
    ("end_date", "2026-01-01", SAME),
    ("catchup", False, SAME),
    ("dag_id", "load_orders", SAME),
    ("owner", "data-eng", SAME),
    ("tags", ["orders"], SAME),
    ("pool", "warehouse", SAME),
    ("retries", 0, SAME),
    ("retry_delay", 1, SAME),
    ("max_active_runs", 2, SAME),
    ("late_data.lookback", 2, SAME),
    ("late_data.cutoff", "6h", SAME),
    ("late_data.watermark_lag", "30m", SAME),
    ("backfill.partitions_per_task", 2, SAME),
    ("backfill.max_active_tasks", 2, SAME),
    ("audit.schedule", "@daily", SAME),
    ("audit.sample", 50, SAME),
    ("audit.on_drift", "warn", SAME),
    ("audit.requery", True, SAME),
]


BASES = {"files": FILES, "query": QUERY, "python": PYTHON, "transform": TRANSFORM}


def changed(base: Any, path: list[str], value: Any) -> Any:
    """The options with one of them changed; a name that is no option (``files``) only says which kind is meant."""
    if not path:
        return value
    name, *rest = path
    if name in BASES:
        return changed(base, rest, value)
    if isinstance(base, list):
        return [changed(item, rest, value) if number == int(name) else item for number, item in enumerate(base)]
    return {**(base or {}), name: changed((base or {}).get(name), rest, value)}


@pytest.mark.parametrize(("option", "value", "meaning"), [row for row in TABLE if row[2] != NO_OTHER])
def test_the_fingerprint_changes_with_what_an_option_means_for_rows(option: str, value: Any, meaning: str) -> None:
    base = BASES[option.split(".")[1]] if option.startswith("source.") else FILES
    if option == "source.query.initial_value":
        base = base | {"source": base["source"] | {"cursor": "order_id", "initial_value": 0}, "late_data": {}}
    if option == "columns.0.name":
        base = base | {"unique_key": ["order_date"]}
    if option == "source.files.csv.columns":
        base = changed(base, ["source", "csv", "header"], False)
    before, after = TableSpec(**base), TableSpec(**changed(base, option.split("."), value))

    assert after != before, "the table's value is the one that the spec has already"
    assert (SAME if fingerprint(after) == fingerprint(before) else DIFFERENT) == meaning


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"row_count": {"min": 1}}, {"row_count": {"min": 2}}, False),
        ({"row_count": {"min": 1}}, {"row_count": {"max": 1}}, False),
        ({"row_count": {"min": 1}}, {"row_count": {"min": 1, "severity": "warn"}}, False),
        ({"unique": ["a"]}, {"unique": ["a", "b"]}, False),
        ({"unique": ["a"]}, {"not_null": ["a"]}, False),
        ({"unique": ["a"]}, {"unique": {"columns": ["a"], "severity": "error"}}, True),
        ({"unique": ["a"]}, {"unique": {"columns": ["a"], "nulls_distinct": False, "store_failures": False}}, True),
        ({"unique": ["a"]}, {"unique": {"columns": ["a"], "error_if": ">1"}}, False),
        (
            {"not_null": {"columns": "a", "where": "a > 1 and b is null"}},
            {"not_null": {"columns": "a", "where": "a>1  AND b IS NULL -- why"}},
            True,
        ),
        ({"custom_sql": "select a from this_model"}, {"custom_sql": "SELECT a  FROM this_model;"}, True),
        ({"unique": ["a"]}, {"unique_check": "a"}, True),
        ("reconcile", {"reconcile": "error"}, True),
        ("reconcile", {"reconcile": {"buckets": 64}}, False),
        ({"aggregate": "sum(amount)"}, {"aggregate": {"sql": "SUM( amount )", "against": "source"}}, True),
        ({"aggregate": "sum(amount)"}, {"aggregate": {"sql": "sum(amount)", "tolerance": 0.1}}, False),
        ({"diff": "a.b"}, {"diff": {"against": "a.b", "tolerance": 0}}, True),
        ({"diff": "a.b"}, {"diff": {"against": "a.b", "tolerance": {"amount": 1}}}, False),
        ({"distribution": "amount"}, {"distribution": {"columns": ["amount"], "against": "previous"}}, True),
        ({"distribution": "amount"}, {"distribution": {"columns": ["amount"], "method": "ks"}}, False),
        ({"no_future_knowledge": "updated_at"}, {"no_future_knowledge": {"columns": ["updated_at"]}}, True),
    ],
)
def test_a_check_means_what_its_options_say_however_it_is_written(one: Any, other: Any, same: bool) -> None:
    assert (fingerprint(orders(checks=[one])) == fingerprint(orders(checks=[other]))) is same


def leaves(annotation: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every option below a type, by its dotted name; unions of models by their kinds."""
    models = [item for item in (annotation, *every_argument(annotation)) if is_model(item)]
    if not models:
        yield path, annotation
    for model in models:
        kind = model.model_fields["kind"].default if len(models) > 1 else ""
        for name, field in model.model_fields.items():
            yield from leaves(field.annotation, ".".join(part for part in (path, kind, name) if part))


def every_argument(annotation: Any) -> Iterator[Any]:
    for argument in get_args(annotation) if get_origin(annotation) is not Literal else ():
        yield argument
        yield from every_argument(argument)


def is_model(item: Any) -> bool:
    return isinstance(item, type) and issubclass(item, BaseModel)


def test_every_option_is_in_the_table_above() -> None:
    """A new option needs a line there: does a change of it make rows wrong that are there already?"""
    listed = {re.sub(r"\.\d+", "", option).replace("strategy.kind", "strategy") for option, _, _ in TABLE}

    assert listed == {path for path, _ in leaves(TableSpec, "")}
    assert len(TABLE) == len(listed)


def test_an_option_said_to_have_one_value_only_has_one() -> None:
    kinds = dict(leaves(TableSpec, ""))
    single = [option for option, _, meaning in TABLE if meaning == NO_OTHER and option != "strategy.kind"]

    assert {option for option in single if len(get_args(kinds[option])) > 1} == set()


# --- stability -------------------------------------------------------------------------------------

YAML = """\
table: analytics.orders
source: {kind: query, sql: "SELECT a, b FROM o WHERE t >= :start AND t < :end", conn_id: shop}
start_date: 2025-01-01
unique_key: [order_id]
columns:
  - {name: order_id, data_type: bigint}
  - {name: amount, data_type: "numeric(12,2)"}
  - {name: updated_at, data_type: timestamp with time zone}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("", ""),
        ("table:", "# what it is\ntable:"),
        ("start_date", "\n\nstart_date"),
        ("unique_key: [order_id]", "unique_key:   [ 'order_id' ]  # one key"),
        ("unique_key: [order_id]", "unique_key: order_id"),
        ("unique_key", "primary_key"),
        ("{kind: query, sql", "{conn_id: shop, kind: query, sql"),
        ("table: analytics.orders", '"table": \'"analytics"."orders"\''),
        ("start_date", "strategy: merge\nstart_date"),
        ("start_date", "strategy: {kind: merge}\nstart_date"),
        ("start_date", "timezone: UTC\non_empty: fail\npartition_by: {grain: day}\nstart_date"),
        ("data_type: bigint", "data_type: INT8"),
        ("data_type: bigint", "data_type: bigint, constraints: [], description: key"),
        ("numeric(12,2)", "decimal( 12, 2 )"),
        ("numeric(12,2)", "NUMERIC(12,2)"),
        ("timestamp with time zone", "timestamptz"),
        ("timestamp with time zone", "Timestamp  With Time Zone"),
        ("SELECT a, b FROM o", "select a,b\\n\\n  from o /* all */"),
        (" AND t < :end", "\\n-- the end\\n  and t<:end;"),
        ("t >= :start", "t>=:start"),
    ],
)
def test_how_a_spec_is_written_does_not_matter(tmp_path: Path, old: str, new: str) -> None:
    one, other = tmp_path / "one.yaml", tmp_path / "other.yaml"
    one.write_text(YAML, encoding="utf-8")
    text = YAML.replace(old, new, 1)
    if new.startswith("{conn_id"):
        text = text.replace(", conn_id: shop}", "}")
    other.write_text(text, encoding="utf-8")

    assert fingerprint(load_file(one)) == fingerprint(load_file(other))


@given(st.permutations(list(QUERY.items())), st.permutations(list(QUERY["source"].items())))
@settings(max_examples=20, deadline=None)
def test_the_order_of_options_does_not_matter(top: list[tuple[str, Any]], below: list[tuple[str, Any]]) -> None:
    assert fingerprint(TableSpec(**dict(top) | {"source": dict(below)})) == fingerprint(TableSpec(**QUERY))


def test_a_preset_and_the_grain_it_stands_for_mean_the_same() -> None:
    hourly = fingerprint(orders(schedule="@hourly"))

    assert hourly == fingerprint(orders(schedule="@hourly", partition_by={"grain": "hour"}))
    assert hourly == fingerprint(orders(schedule="5 * * * *", partition_by={"grain": "hour"}))
    assert hourly != fingerprint(orders(schedule="@daily"))


def test_a_fingerprint_is_a_sha256_in_hex_and_the_same_in_every_process() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", fingerprint(orders()))
    assert fingerprint(orders()) == fingerprint(orders())


def test_the_words_of_a_load_are_enough_for_a_fingerprint() -> None:
    words = LoadSpec(table="orders", unique_key=["id"])

    assert fingerprint(words) == fingerprint(LoadSpec(table="public.orders", unique_key="id", conn_id="x"))
    assert fingerprint(words) != fingerprint(LoadSpec(table="orders", unique_key=["line"]))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("select a from t", "SELECT  a\nFROM t -- all", True),
        ("select a from t", "select A from T", True),
        ("select a from t;", "select a from t", True),
        ("select 'x  y'", "select 'x y'", False),
        ("select 'A'", "select 'a'", False),
        ('select "A"', 'select "a"', False),
        ("select a from t where b > :start", "select a from t where b > :end", False),
        ("select a from t", "select a from t limit 1", False),
        ("select a, b from t", "select b, a from t", False),
        ("select a from t where b > :start", "SELECT a FROM t /* of */ WHERE b > :start", True),
        ("select to_char(a, 'IYYY') as w from t", "select to_char(a, 'YYYY') as w from t", False),
        ("with c as (select 1 as a) select a from c", "WITH c AS (SELECT 1 AS a)\nSELECT a FROM c", True),
        ("with c as (select 1 as a) select a from c", "WITH c AS (SELECT 2 AS a)\nSELECT a FROM c", False),
        # cannot be parsed
        ("select `a` from t", "  select `a` from t\n\n", True),
        ("select `a`\nfrom t", "    select `a`\n    from t\n", True),
        ("select `a`, 'x  y'", "select `a`, 'x y'", False),
        ("select `a` -- b\n from t", "select `a` -- b from t", False),
        ("{% if x %} select 1 {% endif %}", "{% if y %} select 1 {% endif %}", False),
    ],
)
def test_queries_are_the_same_when_only_layout_differs(one: str, other: str, same: bool) -> None:
    assert (normal_sql(one) == normal_sql(other)) is same
