"""``make demo``: two weeks of real flights through a real Airflow into a real PostgreSQL, again and again.

Each chapter types a command as a user would, and compares what happened with
what the data alone says must happen. Exit code 1 when anything differs.
``KEEP=1`` leaves everything up, with its files in ``.demo/``; ``run.py stop``
ends that.
"""

from __future__ import annotations

import os
import signal
import sys
from datetime import date

import flights
import screen
import servers
from crash import HeldLoad, Hold
from rest import Airflow
from servers import DemoError, Servers
from stage import Stage, expect, expect_effects
from warehouse import Warehouse

TABLE = DAG = "analytics.flights"
SPEC = servers.DAGS / "tables" / "flights.yaml"
FIRST, LAST = date(2013, 1, 1), date(2013, 1, 14)
LOAD = "partition.stage_merge"
INTERRUPTIONS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def tell(running: Servers, *, keep: bool) -> None:
    """The whole story."""
    start(running)
    days = flights.read_days(FIRST, LAST)
    stage = Stage(running, Airflow(running, DAG), Warehouse(running.warehouse, TABLE), days)
    show_the_spec(stage)
    load_two_weeks(stage)
    load_them_again(stage)
    load_corrections(stage)
    kill_a_worker(stage)
    say_where_everything_is(running, keep=keep)


def start(running: Servers) -> None:
    """PostgreSQL first, then Airflow."""
    screen.chapter(1, "One PostgreSQL, one Airflow")
    running.start(screen.waiting)
    screen.facts(("Airflow", running.url), ("warehouse", running.warehouse), ("files", running.folder))


def show_the_spec(stage: Stage) -> None:
    """The spec is all there is to write; the DAG comes from it."""
    screen.chapter(2, "A table is a spec")
    screen.command(f"cat {SPEC.relative_to(SPEC.parents[2])}")
    screen.spec(SPEC.read_text())
    with screen.waiting("Airflow reads the DAG file"):
        stage.airflow.wait_for_dag()
    screen.say(stage.type("dags", "list", "--columns", "dag_id,owners,is_paused").rstrip())
    screen.good(f"its tasks: {', '.join(stage.airflow.task_ids())}")


def load_two_weeks(stage: Stage) -> None:
    """Every row is new."""
    screen.chapter(3, "Two weeks of timetables, loaded by a backfill")
    stage.deliver(timetables=stage.days)
    stage.backfill(stage.days)
    stage.type("dags", "unpause", DAG, "--yes")
    stage.follow(stage.days)
    for day, entry in zip(stage.days, stage.ledger(stage.days), strict=True):
        expect_effects(entry, batch="_01", inserted=len(day.rows))
    stage.expect_table(timetables=stage.days, actuals=[])


def load_them_again(stage: Stage) -> None:
    """The same files: no row is written."""
    screen.chapter(4, "The same backfill again")
    stage.backfill_again(stage.days)
    stage.follow(stage.days)
    for day, entry in zip(stage.days, stage.ledger(stage.days), strict=True):
        expect_effects(entry, batch="_01", unchanged=len(day.rows))
    screen.good("0 inserted, 0 updated, 0 deleted: every row was there, and was left alone")
    stage.expect_table(timetables=stage.days, actuals=[])


def load_corrections(stage: Stage) -> None:
    """A second file for all days but the last: just those flights that left are updated."""
    screen.chapter(5, "The actual times arrive, a day late")
    early, last = stage.days[:-1], stage.days[-1]
    stage.deliver(actuals=early)
    stage.backfill_again(stage.days)
    stage.follow(stage.days)
    *corrected, untouched = stage.ledger(stage.days)
    for day, entry in zip(early, corrected, strict=True):
        left, cancelled = len(day.actual), len(day.rows) - len(day.actual)
        expect_effects(entry, batch="_02", updated=left, unchanged=cancelled, duplicate=left)
    expect_effects(untouched, batch="_01", unchanged=len(last.rows))
    screen.good("on each day: updated = flights that left, unchanged = flights that were cancelled")
    stage.expect_table(timetables=stage.days, actuals=early)


