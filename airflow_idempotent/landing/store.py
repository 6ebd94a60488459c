"""Where batches lie: readers trust manifests only, writers add batches, nothing is ever changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import IO, Any, BinaryIO, Protocol

from airflow_idempotent.core.manifest import (
    MANIFEST_NAME,
    Manifest,
    Part,
    batch_folder,
    batch_of_folder,
    folder_name,
    partition_folder,
    revision_of,
)
from airflow_idempotent.errors import BatchDamagedError, ManifestError
from airflow_idempotent.landing.local_files import LocalFiles
from airflow_idempotent.landing.object_files import ObjectFiles
from airflow_idempotent.landing.paths import StoragePath, children, local_path, shown, whole_file


class Draft(Protocol):
    """A batch that is being written; nobody sees it before ``publish``."""

    def part_name(self, number: int, suffix: str, sha256: str) -> str: ...
    def part(self, number: int, suffix: str) -> AbstractContextManager[IO[bytes]]: ...
    def content(self, name: str) -> bytes: ...
    def publish(self, manifest: Manifest) -> bool: ...


class BatchStore:
    """The landed batches below ``root``, a local folder or a prefix of an object store.

    A batch exists when its manifest does. Batches are only ever added and removed whole, so a
    reader that holds a manifest finds exactly its bytes, or an error. ``orphan_age`` is how long
    the leavings of an attempt stay whose death cannot be seen.
    """

    def __init__(self, root: Any, *, orphan_age: timedelta = timedelta(hours=24)) -> None:
        local = local_path(root)
        self.root: Any = root if local is None else local.absolute()
        self._files: Any = ObjectFiles() if local is None else LocalFiles()
        self._orphan_age = orphan_age

    def manifests(self, table: str, partition: str) -> tuple[Manifest, ...]:
        """The manifests of all complete batches of a partition, oldest first.

        Raises:
            BatchDamagedError: a manifest is there but cannot be read, or is that of another batch.
        """
        found = [self._find(table, partition, batch) for batch in self._batches(table, partition)]
        return tuple(manifest for manifest in found if manifest)

    def latest(self, table: str, partition: str) -> Manifest | None:
        """The manifest of the newest complete batch; None when nothing has landed.

        Raises:
            BatchDamagedError: as for ``manifests``.
        """
        newest_first = reversed(self._batches(table, partition))
        return next((found for batch in newest_first if (found := self._find(table, partition, batch))), None)

    def newest(self, table: str) -> Iterator[Manifest]:
        """The manifest of the newest complete batch of each partition, in the order of their folders.

        Raises:
            BatchDamagedError: as for ``manifests``.
        """
        for folder in children(self.root / folder_name(table)):
            batches = (batch for child in children(folder) if (batch := batch_of_folder(child.name)))
            for batch in sorted(batches, key=revision_of, reverse=True):
                found = _load(folder / f"batch={batch}" / MANIFEST_NAME)
                if found and found.table == table and folder.name == f"partition={folder_name(found.partition)}":
                    yield found
                    break

    def read(self, table: str, partition: str, batch_id: str) -> Manifest:
        """The manifest of one batch.

        Raises:
            ManifestError: there is no such batch.
            BatchDamagedError: as for ``manifests``.
        """
        if found := self._find(table, partition, batch_id):
            return found
        landed = ", ".join(manifest.batch_id for manifest in self.manifests(table, partition))
        address = self.root / batch_folder(table, partition, batch_id) / MANIFEST_NAME
        raise ManifestError(address=shown(address), reason=f"there is no such batch (landed: {landed or 'none'})")

    def folder(self, manifest: Manifest) -> Any:
        """The path of the folder in which a batch lies."""
        return self.root / batch_folder(manifest.table, manifest.partition, manifest.batch_id)

    def address(self, manifest: Manifest) -> str:
        """Where the manifest of a batch lies, as text for XComs and messages."""
        return str(self.folder(manifest) / MANIFEST_NAME)

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO:
        """The bytes of a part as they were landed, compressed ones compressed.

        Raises:
            BatchDamagedError: the part is gone.
        """
        path = self.folder(manifest) / part.name
        try:
            opened: BinaryIO = path.open("rb")
        except FileNotFoundError:
            raise BatchDamagedError(file=shown(path), expected=f"{part.bytes} bytes", found="no such file") from None
        return opened

    def check_sizes(self, manifest: Manifest) -> None:
        """Make sure that all parts of a batch are there with the length they should have.

        Raises:
            BatchDamagedError: one is not.
        """
        for part in manifest.parts:
            path = self.folder(manifest) / part.name
            found = f"{path.stat().st_size} bytes" if path.exists() else "no such file"
            if found != (expected := f"{part.bytes} bytes"):
                raise BatchDamagedError(file=shown(path), expected=expected, found=found)

    @staticmethod
    def from_address(path: Any) -> Manifest:
        """The manifest at the path of a ``_manifest.json``.

        Raises:
            ManifestError: there is none.
            BatchDamagedError: it cannot be read, or lies in the folder of another batch.
        """
        if (found := _load(path)) is None:
            raise ManifestError(address=shown(path), reason="there is no such manifest")
        return found

    def draft(self, table: str, partition: str) -> AbstractContextManager[Draft]:
        """Begin a new batch; what is not published is gone when the block is left."""
        draft: AbstractContextManager[Draft] = self._files.draft(self._partition_folder(table, partition))
        return draft

    def sweep(self, table: str, partition: str) -> int:
        """Remove what interrupted attempts left in a partition, and say how much that was.

        Complete batches and what a live attempt is writing are left alone, so a second sweep
        finds nothing.
        """
        return int(self._files.sweep(self._partition_folder(table, partition), self._orphan_age.total_seconds()))

    def remove(self, manifest: Manifest) -> None:
        """Delete a batch, its manifest first. Interrupted, the rest is swept later."""
        self._files.remove(self.folder(manifest))

    def _partition_folder(self, table: str, partition: str) -> Any:
        return self.root / partition_folder(table, partition)

    def _batches(self, table: str, partition: str) -> list[str]:
        folders: list[StoragePath] = children(self._partition_folder(table, partition))
        return sorted((batch for folder in folders if (batch := batch_of_folder(folder.name))), key=revision_of)

    def _find(self, table: str, partition: str, batch: str) -> Manifest | None:
        path = self.root / batch_folder(table, partition, batch) / MANIFEST_NAME
        found = _load(path)
        if found and (found.table, found.partition) != (table, partition):
            raise _damaged(path, f"a manifest of {found.table} {found.partition}")
        return found


def _load(path: Any) -> Manifest | None:
    """Read a manifest; None when there is none. In an object store an empty one is just being created."""
    try:
        data = whole_file(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return None if not data and local_path(path) is None else _parse(path, data)


def _parse(path: Any, data: bytes) -> Manifest:
    try:
        manifest = Manifest.from_json(data.decode())
    except (ValueError, KeyError, TypeError) as error:
        raise _damaged(path, f"unreadable ({error})") from None
    if path.parent.name != f"batch={manifest.batch_id}":
        raise _damaged(path, f"that of batch {manifest.batch_id}")
    if strange := [
        part.name for part in manifest.parts if "/" in part.name or "\\" in part.name or part.name[:1] == "."
    ]:
        raise _damaged(path, f"a part called {strange[0]!r}")
    return manifest


def _damaged(path: Any, found: str) -> BatchDamagedError:
    return BatchDamagedError(file=shown(path), expected="the manifest of this batch", found=found)
