"""Writes that look first: find what differs, count it, and write that alone."""

from __future__ import annotations

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import RowsChangedError
from airflow_idempotent.sql.difference import Difference
from airflow_idempotent.sql.statement import Statement

Found = dict[str, tuple[int, int]]
"""Each effect with (rows, of them beyond the batch)."""


def find_difference(work: Work, difference: Difference, *, rows: int) -> Found:
    """What there is to write; of the batch's ``rows``, unchanged are those not found."""
    for statement in difference.find:
        work.session.execute(statement)
    return found_by(work, difference.count, rows=rows)


def found_by(work: Work, count: Statement, *, rows: int) -> Found:
    """The same, by a statement that counts what differs."""
    found = {effect: (count, beyond) for effect, count, beyond in work.session.query(count)}
    unchanged = rows - sum(count - beyond for count, beyond in found.values())
    return {**found, "unchanged": (unchanged, 0)}


def write_difference(work: Work, difference: Difference, *, rows: int) -> None:
    """Find what differs, write it, and count it."""
    write_found(work, difference, find_difference(work, difference, rows=rows))


def write_found(work: Work, difference: Difference, found: Found) -> None:
    """Write what was found, and count it; nothing is sent for an effect that no row has.

    Raises:
        RowsChangedError: other rows than those found were there when it came to writing them.
    """
    for effect, statement in difference.write:
        count, beyond = found.get(effect, (0, 0))
        if not count:
            continue
        written = work.session.execute(statement)
        if difference.counted and written != count:
            found[effect] = _kept_out(work, count - written, count, beyond)
    count_found(work, found)


def count_found(work: Work, found: Found) -> None:
    """Count it as written."""
    for effect, (count, beyond) in found.items():
        work.count(Effects(**{effect: count}), beyond=beyond)


def _kept_out(work: Work, missing: int, rows: int, beyond: int) -> tuple[int, int]:
    """What is left of (rows, beyond) when a trigger of the target has dropped some; they are rejected."""
    if not work.step.target.intercepted or missing < 0:
        raise RowsChangedError(**work.where, expected=rows, written=rows - missing)
    of_table = min(beyond, missing)
    work.count(Effects(rejected=missing - of_table))
    return rows - missing, beyond - of_table
