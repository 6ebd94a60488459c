"""How a command answers: text for people or one JSON document, errors as their text, an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import date
from typing import Any

from airflow_idempotent.errors import (
    DatabaseError,
    DuplicateTableError,
    IdempotentError,
    NoPartitionError,
    OutOfRangeError,
    ParamsError,
    RangeError,
    SourceQueryError,
    SpecError,
    TargetMissingError,
    UnreachableError,
    UsageError,
    WatermarkError,
    facts,
)

DONE, FINDINGS, USAGE, DATABASE = range(4)

_USAGE = (
    DuplicateTableError,
    NoPartitionError,
    OutOfRangeError,
    ParamsError,
    RangeError,
    SpecError,
    TargetMissingError,
    UsageError,
    WatermarkError,
)
_DATABASE = (DatabaseError, SourceQueryError, UnreachableError)


class Output:
    """Where a command writes. Text goes to people only, the document to programs only."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def say(self, *lines: str) -> None:
        """Lines for people."""
        if not self.as_json:
            for line in lines:
                print(line, flush=True)

    def document(self, value: Any) -> None:
        """The answer for programs; called once."""
        if self.as_json:
            print(json.dumps(value, indent=2, ensure_ascii=False, default=_plain))

    def failure(self, error: IdempotentError) -> int:
        """Say what ended the command; the exit code for it."""
        self.document(error_document(error))
        return self.complain(error)

    def complain(self, error: IdempotentError) -> int:
        """Say what went wrong, to people; the exit code for it."""
        if not self.as_json:
            print(error, file=sys.stderr, flush=True)
        return exit_code(error)


def exit_code(error: IdempotentError) -> int:
    """1: something was found in the data; 2: the spec or the command is wrong; 3: the database."""
    return USAGE if isinstance(error, _USAGE) else DATABASE if isinstance(error, _DATABASE) else FINDINGS


def error_document(error: IdempotentError) -> dict[str, Any]:
    """An error as plain values: its class, its text, and its facts."""
    return {"error": type(error).__name__, "message": str(error), **facts(error)}


def aligned(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """A table as lines: columns as wide as they must be, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in rows]
    numeric = [bool(cells) and all(row[place][1] for row in cells) for place in range(len(header))]
    texts = [list(header), *([text for text, _ in row] for row in cells)]
    widths = [max(len(row[place]) for row in texts) for place in range(len(header))]
    lines = []
    for row in texts:
        padded = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _cell(value: Any) -> tuple[str, bool]:
    if value is None:
        return "", True
    if isinstance(value, int):
        return f"{value:,}", True
    return str(value), False


def megabytes(size: int) -> str:
    """``1.5 MB``; never ``0.0 MB`` for something."""
    return f"{size:,} bytes" if size < 100_000 else f"{size / 1e6:,.1f} MB"


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