def kill_a_worker(stage: Stage) -> None:
    """The last day's second file: its load dies when all rows are written and nothing is committed."""
    screen.chapter(6, "A worker is killed in the middle of a load")
    day = stage.days[-1]
    stage.deliver(actuals=[day])
    hold = Hold(stage.servers, TABLE)
    with hold.on():
        stage.backfill_again([day])
        with screen.waiting("The load has written its rows, and is held before its commit"):
            load = hold.wait_for_load()
        attempt = stage.airflow.attempt(LOAD, day.name)
        kill(stage, hold, load)
    stage.follow([day], "Airflow's retry")
    hold.remove()
    (entry,) = stage.ledger([day])
    left, cancelled = len(day.actual), len(day.rows) - len(day.actual)
    expect_effects(entry, batch="_02", updated=left, unchanged=cancelled, duplicate=left)
    retry = stage.airflow.attempt(LOAD, day.name)
    expect(retry > attempt, f"attempt {retry} has done what attempt {attempt} could not finish")
    stage.expect_table(timetables=stage.days, actuals=stage.days)


def kill(stage: Stage, hold: Hold, load: HeldLoad) -> None:
    """SIGKILL, and what readers see before and after."""
    days, corrected = stage.days, stage.days[:-1]
    screen.facts(("process", f"{load.worker.pid}  {load.title}"), ("session", load.application))
    stage.expect_table(timetables=days, actuals=corrected, remark=", none of the load's")
    screen.command(f"kill -9 {load.worker.pid}")
    load.worker.kill()
    with screen.waiting("PostgreSQL notices, and rolls back"):
        hold.wait_for_end_of(load)
    stage.expect_table(timetables=days, actuals=corrected, remark=", none of the load's")


def say_where_everything_is(running: Servers, *, keep: bool) -> None:
    """How to go on looking."""
    screen.chapter(7, "Where everything is")
    if not keep:
        screen.say("All of it is stopped and deleted now. To look around, also in Airflow's UI, type: make demo KEEP=1")
        return
    screen.facts(
        ("Airflow's UI", f"{running.url}/dags/{DAG}  (no login)"),
        ("the warehouse", f"psql {running.warehouse}"),
        ("the ledger in it", f"airflow-idempotent status --dsn {running.warehouse}"),
        ("source files", running.folder / "inbox"),
        ("landed batches", running.folder / "lake"),
        ("logs", f"{running.folder / 'logs'}, {running.folder / 'airflow' / 'logs'}"),
        ("to stop it all", "make demo-stop"),
    )


def stop() -> int:
    """End what ``KEEP=1`` left up."""
    if running := servers.found_in(servers.KEPT):
        running.stop()
        screen.say(f"Stopped. The files stay in {running.folder}")
    else:
        screen.say("Nothing to stop: no demo was left running.")
    return 0


def demo(*, keep: bool) -> int:
    """Tell the story; leave nothing behind, or everything when asked to and all went well."""
    if keep and servers.found_in(servers.KEPT):
        stop()
    running = servers.create(keep=keep)
    left_up = False
    try:
        tell(running, keep=keep)
        left_up = keep
    except (DemoError, KeyboardInterrupt) as reason:
        screen.bad(str(reason) or "interrupted")
        screen.say("Everything is being stopped. With KEEP=1 the logs stay in .demo/")
        return 1
    finally:
        if not left_up:
            for number in INTERRUPTIONS:  # stopping takes seconds and is not to be interrupted
                signal.signal(number, signal.SIG_IGN)
            running.stop()
    return 0


def main(arguments: list[str]) -> int:
    """Run the demo, or stop one that was left up."""
    for number in INTERRUPTIONS[1:]:
        signal.signal(number, lambda *_: sys.exit(1))
    match arguments:
        case []:
            return demo(keep=os.environ.get("KEEP", "0") not in ("", "0"))
        case ["stop"]:
            return stop()
        case _:
            screen.bad(f"unknown: {' '.join(arguments)}. Type: make demo, make demo KEEP=1 or make demo-stop")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
