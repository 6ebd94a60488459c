"""Batches on a local file system: a batch appears by one rename, whole and with its manifest.

Everything is written and made durable in a private folder ``.tmp-…`` beside the batches. Renaming
that folder to ``batch=…`` is the commit point: it fails when the batch exists, so of two attempts
one wins, and no reader ever meets a batch without its manifest.

An attempt holds a lock (flock) on its private folder for as long as its process lives. That is how
``sweep`` knows what a killed attempt left from what is being written right now. The lock is trusted
only within one running kernel, which is part of the folder's name; elsewhere, age decides.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import IO

from airflow_idempotent.core.manifest import MANIFEST_NAME, Manifest, batch_of_folder, revision_of

PRIVATE = ".tmp-"


class LocalDraft:
    """A batch that is being written; nobody sees it before ``publish``."""

    def __init__(self, partition_folder: Path, folder: Path) -> None:
        self._partition_folder, self._folder = partition_folder, folder

    def part_name(self, number: int, suffix: str, sha256: str) -> str:
        """What the part of that number is called: ``part-00000.csv``."""
        return f"part-{number:05d}{suffix}"

    @contextmanager
    def part(self, number: int, suffix: str) -> Iterator[IO[bytes]]:
        """A new part to write; durable when the block is left without error."""
        with (self._folder / self.part_name(number, suffix, "")).open("xb", buffering=0) as file:
            yield file
            os.fsync(file.fileno())

    def content(self, name: str) -> bytes:
        """The bytes of a part that has been written."""
        return (self._folder / name).read_bytes()

    def publish(self, manifest: Manifest) -> bool:
        """Make the batch visible; False, and nothing is visible, when its number or a higher one is taken."""
        with (self._folder / MANIFEST_NAME).open("xb") as file:
            file.write(manifest.to_json().encode())
            file.flush()
            os.fsync(file.fileno())
        _sync_folder(self._folder)
        taken = [revision_of(batch) for batch in map(batch_of_folder, os.listdir(self._partition_folder)) if batch]
        if any(revision > manifest.revision for revision in taken):
            return False
        target = self._partition_folder / f"batch={manifest.batch_id}"
        _clear_the_way(target)
        try:
            self._folder.rename(target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return False
            raise
        _sync_folder(self._partition_folder)
        return True


class LocalFiles:
    """Writes, sweeps and removes batches on a local file system."""

    @contextmanager
    def draft(self, partition_folder: Path) -> Iterator[LocalDraft]:
        """A private folder for a new batch, gone again when the block is left without publishing."""
        _make_folders(partition_folder)
        folder, lock = _claim(partition_folder)
        try:
            yield LocalDraft(partition_folder, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)

    def sweep(self, partition_folder: Path, age: float) -> int:
        """Remove what dead attempts left; ``age`` in seconds makes up for locks that cannot be seen."""
        swept = 0
        for folder in _listed(partition_folder):
            if folder.name.startswith(PRIVATE):
                dead = _abandoned(folder, age)
            else:
                dead = bool(batch_of_folder(folder.name)) and _is_remainder(folder) and _untouched(folder, age)
            if dead:
                shutil.rmtree(folder, ignore_errors=True)
                swept += not folder.exists()
        return swept

    def remove(self, batch_folder: Path) -> None:
        """Delete a batch, its manifest first: from then on it does not exist for any reader."""
        with suppress(FileNotFoundError):  # another removal was faster
            (batch_folder / MANIFEST_NAME).unlink()
            _sync_folder(batch_folder)
        shutil.rmtree(batch_folder, ignore_errors=True)


def _make_folders(folder: Path) -> None:
    """Make a folder and its parents, each durable in the one above it."""
    if folder.is_dir():
        return
    _make_folders(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _claim(parent: Path) -> tuple[Path, int]:
    """Make a private folder and lock it; the lock ends with this process at the latest."""
    while True:
        folder = parent / f"{PRIVATE}{_kernel()}-{os.getpid()}-{os.urandom(6).hex()}"
        folder.mkdir()
        with suppress(FileNotFoundError):  # swept before we could lock it
            lock = os.open(folder, os.O_RDONLY)
            with suppress(OSError):  # no locks on this file system: age protects the folder
                fcntl.flock(lock, fcntl.LOCK_EX)
            if folder.exists():
                return folder, lock
            os.close(lock)


def _abandoned(folder: Path, age: float) -> bool:
    """Whether no live attempt writes there."""
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:
        return False  # published or removed meanwhile
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return _untouched(folder, age)
    finally:
        os.close(lock)
    return folder.name.startswith(f"{PRIVATE}{_kernel()}-") or _untouched(folder, age)


def _untouched(folder: Path, age: float) -> bool:
    with suppress(OSError):
        newest = max(path.stat().st_mtime for path in [folder, *folder.iterdir()])
        return time.time() - newest > age
    return False


def _is_remainder(folder: Path) -> bool:
    """Whether a batch folder is what a removal that was interrupted left: parts without a manifest."""
    return folder.is_dir() and not (folder / MANIFEST_NAME).exists()


def _clear_the_way(target: Path) -> None:
    """Move a remainder out of the name of a new batch. No attempt writes there, so nobody misses it."""
    aside = target.parent / f"{PRIVATE}{_kernel()}-{os.getpid()}-{os.urandom(6).hex()}"
    with _locked(target.parent):  # between this look and the rename nobody else may clear and publish
        if not _is_remainder(target) or not any(target.iterdir()):
            return
        target.rename(aside)
    shutil.rmtree(aside, ignore_errors=True)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _listed(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, where the file system can."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(handle)


@lru_cache(maxsize=1)
def _kernel() -> str:
    """Names the running kernel: only its own locks can be seen. A reboot is another kernel."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text()
    except OSError:
        text = platform.node()
    return re.sub(r"\W", "", text, flags=re.ASCII)[:12] or "unknown"
