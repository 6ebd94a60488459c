"""Parquet: what its footer says, and its rows as CSV, a bounded number of them at a time."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import BinaryIO

from airflow_idempotent.formats.arrow import arrow_columns, arrow_csv, require_pyarrow
from airflow_idempotent.formats.refused import RefusedError

MAGIC = b"PAR1"
MAX_FOOTER = 16 << 20
_BATCH_BYTES = 8 << 20
_BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Footer:
    """What a Parquet file says of itself."""

    rows: int
    columns: tuple[str, ...]


class FooterReader:
    """Watches a Parquet file go by in chunks; keeps the end of it, never more than a few times ``MAX_FOOTER``."""

    def __init__(self) -> None:
        self._begin = b""
        self._end = bytearray()

    def feed(self, chunk: bytes) -> None:
        """Look at the next chunk.

        Raises:
            RefusedError: the file does not begin as Parquet does.
        """
        if len(self._begin) < len(MAGIC):
            self._begin = (self._begin + chunk)[: len(MAGIC)]
            if not MAGIC.startswith(self._begin):
                raise RefusedError("is no Parquet file: it does not begin with 'PAR1'")
        self._end += chunk
        if len(self._end) > 2 * MAX_FOOTER:
            del self._end[:-MAX_FOOTER]

    def finish(self) -> Footer:
        """The footer, now that all has been fed.

        Raises:
            RefusedError: it cannot be read, or names no columns.
            PackageMissingError: pyarrow is not installed.
        """
        pa = require_pyarrow()
        from pyarrow import parquet

        end = bytes(self._end)
        if len(end) < 3 * len(MAGIC) or not end.endswith(MAGIC):
            raise RefusedError("has no Parquet footer at its end, a broken upload")
        size = int.from_bytes(end[-8:-4], "little") + 8
        if size > min(len(end), MAX_FOOTER):
            raise RefusedError(f"has a Parquet footer of {size} bytes, more than there are or than {MAX_FOOTER}")
        try:
            metadata = parquet.read_metadata(pa.BufferReader(end[-size:]))
            schema = metadata.schema.to_arrow_schema()
        except (pa.ArrowException, OSError) as error:
            raise RefusedError(f"has a Parquet footer that cannot be read ({_first_line(error)})") from None
        return Footer(metadata.num_rows, arrow_columns(schema))


def parquet_csv(file: BinaryIO, types: Mapping[str, str] | None = None) -> Generator[bytes, None, None]:
    """The rows of a file as CSV (``core.manifest.WIRE``), in whole records. ``file`` must be seekable.

    Raises:
        RefusedError: as for ``arrow_csv``, or the file cannot be read.
        PackageMissingError: pyarrow is not installed.
    """
    pa = require_pyarrow()
    from pyarrow import parquet

    try:
        # The old INT96 is read in microseconds: in nanoseconds the years 1 and 9999 would silently become others.
        opened = parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False, coerce_int96_timestamp_unit="us")
        batches = opened.iter_batches(batch_size=_batch_rows(opened.metadata), use_threads=False)
        yield from arrow_csv(batches, types=types, header=False)
    except (pa.ArrowException, OSError) as error:
        raise RefusedError(f"cannot be read as Parquet ({_first_line(error)})") from error


def _batch_rows(metadata: object) -> int:
    """How many rows to read at once, from the widest group of rows."""
    groups = [metadata.row_group(place) for place in range(metadata.num_row_groups)]  # type: ignore[attr-defined]
    widest = max((group.total_byte_size // max(group.num_rows, 1) for group in groups), default=0)
    return max(1, min(65_536, _BATCH_BYTES // max(widest, 1)))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
