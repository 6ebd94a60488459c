"""Runs of an incremental query as the ledger sees them: events without rows, written by the engine's own ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, State, Step
from airflow_idempotent.core.window import Position, Window, position_text
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.statement import Statement

DAY = timedelta(days=1)
FIRST = datetime(2025, 5, 1, tzinfo=UTC)


def day(number: int) -> Partition:
    """The partition of that day, counted from 1."""
    return Grain.DAY.partition(FIRST + (number - 1) * DAY)


def step_of(
    table: str,
    partition: Partition,
    low: Position | None,
    watermark: Position | None,
    *,
    since: datetime | None = FIRST,
) -> Step:
    """A step that loads what was read from ``low`` on, and is complete up to ``watermark``."""
    window = Window("at", position_text(low), partition.end.isoformat(), "", position_text(watermark))
    bounds = {"start": partition.start.isoformat(), "end": partition.end.isoformat()}
    manifest = Manifest(
        table, partition.key, f"{partition.compact}_01", **bounds, format=CsvFormat(), parts=(),
        window=None if low is None else window,
    )  # fmt: skip
    shape = TableShape(Relation.parse(table), ())
    return Step(shape, partition, manifest, (), consecutive_since=since)


class Runs:
    """Writes events of one table and asks for its watermark, over one connection."""

    def __init__(self, connection: Any, table: str = "public.orders") -> None:
        self.table = table
        self._session = Session(connection)
        Ledger(self._session).install()

    def publish(
        self, number: int, low: Position | None, watermark: Position | None, lane: str = "scheduled", **step: Any
    ) -> None:
        """A run of that day is published."""
        self._record(step_of(self.table, day(number), low, watermark, **step), lane, State.PUBLISHED)

    def fail(self, number: int, low: Position, lane: str = "scheduled") -> None:
        """A run of that day fails when its batch is loaded."""
        self._record(step_of(self.table, day(number), low, low), lane, State.FAILED)

    def _record(self, step: Step, lane: str, state: State) -> None:
        ledger = Ledger(self._session, Attempt(lane=lane))
        with self._session.transaction():
            ledger.record(step, state=state)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """Ask the database."""
        with self._session.transaction():
            return self._session.query(Statement(text, {"table": self.table}))

    @property
    def watermark(self) -> datetime | None:
        """How far the table is, as the ledger's view says."""
        rows = self.query("SELECT cursor_watermark FROM airflow_idempotent.watermarks WHERE table_name = %(table)s")
        return rows[0][0] if rows else None

    @property
    def gaps(self) -> list[tuple[datetime, datetime, str]]:
        """What keeps the watermark."""
        return [
            (start, end, reason)
            for start, end, reason in self.query(
                "SELECT gap_start, gap_end, reason FROM airflow_idempotent.gaps WHERE table_name = %(table)s ORDER BY 1"
            )
        ]
