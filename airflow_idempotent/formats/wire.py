"""The CSV that rows of other formats become on their way to the database (``core.manifest.WIRE``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

CHUNK = 1 << 20
_RECORD = re.compile(rb'[^"\n]*+(?:"[^"]*+"[^"\n]*+)*+\n')


def field(text: str) -> str:
    """A text in quotes, always: what has none is NULL."""
    return '"' + text.replace('"', '""') + '"' if '"' in text else f'"{text}"'


def array_text(items: Sequence[Any]) -> str:
    """A PostgreSQL array of texts; None is NULL, a list inside another dimension."""
    return "{" + ",".join(map(_element, items)) + "}"


def _element(item: Any) -> str:
    if item is None:
        return "NULL"
    if isinstance(item, list):
        return array_text(item)
    return '"' + str(item).replace("\\", "\\\\").replace('"', '\\"') + '"'


def record_at(chunks: Iterable[bytes], line: int) -> int | None:
    r"""The number of the record that a COPY means by a line of such a CSV, both counted from 1.

    PostgreSQL learns from the end of the first record what ends a line: inside it a ``\r`` counts,
    and a ``\n`` does not. Each chunk holds whole records.
    """
    records = lines = 0
    for chunk in chunks:
        for found in _RECORD.finditer(chunk):
            records += 1
            lines += found[0].count(b"\n") if records > 1 else 1 + found[0].count(b"\r")
            if lines >= line:
                return records
    return None
