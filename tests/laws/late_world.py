"""Many seeded schedules of late data in one source, loaded by the engine run after run, as a scheduler would.

Each schedule is a stream of its own: events that are late, delivered twice, corrected, and, where the source is read by
a watermark (a time, or a number that rises), committed hours after their cursor. What goes wrong with the runs is drawn
for all schedules together: runs that fail after their rows were staged, runs that come days later, runs that are
repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any, Literal

from airflow_idempotent.core.step import Attempt, Receipt
from airflow_idempotent.core.window import position_of
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.states import watermark_of
from airflow_idempotent.landing.code import query_input
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.pinning import pinned_for
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.plan.resolve import Run, resolve
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.source import Query
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.testing import simulate_late_data
from airflow_idempotent.testing.draw import Draw
from tests.faults import Watched

FIRST = datetime(2025, 5, 1, tzinfo=UTC)
DAY = timedelta(days=1)
DAYS, MAX_LATE, EVENTS = 6, 3, 3
LAG_HOURS = 30
Mode = Literal["watermark", "numbers", "lookback"]
Key = tuple[int, int]

COLUMNS = [
    {"name": "schedule", "data_type": "bigint"},
    {"name": "event_id", "data_type": "bigint"},
    {"name": "event_time", "data_type": "timestamptz"},
    {"name": "ingested_at", "data_type": "timestamptz"},
    {"name": "value", "data_type": "numeric(12,2)"},
]


class Crash(Exception):  # noqa: N818, not an error of ours
    """The worker died."""


def crashing(connect: Callable[[], Any], moment: int) -> Callable[[], Any]:
    """Connections in which a worker dies before its statement of that number, or not at all when there are fewer."""
    left = moment

    def watch(what: str) -> None:
        nonlocal left
        if what.startswith("before "):
            left -= 1
            if left < 0:
                raise Crash

    return lambda: Watched(connect(), watch)


@dataclass
class Schedules:
    """The rows of many schedules by the hour in which their source shows them, and what is right in the end."""

    rows: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    right: dict[Key, tuple[datetime, Any]] = field(default_factory=dict)

    def add(self, number: int, mode: Mode) -> None:
        """One more seeded schedule."""
        simulation = simulate_late_data(
            seed=number, days=DAYS, events_per_day=EVENTS, late_share=0.3, max_days_late=MAX_LATE,
            duplicate_share=0.2, correction_share=0.2,
        )  # fmt: skip
        draw = Draw(f"commits {number}")
        for day, batch in enumerate(simulation.batches):
            for row in batch.rows or ():
                late = draw.below(LAG_HOURS) if mode != "lookback" and draw.chance(0.4) else 0
                shown = max((row["ingested_at"] - FIRST) // timedelta(hours=1), day * 24) + late
                names = ("event_id", "event_time", "ingested_at", "value")
                self.rows.setdefault(shown, []).append((number, *(row[name] for name in names)))
        for key, row in simulation.end_state.items():
            self.right[number, key] = (row["ingested_at"], row["value"])

    def number(self) -> int:
        """Give each row a number in the order of its writing; by how much one that shows late is behind others."""
        written = sorted(
            (row[3], row, shown, place) for shown, rows in self.rows.items() for place, row in enumerate(rows)
        )
        for number, (_, row, shown, place) in enumerate(written):
            self.rows[shown][place] = (*row, number)
        greatest, behind = -1, 0
        for shown in sorted(self.rows):
            numbers = [row[-1] for row in self.rows[shown]]
            behind = max(behind, greatest - min(numbers))
            greatest = max(greatest, *numbers)
        return behind

    def until(self, hour: int) -> Iterator[tuple[Any, ...]]:
        """Rows that the source shows from now on, before that hour; each is given once."""
        for shown in sorted(shown for shown in self.rows if shown < hour):
            yield from self.rows.pop(shown)


@dataclass
class LateWorld:
    """A source, a table, and a scheduler of which not all goes well."""

    connect: Callable[[], Any]
    folder: Path
    name: str
    mode: Mode
    schedules: Schedules
    receipts: list[Receipt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.connection = self.connect()
        self.store = BatchStore(self.folder / self.name)
        self.spec = self._spec()
        columns = ", ".join(f"{column.name} {column.data_type}" for column in self.spec.columns)
        self.execute(f"create table {self.name}_src ({columns}); create index on {self.name}_src (ingested_at)")

    def _spec(self) -> TableSpec:
        where = " WHERE event_time >= :start AND event_time < :end" if self.mode == "lookback" else ""
        source: dict[str, Any] = {"kind": "query", "conn_id": "src", "sql": f"SELECT * FROM {self.name}_src{where}"}
        late: dict[str, Any] = {"lookback": MAX_LATE + 3}
        columns = list(COLUMNS)
        if self.mode == "watermark":
            source["cursor"], late = "ingested_at", {"watermark_lag": f"{LAG_HOURS + 1}h"}
        elif self.mode == "numbers":
            source |= {"cursor": "number", "initial_value": 0}
            columns.append({"name": "number", "data_type": "bigint"})
            late = {"watermark_lag": self.schedules.number()}
        return load_mapping(
            {
                "table": self.name, "start_date": "2025-05-01", "source": source, "columns": columns,
                "unique_key": ["schedule", "event_id"], "version": ["ingested_at"], "event_time": "event_time",
                "late_data": late, "landing": {"keep_batches": 2}, "on_empty": "publish_empty",
            },
            name=f"{self.name}.yaml",
        )  # fmt: skip

    def execute(self, sql: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        cursor.execute(sql)
        rows = list(cursor.fetchall()) if cursor.description else []
        self.connection.commit()
        return rows

    def deliver(self, hour: int) -> None:
        """Let the source show what it has by then."""
        text = StringIO()
        for row in self.schedules.until(hour):
            text.write("\t".join(map(str, row)) + "\n")
        with self.connection.cursor() as cursor, cursor.copy(f"COPY {self.name}_src FROM STDIN") as copy:
            copy.write(text.getvalue())
        self.connection.commit()

    def run(self, day: int, now: datetime, *, crash: int | None = None) -> None:
        """The scheduled run of a day: plan, then each partition from source to table; or until it crashes."""
        start = FIRST + day * DAY
        run = Run(now=now, run_type="scheduled", logical_date=start, interval=(start, start + DAY))
        if isinstance(self.spec.source, Query) and (cursor := self.spec.source.cursor):
            run = replace(run, watermark=watermark_of(self.connect, self.spec.table, cursor))
        for pointer in resolve(self.spec, run).as_pointers():
            self._load(pointer, f"run of {day}", crash)

    def _load(self, pointer: dict[str, Any], run_id: str, crash: int | None) -> None:
        partition = self.spec.partition(pointer["partition"])
        source = self.spec.source
        assert isinstance(source, Query)
        attempt = Attempt("dag", run_id, "stage_merge", lane="scheduled")
        pinned = pinned_for(
            partition, self.store.manifests(self.spec.table, partition.key), run=f"dag/{run_id}/",
            cutoff_ts=pointer["cutoff_ts"], low=pointer.get("low", ""), cursor=source.cursor,
        )  # fmt: skip
        cutoff, low = datetime.fromisoformat(pinned.cutoff_ts), position_of(pinned.low)
        assert low is not None
        known, high = pointer.get("known_until", ""), position_of(pinned.high)
        landed = land(
            query_input(self.spec, source, partition, source.sql, cutoff, low, self.connect, known, high),
            store=self.store,
            table=self.spec.table, partition=partition, cutoff_ts=pinned.cutoff_ts, attempt=str(attempt),
        )  # fmt: skip
        load = Load(
            self.spec, partition, landed.manifest, pointer["skip_unchanged"], looks_back="looks_back" in pointer
        )
        connect = self.connect if crash is None else crashing(self.connect, crash)
        self.receipts.append(stage_merge(load, connect=connect, batches=self.store, attempt=attempt))

    def play(self, draw: Draw) -> None:
        """All days of the schedules, and those until nothing is late any more."""
        waiting: list[int] = []
        last = DAYS + (MAX_LATE if self.mode == "lookback" else 2)
        for day in range(last):
            self.deliver((day + 1) * 24 + 1)
            waiting.append(day)
            if day < last - 1 and draw.chance(0.2):
                continue  # nobody runs it today
            now = FIRST + (day + 1) * DAY + timedelta(hours=1)
            for due in draw.shuffled(waiting) if draw.chance(0.3) else waiting:
                if draw.chance(0.25):
                    with suppress(Crash):
                        self.run(due, now, crash=draw.below(25))
                self.run(due, now)
                if draw.chance(0.15):
                    self.run(due, now + timedelta(hours=2))
            waiting = []
        self.deliver(10_000)

    def lost_and_duplicated(self) -> tuple[int, int]:
        """Rows of the right end that the table lacks or has older, and rows beyond one per key."""
        rows = self.execute(f"select schedule, event_id, ingested_at, value from {self.name}")
        found = {(schedule, event): (ingested_at, value) for schedule, event, ingested_at, value in rows}
        lost = sum(found.get(key) != row for key, row in self.schedules.right.items())
        return lost, len(rows) - len(found) + len(found.keys() - self.schedules.right.keys())

    def differs_from_full_load(self) -> list[tuple[Any, ...]]:
        """Keys whose row is not what one load of all that the source has would have made of it."""
        names = ", ".join(column["name"] for column in COLUMNS)  # a row that came twice has two numbers
        return self.execute(
            f"""
            with full_load as (
                select distinct on (schedule, event_id) {names} from {self.name}_src
                order by schedule, event_id, ingested_at desc
            )
            (select * from full_load except all select {names} from {self.name})
            union all (select {names} from {self.name} except all select * from full_load)
            """
        )

    def close(self) -> None:
        """Leave the database as it was."""
        self.execute(f"drop table {self.name}_src; drop table if exists {self.name}")
        self.connection.close()
