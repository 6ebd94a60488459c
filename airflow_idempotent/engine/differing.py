"""Writes that look first: find what differs, count it, and write that alone."""

from __future__ import annotations

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import RowsChangedError
from airflow_idempotent.sql.difference import Difference


def write_difference(work: Work, difference: Difference) -> None:
    """Write what differs, and count it; nothing is sent for an effect that no row has.

    Raises:
        RowsChangedError: other rows than those found were there when it came to writing them.
    """
    for statement in difference.find:
        work.session.execute(statement)
    found = {effect: (rows, beyond) for effect, rows, beyond in work.session.query(difference.count)}
    for effect, statement in difference.write:
        rows, beyond = found.get(effect, (0, 0))
        if not rows:
            continue
        written = work.session.execute(statement)
        if difference.counted and written != rows:
            found[effect] = _kept_out(work, rows - written, rows, beyond)
    for effect, (rows, beyond) in found.items():
        work.count(Effects(**{effect: rows}), beyond=beyond)


def _kept_out(work: Work, missing: int, rows: int, beyond: int) -> tuple[int, int]:
    """What is left of (rows, beyond) when a trigger of the target has dropped some; they are rejected."""
    if not work.step.target.intercepted or missing < 0:
        raise RowsChangedError(**work.where, expected=rows, written=rows - missing)
    of_table = min(beyond, missing)
    work.count(Effects(rejected=missing - of_table))
    return rows - missing, beyond - of_table
