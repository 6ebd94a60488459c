"""Sources that cannot be landed, and batches that are not what they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError


@dataclass(eq=False, kw_only=True)
class SourceMissingError(IdempotentError):
    """No input was found for a partition. Retryable: it may arrive later."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "source-missing"
    table: str
    partition: str
    source: str

    @property
    def headline(self) -> str:
        return f"{self.table} {self.partition}: no input at {self.source!r}, nothing was landed."

    @property
    def next_move(self) -> str:
        return "Deliver the input and clear this task, or set 'on_empty: skip' if an empty partition is normal."


@dataclass(eq=False, kw_only=True)
class BadFileError(IdempotentError):
    """An input file cannot be read as what the spec says it is."""

    anchor: ClassVar[str] = "bad-file"
    file: str
    reason: str
    hint: str = ""

    @property
    def headline(self) -> str:
        return f"{self.file}: {self.reason}, nothing was landed from it."

    @property
    def next_move(self) -> str:
        return self.hint or "Correct the file at its source, then clear this task."


@dataclass(eq=False, kw_only=True)
class ExtraMissingError(IdempotentError):
    """A file is of a format whose package is not installed here; an extra of ours brings it."""

    anchor: ClassVar[str] = "extra-missing"
    file: str
    package: str
    extra: str

    @property
    def headline(self) -> str:
        return f"{self.file}: needs the package {self.package!r}, which is not installed; nothing was landed or loaded."

    @property
    def next_move(self) -> str:
        return f"pip install 'airflow-provider-idempotent[{self.extra}]' where tasks run, then clear this task."


@dataclass(eq=False, kw_only=True)
class FileChangingError(BadFileError):
    """An input file changed while it was read. Retryable: its writer may be done by then."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "file-changing"
    reason: str = "changed while it was read"

    @property
    def next_move(self) -> str:
        return (
            "The retry reads it again. Its writer should use a name beginning with '.' and rename it when it is whole."
        )


@dataclass(eq=False, kw_only=True)
class SourceQueryError(IdempotentError):
    """The source database refused the query, or the query names a bind that has no value."""

    anchor: ClassVar[str] = "source-query"
    table: str
    partition: str
    reason: str
    sqlstate: str = ""

    @property
    def headline(self) -> str:
        code = f" [{self.sqlstate}]" if self.sqlstate else ""
        return f"{self.table} {self.partition}: the source query failed: {self.reason}{code}. Nothing was landed."

    @property
    def next_move(self) -> str:
        return "Correct 'source.sql' or the rights of its connection, then clear this task."


@dataclass(eq=False, kw_only=True)
class SourceUnavailableError(SourceQueryError):
    """The source database went away or cancelled the query. Retryable: the query may run another time."""

    retryable: ClassVar[bool] = True
    anchor: ClassVar[str] = "source-unavailable"

    @property
    def next_move(self) -> str:
        return "The retry runs the query again from its beginning; clear this task if its retries are used up."


@dataclass(eq=False, kw_only=True)
class CursorError(IdempotentError):
    """Rows of an incremental query have no cursor, or one in the future, and the spec refuses such rows."""

    anchor: ClassVar[str] = "cursor"
    table: str
    partition: str
    cursor: str
    option: str
    count: int

    @property
    def headline(self) -> str:
        are = "have none" if self.option == "on_cursor_null" else "are dated in the future"
        return (
            f"{self.table} {self.partition}: cursor {self.cursor!r}: {self.count} row(s) of the source {are}; "
            "nothing was landed, the watermark is where it was."
        )

    @property
    def next_move(self) -> str:
        return f"Correct the rows in the source, or set 'source.{self.option}' to include or exclude; clear this task."


@dataclass(eq=False, kw_only=True)
class SourceChangedError(IdempotentError):
    """The source has other content than the landed batch, and the spec forbids a new batch."""

    anchor: ClassVar[str] = "source-changed"
    table: str
    partition: str
    batch_id: str
    changed: tuple[str, ...]

    @property
    def headline(self) -> str:
        return (
            f"{self.table} {self.partition}: the source differs from batch {self.batch_id}, "
            "which is kept; no new batch was landed."
        )

    @property
    def details(self) -> Sequence[str]:
        return self.changed

    @property
    def next_move(self) -> str:
        return "Set 'landing.on_source_change: new_batch' to accept corrections, or restore the source."


@dataclass(eq=False, kw_only=True)
class ManifestError(IdempotentError):
    """A batch has no readable manifest, so for every reader it is not landed."""

    anchor: ClassVar[str] = "manifest"
    address: str
    reason: str

    @property
    def headline(self) -> str:
        return f"{self.address}: {self.reason}, nothing was loaded."

    @property
    def next_move(self) -> str:
        return "Clear the 'land' task of this partition; it lands the batch again and changes nothing that is complete."


@dataclass(eq=False, kw_only=True)
class BatchDamagedError(IdempotentError):
    """Landed bytes are not those the manifest promises."""

    anchor: ClassVar[str] = "batch-damaged"
    file: str
    expected: str
    found: str

    @property
    def headline(self) -> str:
        return f"{self.file}: the landed file is not what its manifest says, nothing was loaded."

    @property
    def details(self) -> Sequence[str]:
        return [f"manifest: {self.expected}", f"found: {self.found}"]

    @property
    def next_move(self) -> str:
        return "Delete the folder of this batch and clear the 'land' task, so that it is landed again from the source."
