"""What a user wrote and cannot be used: specs, arguments, command lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class SpecError(IdempotentError):
    """A table spec cannot be used. All its problems are in ``problems``, as (path, text)."""

    anchor: ClassVar[str] = "spec-error"
    file: str
    problems: tuple[tuple[str, str], ...]

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return f"{self.file}: {count} problem{'s' if count != 1 else ''}, no DAG was built from it."

    @property
    def details(self) -> Sequence[str]:
        return [f"{path}: {text}" if path else text for path, text in self.problems]

    @property
    def next_move(self) -> str:
        return f"Correct the file, then: airflow-idempotent lint {self.file}"


@dataclass(eq=False, kw_only=True)
class ArgumentsError(SpecError):
    """The arguments of an operator cannot be used; ``file`` names its task."""

    anchor: ClassVar[str] = "arguments"

    @property
    def headline(self) -> str:
        count = len(self.problems)
        return (
            f"{self.file}: {count} problem{'s' if count != 1 else ''} with the operator's arguments, nothing was run."
        )

    @property
    def next_move(self) -> str:
        return "Correct the DAG file, then clear this task."


@dataclass(eq=False, kw_only=True)
class DuplicateTableError(IdempotentError):
    """Two spec files claim one table or one dag_id; neither is used."""

    anchor: ClassVar[str] = "duplicate-table"
    name: str
    files: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.name}: claimed by {len(self.files)} spec files, no DAG was built from any of them."

    @property
    def details(self) -> Sequence[str]:
        return self.files

    @property
    def next_move(self) -> str:
        return "Keep one of the files, or set a different 'dag_id' or 'table' in the others."


@dataclass(eq=False, kw_only=True)
class SpecChangedError(IdempotentError):
    """The spec was edited after this run had planned; the run stops before it writes."""

    anchor: ClassVar[str] = "spec-changed"
    table: str
    planned: str
    found: str

    @property
    def headline(self) -> str:
        return (
            f"{self.table}: the spec changed while this run was in progress "
            f"(planned {self.planned[:12]}, now {self.found[:12]}), nothing was written."
        )

    @property
    def next_move(self) -> str:
        return "Clear the 'plan' task of this run with its downstream tasks, so that it runs under the new spec."


@dataclass(eq=False, kw_only=True)
class UsageError(IdempotentError):
    """A command was typed in a way that names nothing to do."""

    anchor: ClassVar[str] = "usage"
    command: str
    reason: str
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.command}: {self.reason}; nothing was done."

    @property
    def next_move(self) -> str:
        return self.hint or f"Look at: {self.command} --help"
