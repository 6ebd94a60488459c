"""Sources that are code: Python functions that yield rows, queries that make them in the warehouse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class PythonSourceError(IdempotentError):
    """A source function cannot be called as the spec says, or yields what are no rows."""

    anchor: ClassVar[str] = "python-source"
    table: str
    partition: str
    function: str
    reason: str

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: source {self.function!r} {self.reason}; nothing was landed."

    @property
    def next_move(self) -> str:
        return "Correct the function or 'source' in the spec, then clear this task."


@dataclass(eq=False, kw_only=True)
class PythonSourceFailedError(PythonSourceError):
    """A source function raised an error of its own. Retryable: what it reads from may be back by then."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "python-source-failed"

    @property
    def next_move(self) -> str:
        return "The retry calls it again from its beginning; clear this task if its retries are used up."


@dataclass(eq=False, kw_only=True)
class TransformError(IdempotentError):
    """The warehouse refused the query of a transform, or its rows do not fit the table."""

    anchor: ClassVar[str] = "transform"
    table: str
    partition: str
    reason: str
    line: int | None = None

    @property
    def headline(self) -> str:
        where = f" line {self.line}" if self.line else ""
        return f"{self.table} {self.partition}: source.sql{where}: {self.reason}. Nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Correct 'source.sql' or what it reads; then clear 'land' of this partition and what follows."
