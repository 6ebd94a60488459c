"""Reads source files: copies one in a single pass, and tells whether they still are what was landed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from typing import Any

from airflow_idempotent.core.manifest import Manifest, Part, compression_of
from airflow_idempotent.errors import BadFileError, FileChangingError
from airflow_idempotent.landing.csv_records import CHUNK
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.part import PartWriter
from airflow_idempotent.landing.paths import clean_name, identity, local_path, shown


def copy_file(path: Any, writer: PartWriter) -> None:
    """Write a file to ``writer``, chunk by chunk.

    Raises:
        FileNotFoundError: it is not there (any more).
        FileChangingError: somebody wrote to it meanwhile.
        BadFileError: it is not of the format of ``writer``, or may not be read.
    """
    before = identity(path)
    try:
        with path.open("rb") as file:
            # Not far beyond its size: a local file that grows may have no end. Objects in a store do not grow.
            left: float = math.inf if local_path(path) is None else path.stat().st_size
            while left >= 0 and (chunk := file.read(CHUNK)):
                writer.write(chunk)
                left -= len(chunk)
    except PermissionError:
        raise BadFileError(file=shown(path), reason="may not be read by this user") from None
    except BadFileError:
        if identity(path) != before:
            raise FileChangingError(file=shown(path)) from None
        raise
    if identity(path) != before:
        raise FileChangingError(file=shown(path))


def differences(source: FilesInput, landed: Manifest) -> Iterator[str]:
    """What differs between files and a batch, found with as little reading as each answer needs."""
    if source.format != landed.format:
        yield "the format options of the spec"
    elif source.columns and any(part.columns != source.columns for part in landed.parts):
        yield "the columns of the spec"
    names = [_plain(clean_name(path.name)) for path in source.paths]
    left: dict[str, list[Part]] = {}
    for part in landed.parts:
        left.setdefault(_plain(part.source), []).append(part)
    matched = [left[name].pop(0) if left.get(name) else None for name in names]
    for path, counterpart in zip(source.paths, matched, strict=True):
        if counterpart is None:
            yield f"{path.name}: new"
        elif found := _difference(path, counterpart):
            yield f"{path.name}: {found}"
    gone = [part for parts in left.values() for part in parts]
    yield from (f"{part.source}: gone" for part in gone)
    if not gone and None not in matched and tuple(matched) != landed.parts:
        yield "the order of the files"


def _plain(name: str) -> str:
    """The name of a file whatever it is compressed by."""
    return name.rpartition(".")[0] if compression_of(name) else name


def _difference(path: Any, part: Part) -> str:
    if not path.exists():
        return "gone"
    size = path.stat().st_size
    if (compression := compression_of(path.name)) != part.compression:
        return f"compressed by {compression}" if compression else "not compressed any more"
    if size != part.bytes:
        return f"{size} bytes, in the batch {part.bytes}"
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    if (found := digest.hexdigest()) == part.sha256:
        return ""
    return f"other content of the same length, sha256 {found[:12]}, in the batch {part.sha256[:12]}"
