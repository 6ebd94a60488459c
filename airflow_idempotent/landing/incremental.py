"""An incremental query: the bounds around it, and what it says of rows without a cursor, or dated in the future."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from airflow_idempotent.core.window import Position, Window, position_text
from airflow_idempotent.errors import CursorError
from airflow_idempotent.landing.binds import Piece, bind_names
from airflow_idempotent.landing.inputs import Reading
from airflow_idempotent.landing.settled import Settled

LOW, HIGH, READ_AT = "idem_low", "idem_high", "idem_read_at"
"""Binds of our own, beside those that the query may use."""

Ask = Callable[[tuple[Piece, ...], Mapping[str, Any]], tuple[Any, ...]]
"""Runs a query that gives one row."""


@dataclass(frozen=True, slots=True)
class Incremental:
    """A query within its bounds. ``column`` is the cursor as the database quotes names."""

    reading: Reading
    pieces: tuple[Piece, ...]
    column: str
    read_at: datetime

    @property
    def binds(self) -> dict[str, Position | None]:
        """The values of our own binds, and of ``:watermark``."""
        reading = self.reading
        return {LOW: reading.low, HIGH: reading.high, READ_AT: self.read_at, "watermark": reading.low}

    def rows(self) -> tuple[Piece, ...]:
        """The query for the rows of the batch. One that uses ``:watermark`` has its lower bound already."""
        column, reading = self.column, self.reading
        above = [] if "watermark" in bind_names(self.pieces) else [code(f"{column} >= "), bind(LOW), code(" AND ")]
        inside = [code(f"{column} < "), bind(HIGH)]
        if reading.on_future == "include":
            inside = [code("("), *inside, code(f" OR {column} > "), bind(READ_AT), code(")")]
        else:
            inside += [code(f" AND {column} <= "), bind(READ_AT)]
        null = [code(f" OR {column} IS NULL")] if reading.on_null == "include" else []
        return self._around("*", code(" WHERE ("), *above, *inside, code(")"), *null)

    def facts(self) -> tuple[Piece, ...]:
        """The query that counts rows without a cursor and of the future, and finds the greatest cursor below both."""
        column = self.column
        selected = (
            code(f"count(CASE WHEN {column} IS NULL THEN 1 END), count(CASE WHEN {column} > "),
            bind(READ_AT),
            code(f" THEN 1 END), max(CASE WHEN {column} >= "),
            bind(LOW),
            code(f" AND {column} < "),
            bind(HIGH),
            code(f" AND {column} <= "),
            bind(READ_AT),
            code(f" THEN {column} END)"),
        )
        where = (code(f" WHERE {column} IS NULL OR {column} >= "), bind(LOW))
        return (code("SELECT "), *selected, *self._from(), *where)

    def look(self, ask: Ask, settled: Settled, *, table: str, partition: str) -> Window:
        """What there is to say of the batch before its rows are read.

        Raises:
            CursorError: there are rows without a cursor, or dated in the future, and the spec refuses them.
        """
        reading = self.reading
        null_rows, future_rows, found = ask(self.facts(), self.binds)
        refused = {
            "on_cursor_null": null_rows if reading.on_null == "raise" else 0,
            "on_cursor_future": future_rows if reading.on_future == "raise" else 0,
        }
        for option, count in refused.items():
            if count:
                raise CursorError(table=table, partition=partition, cursor=reading.cursor, option=option, count=count)
        until = settled.until or (settled.read_at if reading.has_lag else None)
        greatest = instant_of(found)
        return Window(
            cursor=reading.cursor,
            low=position_text(reading.low),
            high=position_text(reading.high),
            read_at=position_text(self.read_at),
            watermark=position_text(min(greatest, until)) if greatest and until else "",
            null_rows=int(null_rows),
            future_rows=int(future_rows),
            known_until=reading.known_until,
            note="" if until else f"{settled.note}; the watermark stays where it is, or set late_data.watermark_lag",
        )

    def _from(self) -> tuple[Piece, ...]:
        return (code(" FROM (\n"), *self.pieces, code("\n) incremental_rows"))

    def _around(self, selected: str, *rest: Piece) -> tuple[Piece, ...]:
        return (code(f"SELECT {selected}"), *self._from(), *rest)


def quoted_name(name: str, driver: str) -> str:
    """A column as the database of that driver quotes names."""
    mark = "`" if driver in ("MySQLdb", "pymysql", "mysql") else '"'
    return mark + name.replace(mark, mark * 2) + mark


def instant_of(value: Any) -> datetime | None:
    """A cursor as an instant: dates are midnights, and times without an offset are in UTC.

    Raises:
        ValueError: a text that is no time.
    """
    if value is None:
        return None
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=UTC)
    found: datetime = value if value.tzinfo else value.replace(tzinfo=UTC)
    return found.astimezone(UTC)


def code(text: str) -> Piece:
    """A stretch of SQL of our own."""
    return Piece("code", text)


def bind(name: str) -> Piece:
    """The place of a value."""
    return Piece("bind", name)
