"""What can be landed: files found by a pattern, the rows of a query or of a function, a query to be run later."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat, Format, PinnedQuery
from airflow_idempotent.core.window import Position

_GLOB = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class FilesInput:
    """Files of one format, each plain, gzip (``.gz``) or zstd (``.zst``), landed byte for byte in the order given.

    ``pattern`` is what they were found by, for messages and the manifest. ``columns`` are those of
    CSV without a header.

    Raises:
        ValueError: ``columns`` are missing, or the files name their own.
    """

    paths: tuple[Any, ...]
    pattern: str = ""
    format: Format = field(default_factory=CsvFormat)
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if bool(self.columns) != (isinstance(self.format, CsvFormat) and not self.format.header):
            raise ValueError("columns are given for CSV without a header, and for nothing else")


@dataclass(frozen=True, slots=True)
class Reading:
    """Which rows an incremental query is asked for: ``low <= cursor < high``, ties included; instants or numbers.

    A number has no ``high`` before its source is asked, unless an earlier try of the batch has asked it.
    ``now`` is the clock of a source that has none. ``has_lag`` says that ``low`` lies below the watermark
    by what the spec says of late commits, so that the watermark may move where nothing can be proved.
    ``known_until`` is the watermark, if there is one.
    """

    cursor: str
    low: Position
    high: Position | None
    now: datetime
    on_null: str = "raise"
    on_future: str = "include"
    has_lag: bool = False
    known_until: str = ""


@dataclass(frozen=True, slots=True)
class QueryInput:
    """The rows of a query, landed as one CSV in UTF-8 with a header.

    ``binds`` are the values of the ``:names`` in ``sql``. ``connect`` opens a connection of its own
    for the query, which is closed afterwards. Equal rows give equal bytes: they are sorted, unless
    the query ends in an ORDER BY, which then has to decide between any two different rows.
    ``fetch_size`` rows are held in memory at a time. ``reading`` bounds an incremental query, ``within`` names the
    column by which any is bounded to its partition.

    Raises:
        ValueError: the format has another encoding, or no header.
    """

    sql: str
    binds: Mapping[str, Any]
    connect: Callable[[], Any]
    format: CsvFormat = field(default_factory=CsvFormat)
    fetch_size: int = 10_000
    reading: Reading | None = None
    within: str | None = None

    def __post_init__(self) -> None:
        if not self.format.header or self.format.encoding.lower().replace("_", "-") not in ("utf-8", "utf8"):
            raise ValueError("the rows of a query are landed in UTF-8 and with a header")
        if self.fetch_size < 1:
            raise ValueError(f"fetch_size must be at least 1, not {self.fetch_size}")


@dataclass(frozen=True, slots=True)
class PythonInput:
    """The rows of a function, landed as one CSV in UTF-8 with a header, in the order in which they come.

    ``call`` gives what the function returns. ``columns`` is the header when there is no row; without it a
    batch without rows has no part. Lists of ``json_columns`` are JSON, others arrays of PostgreSQL.
    """

    function: str
    call: Callable[[], Any]
    columns: tuple[str, ...] = ()
    json_columns: frozenset[str] = frozenset()
    format: CsvFormat = field(default_factory=CsvFormat)


@dataclass(frozen=True, slots=True)
class TransformInput:
    """A query that the warehouse runs when the batch is loaded; landing pins it, with the values of its binds."""

    query: PinnedQuery
    format: CsvFormat = field(default_factory=CsvFormat)


Input = FilesInput | QueryInput | PythonInput | TransformInput


def find_files(
    pattern: str,
    *,
    open_path: Callable[[str], Any] = pathlib.Path,
    format: Format | None = None,  # noqa: A002
    columns: tuple[str, ...] = (),
) -> FilesInput:
    """The files that match a pattern now, sorted by address.

    ``*``, ``?``, ``[…]`` and ``**`` work as in ``pathlib.Path.glob``, on object stores too when
    ``open_path`` makes paths of them. What is found by a wildcard and is hidden or unfinished by its
    name (it or a folder on the way begins with ``.`` or ``_``, or it ends in ``.tmp`` or ``.part``)
    is left out. Finding nothing is no error here: ``land`` refuses it, naming table and partition.
    """
    found = _glob(pattern, open_path) if _GLOB.search(pattern) else []
    if not found and (exact := open_path(pattern)).is_file():
        found = [exact]
    return FilesInput(tuple(found), pattern, format or CsvFormat(), columns)


def _glob(pattern: str, open_path: Callable[[str], Any]) -> list[Any]:
    steps = pattern.split("/")
    fixed = next(place for place, step in enumerate(steps) if _GLOB.search(step))
    base, wild = "/".join(steps[:fixed]), "/".join(steps[fixed:])
    folder = open_path(base or ("/" if fixed else "."))
    depth = len(folder.parts)
    found = [path for path in folder.glob(wild) if not any(map(_is_unfinished, path.parts[depth:])) and path.is_file()]
    return sorted(found, key=str)


def _is_unfinished(name: str) -> bool:
    return name.startswith((".", "_")) or name.lower().endswith((".tmp", ".part"))
