"""Bad rows set aside: read what can be read, keep the rest with line, column and reason, within bounds."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from airflow_idempotent.core.actions import CopyBatch, RejectRows
from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.copying import copy_part, lines_of_records
from airflow_idempotent.engine.refusals import is_driver_error, reason, sqlstate
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import BadRowError, TooManyRejectedError
from airflow_idempotent.sql import quarantine as sql
from airflow_idempotent.sql.compiler import copy_batch
from airflow_idempotent.sql.statement import Statement

log = logging.getLogger(__name__)

RANGE = 8192
"""Records that are read at once where one of the part is bad."""


class _Unreadable(Exception):  # noqa: N818, not an error but an answer
    """The server refuses a value."""


def copy_leniently(work: Work, action: CopyBatch, statement: Statement) -> None:
    """Stream a part into staging; where a value is refused, read the part as text and leave the bad records out.

    What is no record at all (bytes that are no text, too many fields) still refuses the batch.
    """
    for prepared in sql.begin_part(action.staging, action.number):
        work.session.execute(prepared)
    work.session.execute(sql.SAVEPOINT)
    try:
        copy_part(action, statement, step=work.step, session=work.session, batches=work.batches)
    except BadRowError:
        work.session.execute(sql.BACK)
        _read_as_text(work, action)


def _read_as_text(work: Work, action: CopyBatch) -> None:
    columns = action.part.columns
    for made in (*sql.create_texts(columns), sql.create_trial(action.staging, columns)):
        work.session.execute(made)
    as_text = replace(action, staging=sql.TEXTS)
    rows = copy_part(as_text, copy_batch(as_text), step=work.step, session=work.session, batches=work.batches)
    types = {item.name: item for item in work.step.target.columns}
    ranges = [(first, min(first + RANGE, rows + 1)) for first in range(1, rows + 1, RANGE)]
    while ranges:
        first, last = ranges.pop()
        try:
            with _trying(work):
                work.session.execute(sql.move_texts(action, types, first, last))
        except _Unreadable as answer:
            if last - first > 1:
                middle = (first + last) // 2
                ranges += [(middle, last), (first, middle)]
            else:
                name = _bad_column(work, action, types, first)
                work.session.execute(sql.reject_text(action.number, first, name, str(answer)))
    work.session.execute(Statement("DROP TABLE pg_temp.idem_staging_texts, pg_temp.idem_trial"))


def _bad_column(work: Work, action: CopyBatch, types: Mapping[str, Column], record: int) -> str | None:
    """The first column of a record that cannot be read."""
    for name in action.part.columns:
        try:
            with _trying(work):
                work.session.execute(sql.try_column(name, types.get(name), record))
        except _Unreadable:
            return name
    return None


@contextmanager
def _trying(work: Work) -> Iterator[None]:
    """Come back from a refused value as if nothing had been tried."""
    work.session.execute(sql.SAVEPOINT)
    try:
        yield
    except Exception as error:
        if not is_driver_error(error) or sqlstate(error)[:2] not in ("22", "23"):
            raise
        work.session.execute(sql.BACK)
        raise _Unreadable(reason(error)) from None


def reject(work: Work, action: RejectRows, statements: tuple[Statement, ...]) -> None:
    """Take unwanted rows out of staging, count them as rejected, and keep them where the spec says so.

    Raises:
        TooManyRejectedError: more than the spec allows; nothing was loaded.
    """
    rows = sum(work.session.execute(statement) for statement in statements)
    if action.quarantine:
        [(rows,)] = work.session.query(sql.COUNT)
        most = action.max_rows if action.max_rows is not None else rows
        share = rows / max(1, work.step.manifest.rows)
        if rows > most or share > action.max_share:
            raise _too_many(work, action, rows)
        if rows:
            _keep(work)
    work.count(Effects(rejected=rows))
    if rows:
        log.warning("rejected table=%s partition=%s rows=%d", *work.where.values(), rows)


def _keep(work: Work) -> None:
    manifest = work.step.manifest
    for part, records in work.session.query(sql.RECORDS):
        lines = lines_of_records(manifest, manifest.parts[part], records, work.batches)
        if lines:
            work.session.execute(sql.set_lines(part, lines))
    values = {
        "table": work.step.table,
        "version": work.step.table_version,
        "partition": work.step.partition.key,
        "batch": manifest.batch_id,
    }
    work.session.execute(sql.keep_rejected(values, [part.label for part in manifest.parts]))


def _too_many(work: Work, action: RejectRows, rows: int) -> TooManyRejectedError:
    manifest = work.step.manifest
    found = work.session.query(sql.SAMPLES)
    lines = {
        number: lines_of_records(manifest, part, [row[1] for row in found if row[0] == number], work.batches)
        for number, part in enumerate(manifest.parts)
        if any(row[0] == number for row in found)
    }
    samples = []
    for part, record, name, why in found:
        where = f"line {lines[part][record]}" if lines[part] else f"record {record}"
        samples.append(f"{manifest.parts[part].label} {where} column {name!r}: {why}")
    allowed = action.max_rows if action.max_rows is not None and rows > action.max_rows else None
    return TooManyRejectedError(
        **work.where,
        rejected=rows,
        rows=manifest.rows,
        max_rows=allowed,
        max_share=action.max_share,
        samples=tuple(samples),
    )
