"""Lands a source: the same content is the same batch, other content is the next one, half of it is nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from airflow_idempotent.core.manifest import COMPRESSIONS, CsvFormat, Manifest, Part, batch_id, compression_of
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.window import Window
from airflow_idempotent.errors import BatchDamagedError, SourceChangedError, SourceMissingError
from airflow_idempotent.landing.changed_rows import SAMPLED_BYTES, changed_rows
from airflow_idempotent.landing.inputs import FilesInput, Input, PythonInput, QueryInput, TransformInput
from airflow_idempotent.landing.part import PartWriter
from airflow_idempotent.landing.paths import clean_name, shown
from airflow_idempotent.landing.python_rows import PythonRows
from airflow_idempotent.landing.query import export_query
from airflow_idempotent.landing.source_files import copy_file, differences
from airflow_idempotent.landing.store import BatchStore, Draft

ROUNDS = 20
_ENDINGS = {kind: ending for ending, kind in COMPRESSIONS.items()}


@dataclass(frozen=True, slots=True)
class Landed:
    """The batch that now holds the source. ``replayed`` says that it did before, and nothing was written.

    ``changed`` says what differs from the batch before, where there is one; ``drifted`` that it was asked for the
    same cutoff, so that the source itself must have been changed.
    """

    manifest: Manifest
    address: str
    replayed: bool
    changed: tuple[str, ...] = ()
    drifted: bool = False


def land(
    source: Input,
    *,
    store: BatchStore,
    table: str,
    partition: Partition,
    on_source_change: Literal["new_batch", "fail"] = "new_batch",
    cutoff_ts: str = "",
    attempt: str = "",
    created_at: str = "",
    progress: Callable[[int, int], None] | None = None,
    source_facts: Mapping[str, Any] | None = None,
    may_be_empty: bool = False,
    unique_key: Sequence[str] = (),
) -> Landed:
    """Make the newest batch of a partition hold what the source holds now.

    Older batches are left alone. A second run finds its content there and writes nothing; one that
    was killed left nothing a reader sees. A batch is numbered r + 1 only if its source was read
    after batch r was complete: when another attempt lands meanwhile, the source is read again, so
    a delayed attempt cannot put old content above new. ``progress`` is told (rows, bytes) read.
    ``may_be_empty`` lands a batch without parts where there are no files. ``unique_key`` are the columns by
    which rows of a query that changed are named.

    Raises:
        CursorError: rows of an incremental query have no cursor, or one in the future, and that is refused.
        SourceMissingError: there are no files, or one vanished.
        BadFileError: a file is not of the format given, or is changing (``FileChangingError``).
        ExtraMissingError: the format needs a package that is not installed.
        SourceQueryError: the query failed.
        PythonSourceError: the function cannot be called, or yields no rows; or it failed (retryable).
        SourceChangedError: the content differs from the newest batch and ``on_source_change`` is ``fail``.
        BatchDamagedError: the newest batch is not what its manifest says.
    """
    if isinstance(source, FilesInput) and not source.paths and not may_be_empty:
        raise SourceMissingError(table=table, partition=partition.key, source=shown(source.pattern))
    frame = Manifest(
        table=table,
        partition=partition.key,
        batch_id="",
        start=partition.start.isoformat(),
        end=partition.end.isoformat(),
        format=source.format,
        parts=(),
        source={**_facts(source), **(source_facts or {})},
        cutoff_ts=cutoff_ts,
        attempt=attempt,
        created_at=created_at,
        query=source.query if isinstance(source, TransformInput) else None,
    )
    landing = _Landing(source, store, partition, frame, progress or _ignore, tuple(unique_key))
    store.sweep(table, partition.key)
    for _ in range(ROUNDS):
        if (landed := landing.once(may_change=on_source_change == "new_batch")) is not None:
            return landed
    address = shown(store.address(landing.manifest((), store.latest(table, partition.key))))
    raise BatchDamagedError(file=address, expected="a manifest, or none", found=f"an empty one, {ROUNDS} times")


@dataclass(frozen=True, slots=True)
class _Piece:
    """One part to be: what messages call it, what the manifest calls it, and what writes it."""

    label: str
    source: str
    compression: str
    feed: Callable[[PartWriter], Window | None]


@dataclass(frozen=True, slots=True)
class _Landing:
    """What ``land`` was asked to do. ``frame`` is the manifest to be, before it has parts and a number."""

    source: Input
    store: BatchStore
    partition: Partition
    frame: Manifest
    progress: Callable[[int, int], None]
    unique_key: tuple[str, ...] = ()

    def once(self, *, may_change: bool) -> Landed | None:
        """Land, unless another attempt does so between our look at the newest batch and our end."""
        latest = self.store.latest(self.frame.table, self.frame.partition)
        changed: tuple[str, ...] = ()
        if latest and isinstance(self.source, FilesInput):
            # Reading an unchanged source once is cheaper than copying it to find that out.
            if not (changed := tuple(differences(self.source, latest))):
                return self._replay(latest)
            if not may_change:
                raise self._changed(latest, *changed)
        with self.store.draft(self.frame.table, self.frame.partition) as draft:
            parts, window = self._write(draft)
            manifest = self.manifest(parts, latest, window)
            if latest and latest.content_fingerprint == manifest.content_fingerprint:
                return self._replay(latest)
            if latest and not changed:
                changed = (_difference(manifest, latest), *self._rows_changed(manifest, latest, draft))
            if latest and not may_change:
                raise self._changed(latest, *changed)
            if draft.publish(manifest):
                drifted = bool(latest and latest.cutoff_ts == manifest.cutoff_ts)
                return Landed(manifest, self.store.address(manifest), False, changed, drifted)
        return None

    def _rows_changed(self, manifest: Manifest, latest: Manifest, draft: Draft) -> tuple[str, ...]:
        """Some of the rows that differ, by their keys, where both batches are small."""
        if not self.unique_key or [len(item.parts) for item in (manifest, latest)] != [1, 1]:
            return ()
        old, new = latest.parts[0], manifest.parts[0]
        if max(old.bytes, new.bytes) > SAMPLED_BYTES or not isinstance(self.frame.format, CsvFormat):
            return ()
        with self.store.open_part(latest, old) as before:
            return changed_rows(before.read(), draft.content(new.name), self.unique_key)

    def manifest(self, parts: tuple[Part, ...], latest: Manifest | None, window: Window | None = None) -> Manifest:
        """The manifest of the batch after the newest one, as a reader will get it."""
        number = batch_id(self.partition.compact, latest.revision + 1 if latest else 1)
        manifest = replace(self.frame, batch_id=number, parts=parts, window=window)
        return Manifest.from_json(manifest.to_json())

    def _write(self, draft: Draft) -> tuple[tuple[Part, ...], Window | None]:
        parts: list[Part] = []
        window: Window | None = None
        rows = size = 0
        for number, piece in enumerate(self._pieces()):
            suffix = f".{self.source.format.kind}{_ENDINGS.get(piece.compression, '')}"
            progress = partial(_add, self.progress, rows, size)
            with draft.part(number, suffix) as target:
                writer = PartWriter(
                    target,
                    self.source.format,
                    file=piece.label,
                    compression=piece.compression,
                    columns=self.source.columns if isinstance(self.source, FilesInput) else (),
                    progress=progress,
                )
                window = piece.feed(writer) or window
                part = writer.part(partial(draft.part_name, number, suffix), source=piece.source)
            parts.append(part)
            rows, size = rows + part.rows, size + part.bytes
        return tuple(parts), window

    def _pieces(self) -> Iterator[_Piece]:
        if isinstance(self.source, QueryInput):
            export = partial(export_query, self.source, table=self.frame.table, partition=self.frame.partition)
            yield _Piece("the result of the query", "query", "", export)
            return
        if isinstance(self.source, PythonInput):
            rows = PythonRows(self.source, table=self.frame.table, partition=self.frame.partition)
            if not rows.is_empty:
                yield _Piece(f"what {self.source.function} yields", "python", "", rows.write)
            return
        if isinstance(self.source, TransformInput):
            return
        for path in self.source.paths:
            yield _Piece(shown(path), clean_name(path.name), compression_of(path.name), partial(self._copy, path))

    def _copy(self, path: Any, writer: PartWriter) -> None:
        try:
            copy_file(path, writer)
        except FileNotFoundError:
            raise SourceMissingError(
                table=self.frame.table, partition=self.frame.partition, source=shown(path)
            ) from None

    def _replay(self, latest: Manifest) -> Landed:
        self.store.check_sizes(latest)
        return Landed(latest, self.store.address(latest), replayed=True)

    def _changed(self, latest: Manifest, *changed: str) -> SourceChangedError:
        return SourceChangedError(
            table=self.frame.table, partition=self.frame.partition, batch_id=latest.batch_id, changed=changed
        )


def _facts(source: Input) -> dict[str, Any]:
    """What a manifest says of its source. Values of binds stay out of it: they may be anything."""
    if isinstance(source, QueryInput):
        digest = hashlib.sha256(source.sql.encode()).hexdigest()
        return {"kind": "query", "query_hash": digest, "binds": sorted(source.binds)}
    if isinstance(source, PythonInput):
        return {"kind": "python", "function": source.function}
    if isinstance(source, TransformInput):
        return {"kind": "transform", "query_hash": source.query.fingerprint, "binds": sorted(source.query.binds)}
    return {"kind": "files", "pattern": shown(source.pattern), "paths": [shown(path) for path in source.paths]}


def _difference(manifest: Manifest, landed: Manifest) -> str:
    if not manifest.query or not landed.query:
        return f"{_size(manifest)}, in the batch {_size(landed)}"
    if manifest.query.fingerprint != landed.query.fingerprint:
        return "another query"
    binds = manifest.query.binds
    return "; ".join(f":{name} = {value}, in the batch {landed.query.binds.get(name)}" for name, value in binds.items())


def _size(manifest: Manifest) -> str:
    digest = manifest.parts[0].sha256[:12] if manifest.parts else "none"
    return f"{manifest.rows} rows in {manifest.bytes} bytes, sha256 {digest}"


def _add(progress: Callable[[int, int], None], rows: int, size: int, more_rows: int, more_bytes: int) -> None:
    progress(rows + more_rows, size + more_bytes)


def _ignore(rows: int, size: int) -> None:
    """Nobody asked for progress."""
