"""Deleting the rows of a partition that its batch lacks."""

from __future__ import annotations

from collections.abc import Sequence

from airflow_idempotent.core.actions import DeleteMissing
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.work import Work
from airflow_idempotent.sql.statement import Statement


def delete_missing(work: Work, action: DeleteMissing, statements: Sequence[Statement]) -> None:
    """Delete them where there are any, so that no trigger fires for nothing; an older batch lacks nothing."""
    if action.superseded:
        return
    look, delete = statements
    [(is_any,)] = work.session.query(look)
    deleted = work.session.execute(delete) if is_any else 0
    work.count(Effects(deleted=deleted), beyond=deleted)
