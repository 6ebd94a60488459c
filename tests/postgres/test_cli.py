"""The command line against a real database: run, run again, status, plan, render."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow import parquet

from airflow_idempotent.cli import connection
from airflow_idempotent.cli.render import assumed_step, render, step_now
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.loader import load_file
from tests.cli_fixtures import Answer, Command
from tests.loading import Warehouse
from tests.orders_folder import FIRST, batches, deliver, edit
from tests.postgres_fixtures import DRIVERS, Connect

pytestmark = pytest.mark.cli

SPEC = "tables/orders.yaml"
FIRST_DAY, SECOND_DAY = "2025-05-01", "2025-05-02"
RANGE = ("--from-date", FIRST_DAY, "--to-date", "2025-05-04")
NOTHING_WRITTEN = {"inserted": 0, "updated": 0, "deleted": 0}
ZEROS = {"deleted": 0, "stale": 0, "rejected": 0}

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(connection, "DRIVERS", (request.param,))
    return str(request.param)


@pytest.fixture
def dsn(folder: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    return database


@pytest.fixture
def sql(dsn: str, connect_once: Connect) -> Sql:
    return Warehouse(connect_once).sql


@pytest.fixture
def run(dsn: str, command: Command) -> Callable[..., Answer]:
    def load(*words: str, day: str = FIRST_DAY) -> Answer:
        return command("run", SPEC, "--partition", day, *words)

    return load


def test_a_partition_is_landed_loaded_and_validated(driver: str, folder: Path, run, sql: Sql) -> None:
    answer = run()

    assert answer.code == 0
    assert "loaded: 3 inserted, 0 updated, 0 deleted, 0 unchanged, 0 stale, 1 duplicate, 0 rejected" in answer.out
    assert "validated: 3 passed, 1 warned" in answer.out
    assert "warned: not_null(amount): 1 of 3 rows have NULL" in answer.out
    assert batches(folder) == ["analytics.orders/partition=2025-05-01/batch=20250501_01"]
    assert sql("SELECT order_id, status FROM analytics.orders ORDER BY 1") == [(1, "new"), (2, "paid"), (3, "new")]


def as_jsonl(rows: list[dict[str, str]]) -> bytes:
    return gzip.compress("\n".join(json.dumps({k: v for k, v in row.items() if v}) for row in rows).encode())


def as_parquet(rows: list[dict[str, str]]) -> bytes:
    out = io.BytesIO()
    parquet.write_table(pa.Table.from_pylist([{k: v or None for k, v in row.items()} for row in rows]), out)
    return out.getvalue()


def as_bare_csv(rows: list[dict[str, str]]) -> bytes:
    return zstd.compress("".join(",".join(row.values()) + "\n" for row in rows).encode())


@pytest.mark.parametrize(
    ("name", "words", "write"),
    [
        ("a.ndjson.gz", "format: jsonl", as_jsonl),
        ("a.parquet", "format: parquet", as_parquet),
        ("a.csv.zst", "csv: {header: false}", as_bare_csv),
    ],
)
def test_files_of_another_format_need_a_word_of_the_spec_only(
    folder: Path, run, sql: Sql, name: str, words: str, write: Callable[[list[dict[str, str]]], bytes]
) -> None:
    rows = list(csv.DictReader(FIRST.splitlines()))
    (folder / "inbox/orders" / FIRST_DAY / name).write_bytes(write(rows))
    edit(folder, '/*.csv"', f'/{name}"\n  {words}')

    answer = run()

    assert "loaded: 3 inserted, 0 updated, 0 deleted, 0 unchanged, 0 stale, 1 duplicate, 0 rejected" in answer.out
    assert sql("SELECT order_id, status FROM analytics.orders ORDER BY 1") == [(1, "new"), (2, "paid"), (3, "new")]
    assert "loaded: 0 inserted, 0 updated, 0 deleted, 3 unchanged" in run().out


def test_running_it_again_changes_nothing(driver: str, folder: Path, run, sql: Sql) -> None:
    run()
    before = sql("SELECT ctid::text, xmin::text FROM analytics.orders")

    answer = run("--json")

    [done] = answer.document["partitions"]
    assert answer.code == 0
    assert done["landed"]["replayed"] is True
    assert done["published"]["effects"] == {**NOTHING_WRITTEN, **ZEROS, "unchanged": 3, "duplicate": 1}
    assert done["state"] == "validated"
    assert sql("SELECT ctid::text, xmin::text FROM analytics.orders") == before


def test_a_range_is_loaded_and_again_nothing_is_written(folder: Path, dsn: str, command: Command, sql: Sql) -> None:
    deliver(folder, SECOND_DAY, FIRST.replace(FIRST_DAY, SECOND_DAY).replace("\n", "\n9").removesuffix("9"))
    words = ("run", SPEC, "--from-date", FIRST_DAY, "--to-date", "2025-05-03")

    first, again = command(*words), command(*words)

    assert first.code == again.code == 0
    assert "2 partitions: 2 loaded; 6 inserted, 0 updated, 0 deleted" in first.out
    assert "2 partitions: 2 found loaded; 0 inserted, 0 updated, 0 deleted" in again.out
    assert sql("SELECT count(*) FROM analytics.orders") == [(6,)]


def test_what_a_range_lacks_is_loaded_newest_first(folder: Path, run, command: Command) -> None:
    run(day=FIRST_DAY)
    third = "2025-05-03"
    for day in (SECOND_DAY, third):
        deliver(folder, day, FIRST.replace(FIRST_DAY, day))

    answer = command("run", SPEC, *RANGE, "--reprocess-behavior", "missing", "--newest-first", "--json")

    assert [item["partition"] for item in answer.document["partitions"]] == [third, SECOND_DAY]


def test_a_range_with_a_day_that_fails_says_so_and_loads_the_others(folder: Path, run, command: Command) -> None:
    answer = command("run", SPEC, "--from-date", FIRST_DAY, "--to-date", "2025-05-03")

    assert answer.code == 1
    assert "2 partitions: 1 loaded, 1 failed; 3 inserted" in answer.out


def test_a_range_in_which_nothing_is_missing_is_nothing_to_do(run, command: Command) -> None:
    run()

    answer = command("run", SPEC, "--from-date", FIRST_DAY, "--to-date", SECOND_DAY, "--reprocess-behavior", "missing")

    assert (answer.code, answer.out.splitlines()[-1]) == (0, "0 partitions: nothing to do")


def test_why_a_partition_is_as_it_is(folder: Path, run, command: Command, dsn: str) -> None:
    run()
    validated = command("why", "analytics.orders", FIRST_DAY)
    deliver(folder, FIRST_DAY, FIRST + ",new,1.00,2025-05-01,2025-05-01T13:00:00Z\n")
    run()
    failed = command("why", "analytics.orders", FIRST_DAY)
    document = command("why", "analytics.orders", FIRST_DAY, "--json").document

    assert (validated.code, failed.code) == (0, 0)
    assert "analytics.orders 2025-05-01: validated since" in validated.out
    assert validated.out.endswith("What to do: Nothing.\n")
    assert "analytics.orders 2025-05-01: failed since" in failed.out
    assert "Readers see batch 20250501_01, loaded" in failed.out
    assert "NULL in the unique key, nothing was loaded." in failed.out
    assert failed.out.endswith("or: airflow-idempotent run SPEC --partition 2025-05-01\n")
    assert [event["state"] for event in document["events"]] == ["published", "validated", "failed"]


def test_why_names_the_check_that_closed_the_gate_with_its_query(folder: Path, run, command: Command) -> None:
    edit(folder, "{min: 1}", "{min: 9}")
    run()

    answer = command("why", "analytics.orders", FIRST_DAY)

    assert "rejected since" in answer.out
    assert "Readers see no batch of it." in answer.out
    assert "row_count" in answer.out
    assert "SELECT" in answer.out


def test_why_of_what_nobody_has_tried_says_how_to_find_what_is_missing(dsn: str, command: Command) -> None:
    answer = command("why", "analytics.orders", "2030-01-01")

    assert (answer.code, "the ledger has no event of it" in answer.out) == (0, True)
    assert "--reprocess-behavior missing" in answer.out


def test_a_batch_that_is_loaded_can_be_left_alone(run, sql: Sql) -> None:
    run()
    before = sql("SELECT count(*) FROM airflow_idempotent.events")

    answer = run("--skip-unchanged")

    assert answer.code == 0
    assert "found loaded: " in answer.out
    assert "skipped: this batch is loaded and validated under this spec" in answer.out
    assert sql("SELECT count(*) FROM airflow_idempotent.events") == before


def test_a_loaded_batch_whose_validation_failed_is_validated_again(run, folder: Path, sql: Sql) -> None:
    run()
    sql("UPDATE analytics.orders SET status = NULL WHERE order_id = 1")
    assert run().code == 1

    answer = run("--skip-unchanged")

    assert "skipped" not in answer.out
    assert answer.code == 1


def test_corrections_become_the_next_batch(run, folder: Path) -> None:
    run()
    deliver(folder, FIRST_DAY, FIRST.replace("3,new,,2025-05-01,2025-05-01T11", "3,paid,7.00,2025-05-01,2025-05-01T12"))

    [done] = run("--json").document["partitions"]

    assert done["landed"]["batch_id"] == "20250501_02"
    assert done["published"]["effects"] == {"inserted": 0, "updated": 1, **ZEROS, "unchanged": 2, "duplicate": 1}


def test_a_dry_run_tells_the_effects_and_keeps_nothing(driver: str, folder: Path, run, sql: Sql) -> None:
    answer = run("--dry-run")

    assert answer.code == 0
    assert "would load: 3 inserted" in answer.out
    assert batches(folder) == []
    assert sql("SELECT to_regclass('analytics.orders')") == [(None,)]


def test_a_dry_run_of_a_loaded_table_leaves_it_alone(folder: Path, run, sql: Sql) -> None:
    run()
    deliver(folder, FIRST_DAY, FIRST.replace("T10", "T12").replace("paid", "sent"))
    before = sql("TABLE analytics.orders")

    [done] = run("--dry-run", "--json").document["partitions"]

    assert done["published"]["effects"] == {"inserted": 0, "updated": 1, **ZEROS, "unchanged": 2, "duplicate": 1}
    assert sql("TABLE analytics.orders") == before
    assert len(batches(folder)) == 1


def test_one_bad_partition_does_not_stop_the_others(driver: str, run) -> None:
    answer = run("--partition", FIRST_DAY, "--json", day=SECOND_DAY)

    bad, good = answer.document["partitions"]
    assert answer.code == 1
    assert (bad["partition"], bad["error"], bad["columns"]) == (SECOND_DAY, "NullKeyError", [["order_id", 1]])
    assert (good["partition"], good["state"]) == (FIRST_DAY, "validated")
    assert answer.document["error"] == "NullKeyError"


def test_a_bad_partition_is_told_on_standard_error(run) -> None:
    answer = run(day=SECOND_DAY)

    assert answer.code == 1
    assert answer.out.splitlines()[1].startswith("2025-05-02  landed: batch 20250502_01, 2 rows")
    assert answer.err.startswith("analytics.orders 2025-05-02: NULL in the unique key, nothing was loaded.")


def test_a_partition_named_twice_is_loaded_once(run) -> None:
    assert len(run("--partition", FIRST_DAY, "--json").document["partitions"]) == 1


def test_without_input_a_partition_fails_or_is_skipped_as_the_spec_says(folder: Path, run) -> None:
    assert "no input at 'inbox/orders/2025-05-03/*.csv'" in run(day="2025-05-03").err

    edit(folder, "start_date:", "on_empty: skip\nstart_date:")
    answer = run(day="2025-05-03")

    assert answer.code == 0
    assert answer.out.splitlines()[1] == "2025-05-03  skipped: no input, and on_empty is skip"


def test_an_empty_partition_can_be_published(folder: Path, run) -> None:
    edit(folder, "start_date:", "on_empty: publish_empty\nstart_date:")
    edit(folder, "  - row_count: {min: 1}\n", "")

    answer = run("--json", day="2025-05-03")

    [done] = answer.document["partitions"]
    assert (answer.code, done["state"], done["landed"]["rows"]) == (0, "validated", 0)


def test_a_database_that_goes_away_stops_the_run(run) -> None:
    answer = run("--partition", SECOND_DAY, "--dsn", "postgresql://me:hunter2@127.0.0.1:1/shop")

    assert answer.code == 3
    assert answer.err.count("cannot connect") == 1
    assert "hunter2" not in answer.out + answer.err
    assert "2025-05-02" not in answer.out


def test_a_right_that_is_missing_is_a_matter_of_the_database(run, sql: Sql) -> None:
    run()
    sql("CREATE SCHEMA other; CREATE TABLE other.orders (order_id int)")

    answer = run("--dsn", "postgresql://nobody_knows@127.0.0.1:1/shop")

    assert answer.code == 3


def test_a_query_reads_from_a_database_of_its_own(driver: str, folder: Path, run, sql: Sql, dsn: str) -> None:
    sql("CREATE TABLE shop (order_id int, status text, amount numeric, order_date date, updated_at timestamptz)")
    sql("INSERT INTO shop VALUES (1, 'a', 1.5, '2025-05-01', now()), (2, 'b', 2.5, '2025-05-02', now())")
    query = "select * from {{ params.source }} where order_date >= :start and order_date < :end"
    edit(folder, "  kind: files\n", "")
    old = '  path: "inbox/orders/{{ partition.key }}/*.csv"'
    edit(folder, old, f'  {{kind: query, conn_id: shop, sql: "{query} and updated_at <= :cutoff_ts"}}')
    more = ("--param", "source=shop", "--source-dsn", dsn)

    answer = run(*more, "--json")
    early = run(*more, "--cutoff-ts", "2025-05-01T00:00:00Z", "--json")

    assert answer.document["partitions"][0]["published"]["effects"]["inserted"] == 1
    assert early.code == 1  # no row before the cutoff, and on_empty is fail
    assert run("--param", "source").code == 2


def test_a_dsn_may_be_written_as_for_sqlalchemy(run, dsn: str) -> None:
    assert run("--dsn", dsn.replace("postgresql://", "postgresql+psycopg2://")).code == 0


# --- status ----------------------------------------------------------------------------------------


def test_status_shows_states_batches_and_last_effects(run, command: Command) -> None:
    run()
    run(day=SECOND_DAY)

    answer = command("status", "analytics.orders")

    assert answer.code == 0
    lines = answer.out.splitlines()
    assert lines[0] == "analytics.orders: no watermark: no scheduled run yet"
    assert lines[3].split()[:11] == f"{FIRST_DAY} validated 20250501_01 3 3 0 0 0 0 1 0".split()
    assert lines[4].split()[:3] == [SECOND_DAY, "failed", "20250502_01"]
    assert lines[6] == f"{SECOND_DAY}: NULL in the unique key, nothing was loaded."


def test_status_as_a_document(run, command: Command) -> None:
    run()

    document = command("status", "--json").document

    assert [row["state"] for row in document["partitions"]] == ["validated"]
    assert document["partitions"][0]["inserted"] == 3
    assert document["watermarks"] == []


def test_status_leaves_a_database_without_a_ledger_as_it_is(command: Command, sql: Sql) -> None:
    answer = command("status")

    assert (answer.code, answer.out) == (0, "The ledger has no partition.\n")
    assert sql("SELECT to_regnamespace('airflow_idempotent')") == [(None,)]


def test_status_of_another_table_is_empty(run, command: Command) -> None:
    run()

    assert command("status", "analytics.other").out == "The ledger has no partition of analytics.other.\n"
    assert command("status", "a.b.c").code == 2


# --- plan ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behavior", "expected"),
    [
        ("missing", {SECOND_DAY: "missing", "2025-05-03": "missing"}),
        ("failed", {SECOND_DAY: "failed"}),
        ("stale", {}),
    ],
)
def test_plan_asks_the_ledger(run, command: Command, behavior: str, expected: dict[str, str]) -> None:
    run()
    run(day=SECOND_DAY)

    answer = command("plan", SPEC, *RANGE, "--reprocess-behavior", behavior, "--json")

    assert {item["partition"]: item["reason"] for item in answer.document["partitions"]} == expected


def test_a_changed_spec_makes_its_partitions_stale(run, folder: Path, command: Command) -> None:
    run()
    edit(folder, "version: [updated_at]", "version: [updated_at, status]")

    answer = command("plan", SPEC, *RANGE, "--reprocess-behavior", "stale")

    assert answer.out.splitlines()[-1].split()[0] == FIRST_DAY
    assert answer.out.endswith("stale: the spec changed\n")


# --- render ----------------------------------------------------------------------------------------


class Recorder:
    """A connection that writes down what is sent over it."""

    def __init__(self, connection: Any, sent: list[str]) -> None:
        self.__dict__.update(_connection=connection, _sent=sent)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._connection, name, value)

    def cursor(self) -> Any:
        return RecordingCursor(self._connection.cursor(), self._sent)


class RecordingCursor(Recorder):
    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        if name not in ("execute", "copy", "copy_expert"):
            return found

        def send(text: str, *more: Any, **options: Any) -> Any:
            self._sent.append(one_line(text))
            return found(text, *more, **options)

        return send


def one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


@pytest.mark.parametrize("exists", [False, True], ids=["new table", "table that exists"])
@pytest.mark.parametrize("declarative", ["false", "true"], ids=["plain", "partitioned"])
def test_what_is_rendered_is_what_is_sent(folder: Path, warehouse: Warehouse, exists: bool, declarative: str) -> None:
    edit(folder, "unique_key: [order_id]", "unique_key: [order_id, order_date]")
    edit(folder, "{column: order_date}", f"{{column: order_date, declarative: {declarative}}}")
    spec = load_file(folder / SPEC)
    if exists:  # by another batch: a re-run of the same one only compares
        warehouse.load(spec, "\n".join(FIRST.splitlines()[:2]) + "\n")
    day = spec.partition(FIRST_DAY)
    step = step_now(spec, day, warehouse.connect) if exists else assumed_step(spec, day)
    rendered = [one_line(statement.sql) for item in render(step) for statement in item.statements]
    sent: list[str] = []

    manifest = warehouse.batches.land(spec, FIRST)
    stage_merge(
        Load(spec, day, manifest), connect=lambda: Recorder(warehouse.connect(), sent), batches=warehouse.batches
    )

    remaining = iter(sent)
    missing = [text for text in rendered if text not in remaining]
    assert not missing


def test_render_shows_the_table_as_it_is(run, command: Command, sql: Sql, dsn: str) -> None:
    columns = "updated_at timestamptz, order_id bigint, status text, amount numeric, order_date date"
    sql(f"CREATE SCHEMA analytics; CREATE TABLE analytics.orders ({columns})")

    answer = command("render", SPEC, "--partition", FIRST_DAY, "--dsn", dsn)

    assert answer.code == 0
    assert "create_target" not in answer.out
    assert "-- Keep other writers of the table out: no index keeps its key unique." in answer.out
    assert f"-- Target: as it is in {dsn}." in answer.out


# --- dedupe ------------------------------------------------------------------------------------------------


def test_dedupe_counts_removes_and_then_finds_nothing(dsn: str, driver: str, command: Command, sql: Sql) -> None:
    sql("CREATE TABLE visits AS SELECT g % 3 AS id, g AS seen FROM generate_series(1, 9) g")
    words = ("dedupe", "visits", "--unique-key", "id", "--version", "seen")

    counted, removed, again = command(*words, "--dry-run"), command(*words, "--chunk-rows", "2"), command(*words)

    assert (counted.code, removed.code, again.code) == (1, 0, 0)
    assert counted.out.startswith("public.visits: 6 duplicates of 3 keys would be removed, 9 rows looked at;")
    assert removed.out.startswith("public.visits: 6 duplicates of 3 keys removed, 9 rows looked at;")
    assert again.out.startswith("public.visits: no key is there twice, 3 rows looked at; nothing was changed.")
    assert command(*words, "--dry-run").code == 0
    assert command(*words, "--json").document["duplicates"] == 0
    assert sorted(sql("SELECT * FROM visits")) == [(0, 9), (1, 7), (2, 8)]


def test_dedupe_that_is_stopped_says_what_it_has_done(dsn: str, command: Command, sql: Sql) -> None:
    sql("CREATE TABLE visits AS SELECT g AS number, g % 3 AS id, g AS seen FROM generate_series(1, 9) g")
    sql("ALTER TABLE visits ADD PRIMARY KEY (number)")
    sql("CREATE TABLE clicks (number int REFERENCES visits)")
    sql("INSERT INTO clicks VALUES (2), (5)")

    answer = command("dedupe", "visits", "--unique-key", "id", "--version", "seen", "--chunk-rows", "1")

    assert answer.code == 1
    said, refused, *_ = answer.err.splitlines()
    assert said == "public.visits: 4 duplicates were removed before and stay removed."
    assert refused.startswith("public.visits chunk 5: rows of public.clicks refer to duplicates")
    assert len(sql("SELECT * FROM visits")) == 5


def test_dedupe_of_what_is_not_there_is_a_wrong_usage(dsn: str, command: Command, sql: Sql) -> None:
    sql('CREATE TABLE "Visits" (id int)')

    answer = command("dedupe", "visits", "--unique-key", "id")

    assert answer.code == 2
    assert answer.err.startswith("dedupe public.visits: there is no such table; nothing was done.\nDid you mean")
