"""An object store that Airflow knows as ``bucket://``: an object is there when its upload is complete, not before."""

from __future__ import annotations

from threading import Event, Thread
from typing import Any

from fsspec import register_implementation
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem
from upath import UPath
from upath.registry import register_implementation as register_path

from airflow_idempotent.operators.connections import storage_path
from tests.cases.case import Step
from tests.cases.faults import Interrupted, Work, replaced, wait_for
from tests.cases.landings import whole_batches
from tests.cases.loads import root_of
from tests.cases.world import World


class Upload(MemoryFile):  # type: ignore[misc]
    """Sends its content when it is closed first, unless it was discarded."""

    over = False

    def discard(self) -> None:
        """Abort the upload."""
        self.over = True

    def close(self) -> None:
        """Complete the upload. Python closes it once more when it forgets it: that brings no object back."""
        if not self.over:
            self.over = True
            self.commit()


class Bucket(MemoryFileSystem):  # type: ignore[misc]
    """Objects in memory. Every reader gets bytes of its own."""

    protocol = ("bucket",)
    cachable = False
    store: dict[str, Any] = {}  # noqa: RUF012, one for the process, as in the class above
    pseudo_dirs = [""]  # noqa: RUF012

    @classmethod
    def _strip_protocol(cls, path: Any) -> str:
        return str(super()._strip_protocol(str(path).removeprefix("bucket://")))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        path = self._strip_protocol(path)
        if mode != "rb":
            if "x" in mode and path in self.store:
                raise FileExistsError(path)
            return Upload(self, path)
        if path not in self.store:
            raise FileNotFoundError(path)
        return MemoryFile(self, path, self.store[path].getvalue())


class BucketPath(UPath):
    """A path in it."""


class Poller(Thread):
    """Lists a destination all the time and reads what it finds."""

    def __init__(self, root: str, allowed: set[bytes]) -> None:
        super().__init__(daemon=True)
        self._root, self._allowed = root, allowed
        self._done = Event()
        self.seen: list[int] = []
        self.wrong: list[str] = []

    def run(self) -> None:
        while not self._done.wait(0.002):
            try:
                found = len(whole_batches(self._root))
                self.wrong += [path for path, data in parts(self._root) if data not in self._allowed]
                self.seen.append(found)
            except Exception as error:  # noqa: BLE001, whatever a reader would see
                self.wrong.append(repr(error))

    def look(self) -> int:
        """How many batches a look finds that begins from now on; on a busy machine it takes a while to come."""
        after = len(self.seen) + 1
        wait_for(lambda: self.wrong or len(self.seen) > after, "the reader of the destination")
        assert not self.wrong, self.wrong[0]
        return self.seen[-1]

    def stop(self) -> None:
        """End it; what it saw must have been whole."""
        self._done.set()
        self.join()
        assert not self.wrong, self.wrong[0]


def parts(root: str) -> list[tuple[str, bytes]]:
    """The parts that lie in the store, named by a manifest or not."""
    base = storage_path(root)
    return [(str(path), path.read_bytes()) for path in base.glob("**/part-*")] if base.exists() else []


def upload_stops(world: World, step: Step, work: Work) -> None:
    """An upload stops half way; the next attempt finds a store that can neither copy nor delete nor rename."""
    know_bucket()
    world.at_end.append(Bucket.store.clear)
    root = root_of(world, step)
    poller = world.memory["poller"] = Poller(root, set(world.case.files.values()))
    poller.start()
    try:
        with replaced(Upload, "write", _half):
            work()
    except Interrupted as stopped:
        assert poller.look() == 0, "half an upload is visible"
        with replaced(Bucket, "cp_file", _impossible), replaced(Bucket, "_rm", _impossible):
            work()
        assert poller.look() == 1, "the next attempt did not land it"
        raise Interrupted(str(stopped)) from None


def _half(file: Any, data: bytes) -> int:
    super(MemoryFile, file).write(data[: len(data) // 2])
    raise Interrupted("the upload stopped")


def _impossible(*words: Any, **more: Any) -> Any:
    raise AssertionError("a copy or a delete was asked for")


def know_bucket() -> None:
    """Tell Airflow of the store."""
    try:
        from airflow.sdk.io import attach  # noqa: TID251, Airflow 3
    except ImportError:
        from airflow.io.store import attach
    register_implementation("bucket", Bucket, clobber=True)
    # Else every path warns that nobody knows it, and Python's warnings are not made for two threads at once.
    register_path("bucket", BucketPath, clobber=True)
    attach("bucket", fs=Bucket())
