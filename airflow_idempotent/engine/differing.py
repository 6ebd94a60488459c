"""Writes that look first: find what differs, count it, and write that alone."""

from __future__ import annotations

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import RowsChangedError
from airflow_idempotent.sql.difference import Difference


def find_difference(work: Work, difference: Difference, *, rows: int) -> dict[str, tuple[int, int]]:
    """Each effect with (rows, of them beyond the batch); of the batch's ``rows``, unchanged are those not found."""
    for statement in difference.find:
        work.session.execute(statement)
    found = {effect: (count, beyond) for effect, count, beyond in work.session.query(difference.count)}
    unchanged = rows - sum(count - beyond for count, beyond in found.values())
    return {**found, "unchanged": (unchanged, 0)}


def write_difference(work: Work, difference: Difference, *, rows: int) -> None:
    """Write what differs, and count it; nothing is sent for an effect that no row has.

    Raises:
        RowsChangedError: other rows than those found were there when it came to writing them.
    """
    found = find_difference(work, difference, rows=rows)
    for effect, statement in difference.write:
        count, beyond = found.get(effect, (0, 0))
        if not count:
            continue
        written = work.session.execute(statement)
        if difference.counted and written != count:
            found[effect] = _kept_out(work, count - written, count, beyond)
    for effect, (count, beyond) in found.items():
        work.count(Effects(**{effect: count}), beyond=beyond)


def _kept_out(work: Work, missing: int, rows: int, beyond: int) -> tuple[int, int]:
    """What is left of (rows, beyond) when a trigger of the target has dropped some; they are rejected."""
    if not work.step.target.intercepted or missing < 0:
        raise RowsChangedError(**work.where, expected=rows, written=rows - missing)
    of_table = min(beyond, missing)
    work.count(Effects(rejected=missing - of_table))
    return rows - missing, beyond - of_table
