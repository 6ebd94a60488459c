"""An object store in memory that can fail at any request, as the real ones do."""

from __future__ import annotations

import fnmatch
import io
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class LostError(OSError):
    """The network broke, or the process died, right before a request."""


@dataclass
class Bucket:
    """Objects by key, as one client sees them: its listings are remembered until it is told to forget them.

    ``fail_at`` is the request that never happens; ``after`` is called once each one is done.
    """

    objects: dict[str, tuple[bytes, float | None]] = field(default_factory=dict)
    requests: int = 0
    fail_at: int = 0
    conditional: bool = True
    listings: dict[str, list[str]] = field(default_factory=dict)
    after: Callable[[str, str], None] = lambda verb, key: None

    def request(self, verb: str, key: str, work: Callable[[], Any]) -> Any:
        self.requests += 1
        if self.requests == self.fail_at:
            raise LostError(f"{verb} {key}")
        result = work()
        self.after(verb, key)
        return result

    def path(self, key: str = "raw") -> ObjectPath:
        return ObjectPath(self, key)

    def put(self, key: str, data: bytes, *, new: bool) -> None:
        if new and key in self.objects:
            raise FileExistsError(key)
        self.objects[key] = (data, time.time())


class Upload(io.BytesIO):
    """Sends its content when it is closed, unless it was discarded."""

    def __init__(self, path: ObjectPath, *, new: bool) -> None:
        super().__init__()
        self._path, self._new = path, new

    def write(self, data: Any, /) -> int:
        return int(self._path.bucket.request("UPLOAD", self._path.key, lambda: super(Upload, self).write(data)))

    def discard(self) -> None:
        super().close()

    def close(self) -> None:
        if not self.closed:
            data, path = self.getvalue(), self._path
            super().close()
            path.bucket.request("PUT", path.key, lambda: path.bucket.put(path.key, data, new=self._new))


@dataclass(frozen=True)
class ObjectPath:
    """The pathlib interface of an object, as UPath has it."""

    bucket: Bucket
    key: str
    protocol = "bucket"

    def __str__(self) -> str:
        return f"bucket://{self.key}"

    def __truediv__(self, name: str) -> ObjectPath:
        return ObjectPath(self.bucket, f"{self.key}/{name}")

    @property
    def name(self) -> str:
        return self.key.rpartition("/")[2]

    @property
    def parent(self) -> ObjectPath:
        return ObjectPath(self.bucket, self.key.rpartition("/")[0])

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.key.split("/"))

    @property
    def path(self) -> str:
        return self.key

    @property
    def fs(self) -> Any:
        return SimpleNamespace(
            invalidate_cache=self.bucket.listings.clear, cat_file=lambda key: ObjectPath(self.bucket, key).read_bytes()
        )

    def _get(self) -> bytes:
        if self.key not in self.bucket.objects:
            raise FileNotFoundError(self.key)
        return self.bucket.objects[self.key][0]

    def read_bytes(self) -> bytes:
        return bytes(self.bucket.request("GET", self.key, self._get))

    def open(self, mode: str) -> Any:
        if mode == "rb":
            return io.BytesIO(self.read_bytes())
        if mode == "xb" and not self.bucket.conditional:
            raise ValueError(mode)
        return Upload(self, new=mode == "xb")

    def exists(self) -> bool:
        return bool(self.bucket.request("HEAD", self.key, lambda: self.key in self.bucket.objects))

    is_file = exists

    def stat(self) -> Any:
        self.bucket.request("HEAD", self.key, self._get)
        data, written = self.bucket.objects[self.key]
        return SimpleNamespace(st_size=len(data), st_mtime=written or 0)

    def iterdir(self) -> Iterator[ObjectPath]:
        if self.key not in self.bucket.listings:
            self.bucket.listings[self.key] = self.bucket.request("LIST", self.key, lambda: list(self.bucket.objects))
        keys = self.bucket.listings[self.key]
        below = {key[len(self.key) + 1 :].split("/")[0] for key in keys if key.startswith(self.key + "/")}
        return iter([self / name for name in sorted(below)])

    def glob(self, pattern: str) -> Iterator[ObjectPath]:
        keys = self.bucket.request("LIST", self.key, lambda: list(self.bucket.objects))
        return (ObjectPath(self.bucket, key) for key in keys if fnmatch.fnmatch(key, f"{self.key}/{pattern}"))

    def unlink(self) -> None:
        self._get()
        self.bucket.request("DELETE", self.key, lambda: self.bucket.objects.pop(self.key))
