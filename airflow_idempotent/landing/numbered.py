"""An incremental query by a number that rises, as an id does: its bounds, and how far they are complete.

A number says nothing of when its row was committed. The rule and its proof: docs/adr/0006-watermarks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.window import Window, position_text
from airflow_idempotent.errors import CursorError, SourceQueryError
from airflow_idempotent.landing.binds import Piece, bind_names
from airflow_idempotent.landing.incremental import HIGH, LOW, Ask, bind, code
from airflow_idempotent.landing.inputs import Reading
from airflow_idempotent.landing.settled import Settled


@dataclass(frozen=True, slots=True)
class Numbered:
    """A query within its bounds, ``low <= column < high``. ``column`` is the cursor as the database quotes names."""

    reading: Reading
    pieces: tuple[Piece, ...]
    column: str
    low: int
    high: int

    @property
    def binds(self) -> dict[str, int]:
        """The values of our own binds, and of ``:watermark``."""
        return {LOW: self.low, HIGH: self.high, "watermark": self.low}

    def rows(self) -> tuple[Piece, ...]:
        """The query for the rows of the batch. One that uses ``:watermark`` has its lower bound already."""
        column = self.column
        above = () if "watermark" in bind_names(self.pieces) else (code(f"{column} >= "), bind(LOW), code(" AND "))
        null = (code(f" OR {column} IS NULL"),) if self.reading.on_null == "include" else ()
        within = (code(" WHERE ("), *above, code(f"{column} < "), bind(HIGH), code(")"), *null)
        return (code("SELECT *"), *_from(self.pieces), *within)

    def facts(self) -> tuple[Piece, ...]:
        """The query that counts rows without a cursor, and finds the greatest cursor within the bounds."""
        column = self.column
        selected = (code(f"SELECT count(CASE WHEN {column} IS NULL THEN 1 END), max(CASE WHEN {column} < "), bind(HIGH))
        where = (code(f" WHERE {column} IS NULL OR {column} >= "), bind(LOW))
        return (*selected, code(f" THEN {column} END)"), *_from(self.pieces), *where)

    def look(self, ask: Ask, settled: Settled, *, table: str, partition: str) -> Window:
        """What there is to say of the batch before its rows are read.

        Raises:
            CursorError: there are rows without a cursor, and the spec refuses them.
        """
        reading = self.reading
        null_rows, found = ask(self.facts(), self.binds)
        if null_rows and reading.on_null == "raise":
            where = {"table": table, "partition": partition, "cursor": reading.cursor}
            raise CursorError(**where, option="on_cursor_null", count=null_rows)
        last = _number(found, reading.cursor, table=table, partition=partition)
        complete = settled.until is not None or reading.has_lag
        return Window(
            cursor=reading.cursor,
            low=str(self.low),
            high=str(self.high),
            read_at=position_text(settled.read_at),
            watermark=str(last) if last is not None and complete else "",
            null_rows=int(null_rows),
            known_until=reading.known_until,
            note="" if complete else f"{settled.note}; the watermark stays where it is, or set late_data.watermark_lag",
        )


def upper_bound(ask: Ask, pieces: tuple[Piece, ...], column: str, reading: Reading, **where: str) -> int:
    """Above the greatest number there is now, or as far as an earlier try of the batch has read.

    Raises:
        SourceQueryError: the cursor is no number.
    """
    if not isinstance(reading.low, int):
        raise AssertionError("an instant has its upper bound already")
    if isinstance(reading.high, int):
        return reading.high
    greatest = (code(f"SELECT max({column})"), *_from(pieces), code(f" WHERE {column} >= "), bind(LOW))
    [found] = ask(greatest, {LOW: reading.low, "watermark": reading.low})
    number = _number(found, reading.cursor, **where)
    return reading.low if number is None else max(number + 1, reading.low)


def inside(pieces: tuple[Piece, ...], column: str) -> tuple[Piece, ...]:
    """The query for the rows of one partition, by the column that says which they are of."""
    where = (code(f" WHERE {column} >= "), bind("start"), code(f" AND {column} < "), bind("end"))
    return (code("SELECT *"), *_from(pieces), *where)


def _number(value: Any, cursor: str, *, table: str, partition: str) -> int | None:
    """A cursor as a number, or the one below it."""
    if value is None:
        return None
    try:
        return int(value // 1)
    except TypeError:
        reason = f"cursor {cursor!r} is no number: {value!r}; leave out source.initial_value where it is a time"
        raise SourceQueryError(table=table, partition=partition, reason=reason) from None


def _from(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    return (code(" FROM (\n"), *pieces, code("\n) incremental_rows"))
