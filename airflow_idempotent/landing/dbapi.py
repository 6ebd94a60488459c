"""Exports the rows of a query through DB-API 2: any database whose driver follows PEP 249."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from airflow_idempotent.landing.binds import Piece, bind_names, ends_ordered, fill
from airflow_idempotent.landing.csv_text import CsvText
from airflow_idempotent.landing.inputs import QueryInput
from airflow_idempotent.landing.part import RowBuffer


def driver_of(connection: Any) -> str:
    """The name of the driver's top module: ``psycopg``, ``sqlite3``, ``MySQLdb``."""
    modules = [kind.__module__.partition(".")[0] for kind in type(connection).__mro__]
    return next((name for name in modules if hasattr(sys.modules.get(name), "paramstyle")), modules[0])


def export_rows(connection: Any, pieces: tuple[Piece, ...], query: QueryInput, out: RowBuffer) -> None:
    """Write the rows as CSV; ``fetch_size`` of them are in memory at a time.

    Unless the query has its own order, rows are sorted by all columns, as the database compares them.
    """
    sql, binds = _for_driver(driver_of(connection), pieces, query)
    if not ends_ordered(pieces):
        cursor = connection.cursor()
        _execute(cursor, f"SELECT * FROM (\n{sql}\n) source_rows WHERE 1 = 0", binds)  # noqa: S608
        places = ", ".join(str(place) for place, _ in enumerate(cursor.description, 1))
        cursor.close()
        sql = f"SELECT * FROM (\n{sql}\n) source_rows ORDER BY {places}"  # noqa: S608
    cursor = _streaming_cursor(connection)
    _execute(cursor, sql, binds)
    text = CsvText(query.format)
    out.write(text.header(column[0] for column in cursor.description))
    for rows in _blocks(cursor, query.fetch_size):
        out.write(text.rows(rows))
    cursor.close()


def ask_row(connection: Any, pieces: tuple[Piece, ...], query: QueryInput) -> tuple[Any, ...]:
    """The one row of a query that has one."""
    cursor = connection.cursor()
    _execute(cursor, *_for_driver(driver_of(connection), pieces, query))
    row = tuple(cursor.fetchone())
    cursor.close()
    return row


def _for_driver(driver: str, pieces: tuple[Piece, ...], query: QueryInput) -> tuple[str, Any]:
    """The statement with the driver's own placeholders, and the values in the form that they ask for."""
    style = getattr(sys.modules.get(driver), "paramstyle", "qmark")
    names = bind_names(pieces)
    adapt = _text_of_dates if driver == "sqlite3" else _as_it_is
    values = {name: adapt(query.binds[name]) for name in names}
    if not names:
        return fill(pieces, str), None
    if style in ("format", "pyformat"):
        return fill(pieces, lambda name: f"%({name})s", escape=_double_percent), values
    if style == "named":
        return fill(pieces, lambda name: f":{name}"), values
    in_order = [values[piece.text] for piece in pieces if piece.kind == "bind"]
    if style == "numeric":
        numbers = iter(range(1, len(in_order) + 1))
        return fill(pieces, lambda name: f":{next(numbers)}"), in_order
    return fill(pieces, lambda name: "?"), in_order


def _execute(cursor: Any, sql: str, binds: Any) -> None:
    cursor.execute(sql) if binds is None else cursor.execute(sql, binds)


def _streaming_cursor(connection: Any) -> Any:
    """A cursor that leaves the rows on the server, where the driver has one."""
    cursors = sys.modules.get(f"{driver_of(connection)}.cursors")
    if (unbuffered := getattr(cursors, "SSCursor", None)) is not None:  # MySQLdb, pymysql
        return connection.cursor(unbuffered)
    try:
        return connection.cursor(name="airflow_idempotent")
    except TypeError:  # no named cursors; most drivers then stream by themselves
        return connection.cursor()


def _blocks(cursor: Any, size: int) -> Iterator[Any]:
    cursor.arraysize = size
    while rows := cursor.fetchmany(size):
        yield rows


def _double_percent(text: str) -> str:
    return text.replace("%", "%%")


def _as_it_is(value: Any) -> Any:
    return value


def _text_of_dates(value: Any) -> Any:
    """SQLite has no dates: they are ISO texts there, and its driver's own adapters are on their way out."""
    if isinstance(value, datetime):
        return value.isoformat(" ")
    return value.isoformat() if isinstance(value, date) else value
