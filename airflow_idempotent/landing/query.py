"""Exports the rows of a query as CSV: PostgreSQL by COPY in one snapshot, other databases through DB-API."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.core.window import Window
from airflow_idempotent.errors import SourceQueryError, SourceUnavailableError
from airflow_idempotent.landing.binds import Piece, bind_names, ends_ordered, fill, split_sql, without_semicolon
from airflow_idempotent.landing.dbapi import ask_row, driver_of, export_rows
from airflow_idempotent.landing.incremental import Ask, Incremental, quoted_name
from airflow_idempotent.landing.inputs import QueryInput, Reading
from airflow_idempotent.landing.numbered import Numbered, inside, upper_bound
from airflow_idempotent.landing.part import PartWriter, RowBuffer
from airflow_idempotent.landing.settled import Settled, clock, settled, writers_gone

# What decides how values look as text. Pinned, so that equal rows are equal bytes on any connection.
# standard_conforming_strings makes the server read string literals as split_sql() does.
PINNED = {
    "standard_conforming_strings": "on",
    "client_encoding": "UTF8",
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "3",
    "bytea_output": "hex",
    "lc_monetary": "C",
}
_AWAY = re.compile(r"08\w{3}|57P\w{2}|57014|40001|40P01|53\w{3}")
_NO_OPERATOR = "42883"
_KIND = {
    False: "the cursor is read as a time; where it is an integer set source.initial_value",
    True: "the cursor is read as an integer, since source.initial_value is set",
}
"""What is said where the cursor cannot be compared, by whether it is read as a number."""
_AWAY_MYSQL = {2002, 2003, 2006, 2013, 2055}


def export_query(query: QueryInput, writer: PartWriter, *, table: str, partition: str) -> Window | None:
    """Write the rows of a query to ``writer``; the source is only read. What there is to say of an incremental one.

    Raises:
        CursorError: rows have no cursor, or are dated in the future, and the spec refuses that.
        SourceQueryError: the database refused it, or a bind has no value.
        SourceUnavailableError: the database went away, or cancelled the query.
    """
    pieces = without_semicolon(split_sql(query.sql))
    known_binds = {*query.binds, *(("watermark",) if query.reading else ())}
    if missing := [name for name in bind_names(pieces) if name not in known_binds]:
        known = ", ".join(f":{name}" for name in sorted(known_binds)) or "none"
        reason = f"the bind :{missing[0]} has no value (known: {known}; in an array slice write [1 : n])"
        raise SourceQueryError(table=table, partition=partition, reason=reason)
    with closing(query.connect()) as connection, _told(connection, table, partition, query.reading):
        out = RowBuffer(writer)
        export = _copy_out if driver_of(connection) in ("psycopg", "psycopg2") else _fetch_out
        window = export(connection, pieces, query, out, table=table, partition=partition)
        out.flush()
    return window


def _copy_out(
    connection: Any, pieces: tuple[Piece, ...], query: QueryInput, out: RowBuffer, **where: str
) -> Window | None:
    """Let PostgreSQL write the CSV, in a read-only transaction that sees one moment of the database."""
    connection.rollback()
    connection.autocommit = False
    if hasattr(connection, "set_client_encoding"):  # psycopg2 does not notice when the session changes it
        connection.set_client_encoding("UTF8")
    # Who is writing has to be known before the snapshot is taken: afterwards it is too late to see who was.
    bounded, activity = _bounded(connection, pieces, query, **where) if query.reading else (None, None)
    cursor = connection.cursor()
    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    calls = ", ".join(["set_config(%s, %s, true)"] * len(PINNED))
    cursor.execute("SELECT " + calls, [text for setting in PINNED.items() for text in setting])
    literal = _literals(connection)
    window = None
    if bounded and activity:
        window = bounded.look(_asking(cursor, literal, query), activity, **where)
        pieces, query = bounded.rows(), replace(query, binds={**query.binds, **bounded.binds})
    elif query.within:
        pieces = inside(pieces, quoted_name(query.within, "psycopg"))
    statement = _copy_statement(literal, pieces, query)
    if hasattr(cursor, "copy_expert"):
        cursor.copy_expert(statement, out)
    else:
        with cursor.copy(statement) as copy:
            for row in copy:
                out.write(row)
    connection.rollback()
    return window


def _asking(cursor: Any, literal: Callable[[Any], str], query: QueryInput) -> Ask:
    """What asks PostgreSQL for one row; the values are literals, so that a ``%`` stays one."""

    def ask(asked: tuple[Piece, ...], binds: Mapping[str, Any]) -> tuple[Any, ...]:
        values = {**query.binds, **binds}
        cursor.execute(fill(asked, lambda name: literal(values[name])))
        return tuple(cursor.fetchone())

    return ask


def _bounded(
    connection: Any, pieces: tuple[Piece, ...], query: QueryInput, **where: str
) -> tuple[Incremental | Numbered, Settled]:
    """The query within its bounds, and how far the source was settled before the snapshot that is still to be taken."""
    reading = query.reading
    if reading is None:
        raise AssertionError("only an incremental query has bounds")
    column = quoted_name(reading.cursor, "psycopg")
    if not isinstance(reading.low, int):
        activity = settled(connection, reading.now)
        return Incremental(reading, pieces, column, activity.read_at), activity
    ask = _asking(connection.cursor(), _literals(connection), query)
    high = upper_bound(ask, pieces, column, reading, **where)
    connection.rollback()
    since = clock(connection)
    # Whoever has taken a number below has begun by now.
    activity = Settled(since, None) if reading.has_lag else writers_gone(connection, since)
    return Numbered(reading, pieces, column, reading.low, high), activity


def _fetch_out(
    connection: Any, pieces: tuple[Piece, ...], query: QueryInput, out: RowBuffer, **where: str
) -> Window | None:
    """The same from any other database. Rows that came after they were counted are no harm: they lie higher."""
    window = None
    driver = driver_of(connection)
    if query.reading:
        reading, column, own = query.reading, quoted_name(query.reading.cursor, driver), query

        def ask(asked: tuple[Piece, ...], binds: Mapping[str, Any]) -> tuple[Any, ...]:
            return ask_row(connection, asked, replace(own, binds={**own.binds, **binds}))

        bounded: Incremental | Numbered = Incremental(reading, pieces, column, reading.now)
        if isinstance(reading.low, int):
            high = upper_bound(ask, pieces, column, reading, **where)
            bounded = Numbered(reading, pieces, column, reading.low, high)
        unknown = Settled(reading.now, None, f"{driver} does not tell who is writing")
        window = bounded.look(ask, unknown, **where)
        pieces, query = bounded.rows(), replace(query, binds={**query.binds, **bounded.binds})
    elif query.within:
        pieces = inside(pieces, quoted_name(query.within, driver))
    export_rows(connection, pieces, query, out)
    return window


def _copy_statement(literal: Callable[[Any], str], pieces: tuple[Piece, ...], query: QueryInput) -> str:
    """The COPY of the query. It takes no parameters, so the driver itself writes the values as literals."""
    sql = fill(pieces, lambda name: literal(query.binds[name]))
    if not ends_ordered(pieces):
        # By their text as bytes: works for every type and tells apart whatever the CSV tells apart.
        sql = f'SELECT * FROM (\n{sql}\n) source_rows ORDER BY (source_rows.*)::text COLLATE "C"'  # noqa: S608
    form: CsvFormat = query.format
    options = f"DELIMITER {literal(form.delimiter)}, QUOTE {literal(form.quote)}, NULL {literal(form.null)}"
    return f"COPY (\n{sql}\n) TO STDOUT (FORMAT csv, HEADER, {options})"


def _literals(connection: Any) -> Any:
    cursor = connection.cursor()
    if not hasattr(cursor, "mogrify"):  # psycopg 3 has it only on the cursor that binds on the client
        cursor = sys.modules["psycopg"].ClientCursor(connection)

    def literal(value: Any) -> str:
        text = cursor.mogrify("%s", (value,))
        return text.decode() if isinstance(text, bytes) else str(text)

    return literal


@contextmanager
def _told(connection: Any, table: str, partition: str, reading: Reading | None = None) -> Iterator[None]:
    """Turn the driver's errors into ours: first line only, since the rest may hold rows."""
    module = sys.modules.get(driver_of(connection))
    known = getattr(connection, "Error", None) or getattr(module, "Error", None) or ()
    try:
        yield
    except known as error:
        code = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""
        number = error.args[0] if error.args else None
        lost = type(error).__name__ in ("OperationalError", "InterfaceError") and not code and hasattr(error, "diag")
        away = bool(_AWAY.fullmatch(code)) or number in _AWAY_MYSQL or lost
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        if reading and code == _NO_OPERATOR:
            reason += f" ({_KIND[isinstance(reading.low, int)]})"
        kind = SourceUnavailableError if away else SourceQueryError
        raise kind(table=table, partition=partition, reason=reason, sqlstate=code) from error
