"""What happens around a landing: sources that change, readers that list and copy while it goes on."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from threading import Event, Thread
from typing import Any

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.operators.connections import storage_path
from tests.cases.case import Step
from tests.cases.faults import Interrupted, Work, replaced
from tests.cases.loads import root_of
from tests.cases.world import World

# --- steps ----------------------------------------------------------------------------------------


def change_source(world: World, step: Step) -> None:
    """Other content under the same name."""
    world.write(step["file"], step["to"])


def downstream_list(world: World, step: Step) -> None:
    """A reader that looks now: it must find nothing, or whole batches."""
    world.memory.setdefault("listed", []).append(whole_batches(root_of(world, step)))


def reader(world: World, step: Step) -> None:
    """A reader that took the first manifest before the last landing, and copies its bytes only now."""
    batches = whole_batches(root_of(world, step))
    assert batches, "nothing has landed"
    assert batches[0].revision == 1, "the batch that a reader works on is gone"


def poll_destination(world: World, step: Step) -> None:
    """End the reader that has been listing all the time; it may have seen whole files only."""
    poller: Poller | None = world.memory.pop("poller", None)
    if poller is not None:
        poller.stop()


# --- batches --------------------------------------------------------------------------------------


def batches(root: str) -> list[Manifest]:
    """The manifests below a landing root, in order of their addresses."""
    base = storage_path(root)
    paths = sorted((str(path) for path in base.glob("*/partition=*/batch=*/_manifest.json")) if base.exists() else ())
    return [BatchStore.from_address(storage_path(path)) for path in paths]


def whole_batches(root: str) -> list[Manifest]:
    """The same, each compared with the bytes that lie beside it."""
    store, found = BatchStore(storage_path(root)), batches(root)
    for manifest in found:
        for part in manifest.parts:
            with store.open_part(manifest, part) as file:
                data = file.read()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (part.bytes, part.sha256), part.name
    return found


def left_over(root: Path) -> list[str]:
    """Files below a landing root that belong to no batch."""
    named = {
        f"batch={manifest.batch_id}/{name}"
        for manifest in batches(str(root))
        for name in ("_manifest.json", *(part.name for part in manifest.parts))
    }
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if f"{path.parent.name}/{path.name}" not in named]


# --- an object store ------------------------------------------------------------------------------


class Poller(Thread):
    """Lists a destination all the time and reads what it finds."""

    def __init__(self, root: str, allowed: set[bytes]) -> None:
        super().__init__(daemon=True)
        self._root, self._allowed = root, allowed
        self._done = Event()
        self.seen: list[int] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self._done.is_set():
            try:
                self.seen.append(len(whole_batches(self._root)))
                self.wrong += [path for path, data in _objects(self._root) if data not in self._allowed]
            except Exception as error:  # noqa: BLE001, whatever a reader would see
                self.wrong.append(repr(error))

    def stop(self) -> None:
        """End it; what it saw must have been whole."""
        self._done.set()
        self.join()
        assert self.seen
        assert not self.wrong, self.wrong[0]


def upload_stops(world: World, step: Step, work: Work) -> None:
    """An object store in which uploads stop half way; then one that can neither copy nor delete nor rename."""
    from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

    root = root_of(world, step)
    world.at_end.append(MemoryFileSystem.store.clear)
    poller = world.memory["poller"] = Poller(root, set(world.case.files.values()))
    poller.start()

    def half(file: Any, data: bytes) -> int:
        io.BytesIO.write(file, data[: len(data) // 2])
        raise Interrupted("the upload stopped")

    def impossible(*words: Any, **more: Any) -> Any:
        raise AssertionError("a copy or delete was asked for")

    try:
        with replaced(MemoryFile, "write", half):
            work()
    except Interrupted as stopped:
        assert not whole_batches(root), "half an upload is visible"
        with replaced(MemoryFileSystem, "cp_file", impossible), replaced(MemoryFileSystem, "_rm", impossible):
            work()
        assert len(whole_batches(root)) == 1
        raise Interrupted(str(stopped)) from None


def _objects(root: str) -> list[tuple[str, bytes]]:
    """The parts that lie in the store, named by a manifest or not."""
    base = storage_path(root)
    return [(str(path), path.read_bytes()) for path in base.glob("**/part-*")] if base.exists() else []
