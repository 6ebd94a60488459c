"""Every error the product raises: facts as attributes, what was not done, what to type next.

The text has one form: *headline* (subject: fact, what was left as it was), *details* one per
line, *next move*. Whether a retry can help is a property of the error, not of its reader.
"""

from __future__ import annotations

from airflow_idempotent.errors.auditing import DriftError
from airflow_idempotent.errors.base import IdempotentError, facts
from airflow_idempotent.errors.database import (
    ConnectionLostError,
    DatabaseError,
    LockTimeoutError,
    ServerBusyError,
    StatementTimeoutError,
    UnreachableError,
)
from airflow_idempotent.errors.landing import (
    BadFileError,
    BatchDamagedError,
    CursorError,
    ExtraMissingError,
    FileChangingError,
    ManifestError,
    SourceChangedError,
    SourceMissingError,
    SourceQueryError,
    SourceUnavailableError,
)
from airflow_idempotent.errors.loading import (
    CheckQueryError,
    ConstraintError,
    GateClosedError,
    SchemaDriftError,
    StillReferencedError,
    TargetMissingError,
)
from airflow_idempotent.errors.proofs import LawBrokenError
from airflow_idempotent.errors.replacing import (
    AttachError,
    EmptySnapshotError,
    KeyElsewhereError,
    NoChildTableError,
    OtherSpecError,
    RepeatedInBatchError,
    RowsChangedError,
)
from airflow_idempotent.errors.rows import (
    BadRowError,
    EventTimeMissingError,
    NullKeyError,
    NullVersionError,
    OutsidePartitionError,
    PrecisionError,
    RepeatedKeyError,
    TieError,
    TooManyRejectedError,
)
from airflow_idempotent.errors.runs import NoPartitionError, OutOfRangeError, ParamsError, RangeError, WatermarkError
from airflow_idempotent.errors.sources import PythonSourceError, PythonSourceFailedError, TransformError
from airflow_idempotent.errors.spec import ArgumentsError, DuplicateTableError, SpecChangedError, SpecError, UsageError
from airflow_idempotent.errors.streams import UnknownOpError, UnknownValueError
from airflow_idempotent.errors.swapping import (
    CutoverError,
    DependentsError,
    JournalError,
    RollbackError,
    ShadowError,
    SwapSupersededError,
    WritesLostError,
)

__all__ = [
    "ArgumentsError",
    "AttachError",
    "BadFileError",
    "BadRowError",
    "BatchDamagedError",
    "CheckQueryError",
    "ConnectionLostError",
    "ConstraintError",
    "CursorError",
    "CutoverError",
    "DatabaseError",
    "DependentsError",
    "DriftError",
    "DuplicateTableError",
    "EmptySnapshotError",
    "EventTimeMissingError",
    "ExtraMissingError",
    "FileChangingError",
    "GateClosedError",
    "IdempotentError",
    "JournalError",
    "KeyElsewhereError",
    "LawBrokenError",
    "LockTimeoutError",
    "ManifestError",
    "NoChildTableError",
    "NoPartitionError",
    "NullKeyError",
    "NullVersionError",
    "OtherSpecError",
    "OutOfRangeError",
    "OutsidePartitionError",
    "ParamsError",
    "PrecisionError",
    "PythonSourceError",
    "PythonSourceFailedError",
    "RangeError",
    "RepeatedInBatchError",
    "RepeatedKeyError",
    "RollbackError",
    "RowsChangedError",
    "SchemaDriftError",
    "ServerBusyError",
    "ShadowError",
    "SourceChangedError",
    "SourceMissingError",
    "SourceQueryError",
    "SourceUnavailableError",
    "SpecChangedError",
    "SpecError",
    "StatementTimeoutError",
    "StillReferencedError",
    "SwapSupersededError",
    "TargetMissingError",
    "TieError",
    "TooManyRejectedError",
    "TransformError",
    "UnknownOpError",
    "UnknownValueError",
    "UnreachableError",
    "UsageError",
    "WatermarkError",
    "WritesLostError",
    "facts",
]
