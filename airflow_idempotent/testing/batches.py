"""What is loaded in a proof: batches of rows or files, landed as the product lands them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias, cast

from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.errors import UsageError
from airflow_idempotent.landing.csv_text import CsvText
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import TableSpec

Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
FilePath: TypeAlias = "str | PathLike[str]"
BY = "assert_idempotent"
HINT = "Write [Batch('2025-05-01', rows=[{…}])], or {'2025-05-01': [[{…}, …], 'newer.csv']}."


@dataclass(frozen=True, slots=True, init=False)
class Batch:
    """What one landing brought for one partition: rows, or files in the format of the spec.

    A later batch of the same partition is its next revision. ``rows=[]`` is a batch without rows.

    Raises:
        UsageError: neither rows nor files are given, or both.
    """

    partition: str
    rows: tuple[Row, ...] | None
    files: tuple[Path, ...]

    def __init__(
        self,
        partition: object,
        rows: Iterable[Row] | None = None,
        *,
        files: FilePath | Iterable[FilePath] = (),
    ) -> None:
        paths = (files,) if isinstance(files, str | PathLike) else tuple(files)
        if (rows is None) == (not paths):
            what = "both rows and files" if paths else "neither rows nor files"
            raise UsageError(command=BY, reason=f"the batch of {partition} has {what}", hint=HINT)
        object.__setattr__(self, "partition", str(partition))
        object.__setattr__(self, "rows", None if rows is None else tuple(rows))
        object.__setattr__(self, "files", tuple(map(Path, paths)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names in the rows, in the order in which they first appear."""
        return tuple(dict.fromkeys(name for row in self.rows or () for name in row))


Given: TypeAlias = "Iterable[Batch] | Mapping[str, Sequence[Rows | FilePath]]"


def batches_of(given: Given) -> tuple[Batch, ...]:
    """The batches in the order given; of a mapping {partition: [revision, newer one, …]}, partition by partition.

    Raises:
        UsageError: something else is given, or nothing.
    """
    if isinstance(given, Mapping):
        found: list[Any] = [
            _revision(key, content) for key, revisions in given.items() for content in _listed(key, revisions)
        ]
    else:
        found = list(cast("Iterable[Any]", given))
    if wrong := [type(item).__name__ for item in found if not isinstance(item, Batch)]:
        raise UsageError(command=BY, reason=f"{wrong[0]!r} is not a Batch", hint=HINT)
    if not found:
        raise UsageError(command=BY, reason="there are no batches", hint=HINT)
    return tuple(found)


def _listed(partition: str, revisions: Any) -> Sequence[Any]:
    """The revisions of a partition; rows or a path alone are a slip that would be proven as something else."""
    if isinstance(revisions, str | PathLike | Mapping) or any(isinstance(item, Mapping) for item in revisions):
        reason = f"{partition} needs a list of revisions, each of them a path or a list of rows"
        raise UsageError(command=BY, reason=reason, hint=HINT)
    return tuple(revisions)


def _revision(partition: str, content: Any) -> Batch:
    is_path = isinstance(content, str | PathLike)
    return Batch(partition, files=content) if is_path else Batch(partition, rows=content)


def land_all(spec: LoadSpec, batches: Sequence[Batch], store: BatchStore, folder: Path) -> list[Manifest]:
    """Land all, in the order given; equal neighbours in a partition are one batch, as they always are.

    Raises:
        IdempotentError: a partition has no such key, or a file cannot be landed.
    """
    known = tuple(dict.fromkeys(name for batch in batches for name in batch.columns)) or spec.column_names
    found: dict[tuple[str, str], Manifest] = {}
    for number, batch in enumerate(batches):
        try:
            partition = spec.partition(batch.partition)
        except ValueError as error:
            raise UsageError(command=BY, reason=str(error), hint="A partition is named by its key.") from None
        source = _source(spec, batch, known, folder / f"{number:05d}" / "rows.csv")
        landed = land(source, store=store, table=spec.table, partition=partition, may_be_empty=True)
        found.setdefault((landed.manifest.partition, landed.manifest.batch_id), landed.manifest)
    return list(found.values())


def _source(spec: LoadSpec, batch: Batch, known: Sequence[str], file: Path) -> FilesInput:
    """Files as they are; rows as a CSV file, an empty batch as a file with a header only."""
    if batch.rows is None:
        source = spec.source if isinstance(spec, TableSpec) else None
        shown = ", ".join(map(str, batch.files))
        if isinstance(source, Files):
            return FilesInput(batch.files, shown, source.value(), source.file_columns(spec.column_names))
        return FilesInput(batch.files, shown, CsvFormat())
    if not (columns := batch.columns or known):
        return FilesInput((), "no rows")
    text = CsvText(CsvFormat())
    file.parent.mkdir(parents=True)
    file.write_bytes(text.header(columns) + text.rows([row.get(name) for name in columns] for row in batch.rows))
    return FilesInput((file,), f"rows of {batch.partition}")
