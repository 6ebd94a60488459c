"""The watermark as the ledger derives it: which events count, what keeps it, what somebody may set."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from airflow_idempotent.engine.states import fleet, gaps, watermark_of, watermarks
from airflow_idempotent.engine.watermarks import change_watermark
from airflow_idempotent.errors import WatermarkError
from tests.cli_fixtures import Command
from tests.ledger_runs import FIRST, Runs
from tests.postgres_fixtures import Connect

TABLE = "public.orders"


def at(number: float) -> datetime:
    """That many days after the begin of the first."""
    return FIRST + timedelta(days=number)


@pytest.fixture
def runs(connect_once: Connect) -> Runs:
    return Runs(connect_once())


def test_it_moves_with_published_scheduled_runs_only_and_never_back(runs: Runs) -> None:
    seen = []
    for publish in (
        lambda: runs.publish(1, at(-9), at(0.5)),
        lambda: runs.publish(5, at(0.5), at(4.9), "backfill"),
        lambda: runs.publish(6, at(0.5), at(5.9), "manual"),
        lambda: runs.publish(2, at(0.5), at(1.5)),
        lambda: runs.publish(1, at(-9), at(0.25)),
        lambda: runs.publish(3, at(1.5), None),
    ):
        publish()
        seen.append(runs.watermark)

    assert seen == [at(0.5), at(0.5), at(0.5), at(1.5), at(1.5), at(1.5)]


def test_a_run_that_failed_keeps_it_until_any_lane_has_published_the_partition(runs: Runs) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.fail(2, at(0.5))
    runs.publish(3, at(0.5), at(2.5))
    kept = (runs.watermark, runs.gaps)
    runs.publish(2, at(1), at(1.5), "backfill")

    assert kept == (at(0.5), [(at(1), at(2), "not published")])
    assert (runs.watermark, runs.gaps) == (at(2.5), [])


def test_a_run_that_nobody_knows_of_keeps_it_too(runs: Runs) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.publish(4, at(0.5), at(3.5))

    assert (runs.watermark, runs.gaps) == (at(0.5), [(at(1), at(3), "never run")])


def test_a_first_run_that_nobody_knows_of_keeps_it_from_the_begin(runs: Runs) -> None:
    runs.publish(2, at(0), at(1.5))

    assert (runs.watermark, runs.gaps) == (None, [(at(0), at(1), "never run")])


def test_a_table_that_begins_earlier_from_now_on_keeps_its_watermark(runs: Runs) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.publish(2, at(0.5), at(1.5), since=at(-9))

    assert (runs.watermark, runs.gaps) == (at(1.5), [])


def test_runs_that_are_left_out_on_purpose_are_no_gap(runs: Runs) -> None:
    runs.publish(1, at(0), at(0.5), since=None)
    runs.publish(4, at(0.5), at(3.5), since=None)

    assert (runs.watermark, runs.gaps) == (at(3.5), [])


def test_what_a_backfill_loaded_before_the_first_scheduled_run_is_no_gap(runs: Runs) -> None:
    runs.publish(-30, at(-31), at(-30.5), "backfill")
    runs.publish(1, at(0), at(0.5))

    assert (runs.watermark, runs.gaps) == (at(0.5), [])


def test_a_partition_whose_rerun_fails_stays_published(runs: Runs) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.fail(1, at(0))

    assert (runs.watermark, runs.gaps) == (at(0.5), [])


def test_what_is_set_holds_until_runs_that_read_from_there_go_on(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.publish(2, at(0.5), at(1.5))

    changed = change_watermark(TABLE, at(0.25), connect=connect_once, by="ann", reason="restored")
    seen = [runs.watermark]
    runs.publish(3, at(1.5), at(2.5))  # was planned before the change, and has not read what lies between
    seen.append(runs.watermark)
    runs.publish(4, at(0.25), at(3.5))
    seen.append(runs.watermark)

    assert (changed.old, changed.new) == (at(1.5), at(0.25))
    assert seen == [at(0.25), at(0.25), at(3.5)]


def test_setting_it_steps_over_a_gap(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.fail(2, at(0.5))
    runs.publish(3, at(0.5), at(2.5))

    change_watermark(TABLE, at(2.5), connect=connect_once, by="ann", reason="day 2 is lost")
    runs.publish(4, at(2.5), at(3.5))

    assert (runs.watermark, runs.gaps) == (at(3.5), [])


def test_recomputed_it_is_what_the_events_say(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, at(0), at(0.5))
    change_watermark(TABLE, at(9), connect=connect_once, by="ann", reason="by mistake")

    changed = change_watermark(TABLE, None, connect=connect_once, by="bob", reason="ann was wrong")
    again = change_watermark(TABLE, None, connect=connect_once, by="bob", reason="ann was wrong")

    assert (changed.old, changed.new, changed.written) == (at(9), at(0.5), True)
    assert (again.old, again.new, again.written) == (at(0.5), at(0.5), False)
    assert runs.query(
        "SELECT kind, old_watermark, new_watermark, changed_by, database_role, reason "
        "FROM airflow_idempotent.watermark_changes ORDER BY change_id"
    ) == [
        ("set", at(0.5), at(9), "ann", "postgres", "by mistake"),
        ("recompute", at(9), None, "bob", "postgres", "ann was wrong"),
    ]


def test_the_history_of_changes_cannot_be_rewritten(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, at(0), at(0.5))
    change_watermark(TABLE, at(9), connect=connect_once, by="ann", reason="x")

    with pytest.raises(Exception, match="append-only"):
        runs.query("DELETE FROM airflow_idempotent.watermark_changes RETURNING 1")


def test_a_table_that_reads_from_no_watermark_has_none_to_set(connect_once: Connect) -> None:
    with pytest.raises(WatermarkError, match="nothing was changed"):
        change_watermark(TABLE, at(1), connect=connect_once, by="ann", reason="x")


def test_another_cursor_begins_anew(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, at(0), at(0.5))

    assert watermark_of(connect_once, TABLE, "at") == at(0.5)
    assert watermark_of(connect_once, TABLE, "changed_at") is None


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture
def watermark(command: Command, database: str) -> Any:
    def run(*words: str) -> Any:
        return command("watermark", *words, "--dsn", database)

    return run


@pytest.mark.cli
def test_the_command_shows_sets_and_recomputes(runs: Runs, watermark: Any) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.fail(2, at(0.5))

    shown = watermark("show")
    changed = watermark("set", "orders", "2025-05-01T06:00", "--reason", "restored", "--by", "ann")
    document = watermark("show", "orders", "--json").document

    assert "public.orders: watermark at 2025-05-01 12:00:00+00, loaded until 2025-05-02 00:00" in shown.out
    assert "kept by 2025-05-02 [2025-05-02 00:00, 2025-05-03 00:00): not published" in shown.out
    assert "2025-05-01 12:00:00+00:00 -> 2025-05-01 06:00:00+00:00; no row was changed" in changed.out
    assert document["watermarks"][0]["set_by"] == "ann"
    assert [change["reason"] for change in document["changes"]] == ["restored"]
    assert "-> 2025-05-01 12:00:00+00:00" in watermark("recompute", "orders", "--reason", "wrong").out


def numbered(connect: Connect) -> Any:
    return watermark_of(connect, TABLE, "at")


def test_a_number_moves_by_the_same_rules(runs: Runs, connect_once: Connect) -> None:
    seen = []
    for publish in (
        lambda: runs.publish(1, 0, 99),
        lambda: runs.publish(7, 0, 500, "backfill"),
        lambda: runs.publish(2, 99, 1000),  # more digits
        lambda: runs.publish(3, 2000, 3000),  # nobody has read what lies between
        lambda: runs.publish(4, 1000, None),
        lambda: runs.publish(5, 1000, 2000),
    ):
        publish()
        seen.append(numbered(connect_once))

    assert seen == [99, 99, 1000, 1000, 1000, 3000]
    assert runs.query("SELECT watermark, cursor_number FROM airflow_idempotent.watermarks") == [("3000", 3000)]


def test_a_number_that_is_set_holds_and_forgives_what_was_missing(runs: Runs, connect_once: Connect) -> None:
    runs.publish(1, 0, 10)
    runs.fail(2, 10)

    refused = pytest.raises(WatermarkError, match="its cursor 'at' is a number")
    with refused:
        change_watermark(TABLE, at(1), connect=connect_once, by="ann", reason="restored")
    changed = change_watermark(TABLE, 4, connect=connect_once, by="ann", reason="restored")
    runs.publish(3, 4, 30)
    moved = numbered(connect_once)
    back = change_watermark(TABLE, None, connect=connect_once, by="ann", reason="was wrong")

    assert (changed.old, changed.new, moved, back.new) == (10, 4, 30, 10)


@pytest.mark.cli
def test_a_number_is_shown_and_set(runs: Runs, watermark: Any) -> None:
    runs.publish(1, 0, 10)

    changed = watermark("set", "orders", "3", "--reason", "restored", "--by", "ann")

    assert "public.orders: watermark at 10 -> 3; no row was changed." in changed.out
    assert "public.orders: watermark at 3," in watermark("show").out
    assert watermark("show", "--json").document["changes"][0]["new_number"] == 3


@pytest.mark.cli
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["set", "orders", "--reason", "x"], "set needs an INSTANT"),
        (["set", "orders", "2025-05-01"], "set needs --reason"),
        (["set", "orders", "soon", "--reason", "x"], "'soon' is not a date"),
        (["recompute", "--reason", "x"], "recompute needs a TABLE"),
        (["show", "orders", "2025-05-01"], "show takes no INSTANT"),
        (["set", "orders", "2025-05-01", "--reason", "x"], "published yet, nothing was changed"),
    ],
)
def test_the_command_says_what_is_missing(watermark: Any, words: list[str], said: str) -> None:
    answer = watermark(*words)

    assert (answer.code, said in answer.err) == (2, True), answer.err


@pytest.mark.cli
def test_the_status_names_what_keeps_a_watermark(runs: Runs, command: Command, database: str) -> None:
    runs.publish(1, at(0), at(0.5))
    runs.fail(2, at(0.5))

    shown = command("status", "--dsn", database)

    assert (
        "public.orders: watermark 2025-05-01 12:00:00+00, loaded until 2025-05-02 00:00:00+00:00; "
        "kept by what is missing from 2025-05-02 00:00 on (not published)"
    ) in shown.out


# --- many tables -----------------------------------------------------------------------------------


@pytest.fixture
def many(connect_once: Connect, runs: Runs) -> dict[str, Runs]:
    """Give four tables: one of which all is there, one with a failed day, one that misses a day, one loaded by hand."""
    connection = connect_once()
    found = {name: Runs(connection, f"public.{name}") for name in ("fine", "fails", "misses", "manual")}
    for number in (1, 2, 3):
        found["fine"].publish(number, None, None)
        found["manual"].publish(number, None, None, "manual")
    found["fails"].publish(1, None, None)
    found["fails"].fail(2, at(0))
    found["fails"].publish(3, None, None)
    found["misses"].publish(1, None, None)
    found["misses"].publish(4, None, None)
    return found


def test_a_fleet_says_of_each_table_how_far_it_is_as_its_watermark_does(
    many: dict[str, Runs], connect_once: Connect
) -> None:
    rows = {row["table_name"].removeprefix("public."): row for row in fleet(connect_once)}

    assert {name: (row["loaded_until"], row["gap_start"]) for name, row in rows.items()} == {
        "fine": (at(3), None),
        "fails": (at(1), at(1)),
        "misses": (at(1), at(1)),
        "manual": (None, None),
    }
    counts = ("partitions", "published", "failed", "drifted")
    assert [rows["fails"][name] for name in counts] == [3, 2, 1, 0]
    until = {row["table_name"]: row["loaded_until"] for row in watermarks(connect_once)}
    assert until == {f"public.{name}": row["loaded_until"] for name, row in rows.items() if name != "manual"}
    assert [row["gap_start"] for row in gaps(connect_once, "public.misses")] == [at(1)]


def test_a_table_that_begins_with_a_day_nobody_knows_of_has_a_gap(runs: Runs, connect_once: Connect) -> None:
    runs.publish(2, None, None)
    runs.publish(3, None, None)

    [row] = fleet(connect_once)

    assert (row["gap_start"], row["loaded_until"]) == (at(0), at(0))


@pytest.mark.cli
def test_status_shows_a_line_for_each_of_many_tables(many: dict[str, Runs], command: Command, database: str) -> None:
    shown = command("status", "--dsn", database)
    every = command("status", "--all", "--dsn", database)
    document = command("status", "--json", "--dsn", database).document

    assert [line.split() for line in shown.out.splitlines()[3:7]] == [
        ["public.fails", "3", "2", "1", "2025-05-02", "00:00", "2025-05-02", "00:00"],
        ["public.fine", "3", "3", "0", "2025-05-04", "00:00"],
        ["public.manual", "3", "3", "0"],
        ["public.misses", "2", "2", "0", "2025-05-02", "00:00", "2025-05-02", "00:00"],
    ]
    assert "status TABLE" in shown.out
    assert every.out.count("2025-05-01  published") == 4
    assert [row["partitions"] for row in document["tables"]] == [3, 3, 3, 2]


def test_the_newest_of_each_partition_is_what_the_events_say(many: dict[str, Runs], connect_once: Connect) -> None:
    newest = """
        SELECT DISTINCT ON (table_name, partition_key) table_name, partition_key, state, event_id
        FROM airflow_idempotent.events ORDER BY table_name, partition_key, event_id DESC"""
    heads = "SELECT table_name, partition_key, state, event_id FROM airflow_idempotent.partition_heads ORDER BY 1, 2"

    assert many["fine"].query(heads) == many["fine"].query(newest) != []
