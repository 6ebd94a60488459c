"""Removing the duplicates of a table: one look, then chunk after chunk, each a transaction of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.duplicates import Deduplicated, Deduplication, KeyRange, Survey
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.engine.attempts import Connect, attempt_at, look_at
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import ConstraintError, IdempotentError, StillReferencedError, UsageError
from airflow_idempotent.sql import deduplicate as sql
from airflow_idempotent.sql.pointing import view_of

log = logging.getLogger(__name__)

Progress = Callable[[int, int], None]
"""Told (rows removed, rows to remove) after each chunk."""

FOREIGN_KEY_VIOLATIONS = ("23503", "23001")


def deduplicate(
    order: Deduplication,
    *,
    connect: Connect,
    attempt: Attempt | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Deduplicated:
    """Leave of the rows of each key only the best: greatest version, NULL lowest, ties by content.

    Rows with NULL in the key and keys that are there once are left alone, and so is everything when
    ``dry_run``. Interrupted, what is done is done, and the next run goes on; once it is through,
    another run finds nothing and writes nothing.

    Raises:
        UsageError: there is no such table or column.
        StillReferencedError: another table refers to a duplicate; earlier chunks stay done.
        IdempotentError: anything else the database refuses; of that chunk nothing was done.
    """
    survey = surveyed(order, connect, attempt)
    chunks = Chunks(order, survey, connect, attempt, progress or _nobody)
    if not dry_run:
        chunks.remove_all()
    done = Deduplicated(
        table=order.table,
        unique_key=order.unique_key,
        version=order.version,
        rows=survey.rows,
        null_keys=survey.null_keys,
        repeated_keys=survey.repeated_keys,
        duplicates=survey.duplicates,
        removed=chunks.removed,
        chunks=chunks.number,
        dry_run=dry_run,
        index_advice=_index_advice(order, survey),
    )
    log.info(
        "dedupe table=%s rows=%d null_keys=%d repeated_keys=%d duplicates=%d removed=%d chunks=%d dry_run=%s",
        *(done.table, done.rows, done.null_keys, done.repeated_keys, done.duplicates, done.removed, done.chunks),
        dry_run,
    )
    return done


def surveyed(order: Deduplication, connect: Connect, attempt: Attempt | None = None) -> Survey:
    """What is there, exactly, in one read-only snapshot; nothing is locked, nothing is written."""

    def look(session: Session, ledger: Ledger) -> Survey:
        with session.transaction(snapshot=True):
            session.execute(sql.READ_ONLY)
            shape = _shape(order, session)
            [(indexed,)] = session.query(sql.leads_to(order.relation, order.unique_key[0]))
            [(rows, null_keys)] = session.query(sql.count_rows(shape, order.unique_key))
            most = order.rows_per_chunk(rows, indexed=indexed)
            found = session.query(sql.survey(shape, order.unique_key, most))
        repeated, duplicates = found[-1][:2] if found else (0, 0)
        bounds = tuple((upto, tuple(key)) for _, upto, *key in found if upto < duplicates)
        return Survey(shape, rows, null_keys, repeated, duplicates, most, indexed, bounds)

    return look_at(
        look, table=order.table, partition="survey", connect=connect, timeouts=order.timeouts, attempt=attempt
    )


@dataclass
class Chunks:
    """The chunks of one run, how many there were and what they removed so far."""

    order: Deduplication
    survey: Survey
    connect: Connect
    attempt: Attempt | None
    progress: Progress
    number: int = 0
    removed: int = 0

    def remove_all(self) -> None:
        """Remove range after range; one with a key of very many rows is taken several times."""
        for span in self.survey.ranges:
            left = span.duplicates
            while left > 0:
                removed = self._remove(span)
                left -= removed if removed == self.survey.chunk_rows else left

    def _remove(self, span: KeyRange) -> int:
        """One chunk, one transaction, one connection; the rows that went."""
        order, name = self.order, f"chunk {self.number + 1}"
        try:
            removed = attempt_at(
                lambda session, ledger: remove_chunk(order, span, self.survey, session, ledger, name),
                table=order.table,
                partition=name,
                connect=self.connect,
                timeouts=order.timeouts,
                attempt=self.attempt,
            )
        except IdempotentError as error:
            log.info("dedupe table=%s %s: not done; removed=%d before, for good", order.table, name, self.removed)
            if (explained := _still_referenced(error, order.table, name)) is None:
                raise
            raise explained from error
        self.number, self.removed = self.number + 1, self.removed + removed
        log.info("dedupe table=%s %s removed=%d, %d of %d", order.table, name, removed, self.removed, self._total)
        self.progress(self.removed, self._total)
        return removed

    @property
    def _total(self) -> int:
        return max(self.survey.duplicates, self.removed)


def remove_chunk(
    order: Deduplication, span: KeyRange, survey: Survey, session: Session, ledger: Ledger, name: str
) -> int:
    """Remove the duplicates of a range of keys, at most a chunk of them, in one transaction; how many there were.

    What is repeated is looked for first and judged again under locks: loads and other writers wait
    for that, readers never do. A range without duplicates stays as it is, and nobody waits.
    """
    with session.transaction():
        session.clear_leftovers()
        if not session.execute(sql.find_repeated(_shape(order, session), order.unique_key, span)):
            return 0
        session.execute(sql.ANALYZE_REPEATED)
        ledger.lock_table(order.table)
        session.execute(sql.keep_writers_out(order.relation))
        shape = _shape(order, session)
        if not survey.indexed:
            session.query(sql.NO_NESTED_LOOPS)
        most = survey.chunk_rows
        found = session.execute(sql.pick_duplicates(shape, order.unique_key, order.version, most=most))
        session.execute(sql.ANALYZE_DUPLICATES)
        session.query(sql.ANY_JOIN)
        _refuse_following(shape, session, name)
        if not shape.partitioned:
            session.query(sql.BY_PLACE)
        removed = session.execute(sql.delete_duplicates(shape))
        if removed != found:
            reason = f"a trigger or a policy kept {found - removed:,} of {found:,} duplicates"
            raise ConstraintError(table=order.table, partition=name, reason=reason)
        ledger.record_dedupe(order.table, removed, f"{name} of {', '.join(order.unique_key)}")
    return removed


def _shape(order: Deduplication, session: Session) -> TableShape:
    """The table as it is now.

    Raises:
        UsageError: there is none, or it lacks a column of the key or the version.
    """
    command = f"dedupe {order.table}"
    shape = session.shape(order.relation)
    if shape is None:
        similar = ", ".join(session.similar(order.relation))
        if session.query(view_of(order.relation)):
            hint = (
                f"It is a view: name the table behind it; airflow-idempotent versions {order.table} says which is live."
            )
            raise UsageError(command=command, reason="it is no table", hint=hint)
        hint = f"Did you mean {similar}?" if similar else "Write it as schema.table, as the database spells it."
        raise UsageError(command=command, reason="there is no such table", hint=hint)
    for name in (*order.unique_key, *order.version):
        if name not in shape:
            hint = f"Its columns are {', '.join(shape.names)}."
            raise UsageError(command=command, reason=f"the table has no column {name!r}", hint=hint)
    return shape


def _refuse_following(shape: TableShape, session: Session, name: str) -> None:
    """Stop before a foreign key deletes or empties rows of another table, which nobody has asked for."""
    for constraint, schema, referring, effect, columns, referred in session.query(sql.following_keys(shape.relation)):
        other = Relation(schema, referring)
        [(count,)] = session.query(sql.count_references(shape, other, columns, referred))
        if count:
            raise StillReferencedError(
                table=str(shape.relation),
                partition=name,
                constraint=constraint,
                referring=str(other),
                effect=effect,
                count=count,
            )


def _still_referenced(error: IdempotentError, table: str, name: str) -> StillReferencedError | None:
    """The error of its own that a refusal by a foreign key has; None for all others."""
    cause = error.__cause__
    if cause is None or sqlstate(cause) not in FOREIGN_KEY_VIOLATIONS:
        return None
    diag: Any = getattr(cause, "diag", None)
    referring = Relation(diag.schema_name, diag.table_name)
    return StillReferencedError(table=table, partition=name, constraint=diag.constraint_name, referring=str(referring))


def _index_advice(order: Deduplication, survey: Survey) -> str:
    """The statement that keeps duplicates out; none when there is such an index, or NULL keys would be let in by it."""
    key = frozenset(order.unique_key)
    if survey.null_keys or survey.shape.partitioned or any(unique <= key for unique in survey.shape.unique_keys):
        return ""
    return str(sql.unique_index(order.relation, order.unique_key))


def _nobody(removed: int, total: int) -> None:
    """Nobody asked for progress."""
