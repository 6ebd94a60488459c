"""Rows made inside the warehouse: computed again every time, and only what differs is written."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.cli.render import assumed_step, render
from airflow_idempotent.core.step import Effects, Receipt, State
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import (
    GateClosedError,
    NullKeyError,
    PrecisionError,
    SchemaDriftError,
    SourceChangedError,
    StatementTimeoutError,
    TransformError,
)
from airflow_idempotent.landing.code import pinned
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform
from tests.loading import Warehouse

DAY, NEXT = "2025-05-01", "2025-05-02"
CUTOFF = datetime(2025, 6, 1, tzinfo=UTC)
DAILY = """
-- one row per user and day
WITH seen AS (
    SELECT DISTINCT ON (event_id) event_id, user_id, amount
    FROM raw.events
    WHERE event_time >= :start AND event_time < :end
    ORDER BY event_id, ingested_at DESC, amount
)
SELECT user_id, :start::date AS day, count(*) AS events, sum(amount) AS total
FROM seen
GROUP BY user_id;
"""
COLUMNS = [
    {"name": "user_id", "data_type": "bigint"},
    {"name": "day", "data_type": "date"},
    {"name": "events", "data_type": "bigint"},
    {"name": "total", "data_type": "numeric(12,2)"},
]
EVENTS = [
    (1, 1, f"{DAY} 08:00", f"{DAY} 09:00", 10),
    (2, 1, f"{DAY} 23:59:59.999999", f"{NEXT} 00:01", 5),
    (3, 2, f"{DAY} 00:00", f"{DAY} 00:01", 7),
    (3, 2, f"{DAY} 00:00", f"{DAY} 10:00", 8),  # the same event, ingested again
    (4, 1, f"{NEXT} 00:00", f"{NEXT} 00:01", 99),
]


def features(sql: str = DAILY, **changes: Any) -> TableSpec:
    """The table that the SQL makes."""
    words = {
        "table": "features.daily",
        "start_date": "2025-01-01",
        "source": {"kind": "transform", "sql": sql},
        "columns": COLUMNS,
        "unique_key": ["user_id", "day"],
        "partition_by": {"column": "day"},
    }
    return load_mapping({**words, **changes}, name="daily.yaml")


@pytest.fixture
def events(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE SCHEMA raw")
    warehouse.sql(
        "CREATE TABLE raw.events "
        "(event_id int, user_id int, event_time timestamptz, ingested_at timestamptz, amount int)"
    )
    for event in EVENTS:
        add(warehouse, event)
    return warehouse


def add(warehouse: Warehouse, event: tuple[Any, ...]) -> None:
    event_id, user_id, happened, ingested, amount = event
    values = (event_id, user_id, f"{happened}+00", f"{ingested}+00", amount)
    warehouse.sql("INSERT INTO raw.events VALUES (%s, %s, %s, %s, %s)", values)


@pytest.fixture
def store(tmp_path: Path) -> BatchStore:
    return BatchStore(tmp_path / "lake")


def pin(
    store: BatchStore, spec: TableSpec, day: str = DAY, *, cutoff: datetime = CUTOFF, run_id: str = "r1", **how: Any
) -> Landed:
    assert isinstance(spec.source, Transform)
    source = pinned(spec.source, spec.partition(day), cutoff_ts=cutoff, run_id=run_id)
    now = datetime.now(UTC).isoformat()
    return land(source, store=store, table=spec.table, partition=spec.partition(day), created_at=now, **how)


def compute(warehouse: Warehouse, store: BatchStore, spec: TableSpec, day: str = DAY, **how: Any) -> Receipt:
    """Land, load and validate one day."""
    landing = {name: how.pop(name) for name in ("cutoff", "run_id") if name in how}
    skip = how.pop("skip_unchanged", False)
    load = Load(spec, spec.partition(day), pin(store, spec, day, **landing).manifest, skip)
    receipt = stage_merge(load, connect=warehouse.connect, batches=store, **how)
    if not how.get("dry_run"):
        assert validate(load, connect=warehouse.connect).state is State.VALIDATED
    return receipt


def table(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.sql("SELECT user_id, day::text, events, total FROM features.daily ORDER BY 2, 1")


FIRST = [(1, DAY, 2, Decimal("15.00")), (2, DAY, 1, Decimal("8.00"))]


# --- worked example 7: features from raw events, with late arrivals --------------------------------------------


def test_features_of_a_day_are_made_once_however_often_it_runs(events: Warehouse, store: BatchStore) -> None:
    first = compute(events, store, features())
    before = events.physical("features.daily")
    again = compute(events, store, features())

    assert table(events) == FIRST
    assert first.effects == Effects(inserted=2)
    assert (first.measure.staged_rows, first.measure.row_count) == (2, 2)
    assert again.effects == Effects(unchanged=2)
    assert events.physical("features.daily") == before
    assert [row[1] for row in events.events("features.daily")] == ["20250501_01"] * 4


def test_a_late_event_changes_its_row_and_no_other(events: Warehouse, store: BatchStore) -> None:
    compute(events, store, features())
    compute(events, store, features(), NEXT)
    before = {row[3:]: row for row in events.physical("features.daily", "user_id, day, events, total")}

    add(events, (5, 1, f"{DAY} 12:00", f"{NEXT} 18:00", -20))  # a lower total than before
    late = compute(events, store, features())

    assert late.effects == Effects(updated=1, unchanged=1)
    assert table(events) == [(1, DAY, 3, Decimal("-5.00")), FIRST[1], (1, NEXT, 1, Decimal("99.00"))]
    after = {row[3:]: row for row in events.physical("features.daily", "user_id, day, events, total")}
    assert len(set(after.values()) - set(before.values())) == 1


def test_a_cutoff_keeps_later_rows_out_and_is_part_of_the_batch(events: Warehouse, store: BatchStore) -> None:
    spec = features(DAILY.replace("event_time < :end", "event_time < :end AND ingested_at < :cutoff_ts"))
    noon = datetime(2025, 5, 1, 9, 30, tzinfo=UTC)

    early = compute(events, store, spec, cutoff=noon)
    again = compute(events, store, spec, cutoff=noon)
    later = compute(events, store, spec, cutoff=CUTOFF)

    assert (early.batch_id, again.batch_id, later.batch_id) == ("20250501_01", "20250501_01", "20250501_02")
    assert (early.effects, again.effects) == (Effects(inserted=2), Effects(unchanged=2))
    assert later.effects == Effects(updated=2)
    assert table(events) == FIRST


def test_the_run_can_be_recorded_in_the_rows(events: Warehouse, store: BatchStore) -> None:
    spec = features(
        DAILY.replace("SELECT user_id,", "SELECT :run_id AS run_id, user_id,"),
        columns=[*COLUMNS, {"name": "run_id", "data_type": "text"}],
    )
    compute(events, store, spec, run_id="it's 100% mine")

    assert events.sql("SELECT DISTINCT run_id FROM features.daily") == [("it's 100% mine",)]


# --- worked example 9: a metric recomputed for many days -------------------------------------------------------


def test_a_metric_is_recomputed_day_by_day_and_only_days_that_differ_are_written(
    events: Warehouse, store: BatchStore
) -> None:
    sql = "SELECT :key::date AS day, count(*) AS events, coalesce(sum(amount), 0) AS total FROM raw.events {}"
    where = "WHERE event_time >= :start AND event_time < :end"
    words = {"columns": COLUMNS[1:], "unique_key": ["day"], "checks": [{"row_count": {"min": 1, "max": 1}}]}
    days = [f"2025-05-{day:02d}" for day in range(1, 8)]
    old = features(sql.format(where), **words)
    assert [compute(events, store, old, day).effects for day in days] == [Effects(inserted=1)] * 7

    # The definition changes: an event counts once, however often it was ingested.
    once = sql.format(
        f"JOIN (SELECT event_id, max(ingested_at) AS ingested_at FROM raw.events {where} GROUP BY 1) AS n"
    )
    new = features(f"{once} USING (event_id, ingested_at) {where}", **words)
    effects = [compute(events, store, new, day).effects for day in days]

    assert effects == [Effects(updated=1), *[Effects(unchanged=1)] * 6]
    found = events.sql("SELECT day::text, events, total FROM features.daily ORDER BY 1")
    assert found == [(DAY, 3, 23), (NEXT, 1, 99), *[(day, 0, 0) for day in days[2:]]]
    assert [compute(events, store, new, day).effects for day in reversed(days)] == [Effects(unchanged=1)] * 7


# --- the rules of any batch ------------------------------------------------------------------------------------

RAW = (
    "SELECT user_id, :start::date AS day, 1 AS events, amount AS total, ingested_at AS seen FROM raw.events "
    "WHERE event_time >= :start AND event_time < :end"
)
SEEN = [*COLUMNS, {"name": "seen", "data_type": "timestamptz"}]


def test_keys_that_the_query_repeats_are_deduplicated_by_version(events: Warehouse, store: BatchStore) -> None:
    receipt = compute(events, store, features(RAW, columns=SEEN, version=["seen"]))

    assert receipt.effects == Effects(inserted=2, duplicate=2)
    assert receipt.measure.staged_rows == 4
    assert table(events) == [(1, DAY, 1, 5), (2, DAY, 1, 8)]


def test_a_null_in_the_key_is_refused(events: Warehouse, store: BatchStore) -> None:
    with pytest.raises(NullKeyError, match="user_id"):
        compute(events, store, features(DAILY.replace("SELECT user_id", "SELECT nullif(user_id, 2) AS user_id")))

    assert table(events) == []


def test_digits_are_never_rounded_without_a_word(events: Warehouse, store: BatchStore) -> None:
    with pytest.raises(PrecisionError, match="total"):
        compute(events, store, features(DAILY.replace("sum(amount) AS total", "sum(amount) / 3.0 AS total")))
    compute(events, store, features(DAILY.replace("sum(amount) AS total", "round(sum(amount) / 3.0, 2) AS total")))

    assert table(events) == [(1, DAY, 2, Decimal("5.00")), (2, DAY, 1, Decimal("2.67"))]


@pytest.mark.parametrize(
    ("expression", "name", "lost"),
    [
        ("avg(amount)", "events", "column 'events' of the query is numeric, of the target bigint: decimal places"),
        ("2.5::float8", "events", "column 'events' of the query is double precision, of the target bigint: decimal"),
        (":start", "day", "is timestamp with time zone, of the target date: the time of day would be lost"),
    ],
)
def test_nothing_is_lost_between_two_types_without_a_cast(
    events: Warehouse, store: BatchStore, expression: str, name: str, lost: str
) -> None:
    old = {"events": "count(*) AS events", "day": ":start::date AS day"}[name]

    with pytest.raises(TransformError) as refused:
        compute(events, store, features(DAILY.replace(old, f"{expression} AS {name}")))

    assert lost in str(refused.value)
    assert table(events) == []


def test_a_check_closes_the_gate(events: Warehouse, store: BatchStore) -> None:
    with pytest.raises(GateClosedError, match="row_count"):
        compute(events, store, features(checks=[{"row_count": {"min": 100}}]))

    assert table(events) == []


def test_no_rows_follow_on_empty(events: Warehouse, store: BatchStore) -> None:
    with pytest.raises(GateClosedError, match="no rows; set on_empty"):
        compute(events, store, features(), "2025-05-09")

    assert compute(events, store, features(on_empty="publish_empty"), "2025-05-09").effects == Effects()


def test_a_dry_run_counts_and_leaves_nothing(events: Warehouse, store: BatchStore) -> None:
    dry = compute(events, store, features(), dry_run=True)

    assert (dry.effects, dry.dry_run) == (Effects(inserted=2), True)
    assert events.sql("SELECT to_regclass('features.daily')::text") == [(None,)]


def test_a_receipt_never_stands_for_the_work(events: Warehouse, store: BatchStore) -> None:
    compute(events, store, features())
    add(events, (6, 2, f"{DAY} 12:00", f"{DAY} 12:00", 1))

    receipt = compute(events, store, features(), skip_unchanged=True)

    assert (receipt.effects, receipt.replayed) == (Effects(updated=1, unchanged=1), False)


def test_an_older_query_of_the_partition_does_not_win_over_a_newer(events: Warehouse, store: BatchStore) -> None:
    old, new = features(), features(DAILY.replace("sum(amount)", "sum(amount) * 2"))
    first = pin(store, old).manifest
    compute(events, store, old)
    compute(events, store, new)

    again = stage_merge(Load(old, old.partition(DAY), first), connect=events.connect, batches=store)

    assert again.effects == Effects(stale=2)
    assert table(events) == [(1, DAY, 2, 30), (2, DAY, 1, 16)]


def test_it_may_read_its_own_table(events: Warehouse, store: BatchStore) -> None:
    compute(events, store, features())
    before = "FROM features.daily WHERE day = :start::date - 1"
    running = features(f"SELECT user_id, :start::date AS day, events, total + 1 AS total {before}")

    assert compute(events, store, running, NEXT).effects == Effects(inserted=2)
    assert table(events)[2:] == [(1, NEXT, 2, 16), (2, NEXT, 1, 9)]


def test_columns_may_stand_in_any_order_and_more_of_them_may_be_left_out(events: Warehouse, store: BatchStore) -> None:
    sql = DAILY.replace("SELECT user_id, :start::date AS day,", "SELECT 'x' AS extra, :start::date AS day, user_id,")

    compute(events, store, features(sql, on_schema_change="ignore"))

    assert table(events) == FIRST


# --- what is pinned --------------------------------------------------------------------------------------------


def test_a_batch_without_parts_pins_the_query_and_its_binds(events: Warehouse, store: BatchStore) -> None:
    landed = pin(store, features())
    laid_out = features(DAILY.replace("\n", "\n\n").replace("SELECT", "select").replace("-- one", "-- the one"))
    again, changed = pin(store, laid_out), pin(store, features(DAILY.replace("count(*)", "count(amount)")))

    query = store.read("features.daily", DAY, "20250501_01").query
    assert query is not None
    assert (landed.manifest.parts, landed.manifest.columns) == ((), ("user_id", "day", "events", "total"))
    assert query.binds == {"start": f"{DAY}T00:00:00+00:00", "end": f"{NEXT}T00:00:00+00:00"}
    assert (again.replayed, again.manifest.batch_id) == (True, "20250501_01")
    assert (changed.replayed, changed.manifest.batch_id) == (False, "20250501_02")


@pytest.mark.parametrize(
    ("sql", "how", "said"),
    [
        (DAILY.replace("count(*)", "count(amount)"), {}, "another query"),
        (
            DAILY.replace("< :end", "< least(:end, :cutoff_ts)"),
            {"cutoff": datetime(2025, 5, 1, 12, tzinfo=UTC)},
            ":cutoff_ts = 2025-05-01T12:00:00+00:00, in the batch 2025-06-01T00:00:00+00:00",
        ),
    ],
)
def test_another_query_or_bind_can_be_forbidden(store: BatchStore, sql: str, how: dict[str, Any], said: str) -> None:
    pin(store, features(sql if how else DAILY))

    with pytest.raises(SourceChangedError) as refused:
        pin(store, features(sql), on_source_change="fail", **how)

    assert said in str(refused.value)


def test_what_is_shown_is_what_runs(events: Warehouse) -> None:
    events.sql("CREATE SCHEMA features")
    step = assumed_step(features(), features().partition(DAY))
    [*_, types, fill, _] = next(item for item in render(step) if item.action == "query_batch").statements

    assert "-- one row per user" not in fill.pretty
    assert "WHERE event_time >= %(start)s AND event_time < %(end)s" in fill.pretty
    assert fill.pretty.startswith('INSERT INTO "pg_temp"."idem_staging_')
    assert events.sql(types.pretty, dict(types.binds)) == [("integer", "date", "bigint", "bigint")]


# --- what the server refuses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("sum(amount)", "sum(amountt)", 'source.sql line 9: column "amountt" does not exist. Nothing was loaded.'),
        ("raw.events", "raw.event", 'source.sql line 5: relation "raw.event" does not exist'),
        ("sum(amount)", "sum(amount / 0)", "source.sql: division by zero"),
        ("SELECT user_id", "SELECT 'x' || user_id AS user_id", "user_id"),
        ("SELECT user_id", "SELECT (SELECT user_id FROM raw.events) AS user_id", "more than one row returned"),
    ],
)
def test_a_refusal_says_where_and_that_nothing_was_loaded(
    events: Warehouse, store: BatchStore, old: str, new: str, said: str
) -> None:
    with pytest.raises(TransformError) as refused:
        compute(events, store, features(DAILY.replace(old, new)))

    assert said in str(refused.value)
    assert not refused.value.retryable
    assert table(events) == []
    assert events.events("features.daily")[-1][2:] == ("stage_merge", "failed")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "INSERT INTO raw.events (event_id) VALUES (x) RETURNING 1",
            "cannot execute INSERT in a read-only transaction",
        ),
        (
            "UPDATE raw.events SET amount = 0 WHERE x = x RETURNING 1",
            "cannot execute UPDATE in a read-only transaction",
        ),
        ("SELECT nextval('raw.s')::int", "cannot execute nextval() in a read-only transaction"),
        ("SELECT set_config('transaction_read_only', 'off', true)::int", "cannot set transaction read-write mode"),
    ],
)
def test_a_function_that_writes_cannot_hide_in_a_query(
    events: Warehouse, store: BatchStore, body: str, said: str
) -> None:
    events.sql("CREATE SEQUENCE raw.s")
    events.sql(f"CREATE FUNCTION raw.f(x int) RETURNS int VOLATILE LANGUAGE sql AS $$ {body} $$")

    with pytest.raises(TransformError) as refused:
        compute(events, store, features(DAILY.replace("count(*) AS events", "max(raw.f(1)) AS events")))

    assert said in str(refused.value)
    assert events.sql("SELECT count(*), sum(amount) FROM raw.events") == [(5, 129)]


def test_a_query_that_takes_too_long_is_no_mistake_of_it(events: Warehouse, store: BatchStore) -> None:
    slow = (
        "SELECT user_id, :start::date AS day, count(*) AS events, sum(g) AS total FROM raw.events, {} GROUP BY user_id"
    )

    with pytest.raises(StatementTimeoutError):
        compute(events, store, features(slow.format("generate_series(1, 100000000) g"), statement_timeout=0.3))


def test_the_session_is_pinned_whatever_the_role_says(events: Warehouse, store: BatchStore) -> None:
    [(name,)] = events.sql("SELECT current_database()")
    events.sql(f"ALTER DATABASE \"{name}\" SET TimeZone = 'Pacific/Auckland'")
    sql = "SELECT 1 AS user_id, event_time::date AS day, count(*) AS events, sum(amount) AS total FROM raw.events"

    compute(events, store, features(f"{sql} WHERE event_time >= :start AND event_time < :end GROUP BY 2"))

    assert table(events) == [(1, DAY, 4, 30)]


def test_a_query_that_ends_the_transaction_is_not_sent_even_from_a_manifest(
    events: Warehouse, store: BatchStore
) -> None:
    spec = features()
    manifest = pin(store, spec).manifest
    assert manifest.query is not None
    forged = replace(manifest, query=replace(manifest.query, sql="select 1 as a) q; commit; drop table raw.events"))

    with pytest.raises(ValueError, match="more than one statement"):
        stage_merge(Load(spec, spec.partition(DAY), forged), connect=events.connect, batches=store)

    assert events.sql("SELECT count(*) FROM raw.events") == [(5,)]


def test_rows_of_a_query_have_no_line_to_be_quarantined_with(events: Warehouse, store: BatchStore) -> None:
    manifest = pin(store, features()).manifest
    words = {"table": "features.daily", "columns": COLUMNS, "unique_key": ["user_id", "day"], "reject": "quarantine"}
    spec = LoadSpec(**words)

    with pytest.raises(SchemaDriftError, match="leave them out by its WHERE"):
        stage_merge(Load(spec, spec.partition(DAY), manifest), connect=events.connect, batches=store)
