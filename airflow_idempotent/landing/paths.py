"""What landing asks of a path, whether it is a ``pathlib.Path`` or stands for an object in a store."""

from __future__ import annotations

import pathlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import IO, Any, Protocol, Self, TypeVar

from airflow_idempotent.errors import BadFileError


class StoragePath(Protocol):
    """The part of the pathlib interface that ``pathlib.Path``, ``UPath`` and ``ObjectStoragePath`` share."""

    @property
    def name(self) -> str: ...
    @property
    def parent(self) -> Self: ...
    def __truediv__(self, name: str, /) -> Self: ...
    def open(self, mode: str, /) -> IO[Any]: ...
    def exists(self) -> bool: ...
    def is_file(self) -> bool: ...
    def iterdir(self) -> Iterator[Self]: ...
    def glob(self, pattern: str, /) -> Iterator[Self]: ...
    def stat(self) -> Any: ...
    def unlink(self) -> None: ...
    def read_bytes(self) -> bytes: ...


PathT = TypeVar("PathT", bound=StoragePath)

_HIDDEN_CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, direction marks, half characters, line breaks
_WRITTEN_AT = ("LastModified", "last_modified", "updated", "mtime", "created")
_CONTENT_MARKS = (*_WRITTEN_AT, "modify", "ETag", "etag", "md5Hash", "crc32c", "generation", "VersionId", "version_id")


def local_path(path: StoragePath) -> pathlib.Path | None:
    """The plain path of a file on this machine, however it was spelled; None when it lies in an object store.

    The class alone does not tell: Airflow 2's ObjectStoragePath is a ``pathlib.Path`` too.
    """
    protocol = getattr(path, "protocol", None)
    if protocol is None and isinstance(path, pathlib.Path):
        return path
    return pathlib.Path(getattr(path, "path", str(path))) if protocol in ("", "file", "local") else None


def children(folder: PathT) -> list[PathT]:
    """What lies in a folder now, in order of names; nothing when it does not exist."""
    forget_listings(folder)
    try:
        return sorted(folder.iterdir(), key=lambda path: path.name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def forget_listings(path: StoragePath) -> None:
    """Make an object store look again: fsspec remembers listings, and others write there too."""
    if (store := getattr(path, "fs", None)) is not None:
        store.invalidate_cache()


def whole_file(path: StoragePath) -> bytes:
    """All bytes of a small file as of one moment: in an object store, of one request."""
    store = getattr(path, "fs", None)
    return path.read_bytes() if store is None else bytes(store.cat_file(getattr(path, "path", str(path))))


def written_at(path: StoragePath) -> float | None:
    """When a file was last written, in seconds since 1970; None when its store does not say."""
    facts = path.stat()
    for name in ("st_mtime", "st_birthtime"):
        if seconds := getattr(facts, name, 0):
            return float(seconds)
    found = [_facts(facts).get(name) for name in _WRITTEN_AT]
    return next((value.timestamp() for value in found if isinstance(value, datetime)), None)


def identity(path: StoragePath) -> tuple[object, ...]:
    """What changes when somebody writes the file: size, time, inode; in a store also etag, version and the like."""
    forget_listings(path)
    facts = path.stat()
    known = (facts.st_size, getattr(facts, "st_mtime_ns", None) or facts.st_mtime, getattr(facts, "st_ino", 0))
    return known + tuple(str(_facts(facts).get(mark)) for mark in _CONTENT_MARKS)


def _facts(status: Any) -> Mapping[str, Any]:
    if isinstance(status, Mapping):
        return status
    as_info = getattr(status, "as_info", None)
    return as_info() if as_info else {}


def shown(text: object) -> str:
    """An address for messages and manifests: without the password in it, and with nothing a terminal would obey."""
    plain = re.sub(r"(://[^/@:]*):[^/@]*@", r"\1:***@", str(text))
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in plain)


def clean_name(name: str) -> str:
    """The name of a source file, fit for manifests, logs and terminals.

    It never becomes part of a path: parts are numbered.

    Raises:
        BadFileError: it is empty, leads to another folder, or hides characters.
    """
    hidden = [char for char in name if unicodedata.category(char) in _HIDDEN_CATEGORIES]
    if not name or hidden or name in (".", "..") or re.search(r"[/\\]", name):
        raise BadFileError(
            file=ascii(name),
            reason="no plain file name (it is empty, leads to another folder, or holds control characters)",
            hint="Have the file delivered under another name, then clear this task.",
        )
    return name
