"""Batches in an object store: parts first, the manifest last and only if nobody else's is there.

A rename there is a copy and a delete, so none is used. The batch is written to a nameless local
file first, which vanishes with its process; only when its content is known to be new is it
uploaded. Parts carry their hash in their name: two attempts never write different bytes to one
key, and what the loser uploaded is named by no manifest.
"""

from __future__ import annotations

import errno
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

from airflow_idempotent.core.manifest import MANIFEST_NAME, Manifest, batch_of_folder, revision_of
from airflow_idempotent.landing.csv_records import CHUNK
from airflow_idempotent.landing.paths import StoragePath, children, forget_listings, whole_file, written_at


class ObjectDraft:
    """A batch that is being written; nobody sees it before ``publish``."""

    def __init__(self, partition_folder: StoragePath, spool: IO[bytes]) -> None:
        self._partition_folder, self._spool = partition_folder, spool

    def part_name(self, number: int, suffix: str, sha256: str) -> str:
        """What the part of that number and content is called: ``part-00000-2c26b46b68ffc68f.csv``."""
        return f"part-{number:05d}-{sha256[:16]}{suffix}"

    @contextmanager
    def part(self, number: int, suffix: str) -> Iterator[IO[bytes]]:
        """The place for the next part; parts are written one after the other."""
        yield self._spool

    def content(self, name: str) -> bytes:
        """The bytes of the part that has been written, when it is the only one."""
        self._spool.seek(0)
        return self._spool.read()

    def publish(self, manifest: Manifest) -> bool:
        """Make the batch visible; False, and nothing is visible, when its number or a higher one is taken."""
        if any(revision > manifest.revision for revision in _taken(self._partition_folder)):
            return False
        folder = self._partition_folder / f"batch={manifest.batch_id}"
        self._spool.seek(0)
        for part in manifest.parts:
            _upload(self._spool, part.bytes, folder / part.name)
        return _create(folder / MANIFEST_NAME, manifest.to_json().encode())


class ObjectFiles:
    """Writes, sweeps and removes batches in an object store."""

    @contextmanager
    def draft(self, partition_folder: StoragePath) -> Iterator[ObjectDraft]:
        """A place for a new batch, gone again when the block is left without publishing."""
        with tempfile.TemporaryFile() as spool:
            yield ObjectDraft(partition_folder, spool)

    def sweep(self, partition_folder: StoragePath, age: float) -> int:
        """Remove objects older than ``age`` seconds that no manifest names; what has no known age stays."""
        swept = 0
        for folder in children(partition_folder):
            if batch_of_folder(folder.name):
                for orphan in _orphans(folder, time.time() - age):
                    with suppress(FileNotFoundError):
                        orphan.unlink()
                        swept += 1
        return swept

    def remove(self, batch_folder: StoragePath) -> None:
        """Delete a batch, its manifest first: from then on it does not exist for any reader."""
        for file in sorted(children(batch_folder), key=lambda path: path.name != MANIFEST_NAME):
            with suppress(FileNotFoundError):
                file.unlink()


def _taken(partition_folder: StoragePath) -> list[int]:
    """The revisions that have a manifest."""
    batches = [(folder, batch_of_folder(folder.name)) for folder in children(partition_folder)]
    return [revision_of(batch) for folder, batch in batches if batch and (folder / MANIFEST_NAME).exists()]


def _orphans(folder: StoragePath, before: float) -> list[StoragePath]:
    files = {file.name: file for file in children(folder)}
    named: set[str] = set()
    if manifest := files.pop(MANIFEST_NAME, None):
        try:
            named = {part.name for part in Manifest.from_json(whole_file(manifest).decode()).parts}
        except (ValueError, KeyError, TypeError):
            return []  # readers are told that it is damaged; its parts are evidence
    spare = [file for name, file in files.items() if name not in named]
    ages = {file.name: written_at(file) for file in spare}
    # Of a batch without manifest all or nothing: an upload of several parts may take long.
    settled = [age is not None and age < before for age in ages.values()]
    return spare if all(settled) else []


def _upload(source: IO[bytes], size: int, target: StoragePath) -> None:
    """Write the next ``size`` bytes to a key; a key is never left with fewer of them.

    Raises:
        OSError: the store holds another number of bytes afterwards.
    """
    _write(_open_new(target), _pieces(source, size))
    forget_listings(target)
    if (found := target.stat().st_size) != size:
        raise OSError(errno.EIO, f"{found} of {size} bytes arrived", str(target))


def _pieces(source: IO[bytes], size: int) -> Iterator[bytes]:
    while size and (chunk := source.read(min(CHUNK, size))):
        yield chunk
        size -= len(chunk)


def _write(file: Any, chunks: Iterable[bytes]) -> None:
    """Write all of it or nothing: closing a file after an error would complete the upload of a part of it."""
    try:
        for chunk in chunks:
            file.write(chunk)
    except BaseException:
        with suppress(Exception):
            file.discard()
            file.closed = True
        raise
    file.close()


def _open_new(target: StoragePath) -> Any:
    try:
        return target.open("wb")
    except FileNotFoundError:  # a store with real folders
        parent: Any = target.parent
        parent.mkdir(parents=True, exist_ok=True)
        return target.open("wb")


def _create(target: StoragePath, data: bytes) -> bool:
    """Write a whole object only if its key is free; True when what is there afterwards is ``data``.

    A store that cannot do that in one request is asked first and read afterwards: of two
    attempts within one moment, both may then see their own bytes for a while.
    """
    try:
        _write(target.open("xb"), [data])
    except (NotImplementedError, ValueError):
        if not target.exists():
            _write(target.open("wb"), [data])
    except OSError as error:
        # Refused, or done although the answer was lost: what is there now tells which.
        forget_listings(target)
        if not target.exists():
            raise error
    return whole_file(target) == data
