"""Writes that look first: find what differs, count it, and write that alone."""

from __future__ import annotations

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.work import Work
from airflow_idempotent.sql.difference import Difference


def write_difference(work: Work, difference: Difference) -> None:
    """Write what differs, and count it; nothing is sent for an effect that no row has."""
    for statement in difference.find:
        work.session.execute(statement)
    found: dict[str, int] = {}
    for effect, rows, beyond in work.session.query(difference.count):
        found[effect] = rows
        work.count(Effects(**{effect: rows}), beyond=beyond)
    for effect, statement in difference.write:
        if found.get(effect):
            work.session.execute(statement)
