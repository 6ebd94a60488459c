"""What the database says when it refuses, in our words: file, line, column, and what to do."""

from __future__ import annotations

import re
from typing import Any

from airflow_idempotent.core.manifest import Part
from airflow_idempotent.errors import (
    BadRowError,
    ConnectionLostError,
    ConstraintError,
    DatabaseError,
    IdempotentError,
    LockTimeoutError,
    ServerBusyError,
    StatementTimeoutError,
)

TRANSIENT = {"40001", "40P01"}
# Two sessions did the same at the same time; looking again, one of them finds it done.
_RACES = {
    "one_chain_per_partition",
    "pg_namespace_nspname_index",
    "pg_class_relname_nsp_index",
    "pg_type_typname_nsp_index",
}
UNIQUE_VIOLATION = "23505"
LOCK_NOT_AVAILABLE = "55P03"
# "COPY idem_staging_6eaf24ac, line 3, column d: …", whatever language the server speaks.
_CONTEXT = re.compile(r"\bCOPY idem_staging_\w+\W+\w+ (\d+)(?:\W+\w+ ([^:]+?)\s*:(?:\s*\"(.*)\")?)?", re.DOTALL)
_VALUE_SHOWN = 60


def sqlstate(error: BaseException) -> str:
    """The five-character code of a driver's error; empty when it has none."""
    return getattr(error, "sqlstate", None) or getattr(error, "pgcode", None) or ""


def detail(error: BaseException) -> str:
    """What the server adds: for a unique violation the key and its values. Never shown, it may quote a row."""
    return getattr(getattr(error, "diag", None), "message_detail", None) or ""


def constraint_name(error: BaseException) -> str:
    """The constraint that a row has broken; empty when it was none."""
    return getattr(getattr(error, "diag", None), "constraint_name", None) or ""


def is_transient(error: BaseException) -> bool:
    """Whether the same transaction can succeed at once: a deadlock, a serialization failure, a race."""
    return sqlstate(error) in TRANSIENT or constraint_name(error) in _RACES


def is_driver_error(error: BaseException) -> bool:
    """Whether the error comes from psycopg2 or psycopg, which are never imported here."""
    return any(
        base.__name__ == "Error" and base.__module__.partition(".")[0] in ("psycopg", "psycopg2")
        for base in type(error).__mro__
    )


def bad_row(error: BaseException, table: str, partition: str, part: Part) -> BadRowError | None:
    """The error of ours when a value of a file was refused; None when that is not what happened."""
    if not is_driver_error(error) or sqlstate(error)[:2] not in ("22", "23"):
        return None
    diag = getattr(error, "diag", None)
    found = _CONTEXT.search(getattr(diag, "context", None) or "")
    line = int(found[1]) if found else None
    name = found[2] if found else getattr(diag, "column_name", None)
    value, why = (found[3] or "")[:_VALUE_SHOWN] if found else "", reason(error)
    if value and value not in why:
        why = f"{why}: {value!r}"
    return BadRowError(table=table, partition=partition, file=part.label, line=line, column=name, reason=why)


def refusal(error: BaseException, table: str, partition: str) -> IdempotentError:
    """The error of ours that a driver's error stands for. Details that quote whole rows are left out."""
    where: dict[str, Any] = {"table": table, "partition": partition, "reason": reason(error)}
    code = sqlstate(error)
    if not code or code.startswith(("08", "57P")):
        return ConnectionLostError(**where, sqlstate=code)
    if code == LOCK_NOT_AVAILABLE:
        return LockTimeoutError(**where, sqlstate=code)
    if code == "57014":
        return StatementTimeoutError(**where, sqlstate=code)
    if code.startswith(("22", "23", "44", "P0")):
        return ConstraintError(**where)
    if code.startswith(("40", "53", "55")):
        return ServerBusyError(**where, sqlstate=code)
    return DatabaseError(**where, sqlstate=code)


def reason(error: BaseException) -> str:
    """The first line of what the server said."""
    message = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    return (message.strip().splitlines() or [type(error).__name__])[0]
