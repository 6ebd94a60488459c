"""A spec in words: what is said follows from what is set."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_idempotent.plan.explain import explain, inherited_options
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.table import TableSpec
from tests.unit.spec.orders import COLUMNS, options, orders

CDC = {"strategy": "cdc", "version": "updated_at"}


@pytest.mark.parametrize(
    ("changes", "topic", "said"),
    [
        ({"description": "One row per order."}, "description", "One row per order."),
        ({}, "dag", "analytics.orders, owner airflow; 3 retries, "),
        ({"retries": 0, "pool": "p", "tags": ["a", "b"]}, "dag", "tags a, b, pool p; no retries;"),
        ({"schedule": None}, "schedule", "None: runs are triggered by hand or by a backfill."),
        ({}, "schedule", '@daily as CronDataIntervalTimetable("0 0 * * *", timezone="UTC")'),
        ({"schedule": "5 6 * * *"}, "schedule", 'CronDataIntervalTimetable("5 6 * * *", timezone="UTC")'),
        ({"schedule": "P1D"}, "schedule", "DeltaDataIntervalTimetable(P1D)"),
        ({"catchup": False}, "schedule", "missed intervals are left out."),
        ({}, "partitions", "One per day in UTC, the first is 2025-01-01 (half-open: 2025-01-01T00:00:00+00:00 <= t <"),
        ({"end_date": "2025-02-01"}, "partitions", "the last is 2025-01-31; no column says where a row belongs."),
        ({"event_time": "d"}, "partitions", "a row belongs where its d lies."),
        ({"source": {"csv": {"null": "NULL"}}}, "source", "csv, utf-8, delimiter ',', NULL is unquoted 'NULL'"),
        ({"source": {"csv": {"header": False, "columns": ["a"]}}}, "source", "NULL is unquoted '', no header)."),
        ({"source": {"format": "jsonl"}}, "source", "(jsonl, one JSON object a line;"),
        ({"source": {"format": "parquet"}}, "source", "(parquet, nothing is rounded;"),
        ({"source": {"format": "parquet"}}, "landing", "/batch=20250101_01/part-00000.parquet, and _manifest.json"),
        ({"landing": {"root": "/lake/"}}, "landing", "/lake/analytics.orders/partition=2025-01-01/batch=20250101_01/"),
        ({"landing": {"on_source_change": "fail"}}, "landing", "Other content is refused;"),
        ({}, "target", "must exist, since the spec has no columns"),
        ({"columns": COLUMNS}, "target", "created with 4 columns when it does not exist"),
        ({}, "key", "order_id: what tells which row is which."),
        ({}, "conflict", "No version: the newest batch of a partition wins;"),
        ({"version": ["a", "b"]}, "conflict", "a, b: the greatest wins, NULL is lowest;"),
        (CDC, "conflict", "at equal versions a row wins over a deletion"),
        (CDC, "re-run", "no tombstone either"),
        (
            {**CDC, "strategy": {"kind": "cdc", "tombstone_ttl": "30 days", "unchanged_column": "u"}},
            "conflict",
            "in any order; for events that leave values out that holds of events in order only",
        ),
        ({}, "strategy", "merge: Insert new keys, replace rows whose version is older, leave everything else alone."),
        (
            {"strategy": "insert_overwrite", "event_time": "d"},
            "conflict",
            "The newest batch of a partition is all of it;",
        ),
        ({"strategy": "insert_overwrite", "event_time": "d"}, "late data", "must hold all rows of its partition."),
        ({"strategy": "insert_only", "version": "a"}, "conflict", "a: the smallest wins, NULL is lowest;"),
        ({"strategy": "insert_only"}, "conflict", "The batch that brings a key first;"),
        ({"strategy": "scd2", "version": "a"}, "conflict", "None: every a of a key stays, each until the next;"),
        ({"strategy": "scd2", "version": "a"}, "late data", "a late version splits the interval it falls into."),
        (
            {"strategy": {"kind": "merge", "merge_update_columns": ["v"]}, "version": "a"},
            "conflict",
            "A row that is there takes v and a only.",
        ),
        (
            {"strategy": {"kind": "merge", "merge_exclude_columns": ["v"]}},
            "conflict",
            "The newest batch wins; ties are decided by the row's content. A row that is there keeps its v.",
        ),
        (
            {"strategy": {"kind": "merge", "on_tie": "fail"}, "version": "a"},
            "conflict",
            "two rows of one version are refused.",
        ),
        (
            {"strategy": {"kind": "merge", "on_missing": "delete"}, "partition_by": {"column": "d"}},
            "re-run",
            "An older batch writes nothing: its rows are stale.",
        ),
        ({"strategy": "append"}, "re-run", "Rows of other partitions are left alone."),
        ({"strategy": "append"}, "conflict", "None: the newest batch of a partition counts"),
        ({"strategy": "snapshot"}, "conflict", "with two rows of one key in it the snapshot is refused."),
        ({"strategy": "snapshot", "version": "a"}, "conflict", "the greatest a decides."),
        (
            {"strategy": "snapshot"},
            "re-run",
            "An older snapshot, of this partition or of an earlier one, writes nothing",
        ),
        ({"strategy": "delete_insert"}, "conflict", "the rows of a key come from the newest batch of a partition."),
        ({"strategy": "delete_insert", "version": "a"}, "conflict", "those with the greatest a win, NULL is lowest;"),
        (
            {"late_data": {"lookback": 2}},
            "late data",
            "before its own again, and rewrites those whose content changed;",
        ),
        ({}, "bad data", "No check closes the gate."),
        ({"checks": [{"unique": "a"}]}, "bad data", "Nothing is published unless all hold: unique(a)."),
        ({"checks": [{"reconcile": "warn"}]}, "bad data", "No check closes the gate. Recorded only: reconcile."),
        ({"on_empty": "skip"}, "empty partition", "Without input the partition is skipped"),
        ({"on_schema_change": "ignore"}, "schema change", "are left out."),
        ({"table_version": 2}, "target", "build version 2 as analytics.orders__v2; it is swapped in by hand."),
        ({"publish": "swap"}, "target", "it is swapped in, once all partitions of the live table are in it"),
        ({"publish": {"mode": "swap", "cutover": "manual"}}, "target", "swapped in, after somebody said yes, once"),
        ({"backfill": {"partitions_per_task": 31}}, "backfill", "31 partition(s) per task, at most 4 tasks"),
    ],
)
def test_a_topic_follows_from_its_options(changes: dict[str, Any], topic: str, said: str) -> None:
    assert said in explain(orders(**changes))[topic]


def test_a_query_is_shown_on_one_line() -> None:
    query = {"kind": "query", "sql": "select 1\n  where :start < :end", "conn_id": "shop"}
    spec = TableSpec(**options() | {"source": query})

    assert explain(spec)["source"] == "A query over connection shop: select 1 where :start < :end"


def test_every_topic_is_one_paragraph_about_this_spec() -> None:
    explanation = explain(orders(columns=COLUMNS, description="Orders."))

    assert (explanation.table, explanation.fingerprint) == ("analytics.orders", fingerprint(orders(columns=COLUMNS)))
    assert len({topic.name for topic in explanation.topics}) == len(explanation.topics) == 19
    assert all(topic.text and len(topic.text.splitlines()) == 1 for topic in explanation.topics)


def test_what_defaults_gave_is_marked_at_the_topic_it_is_about() -> None:
    inherited = inherited_options(
        {"retries": 1, "source": {"kind": "files", "csv": {"null": "-"}}, "landing": {"root": "/lake"}, "tags": ["a"]},
        {"table": "t", "source": {"path": "x", "csv": {"quote": "'"}}, "tags": ["b"]},
    )

    assert inherited == ("retries", "source.kind", "source.csv.null", "landing")
    marked = {topic.name: topic.inherited for topic in explain(orders(), inherited).topics if topic.inherited}
    assert marked == {"dag": ("retries",), "source": ("source.kind", "source.csv.null"), "landing": ("landing",)}


def test_every_option_is_explained_by_a_topic() -> None:
    everything = explain(orders(description="x"), tuple(TableSpec.model_fields))

    assert {option for topic in everything.topics for option in topic.inherited} == set(TableSpec.model_fields)
