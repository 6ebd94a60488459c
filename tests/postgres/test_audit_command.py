"""`audit` and `reconcile` on the command line: what is found, what to type next, and that no row is ever written."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli_fixtures import Answer, Command
from tests.loading import Warehouse
from tests.orders_folder import FIRST, deliver, edit
from tests.postgres_fixtures import Connect

pytestmark = pytest.mark.cli

SPEC = "tables/orders.yaml"
DAYS = ("2025-05-01", "2025-05-02")
HEADER = "order_id,status,amount,order_date,updated_at\n"
SECOND = HEADER + "4,new,5.00,2025-05-02,2025-05-02T08:00:00Z\n5,new,6.00,2025-05-02,2025-05-02T08:00:00Z\n"

Sql = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def sql(folder: Path, database: str, connect_once: Connect, command: Command, monkeypatch: pytest.MonkeyPatch) -> Sql:
    """Two days are loaded; give a way to ask and to change the database."""
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    deliver(folder, DAYS[1], SECOND)
    assert command("run", SPEC, "--partition", DAYS[0], "--partition", DAYS[1]).code == 0

    return Warehouse(connect_once).sql


def physical(sql: Sql) -> list[tuple[Any, ...]]:
    return sql("SELECT ctid::text, xmin::text, t.* FROM analytics.orders t ORDER BY 1")


def findings(answer: Answer) -> list[tuple[str, str]]:
    return [(item["partition"], item["cause"]) for item in answer.document["findings"]]


def repairs(answer: Answer) -> list[tuple[str, str, bool]]:
    return [(item["partition"], item["kind"], item["made"]) for item in answer.document["repairs"]]


# --- audit ------------------------------------------------------------------------------------------------------------


def test_after_a_load_there_is_nothing_to_find(sql: Sql, command: Command) -> None:
    before = physical(sql)

    answer = command("audit", SPEC)

    assert (answer.code, answer.out) == (
        0,
        "analytics.orders: 2 of 2 published partitions audited, 0 findings; no row of the table was written.\n",
    )
    assert physical(sql) == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: deliver(folder, DAYS[0], FIRST.replace("10.50", "10.51")), "other content of the same length"),
        (lambda folder: deliver(folder, DAYS[0], FIRST + "9,new,1.00,2025-05-01,\n"), "bytes, in the batch"),
        (lambda folder: (folder / "inbox/orders" / DAYS[0] / "more.csv").write_text(FIRST), "more.csv: new"),
    ],
    ids=["same length", "longer", "one more"],
)
def test_a_changed_source_is_found_and_the_next_move_heals_it(
    folder: Path, sql: Sql, command: Command, change: Callable[[Path], object], said: str
) -> None:
    change(folder)

    answer = command("audit", SPEC, "--json")

    assert (answer.code, findings(answer)) == (1, [(DAYS[0], "source_changed")])
    assert said in answer.document["findings"][0]["message"]
    [move] = answer.document["next"]
    assert move.endswith(f"airflow-idempotent run {SPEC} --partition {DAYS[0]}")
    command("run", SPEC, "--partition", DAYS[0])
    assert command("audit", SPEC).code == 0


def test_an_inbox_that_was_emptied_is_no_finding(folder: Path, sql: Sql, command: Command) -> None:
    shutil.rmtree(folder / "inbox")

    answer = command("audit", SPEC)

    assert answer.code == 0
    assert "2025-05-01 … 2025-05-02 (2): source: its files are not there any more" in answer.out


def test_a_batch_that_lost_bytes_is_found(folder: Path, sql: Sql, command: Command) -> None:
    next((folder / "lake/analytics.orders" / f"partition={DAYS[1]}").rglob("part-*")).write_text("cut")

    assert findings(command("audit", SPEC, "--json")) == [(DAYS[1], "batch_damaged")]


def test_an_edit_is_found_named_and_shown_by_status_until_it_is_undone(sql: Sql, command: Command) -> None:
    sql("UPDATE analytics.orders SET amount = 99 WHERE order_id = 4")

    answer, status = command("audit", "analytics.orders"), command("status")

    assert answer.code == 1
    assert "2025-05-02  target_changed" in answer.out
    assert "the ledger and the table have 2 rows, with other content" in answer.out
    assert f"reconcile {SPEC} --accept --apply --partition 2025-05-02" in answer.out
    assert "2025-05-02  drifted" in status.out
    assert "2025-05-01  validated" in status.out
    assert "2025-05-02: target_changed: the ledger and the table have 2 rows" in status.out
    sql("UPDATE analytics.orders SET amount = 5 WHERE order_id = 4")
    assert ", 0 findings, 1 healed;" in command("audit", SPEC).out
    assert "drifted" not in command("status").out


def test_a_changed_spec_makes_partitions_stale_for_status_and_plan_alike(
    folder: Path, sql: Sql, command: Command
) -> None:
    edit(folder, "row_count: {min: 1}", "row_count: {min: 2}")
    ranged = ("--from-date", DAYS[0], "--to-date", "2025-05-03")

    assert findings(command("audit", SPEC, "--json")) == [(day, "spec_changed") for day in DAYS]
    assert all(f"{day}  stale" in command("status").out for day in DAYS)
    stale = command("plan", SPEC, *ranged, "--reprocess-behavior", "stale", "--json").document["partitions"]
    assert [item["partition"] for item in stale] == list(DAYS)
    drifted = command("plan", SPEC, *ranged, "--reprocess-behavior", "drifted", "--json").document["partitions"]
    assert drifted == []


def test_drifted_partitions_can_be_planned(sql: Sql, command: Command) -> None:
    sql("DELETE FROM analytics.orders WHERE order_id = 4")
    command("audit", SPEC)

    words = ("--from-date", DAYS[0], "--to-date", "2025-05-03", "--reprocess-behavior", "drifted", "--json")
    [planned] = command("plan", SPEC, *words).document["partitions"]

    assert (planned["partition"], planned["reason"]) == (DAYS[1], "drifted: target changed")


def test_a_range_and_a_sample_bound_what_is_looked_at(sql: Sql, command: Command) -> None:
    assert command("audit", SPEC, "--from-date", DAYS[1], "--json").document["audited"] == [DAYS[1]]
    assert command("audit", SPEC, "--sample", "50%", "--json").document["audited"] == [DAYS[0]]
    assert command("audit", SPEC, "--sample", "0").code == 2


def test_a_table_without_spec_here_is_refused(sql: Sql, command: Command) -> None:
    answer = command("audit", "analytics.lines")

    assert answer.code == 2
    assert "'analytics.lines' is neither a spec file nor the table of one below" in answer.err


def test_a_query_is_run_again_only_when_asked(folder: Path, sql: Sql, command: Command) -> None:
    sql("CREATE TABLE shop (order_id int, status text, amount numeric, order_date date, updated_at timestamptz)")
    sql("INSERT INTO shop VALUES (1, 'new', 1, '2025-05-03', '2025-05-03 10:00+00')")
    edit(folder, "table: analytics.orders", "table: analytics.copies")
    edit(folder, "kind: files", "kind: query")
    old = '  path: "inbox/orders/{{ partition.key }}/*.csv"\n'
    edit(folder, old, '  sql: "SELECT * FROM shop WHERE order_date = :start::date"\n  conn_id: shop\n')
    assert command("run", SPEC, "--partition", "2025-05-03").code == 0
    assert command("audit", SPEC, "--requery").code == 0
    sql("UPDATE shop SET amount = 2")

    assert "since 'requery' was not asked for" in command("audit", SPEC).out
    assert findings(command("audit", SPEC, "--requery", "--json")) == [("2025-05-03", "source_changed")]


# --- reconcile --------------------------------------------------------------------------------------------------------


def test_with_a_ledger_that_is_right_there_is_nothing_to_repair(sql: Sql, command: Command) -> None:
    answer = command("reconcile", SPEC)

    assert answer.code == 0
    assert "nothing to repair" in answer.out


def test_an_edit_is_shown_then_accepted_and_nothing_complains_any_more(sql: Sql, command: Command) -> None:
    sql("UPDATE analytics.orders SET amount = 99 WHERE order_id = 4")
    command("audit", SPEC)
    before = physical(sql)

    shown = command("reconcile", SPEC, "--json")
    planned = command("reconcile", SPEC, "--accept", "--json")
    still = command("audit", SPEC).code
    done = command("reconcile", SPEC, "--accept", "--apply", "--reason", "ticket 7", "--json")

    assert (shown.code, repairs(shown)) == (1, [(DAYS[1], "none", False)])
    assert (planned.code, repairs(planned), still) == (1, [(DAYS[1], "accept_rows", False)], 1)
    assert (done.code, repairs(done)) == (0, [(DAYS[1], "accept_rows", True)])
    assert physical(sql) == before
    assert (command("audit", SPEC).code, command("reconcile", SPEC).code) == (0, 0)
    assert sql("SELECT baseline FROM airflow_idempotent.audits WHERE baseline <> ''") == [("accepted: ticket 7",)]
    sql("UPDATE analytics.orders SET amount = 98 WHERE order_id = 4")
    assert findings(command("audit", SPEC, "--json")) == [(DAYS[1], "target_changed")]


def test_columns_are_accepted_too(sql: Sql, command: Command) -> None:
    sql("ALTER TABLE analytics.orders ADD seen boolean")
    assert findings(command("audit", SPEC, "--json")) == [("*", "schema_changed")]

    done = command("reconcile", SPEC, "--accept", "--apply", "--json")

    assert repairs(done) == [("*", "accept_columns", True)]
    assert command("audit", SPEC).code == 0


def test_a_ledger_of_an_older_backup_learns_of_the_loads_it_has_forgotten(
    folder: Path, sql: Sql, command: Command
) -> None:
    deliver(folder, DAYS[0], FIRST + "9,new,1.00,2025-05-01,2025-05-01T12:00:00Z\n")
    command("run", SPEC, "--partition", DAYS[0])
    forget = (
        "ALTER TABLE airflow_idempotent.events DISABLE TRIGGER append_only;"
        "ALTER TABLE airflow_idempotent.check_results DISABLE TRIGGER append_only;"
        "DELETE FROM airflow_idempotent.check_results WHERE event_id > 2;"
        "DELETE FROM airflow_idempotent.events WHERE event_id > 2"
    )
    sql(forget)
    before = physical(sql)

    shown = command("reconcile", SPEC, "--json")
    done = command("reconcile", SPEC, "--apply", "--json")

    expected = [(DAYS[0], "record_load"), (DAYS[1], "record_load")]
    assert repairs(shown) == [(*item, False) for item in expected]
    assert repairs(done) == [(*item, True) for item in expected]
    assert (done.code, physical(sql)) == (0, before)
    assert sql("SELECT batch_id, inserted, unchanged FROM airflow_idempotent.partitions ORDER BY 1") == [
        ("20250501_02", 0, 4),
        ("20250502_01", 0, 2),
    ]
    assert (command("reconcile", SPEC).code, command("audit", SPEC).code) == (0, 0)


def test_a_batch_that_is_not_in_the_table_is_recorded_as_landed_and_never_loaded(sql: Sql, command: Command) -> None:
    sql("TRUNCATE analytics.orders; DROP SCHEMA airflow_idempotent CASCADE")

    done = command("reconcile", SPEC, "--apply", "--json")

    assert repairs(done) == [(day, "record_landing", True) for day in DAYS]
    assert sql("SELECT count(*) FROM analytics.orders") == [(0,)]
    assert sql("SELECT partition_key, state FROM airflow_idempotent.partitions ORDER BY 1") == [
        (day, "landed") for day in DAYS
    ]
    assert repairs(command("reconcile", SPEC, "--apply", "--json")) == [(day, "none", False) for day in DAYS]


def test_one_partition_alone_can_be_repaired(sql: Sql, command: Command) -> None:
    sql("DROP SCHEMA airflow_idempotent CASCADE")

    assert repairs(command("reconcile", SPEC, "--partition", DAYS[1], "--apply", "--json")) == [
        (DAYS[1], "record_load", True)
    ]
    assert repairs(command("reconcile", SPEC, "--json")) == [(DAYS[0], "record_load", False)]
