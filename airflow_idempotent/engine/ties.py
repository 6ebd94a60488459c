"""Refusing batches that only the content of rows could decide."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_idempotent.core.actions import RefuseTies
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import TieError
from airflow_idempotent.sql.statement import Statement


def refuse_ties(work: Work, action: RefuseTies, statements: Sequence[Statement]) -> None:
    """Look for ties behind the write, which has left them as they were and counted them as stale and duplicate.

    Raises:
        TieError: there are some; the transaction is undone.
    """
    if action.superseded and action.upsert.complete:
        return
    in_batch, with_target = statements
    staged = work.session.query(in_batch) if work.effects.duplicate else []
    stored = work.session.query(with_target) if work.effects.stale else []
    if not (staged or stored):
        return
    samples = tuple(dict.fromkeys(", ".join(map(str, key)) for _, *key in (*staged, *stored)))
    raise TieError(
        **work.where,
        unique_key=action.upsert.unique_key,
        in_batch=staged[0][0] if staged else 0,
        with_target=stored[0][0] if stored else 0,
        samples=samples,
    )
