"""``make demo``: two weeks of real flights through a real Airflow into a real PostgreSQL, again and again.

Each chapter types a command as a user would, and compares what happened with
what the data alone says should happen. Exit code 1 when anything differs.
``KEEP=1`` leaves everything up in ``.demo/``; ``demo/run.py stop`` ends that.
"""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import dataclass
from datetime import date

import flights
import screen
import servers
from crash import Hold
from flights import Day
from rest import Airflow
from servers import DemoError, Servers
from warehouse import Entry, Warehouse, digest

TABLE = DAG = "analytics.flights"
SPEC = servers.DAGS / "tables" / "flights.yaml"
FIRST, LAST = date(2013, 1, 1), date(2013, 1, 14)
LOAD = "partition.stage_merge"


@dataclass
class Stage:
    """What every chapter works with."""

    servers: Servers
    airflow: Airflow
    warehouse: Warehouse
    days: list[Day]

    def deliver(self, *, timetables: list[Day] = (), actuals: list[Day] = ()) -> None:
        """Write files into the inbox, as the source of the data would."""
        inbox = self.servers.folder / "inbox" / "flights"
        written = [flights.deliver_timetable(inbox, day) for day in timetables]
        written += [flights.deliver_actual(inbox, day) for day in actuals]
        for path in (written[0], written[-1]):
            screen.say(f"  {path.relative_to(self.servers.folder)}  {path.stat().st_size:,} bytes")
        screen.say(f"  {len(written)} files delivered")

    def backfill(self, days: list[Day], *options: str) -> None:
        """Type ``airflow backfill create`` for these days."""
        dates = ["--from-date", days[0].name, "--to-date", days[-1].name]
        with screen.waiting("Airflow closes the backfill before"):
            self.airflow.wait_until_backfills_are_closed(DAG, self.servers.check_alive)
        self.type("backfill", "create", "--dag-id", DAG, *dates, *options)

    def type(self, *arguments: str) -> str:
        """Show a command and run it."""
        screen.command("airflow " + " ".join(arguments))
        return self.servers.call(*arguments)

    def follow(self, days: list[Day], title: str = "backfill") -> None:
        """Follow the runs of these days to their end."""
        screen.follow(title, self.airflow.follow(DAG, {day.name for day in days}, timeout_s=240))

    def ledger(self, days: list[Day]) -> list[Entry]:
        """Print the ledger and return its lines for these days."""
        entries = self.warehouse.entries()
        screen.ledger(entries, self.airflow.seconds(DAG, LOAD))
        return [entry for entry in entries if entry.partition in {day.name for day in days}]


def chapter_1_servers(running: Servers) -> None:
    screen.chapter(1, "One PostgreSQL, one Airflow")
    running.start(screen.say)
    screen.facts([("Airflow", running.url), ("warehouse", running.warehouse), ("files", running.folder)])


def chapter_2_spec(stage: Stage) -> None:
    screen.chapter(2, "A table is a spec")
    screen.command(f"cat {SPEC.relative_to(servers.HERE.parent)}")
    screen.spec(SPEC.read_text())
    with screen.waiting("Airflow reads the DAG file"):
        stage.airflow.wait_for_dag(DAG)
    screen.say(stage.type("dags", "list", "--columns", "dag_id,owners,is_paused"))
    screen.good(f"tasks of {DAG}: {' → '.join(stage.airflow.tasks_of(DAG))}")


def chapter_3_backfill(stage: Stage) -> None:
    screen.chapter(3, "Two weeks of timetables, loaded by a backfill")
    stage.deliver(timetables=stage.days)
    stage.backfill(stage.days)
    stage.type("dags", "unpause", DAG, "--yes")
    stage.follow(stage.days)
    for day, entry in zip(stage.days, stage.ledger(stage.days), strict=True):
        expect(entry, batch="_01", inserted=len(day.rows))
    expect_image(stage, flights.expected_image(stage.days, []))


def chapter_4_again(stage: Stage) -> None:
    screen.chapter(4, "The same backfill again changes nothing")
    stage.backfill(stage.days, "--reprocess-behavior", "completed")
    stage.follow(stage.days)
    for day, entry in zip(stage.days, stage.ledger(stage.days), strict=True):
        expect(entry, batch="_01", unchanged=len(day.rows))
    screen.good("0 inserted, 0 updated, 0 deleted: every row was there and was left alone")
    expect_image(stage, flights.expected_image(stage.days, []))


def chapter_5_corrections(stage: Stage) -> None:
    screen.chapter(5, "The actual times arrive a day later")
    early, last = stage.days[:-1], stage.days[-1]
    stage.deliver(actuals=early)
    stage.backfill(stage.days, "--reprocess-behavior", "completed")
    stage.follow(stage.days)
    *entries, unchanged = stage.ledger(stage.days)
    for day, entry in zip(early, entries, strict=True):
        left, stayed = len(day.actual), len(day.rows) - len(day.actual)
        expect(entry, batch="_02", updated=left, unchanged=stayed, duplicate=left)
    expect(unchanged, batch="_01", unchanged=len(last.rows))
    screen.good("updated = flights that left, unchanged = flights that were cancelled, on each of the days")
    expect_image(stage, flights.expected_image(stage.days, early))


