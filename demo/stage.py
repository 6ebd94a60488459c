"""What the chapters of the demo do again and again, and what they expect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import flights
import screen
from flights import Day
from rest import Airflow
from servers import DemoError, Servers
from warehouse import Entry, Warehouse, digest


@dataclass
class Stage:
    """The running demo, as every chapter sees it."""

    servers: Servers
    airflow: Airflow
    warehouse: Warehouse
    days: list[Day]

    def deliver(self, *, timetables: Sequence[Day] = (), actuals: Sequence[Day] = ()) -> None:
        """Write files into the inbox, as the source of the data would."""
        inbox = self.servers.folder / "inbox" / "flights"
        written = [flights.deliver_timetable(inbox, day) for day in timetables]
        written += [flights.deliver_actual(inbox, day) for day in actuals]
        example = written[-1].relative_to(self.servers.folder)
        screen.say(f"The source delivers {len(written)} file(s), the last one: {example}")

    def type(self, *arguments: str) -> str:
        """Show an Airflow command and run it."""
        screen.command("airflow " + " ".join(arguments))
        return self.servers.call(*arguments)

    def backfill(self, days: Sequence[Day], *options: str) -> None:
        """Type ``airflow backfill create`` for these days."""
        dates = ["--from-date", days[0].name, "--to-date", days[-1].name]
        self.type("backfill", "create", "--dag-id", self.airflow.dag_id, *dates, *options)

    def backfill_again(self, days: Sequence[Day]) -> None:
        """Type it for days that were run before, once Airflow has closed the backfill before."""
        with screen.waiting("Airflow marks the last backfill as complete (its sweep runs every 30 s)"):
            self.airflow.wait_until_no_backfill_is_open()
        self.backfill(days, "--reprocess-behavior", "completed")

    def follow(self, days: Sequence[Day], title: str = "backfill") -> None:
        """Follow the runs of these days to their end."""
        screen.follow(title, self.airflow.follow({day.name for day in days}))

    def ledger(self, days: Sequence[Day]) -> list[Entry]:
        """Print the ledger of these days and return it."""
        wanted = {day.name for day in days}
        entries = [entry for entry in self.warehouse.ledger() if entry.partition in wanted]
        screen.ledger(entries)
        if len(entries) != len(days):
            raise DemoError(f"the ledger knows {len(entries)} of {len(days)} partitions")
        return entries

    def expect_table(self, *, timetables: Sequence[Day], actuals: Sequence[Day], remark: str = "") -> None:
        """Compare the table, as a reader sees it, with what these deliveries must lead to, row by row."""
        found, wanted = self.warehouse.image(), flights.expected_image(timetables, actuals)
        rows = f"{wanted.count(chr(10)):,} rows, all as computed from the data{remark}"
        expect(found == wanted, f"{self.warehouse.table} holds {rows} (digest {digest(found)})")


def expect(holds: bool, fact: str) -> None:
    """Print a fact.

    Raises:
        DemoError: it does not hold.
    """
    if not holds:
        raise DemoError(f"not so: {fact}")
    screen.good(fact)


def expect_effects(entry: Entry, *, batch: str, **effects: int) -> None:
    """Check what the ledger says of a partition's newest load; effects not named must be 0.

    Raises:
        DemoError: it says something else.
    """
    wanted = dict.fromkeys(entry.effects, 0) | effects
    if entry.effects != wanted or not entry.batch.endswith(batch) or entry.state != "validated":
        found = f"{entry.state}, batch {entry.batch}, {entry.effects}"
        raise DemoError(f"partition {entry.partition}: {found}\n  expected: validated, batch …{batch}, {wanted}")
