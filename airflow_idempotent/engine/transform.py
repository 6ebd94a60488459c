"""Staging filled by the query of a transform, and what the server says when it refuses one."""

from __future__ import annotations

import logging
import re
from typing import Any

from airflow_idempotent.core.actions import QueryBatch
from airflow_idempotent.core.step import Step
from airflow_idempotent.engine.refusals import is_driver_error, reason, sqlstate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import TransformError
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.transform import ONLY_READ, WRITE_AGAIN, line_in_query, losses, result_types

log = logging.getLogger(__name__)
# Classes of SQLSTATE that blame the query or its rows; all others are the server's trouble.
OF_THE_QUERY = ("0A", "21", "22", "23", "25", "2F", "38", "39", "42", "P0")
# "LINE 3: select …", whatever language the driver speaks.
_LINE = re.compile(r"^\w+ (\d+): ", re.MULTILINE)


def fill_by_query(action: QueryBatch, fill: Statement, step: Step, session: Session) -> None:
    """Run the query into staging, unable to write anything else. Its rows are counted when staging is inspected.

    Raises:
        TransformError: the server refuses the query, or its columns would lose something in the table.
    """
    where: dict[str, Any] = {"table": step.table, "partition": step.partition.key}
    try:
        for statement in ONLY_READ:
            session.execute(statement)
        [types] = session.query(result_types(action))
        if lost := losses(action, types, step.target):
            raise TransformError(**where, reason="; ".join(lost))
        rows = session.execute(fill)
        session.execute(WRITE_AGAIN)
    except Exception as error:
        if not is_driver_error(error) or not sqlstate(error).startswith(OF_THE_QUERY):
            raise
        found = _LINE.search(str(error))
        line = line_in_query(action, int(found[1])) if found else None
        raise TransformError(**where, reason=reason(error), line=line) from error
    log.info("staged table=%s partition=%s by its query rows=%d", step.table, step.partition.key, rows)
