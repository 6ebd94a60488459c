"""Compares a landed batch with its source as that is now; nothing is landed."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from airflow_idempotent.core.audit import Cause, Due, SourceVerdict
from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.errors import BadFileError, BatchDamagedError, PythonSourceError, SourceQueryError
from airflow_idempotent.landing.inputs import FilesInput, Input, QueryInput, find_files
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.paths import shown
from airflow_idempotent.landing.source_files import differences
from airflow_idempotent.landing.store import BatchStore

SHOWN = 3

Again = Callable[[Partition, Manifest], Input | None]
"""What the spec would land now with what was pinned for a batch; None when that is not asked for."""


def recheck(
    store: BatchStore, table: str, due: Due, partition: Partition, *, open_path: Callable[[str], Any], again: Again
) -> SourceVerdict:
    """Whether the newest batch of a partition is whole, loaded, and still what its source holds.

    Files are found by the pattern they were landed by and compared by name, size and hash; a query or a
    function is run again only where ``again`` gives it, into a folder that is gone afterwards.
    """
    try:
        manifest = store.latest(table, due.key)
        if manifest is None:
            return SourceVerdict(unjudged=f"source: its batch is not in the landing folder {store.root}")
        store.check_sizes(manifest)
    except BatchDamagedError as damaged:
        return SourceVerdict(Cause.BATCH_DAMAGED, damaged.headline, judged=frozenset({Cause.BATCH_DAMAGED}))
    if manifest.content_fingerprint != due.content_fingerprint:
        if manifest.batch_id == due.refused:
            return SourceVerdict(unjudged=f"source: batch {due.refused} was refused, see status")
        return _changed(f"batch {manifest.batch_id} has landed and is not loaded")
    try:
        return _compared(manifest, partition, open_path, again)
    except (BadFileError, OSError, PythonSourceError, SourceQueryError) as error:
        return SourceVerdict(unjudged=f"source: {str(error).splitlines()[0]}")


def _compared(manifest: Manifest, partition: Partition, open_path: Callable[[str], Any], again: Again) -> SourceVerdict:
    if manifest.query:
        return SourceVerdict(unjudged="source: a query inside the warehouse is not run again")
    if manifest.source.get("kind") == "files":
        return _files(manifest, open_path)
    source = again(partition, manifest)
    if source is None:
        return SourceVerdict(unjudged="source: not run again, since 'requery' was not asked for")
    if isinstance(source, QueryInput) and _hash(source.sql) != manifest.source.get("query_hash"):
        return SourceVerdict(unjudged="source: the query is another one than was landed")
    with tempfile.TemporaryDirectory(prefix="airflow-idempotent-audit-") as folder:
        now = land(source, store=BatchStore(Path(folder)), table=manifest.table, partition=partition).manifest
    if now.content_fingerprint == manifest.content_fingerprint:
        return SourceVerdict()
    return _changed(f"{now.rows:,} rows, in batch {manifest.batch_id} {manifest.rows:,}, not all alike")


def _files(manifest: Manifest, open_path: Callable[[str], Any]) -> SourceVerdict:
    """The files that the pattern finds now. None at all is an inbox that was emptied, as is usual after landing."""
    pattern = str(manifest.source.get("pattern", ""))
    if not pattern or ":***@" in pattern:
        return SourceVerdict(unjudged="source: its address is not known without a password")
    bare = isinstance(manifest.format, CsvFormat) and not manifest.format.header
    found = find_files(pattern, open_path=open_path, format=manifest.format, columns=manifest.columns if bare else ())
    if not found.paths:
        said = "its files are not there any more" if manifest.parts else ""
        return SourceVerdict(unjudged=f"source: {said}") if said else SourceVerdict()
    changes = list(differences(found, manifest))
    if not changes:
        return SourceVerdict()
    changes = list(_by_name(found, manifest)) or changes
    more = f" and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
    return _changed("; ".join(changes[:SHOWN]) + more)


def _by_name(found: FilesInput, manifest: Manifest) -> Iterator[str]:
    """Files that came or went, where some did: their places in the batch would blame others."""
    before, now = list(manifest.source.get("paths", ())), [shown(path) for path in found.paths]
    yield from (f"{name.rpartition('/')[2]}: new" for name in now if name not in before)
    yield from (f"{name.rpartition('/')[2]}: gone" for name in before if name not in now)


def _changed(message: str) -> SourceVerdict:
    return SourceVerdict(Cause.SOURCE_CHANGED, message)


def _hash(sql: str) -> str:
    return hashlib.sha256(sql.encode()).hexdigest()
