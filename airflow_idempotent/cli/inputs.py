"""Which partition a file on the command line belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from airflow_idempotent.errors import UsageError
from airflow_idempotent.landing.inputs import find_files
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.testing.batches import Batch

_TEMPLATE = re.compile(r"\{\{\s*partition\.(key|compact)\s*\}\}")
_KEY = r"(\d{4}(?:-?W?\d\d)*(?:T\d\d[\d:+Z-]*)?)"
_COMPACT = re.compile(r"(\d{4})(W?\d\d)?(\d\d)?(T.+)?")
_GLOB = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
_PIECE = re.compile(r"(\{\{.*?\}\}|\*\*|\*|\?)")


def batches(spec: TableSpec, words: Iterable[str], *, command: str) -> tuple[Batch, ...]:
    """The batches that the words stand for, in their order: ``2025-05-01=orders.csv``, or a file alone.

    Raises:
        UsageError: a file is not there, or nothing says which partition it belongs to.
    """
    return tuple(_batch(spec, word, command) for word in words)


def _batch(spec: TableSpec, word: str, command: str) -> Batch:
    key, equals, pattern = word.partition("=")
    if equals and _is_key(spec, key):
        files = find_files(pattern).paths
    else:
        key, files = _key_of(spec, word, command), find_files(word).paths
        pattern = word
    if not files:
        raise UsageError(
            command=command, reason=f"--input {pattern!r}: there is no such file", hint="Correct the path."
        )
    return Batch(key, files=files)


def _is_key(spec: TableSpec, text: str) -> bool:
    try:
        spec.partition(text)
    except ValueError:
        return False
    return True


def _dashed(text: str) -> str:
    """``20250501``, as ``partition.compact`` has it, as a key; a key as it is."""
    if found := _COMPACT.fullmatch(text):
        return "-".join(filter(None, found.groups()[:3])) + (found[4] or "")
    return text


def _key_of(spec: TableSpec, word: str, command: str) -> str:
    """The key in the path, at the place where the path of the spec has it."""
    for form in _forms(spec):
        if found := form.search(Path(word).absolute().as_posix()):
            for key in found.groups():
                if _is_key(spec, dashed := _dashed(key)):
                    return spec.partition(dashed).key
    where = f": source.path is {spec.source.path!r}" if isinstance(spec.source, Files) else ""
    hint = f"Write it like --input 2025-05-01={word}."
    raise UsageError(command=command, reason=f"--input {word!r} does not tell its partition{where}", hint=hint)


def _forms(spec: TableSpec) -> Iterator[re.Pattern[str]]:
    """The path of the spec as a pattern in which the key is a group; none where it has no key that can be read."""
    if not isinstance(spec.source, Files):
        return
    path = spec.source.path.removeprefix("./")
    groups = 0
    text = "/" if not path.startswith("/") and "://" not in path else ""
    for piece in _PIECE.split(path):
        if _TEMPLATE.fullmatch(piece):
            text, groups = text + _KEY, groups + 1
        elif piece.startswith("{{"):  # another template: it may stand for anything
            text += "[^/]*"
        else:
            text += _GLOB.get(piece, re.escape(piece))
    if groups:
        yield re.compile(text + "$")
