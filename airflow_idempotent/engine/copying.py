"""How the rows of a landed part reach staging, whatever its format: one COPY, proven against the manifest."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, assert_never, cast

from airflow_idempotent.core.actions import CopyBatch
from airflow_idempotent.core.manifest import CsvFormat, JsonlFormat, Manifest, ParquetFormat, Part
from airflow_idempotent.core.step import Step
from airflow_idempotent.engine.batches import ByteStream, PartOpener, VerifiedReader, unreadable_column
from airflow_idempotent.engine.refusals import bad_row
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import BadRowError, ExtraMissingError
from airflow_idempotent.formats.json_lines import json_lines_csv, lines_of
from airflow_idempotent.formats.parquet import parquet_csv
from airflow_idempotent.formats.refused import PackageMissingError, RefusedError
from airflow_idempotent.formats.wire import record_at
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)


def copy_part(action: CopyBatch, statement: Statement, *, step: Step, session: Session, batches: PartOpener) -> int:
    """Stream one part into staging by ``statement``; the number of rows. Neither side holds more than a chunk of it.

    The target is left alone. A second run begins with an empty staging table.

    Raises:
        BatchDamagedError: the part is not what the manifest promises.
        BadRowError: a value cannot be read, with file, line or row, and column.
        ExtraMissingError: its format needs a package that is not installed.
    """
    return _Part(action, step, batches).copy(statement, session)


def lines_of_records(manifest: Manifest, part: Part, records: Sequence[int], batches: PartOpener) -> dict[int, int]:
    """The lines on which records of a part end, both counted from 1; empty for formats that have no lines."""
    wanted = set(records)
    match manifest.format:
        case ParquetFormat():
            return {}
        case JsonlFormat():
            with batches.open_part(manifest, part) as raw:
                lines = (number for number, _ in lines_of(VerifiedReader(raw, part).chunks()))
                return {record: line for record, line in enumerate(lines, start=1) if record in wanted}
        case CsvFormat() as form:
            with batches.open_part(manifest, part) as raw:
                return {record: line for record, line in _csv_lines(raw, part, form) if record in wanted}
        case _:
            assert_never(manifest.format)


def _csv_lines(raw: BinaryIO, part: Part, form: CsvFormat) -> Iterator[tuple[int, int]]:
    """Each record's number, and the line it ends on; the header counts as a line only."""
    text = io.TextIOWrapper(cast(BinaryIO, VerifiedReader(raw, part)), encoding="latin-1", newline="")
    records = csv.reader(text, delimiter=form.delimiter, quotechar=form.quote)
    for number, _ in enumerate(records, start=0 if form.header else 1):
        yield number, records.line_num


@dataclass(frozen=True, slots=True)
class _Part:
    action: CopyBatch
    step: Step
    batches: PartOpener

    def copy(self, statement: Statement, session: Session) -> int:
        with self._opened() as raw:
            reader = VerifiedReader(raw, self.action.part)
            with closing(self._csv(reader)) as chunks:
                stream = ByteStream(chunks)
                try:
                    rows = session.copy_in(statement, stream)
                except Exception as error:
                    refused = self._bad_row(error)
                    if refused or stream.failure:
                        reader.verify()  # a value can be bad because the file is damaged
                    cause = self._ours(stream.failure) or refused or error
                    if cause is error:
                        raise
                    raise cause from error
            reader.verify(rows)
        part, table, partition = self.action.part, self.step.table, self.step.partition
        line = "staged table=%s partition=%s file=%s rows=%d bytes=%d"
        log.info(line, table, partition, part.name, rows, part.bytes)
        return rows

    def _opened(self) -> BinaryIO:
        return self.batches.open_part(self.step.manifest, self.action.part)

    def _csv(self, reader: VerifiedReader) -> Generator[bytes, None, None]:
        """The part as the CSV that the COPY reads, a chunk at a time."""
        match self.action.format:
            case CsvFormat():
                return reader.chunks()
            case JsonlFormat():
                return json_lines_csv(reader.chunks(), self.action.part.columns, self._types())
            case ParquetFormat():
                return self._parquet(reader)
            case _:
                assert_never(self.action.format)

    def _parquet(self, reader: VerifiedReader) -> Generator[bytes, None, None]:
        with reader.whole() as file:
            yield from parquet_csv(file, self._types())

    def _types(self) -> Mapping[str, str]:
        """What the target takes: a list becomes an array only for a column that is one."""
        return {column.name: column.data_type for column in self.step.target.columns}

    def _bad_row(self, error: Exception) -> BadRowError | None:
        """A refused value with its file, its line or row, and its column."""
        part = self.action.part
        found = bad_row(error, self.step.table, self.step.partition.key, part)
        if not found or not found.line:
            return found
        match self.action.format:
            case CsvFormat() as form:
                if not found.column:  # the server knows no column of a byte it cannot read
                    with self._opened() as raw:
                        found.column = unreadable_column(VerifiedReader(raw, part), found.line, part, form)
            case JsonlFormat():
                record = self._record_at(found.line) or 1
                with self._opened() as raw:
                    lines = lines_of(VerifiedReader(raw, part).chunks())
                    found.line = next((number for number, _ in islice(lines, record - 1, None)), None)
            case ParquetFormat():
                found.row, found.line = self._record_at(found.line), None
        return found

    def _record_at(self, line: int) -> int | None:
        """Which record of the part the server means by a line of the CSV that it was sent."""
        with self._opened() as raw, closing(self._csv(VerifiedReader(raw, self.action.part))) as chunks:
            return record_at(chunks, line)

    def _ours(self, error: Exception | None) -> Exception | None:
        """What stopped the stream, as an error that names the file."""
        file = self.action.part.label
        if isinstance(error, PackageMissingError):
            return ExtraMissingError(file=file, package=error.package, extra=error.extra)
        if isinstance(error, RefusedError):
            return BadRowError(
                table=self.step.table,
                partition=self.step.partition.key,
                file=file,
                line=error.line,
                row=error.row,
                column=error.column,
                reason=error.reason,
            )
        return error
