"""Replacing what a scope holds: refuse what would lose rows, write the difference, count it."""

from __future__ import annotations

import logging

from airflow_idempotent.core.actions import ReplaceRows
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict
from airflow_idempotent.engine.differing import Found, find_difference, write_found
from airflow_idempotent.engine.refusals import UNIQUE_VIOLATION, constraint_name, detail, sqlstate
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import (
    EmptySnapshotError,
    KeyElsewhereError,
    NoChildTableError,
    RepeatedInBatchError,
    RowsChangedError,
)
from airflow_idempotent.sql.catalog import default_child
from airflow_idempotent.sql.comparing import KNOWN, PAIRS
from airflow_idempotent.sql.counting import TOO_MANY, Counters
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.measure import count_within
from airflow_idempotent.sql.merge import BACK_TO_SAVEPOINT, SAVEPOINT
from airflow_idempotent.sql.replace import insert_all
from airflow_idempotent.sql.replace import replace_rows as difference_of
from airflow_idempotent.sql.scope import any_row, keys_elsewhere, rows_in_target

CHECK_VIOLATION = "23514"
log = logging.getLogger(__name__)


def replace_rows(work: Work, action: ReplaceRows) -> None:
    """Make the scope hold exactly the batch; an older batch than the newest says nothing."""
    rows = work.publishable
    if action.refuse_repeats and work.repeated:
        raise RepeatedInBatchError(**work.where, unique_key=action.unique_key, count=work.repeated)
    work.count(Effects(duplicate=work.repeated))
    if action.superseded and not action.keys:
        work.count(Effects(stale=rows))
        return
    if not rows and not action.allow_empty:
        _refuse_to_empty(work, action)
    _write(work, action)
    if action.within and work.step.target.partitioned:
        _warn_of_default(work, action)


def _refuse_to_empty(work: Work, action: ReplaceRows) -> None:
    [(count,)] = work.session.query(rows_in_target(action))
    if count:
        raise EmptySnapshotError(**work.where, rows=count)


def _write(work: Work, action: ReplaceRows) -> None:
    """Write what differs; again when a parallel writer has inserted one of the keys meanwhile, which can be seen now.

    A row that collides with the same value twice collides with something that is not in the scope.
    """
    collided: str | None = None
    while True:
        work.session.execute(SAVEPOINT)
        try:
            if action.keys or is_filled(work, action):
                write_found(work, *_found(work, action))
            else:
                _fill(work, action)
        except Exception as error:
            if sqlstate(error) == CHECK_VIOLATION and work.step.target.partitioned and not constraint_name(error):
                raise _no_child(work, action) from error
            if sqlstate(error) != UNIQUE_VIOLATION:
                raise
            work.session.execute(BACK_TO_SAVEPOINT)
            if detail(error) == collided:
                _refuse_keys_elsewhere(work, action, error)
                raise
            collided = detail(error)
        else:
            return


def _found(work: Work, action: ReplaceRows) -> tuple[Difference, Found]:
    """What differs, kept to be written.

    Rows without a key are numbered to tell equal ones apart, unless none is there twice: to try that costs less.
    """
    target, rows = work.step.target, work.publishable
    if not (action.unique_key or action.keys) and action.on_missing == "delete":
        difference = difference_of(action, target, distinct=True)
        if found := _found_if_distinct(work, difference, rows):
            return difference, found
    difference = difference_of(action, target)
    return difference, find_difference(work, difference, rows=rows)


def _found_if_distinct(work: Work, difference: Difference, rows: int) -> Found | None:
    """What differs if no row is on one side twice; None, and nothing is kept, when one is."""
    pairs, known = Counters((PAIRS,), most=rows), Counters((KNOWN,))
    work.session.execute(SAVEPOINT)
    try:
        for statement in (*pairs.start, *known.start):
            work.session.execute(statement)
        found = find_difference(work, difference, rows=rows)
    except Exception as error:
        if sqlstate(error) != TOO_MANY:
            raise
        work.session.execute(BACK_TO_SAVEPOINT)
        return None
    [[paired], [there]] = [work.session.query(counters.read)[0] for counters in (pairs, known)]
    gone, _ = found.get("deleted", (0, 0))
    unchanged, _ = found["unchanged"]
    if not unchanged == paired == there - gone:
        work.session.execute(BACK_TO_SAVEPOINT)
        return None
    for counters in (pairs, known):
        work.session.execute(counters.drop)
    return found


def is_filled(work: Work, action: ReplaceRows) -> bool:
    """Whether the scope has any row."""
    *find, back = any_row(action, work.step.target)
    *_, [(filled,)] = [work.session.query(statement) for statement in find]
    work.session.query(back)
    return bool(filled)


def _fill(work: Work, action: ReplaceRows) -> None:
    """Write the whole batch where nothing is: there is no difference to look for."""
    rows = work.publishable
    written = work.session.execute(insert_all(action)) if rows else 0
    if written != rows and not work.step.target.intercepted:
        raise RowsChangedError(**work.where, expected=rows, written=written)
    work.count(Effects(inserted=written, rejected=rows - written))


def _no_child(work: Work, action: ReplaceRows) -> NoChildTableError:
    partition = work.step.partition
    column = action.within[0] if action.within else ""
    return NoChildTableError(
        **work.where, column=column, start=partition.start.isoformat(), end=partition.end.isoformat()
    )


def _refuse_keys_elsewhere(work: Work, action: ReplaceRows, error: Exception) -> None:
    if not (action.unique_key and (action.within or action.partition)):
        return
    [(count,)] = work.session.query(keys_elsewhere(action, work.step.target))
    if count:
        raise KeyElsewhereError(**work.where, unique_key=action.unique_key, count=count) from error


def _warn_of_default(work: Work, action: ReplaceRows) -> None:
    """Rows in a DEFAULT child load, but no child of their own can be made while they are there."""
    column, partition = action.within or ("", work.step.partition)
    for schema, name in work.session.query(default_child(action.target)):
        child = Relation(schema, name)
        [(count,)] = work.session.query(count_within(child, partition, work.step.target[column]))
        if not count:
            continue
        message = f"{count:,} row(s) lie in the default child {child}: no child of their own can be attached meanwhile"
        log.warning("stage_merge table=%s partition=%s: %s", *work.where.values(), message)
        result = CheckResult("default_child", Severity.WARN, Verdict.WARNED, count, count, message)
        work.checks = (*work.checks, result)