def chapter_6_crash(stage: Stage) -> None:
    screen.chapter(6, "A worker dies in the middle of a load")
    last = stage.days[-1:]
    before = digest(stage.warehouse.image())
    stage.deliver(actuals=last)
    hold = Hold(stage.servers.warehouse, TABLE)
    with hold.on():
        stage.backfill(last, "--reprocess-behavior", "completed")
        with screen.waiting("until the load has written its rows and not yet committed"):
            load = hold.wait_for_load(stage.servers.check_alive)
        screen.facts([("session", f"{load.application}, {load.advisory_locks} advisory locks")])
        during = digest(stage.warehouse.image())
        screen.command(f"kill -9 {load.worker.pid}")
        load.worker.kill()
        with screen.waiting("until Airflow has seen it and scheduled the retry"):
            stage.airflow.wait_for_attempt(DAG, LOAD, last[0].name, 2)
        expect_that(hold.session_is_there(load.session), "the killed attempt's query still runs beside the retry")
    stage.follow(last, "retry")
    hold.remove()
    (entry,) = stage.ledger(last)
    left, stayed = len(last[0].actual), len(last[0].rows) - len(last[0].actual)
    expect(entry, batch="_02", updated=left, unchanged=stayed, duplicate=left)
    after = expect_image(stage, flights.expected_image(stage.days, stage.days))
    screen.facts([("before", before), ("mid-load", during), ("after the retry", after)])
    expect_that(before == during, "while the load ran and died, readers saw the table of before")
    expect_that(before != after, "the retry finished it: the same end state as without the crash")


def chapter_7_where(stage: Stage, *, keep: bool) -> None:
    screen.chapter(7, "Where everything is")
    running = stage.servers
    if not keep:
        screen.say("Everything is stopped and deleted now. To look around in Airflow's UI, type: make demo KEEP=1")
        return
    rows = [("inbox", running.folder / "inbox"), ("landed batches", running.folder / "lake")]
    rows += [("logs", running.folder / "logs"), ("Airflow", f"{running.url}/dags/{DAG}  (no login)")]
    rows += [("warehouse", f"psql {running.warehouse}"), ("ledger", "select * from airflow_idempotent.partitions")]
    screen.facts([*rows, ("to stop it", "make demo-stop")])


def expect(entry: Entry, *, batch: str, **effects: int) -> None:
    """Raises DemoError unless the ledger says this of a partition's last load; effects not named must be 0."""
    wanted = dict.fromkeys(entry.effects, 0) | effects
    if entry.effects != wanted or not entry.batch.endswith(batch) or entry.state != "validated":
        found = f"{entry.state}, batch {entry.batch}, {entry.effects}"
        raise DemoError(f"partition {entry.partition}: {found}\n  expected: validated, batch …{batch}, {wanted}")


def expect_image(stage: Stage, image: str) -> str:
    """Compare the table with what the data says it must be, and return its digest."""
    found, wanted = digest(stage.warehouse.image()), digest(image)
    lines = image.count("\n")
    expect_that(found == wanted, f"{TABLE} holds {lines:,} rows, each as computed from the data; digest {wanted}")
    return found


def expect_that(holds: bool, fact: str) -> None:
    """Print a fact; raises DemoError when it does not hold."""
    if not holds:
        raise DemoError(f"not so: {fact}")
    screen.good(fact)


def tell(running: Servers, *, keep: bool) -> None:
    """The whole story."""
    chapter_1_servers(running)
    days = flights.read_days(FIRST, LAST)
    stage = Stage(running, Airflow(running), Warehouse(running.warehouse, TABLE), days)
    chapter_2_spec(stage)
    chapter_3_backfill(stage)
    chapter_4_again(stage)
    chapter_5_corrections(stage)
    chapter_6_crash(stage)
    chapter_7_where(stage, keep=keep)


def stop() -> int:
    """End what ``KEEP=1`` left up."""
    if running := servers.left_running():
        running.stop()
        screen.say(f"Stopped. Its files stay in {running.folder}")
    else:
        screen.say("Nothing to stop: no demo was left running.")
    return 0


def main() -> int:
    """Tell the story and leave nothing behind, or everything with ``KEEP=1``."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    if sys.argv[1:] == ["stop"]:
        return stop()
    keep = os.environ.get("KEEP", "") not in ("", "0")
    if keep and servers.left_running():
        stop()
    running = servers.create(keep=keep)
    kept = False
    try:
        tell(running, keep=keep)
        kept = keep
    except DemoError as error:
        screen.bad(str(error))
        return 1
    except KeyboardInterrupt:
        screen.bad("interrupted")
        return 130
    finally:
        if not kept:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            running.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
