"""What a wrong spec is told: all of it at once, where, and the word that was meant."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.words import ALIASES, meant
from airflow_idempotent.strategies import STRATEGIES
from tests.unit.spec.orders import COLUMNS, LEFT_OUT, ORDERS, options, orders, problems_with

NO_KEY = "required by strategy 'merge': which columns tell which row is which?"
NO_COLUMN = "required by strategy 'insert_overwrite': which column says in which partition a row lies?"
NO_GROUP = "required by strategy 'delete_insert' without 'unique_key': which rows go together?"
TWO_GROUPS = "'x' is not in 'unique_key': one row would be of two keys of this merge_key"
MISSING = "Input should be 'delete', 'keep' or 'soft_delete'"
KINDS = " or ".join(map(repr, STRATEGIES))
ODD_TABLE = "is not a table name: write schema.table, with double quotes around odd names"
PRESETS = "@hourly, @daily, @weekly, @monthly, @yearly, a cron expression or an ISO 8601 duration"


@pytest.mark.parametrize(
    ("changes", "path", "text"),
    [
        # required
        ({"table": LEFT_OUT}, "table", "required: target table, schema.table; double quotes around odd names."),
        ({"source": LEFT_OUT}, "source", "required: where the rows of a partition come from."),
        ({"start_date": LEFT_OUT}, "start_date", "required: begin of the first partition."),
        ({"unique_key": LEFT_OUT}, "unique_key", NO_KEY),
        ({"unique_key": []}, "unique_key", NO_KEY),
        # unknown words
        ({"uniqe_keys": ["a"]}, "uniqe_keys", "unknown option, did you mean 'unique_key'?"),
        ({"Version": "a"}, "Version", "unknown option, did you mean 'version'?"),
        ({"crom": "a"}, "crom", "unknown option, did you mean 'cron'?"),
        ({"xyzzy": 1}, "xyzzy", "unknown option"),
        ({"landing": {"keep_batchs": 1}}, "landing.keep_batchs", "unknown option, did you mean 'keep_batches'?"),
        ({"late_data": {"look_back": 1}}, "late_data.look_back", "unknown option, did you mean 'lookback'?"),
        ({"partition_by": {"colum": "a"}}, "partition_by.colum", "unknown option, did you mean 'column'?"),
        ({"source": {"fromat": "csv"}}, "source.files.fromat", "unknown option, did you mean 'format'?"),
        (
            {"source": {"csv": {"delimitr": ";"}}},
            "source.files.csv.delimitr",
            "unknown option, did you mean 'delimiter'?",
        ),
        (
            {"columns": [*COLUMNS, {"name": "a", "data_type": "int", "datatype": "int"}]},
            "columns.4.datatype",
            "unknown option, did you mean 'data_type'?",
        ),
        # strategy
        ({"strategy": "merg"}, "strategy", "unknown strategy 'merg', did you mean 'merge'?"),
        ({"strategy": "MERGE"}, "strategy", "unknown strategy 'MERGE', did you mean 'merge'?"),
        ({"strategy": {"kind": "marge"}}, "strategy", "unknown strategy 'marge', did you mean 'merge'?"),
        ({"strategy": "upsert"}, "strategy", "unknown strategy 'upsert'"),
        ({"strategy": {"kind": "merge", "verson": "a"}}, "strategy.verson", "unknown option"),
        (
            {"strategy": {"kind": "merge", "merge_updte_columns": ["a"]}},
            "strategy.merge_updte_columns",
            "unknown option, did you mean 'merge_update_columns'?",
        ),
        ({"strategy": {"kind": "merge", "on_tie": "x"}}, "strategy.on_tie", "Input should be 'content' or 'fail'"),
        (
            {"strategy": {"kind": "merge", "merge_update_columns": ["a"], "merge_exclude_columns": ["b"]}},
            "strategy.merge_exclude_columns",
            "goes without 'merge_update_columns' only: keep one of them",
        ),
        (
            {"columns": COLUMNS, "strategy": {"kind": "merge", "merge_exclude_columns": ["amont"]}},
            "strategy.merge_exclude_columns.0",
            "column 'amont' is not in 'columns', did you mean 'amount'?",
        ),
        (
            {"unique_key": "a", "strategy": {"kind": "merge", "merge_update_columns": ["a"]}},
            "strategy.merge_update_columns",
            "column 'a' is in the unique_key: a key is never updated",
        ),
        (
            {"version": "a", "strategy": {"kind": "merge", "merge_exclude_columns": ["a"]}},
            "strategy.merge_exclude_columns",
            "column 'a' is in version: always updated, or the same row would win again and again",
        ),
        (
            {"version": LEFT_OUT, "strategy": {"kind": "merge", "on_tie": "fail"}},
            "version",
            "required by strategy 'merge': which columns order two rows of one key, for 'on_tie: fail'?",
        ),
        (
            {"strategy": {"kind": "merge", "on_missing": "delete"}},
            "partition_by.column",
            "required by strategy 'merge': which column says what partition a row belongs to, "
            "for 'on_missing: delete'?",
        ),
        (
            {"version": ["a", "b"], "strategy": "scd2"},
            "version",
            "strategy 'scd2' takes one column: it is the time axis of the history",
        ),
        (
            {"unique_key": ["a", "b"], "version": "b", "strategy": "scd2"},
            "unique_key",
            "column 'b' is the version: every row would be a key with one version",
        ),
        (
            {"version": "b", "strategy": {"kind": "scd2", "valid_from": "b"}},
            "strategy.valid_from",
            "column 'b' is 'version' already: it needs one of its own",
        ),
        (
            {"columns": COLUMNS, "version": "updated_at", "strategy": {"kind": "scd2", "valid_to": "amount"}},
            "columns",
            "column 'amount' is filled by strategy 'scd2': take it out",
        ),
        ({"strategy": {"on_missing": "keep"}}, "strategy.kind", f"required: {KINDS}"),
        (
            {"strategy": {"kind": "snapshot", "alow_empty": True}},
            "strategy.alow_empty",
            "unknown option, did you mean 'allow_empty'?",
        ),
        ({"strategy": {"kind": "snapshot", "on_missing": "go"}}, "strategy.on_missing", MISSING),
        ({"strategy": "insert_overwrite"}, "partition_by.column", NO_COLUMN),
        ({"strategy": "delete_insert", "unique_key": []}, "strategy.merge_key", NO_GROUP),
        ({"strategy": {"kind": "delete_insert", "merge_key": "x"}}, "strategy.merge_key", TWO_GROUPS),
        (
            {"strategy": {"kind": "cdc", "op_colum": "o"}},
            "strategy.op_colum",
            "unknown option, did you mean 'op_column'?",
        ),
        (
            {"strategy": {"kind": "cdc", "op_map": {"insret": ["I"]}}},
            "strategy.op_map.insret",
            "unknown option, did you mean 'insert'?",
        ),
        (
            {"strategy": {"kind": "cdc", "op_map": {"delete": ["U"]}}, "version": "updated_at"},
            "strategy.op_map",
            "code 'U' is listed twice",
        ),
        (
            {"strategy": {"kind": "cdc", "key_before": {"status": "old"}}, "version": "updated_at"},
            "strategy.key_before.status",
            "column 'status' is not in unique_key",
        ),
        (
            {"strategy": {"kind": "cdc", "tombstone_ttl": "0 days"}, "version": "updated_at"},
            "strategy.tombstone_ttl",
            "must be longer than nothing",
        ),
        (
            {"strategy": "cdc"},
            "version",
            "required by strategy 'cdc': which columns order two events of one key?",
        ),
        ({"incremental_strategy": "merg"}, "strategy", "unknown strategy 'merg', did you mean 'merge'?"),
        # table
        ({"table": ""}, "table", f"'' {ODD_TABLE}"),
        ({"table": "a.b.c"}, "table", f"'a.b.c' {ODD_TABLE}"),
        ({"table": "orders; DROP TABLE users"}, "table", f"'orders; DROP TABLE users' {ODD_TABLE}"),
        # source
        ({"source": "x.csv"}, "source", "must be a mapping of options"),
        ({"source": None}, "source", "must be a mapping of options"),
        ({"source": {"kind": "fils"}}, "source.kind", "unknown kind 'fils', did you mean 'files'?"),
        (
            {"source": {"kind": "stream"}},
            "source.kind",
            "unknown kind 'stream', write 'files' or 'query' or 'python' or 'transform'",
        ),
        # columns and keys
        ({"columns": "a"}, "columns", "must be a list"),
        ({"tags": "orders"}, "tags", "must be a list"),
        ({"unique_key": 5}, "unique_key", "must be a list"),
        ({"unique_key": ["a", "b", "a"]}, "unique_key", "column 'a' is named twice"),
        ({"version": ["a", "a"]}, "version", "column 'a' is named twice"),
        ({"columns": [*COLUMNS, COLUMNS[0]]}, "columns", "column 'order_id' is named twice"),
        (
            {"columns": COLUMNS, "unique_key": ["orderid"]},
            "unique_key",
            "column 'orderid' is not in 'columns', did you mean 'order_id'?",
        ),
        (
            {"columns": COLUMNS, "version": "Updated_At"},
            "version",
            "column 'Updated_At' is not in 'columns', did you mean 'updated_at'?",
        ),
        ({"columns": COLUMNS, "event_time": "shoe_size"}, "event_time", "column 'shoe_size' is not in 'columns'"),
        (
            {"columns": COLUMNS, "partition_by": {"column": "orderdate"}},
            "partition_by.column",
            "column 'orderdate' is not in 'columns', did you mean 'order_date'?",
        ),
        (
            {"columns": COLUMNS, "checks": ["reconcile", {"unique": ["order_i"]}]},
            "checks.1.unique",
            "column 'order_i' is not in 'columns', did you mean 'order_id'?",
        ),
        # partitions
        (
            {"partition_by": {"declarative": True}},
            "partition_by.column",
            "required by declarative: which column cuts the table?",
        ),
        (
            {"partition_by": {"declarative": True, "column": "order_date"}},
            "unique_key",
            "must hold 'order_date': PostgreSQL needs it in every key of a partitioned table",
        ),
        # dates, zones, schedules
        ({"timezone": "Europe/Berln"}, "timezone", "'Europe/Berln' is not a time zone, write it like 'Europe/Berlin'"),
        ({"timezone": "+02:00"}, "timezone", "'+02:00' is not a time zone, write it like 'Europe/Berlin'"),
        ({"timezone": ""}, "timezone", "'' is not a time zone, write it like 'Europe/Berlin'"),
        ({"timezone": "../UTC"}, "timezone", "'../UTC' is not a time zone, write it like 'Europe/Berlin'"),
        ({"timezone": "Europe"}, "timezone", "'Europe' is not a time zone, write it like 'Europe/Berlin'"),
        ({"start_date": 2025}, "start_date", "2025 is not a date, write it like 2025-05-01"),
        ({"start_date": 20250101}, "start_date", "20250101 is not a date, write it like 2025-05-01"),
        ({"start_date": "20250101"}, "start_date", "'20250101' is not a date, write it like 2025-05-01"),
        ({"start_date": True}, "start_date", "True is not a date, write it like 2025-05-01"),
        ({"end_date": 1.5e9}, "end_date", "1500000000.0 is not a date, write it like 2025-05-01"),
        ({"end_date": "-1735689600.0"}, "end_date", "'-1735689600.0' is not a date, write it like 2025-05-01"),
        ({"end_date": "2024-12-31"}, "end_date", "must be after start_date"),
        ({"end_date": "2025-01-01"}, "end_date", "must be after start_date"),
        ({"end_date": "2025-01-01T00:30:00+01:00"}, "end_date", "must be after start_date"),
        ({"schedule": "@dayly"}, "schedule", f"unknown preset '@dayly': {PRESETS}"),
        ({"schedule": "@once"}, "schedule", f"unknown preset '@once': {PRESETS}"),
        ({"cron": "@once"}, "schedule", f"unknown preset '@once': {PRESETS}"),
        # what the format of the files makes of other options
        (
            {"source": {"csv": {"header": False}}},
            "source.csv.columns",
            "required by header: false where the spec has no columns: what does the file hold?",
        ),
        (
            {"source": {"csv": {"columns": ["a"]}}},
            "source.csv.columns",
            "the header names the columns; write header: false where there is none",
        ),
        (
            {"source": {"csv": {"header": False, "columns": ["a", "b", "a"]}}},
            "source.csv.columns",
            "column 'a' is named twice",
        ),
        ({"source": {"format": "jsonl", "csv": {"null": "NA"}}}, "source.csv", "means nothing with format: jsonl"),
        # one option, two names
        (
            {"primary_key": ["order_id"]},
            "",
            "'primary_key' and 'unique_key' are the same option, keep 'unique_key'",
        ),
    ],
)
def test_a_problem_is_told_with_its_path_and_what_was_meant(changes: dict[str, Any], path: str, text: str) -> None:
    assert problems_with(**changes) == [(path, text)]


@pytest.mark.parametrize(
    ("changes", "path", "part"),
    [
        ({"source": {"kind": "files", "path": ""}}, "source.files.path", "at least 1 character"),
        ({"source": {"csv": {"delimiter": ";;"}}}, "source.files.csv.delimiter", "at most 1 character"),
        ({"source": {"csv": {"quote": ""}}}, "source.files.csv.quote", "at least 1 character"),
        ({"source": {"format": "xml"}}, "source.files.format", "'csv', 'jsonl' or 'parquet'"),
        ({"unique_key": [5]}, "unique_key.0", "valid string"),
        ({"columns": [{"name": "a"}]}, "columns.0.data_type", "required"),
        ({"columns": [{"name": "", "data_type": "int"}]}, "columns.0.name", "at least 1 character"),
        ({"columns": [{"name": "a", "data_type": ""}]}, "columns.0.data_type", "at least 1 character"),
        (
            {"columns": [{"name": "a", "data_type": "int", "constraints": ["notnull"]}]},
            "columns.0.constraints.0",
            "'not_null'",
        ),
        ({"partition_by": {"grain": "daily"}}, "partition_by.grain", "'hour', 'day', 'week', 'month' or 'year'"),
        ({"on_empty": "ignore"}, "on_empty", "'fail', 'skip' or 'publish_empty'"),
        ({"on_schema_change": "add"}, "on_schema_change", "'append_new_columns' or 'sync_all_columns'"),
        ({"start_date": "2025-02-30"}, "start_date", "day value is outside expected range"),
        ({"start_date": "yesterday"}, "start_date", "valid datetime or date"),
        ({"start_date": None}, "start_date", "valid datetime"),
        ({"dag_id": "my dag"}, "dag_id", "match pattern"),
        ({"dag_id": "x" * 251}, "dag_id", "at most 250 characters"),
        ({"tags": ["x" * 101]}, "tags.0", "at most 100 characters"),
        ({"fillfactor": 9}, "fillfactor", "greater than or equal to 10"),
        ({"fillfactor": 101}, "fillfactor", "less than or equal to 100"),
        ({"lock_timeout": 0}, "lock_timeout", "greater than 0"),
        ({"statement_timeout": 0}, "statement_timeout", "greater than 0"),
        ({"retries": -1}, "retries", "greater than or equal to 0"),
        ({"retry_delay": -1}, "retry_delay", "greater than or equal to 0"),
        ({"max_active_runs": 0}, "max_active_runs", "greater than or equal to 1"),
        ({"late_data": {"lookback": 367}}, "late_data.lookback", "less than or equal to 366"),
        ({"backfill": {"partitions_per_task": 0}}, "backfill.partitions_per_task", "greater than or equal to 1"),
        ({"backfill": {"max_active_tasks": 0}}, "backfill.max_active_tasks", "greater than or equal to 1"),
        ({"landing": {"keep_batches": 0}}, "landing.keep_batches", "greater than or equal to 1"),
        ({"landing": {"on_source_change": "replace"}}, "landing.on_source_change", "'new_batch' or 'fail'"),
    ],
)
def test_a_value_out_of_bounds_is_told_with_its_path_and_the_bound(
    changes: dict[str, Any], path: str, part: str
) -> None:
    [(found, text)] = problems_with(**changes)

    assert found == path
    assert part in text


def test_a_source_without_a_kind_is_asked_for_it() -> None:
    with pytest.raises(SpecError) as refused:
        load_mapping({**ORDERS, "source": {"path": "x.csv"}}, name="orders.yaml")

    assert refused.value.problems == (("source.kind", "required: 'files' or 'query' or 'python' or 'transform'"),)


def test_all_problems_are_told_at_once_those_between_options_too() -> None:
    found = problems_with(
        table="a;b",
        strategy="merg",
        version=["v", "v"],
        timezone="Nowhere",
        start_date=2025,
        schedule="@dayly",
        checks=[{"unqiue": ["a"]}],
        xyzzy=1,
    )

    assert sorted(path for path, _ in found) == [
        "checks.0",
        "schedule",
        "start_date",
        "strategy",
        "table",
        "timezone",
        "version",
        "xyzzy",
    ]


def test_an_empty_spec_is_told_all_that_it_needs() -> None:
    with pytest.raises(SpecError) as refused:
        load_mapping({}, name="orders.yaml")

    assert [path for path, _ in refused.value.problems] == ["table", "source", "start_date", "unique_key"]


def test_a_problem_is_told_once() -> None:
    assert problems_with(unique_key=5, version=5) == [("unique_key", "must be a list"), ("version", "must be a list")]
    assert problems_with(start_date=LEFT_OUT, start="soon", xyzzy=1) == problems_with(start_date="soon", xyzzy=1)


def test_the_text_names_the_file_and_what_to_type_next() -> None:
    with pytest.raises(SpecError) as refused:
        load_mapping(options(verson=["a"], tabel="b"), name="dags/tables/orders.yaml")

    assert str(refused.value).splitlines() == [
        "dags/tables/orders.yaml: 2 problems, no DAG was built from it.",
        "  - verson: unknown option, did you mean 'version'?",
        "  - tabel: unknown option, did you mean 'table'?",
        "Correct the file, then: airflow-idempotent lint dags/tables/orders.yaml",
        "Runbook: spec-error",
    ]


# --- words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("word", "known", "said"),
    [
        ("verson", ["version", "event_time"], ", did you mean 'version'?"),
        ("VERSION", ["version"], ", did you mean 'version'?"),
        ("amount", ["Amount"], ", did you mean 'Amount'?"),
        ("xyzzy", ["version"], ""),
        ("verson", [], ""),
        ("", ["version"], ""),
    ],
)
def test_the_nearest_word_is_named_when_one_is_near(word: str, known: list[str], said: str) -> None:
    assert meant(word, known) == said


@pytest.mark.parametrize(
    ("alias", "value"),
    [
        ("primary_key", "order_id"),
        ("keys", ["order_id"]),
        ("incremental_strategy", "merge"),
        ("cron", "0 6 * * *"),
        ("start", "2025-02-01"),
        ("end", "2025-03-01"),
        ("audits", ["reconcile"]),
        ("data_tests", ["reconcile"]),
        ("tests", ["reconcile"]),
        ("time_column", "order_date"),
        ("commit_version", ["updated_at"]),
    ],
)
def test_words_of_other_tools_are_understood(alias: str, value: Any) -> None:
    name = ALIASES[alias]

    assert orders(**{name: LEFT_OUT, alias: value}) == orders(**{name: value})
    assert problems_with(**{name: value, alias: value}) == [
        ("", f"{alias!r} and {name!r} are the same option, keep {name!r}")
    ]


def test_every_alias_is_in_the_table_above() -> None:
    (mark,) = (
        mark
        for mark in test_words_of_other_tools_are_understood.pytestmark  # type: ignore[attr-defined]
        if mark.name == "parametrize"
    )

    assert {alias for alias, _ in mark.args[1]} == set(ALIASES)
