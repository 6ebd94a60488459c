"""Arrow to CSV that PostgreSQL's COPY reads back exactly: whole columns at a time, nothing rounded.

Values look as ``landing.csv_text`` writes them. pyarrow is imported when it is needed: it is an extra.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.formats.arrow_text import column_text
from airflow_idempotent.formats.refused import PackageMissingError, RefusedError
from airflow_idempotent.formats.wire import CHUNK

ARROW_CSV = CsvFormat()
"""What ``arrow_csv`` writes when it is asked for a header; without one it is ``core.manifest.WIRE``."""
EXTRA = "parquet"


def require_pyarrow() -> Any:
    """The package pyarrow.

    Raises:
        PackageMissingError: it is not installed.
    """
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise PackageMissingError("pyarrow", EXTRA) from None
    return pyarrow


def arrow_csv(data: Any, *, types: Mapping[str, str] | None = None, header: bool = True) -> Iterator[bytes]:
    """A pyarrow Table, RecordBatch, RecordBatchReader, or their iterable, as CSV: a chunk of whole records at a time.

    Equal rows give equal bytes, however they are cut into batches. ``types`` are the columns' types in
    the database, as far as known: a list becomes an array for an array column, JSON for any other.

    Raises:
        RefusedError: a value that PostgreSQL cannot hold, naming row and column; batches of other columns.
        PackageMissingError: pyarrow is not installed.
    """
    require_pyarrow()
    batches = (
        [data] if hasattr(data, "schema") and hasattr(data, "num_rows") and not _is_table(data) else _batches(data)
    )
    names: Sequence[str] | None = list(data.schema.names) if hasattr(data, "schema") else None
    if names is not None and header:
        yield _header(names)
    row = 0
    for batch in batches:
        found = list(batch.schema.names)
        if names is None:
            names = found
            if header:
                yield _header(names)
        if found != list(names):
            raise RefusedError(f"a batch has the columns {', '.join(found)}, the first one {', '.join(names)}")
        for piece in _pieces(batch):
            yield _rows(piece, types or {}, row)
            row += piece.num_rows


def arrow_columns(schema: Any) -> tuple[str, ...]:
    """The columns of an Arrow schema.

    Raises:
        RefusedError: one has no name, or the name of another.
    """
    names = tuple(schema.names)
    if unnamed := [str(place) for place, name in enumerate(names, 1) if not name or "\0" in name]:
        raise RefusedError(f"has no name for column {', '.join(unnamed)}")
    if twice := sorted({repr(name) for name in names if names.count(name) > 1}):
        raise RefusedError(f"has more than one column {', '.join(twice)}")
    if not names:
        raise RefusedError("has no columns")
    return names


def _is_table(data: Any) -> bool:
    return hasattr(data, "to_batches")


def _batches(data: Any) -> Iterable[Any]:
    return data.to_batches() if _is_table(data) else data  # type: ignore[no-any-return]


def _pieces(batch: Any) -> Iterator[Any]:
    """A batch in pieces of about ``CHUNK``, so that what one takes as text has a bound."""
    try:
        size = batch.nbytes
    except TypeError:  # before pyarrow 24, of views
        size = batch.get_total_buffer_size()
    rows = max(1, batch.num_rows * CHUNK // max(size, 1))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _rows(batch: Any, types: Mapping[str, str], row: int) -> bytes:
    import pyarrow as pa
    from pyarrow import csv

    columns = [
        column_text(batch.column(place), types.get(name, ""), name=name, row=row)
        for place, name in enumerate(batch.schema.names)
    ]
    table = pa.Table.from_arrays(columns, names=[str(place) for place in range(len(columns))])
    out = io.BytesIO()
    # Texts are quoted, NULL is not: that is how COPY tells '' from NULL.
    csv.write_csv(table, out, csv.WriteOptions(include_header=False, quoting_style="all_valid"))
    return out.getvalue()


def _header(names: Sequence[str]) -> bytes:
    return (",".join('"' + name.replace('"', '""') + '"' for name in names) + "\n").encode()
