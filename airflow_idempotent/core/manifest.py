"""What one landing brought: a numbered, immutable batch of parts, described by its manifest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Self
from urllib.parse import quote

from airflow_idempotent.core.window import Window

FORMAT_VERSION = 1
MANIFEST_NAME = "_manifest.json"
MAX_FOLDER_NAME = 200


@dataclass(frozen=True, slots=True)
class CsvFormat:
    """How the bytes of a CSV part are read. ``null`` is the unquoted text that means NULL."""

    kind: ClassVar[str] = "csv"
    delimiter: str = ","
    quote: str = '"'
    null: str = ""
    encoding: str = "utf-8"
    header: bool = True


@dataclass(frozen=True, slots=True)
class JsonlFormat:
    """One JSON object a line, in UTF-8. A key that a line lacks is NULL in its row, as ``null`` is."""

    kind: ClassVar[str] = "jsonl"


@dataclass(frozen=True, slots=True)
class ParquetFormat:
    """Apache Parquet; how its values look as text is for ``formats.arrow`` to say."""

    kind: ClassVar[str] = "parquet"


Format = CsvFormat | JsonlFormat | ParquetFormat
"""How the parts of a batch are read."""
FORMATS: Mapping[str, type[Format]] = {form.kind: form for form in (CsvFormat, JsonlFormat, ParquetFormat)}

WIRE = CsvFormat(header=False)
"""What parts that are no CSV are turned into on their way to the database: every text quoted, NULL bare."""


def copied_as(form: Format) -> CsvFormat:
    """The CSV that the database is sent for parts of a format: a CSV as it is, all else as ``WIRE``."""
    return form if isinstance(form, CsvFormat) else WIRE


COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}
"""How a file is compressed, by the ending of its name."""


def compression_of(name: str) -> str:
    """How a file is compressed, by its name: ``gzip``, ``zstd``, or empty when it is not."""
    return next((kind for ending, kind in COMPRESSIONS.items() if name.lower().endswith(ending)), "")


@dataclass(frozen=True, slots=True)
class Part:
    """One landed file. ``bytes`` and ``sha256`` are of the file as it lies there, ``rows`` counts records.

    ``columns`` are the names of its header or schema, in its order; of JSON Lines, every key of every
    line in the order of first sight. ``source`` is the name it came under.
    """

    name: str
    bytes: int
    rows: int
    sha256: str
    columns: tuple[str, ...]
    source: str = ""

    @property
    def label(self) -> str:
        """What messages call it: the name it came under."""
        return self.source or self.name

    @property
    def compression(self) -> str:
        """``gzip``, ``zstd``, or empty when it lies there plain."""
        return compression_of(self.name)


@dataclass(frozen=True, slots=True)
class PinnedQuery:
    """What stands in place of parts when the rows are made inside the warehouse: a query and its binds.

    ``fingerprint`` is of its meaning, whatever its layout. ``binds`` are the values of those binds
    that the query really uses, as text: instants in ISO 8601.
    """

    sql: str
    columns: tuple[str, ...]
    fingerprint: str
    binds: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The commit point of a batch: a batch without one does not exist for any reader.

    ``start``, ``end``, ``cutoff_ts`` and ``created_at`` are ISO 8601 instants in UTC. Two manifests
    of equal ``content_fingerprint`` stand for the same rows in the same bytes; of a ``query``, for
    the same question. ``window`` is that of an incremental query; it is no part of the content.
    """

    table: str
    partition: str
    batch_id: str
    start: str
    end: str
    format: Format
    parts: tuple[Part, ...]
    source: Mapping[str, Any] = field(default_factory=dict)
    cutoff_ts: str = ""
    attempt: str = ""
    created_at: str = ""
    version: int = FORMAT_VERSION
    query: PinnedQuery | None = None
    window: Window | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the batch has; none when it has neither parts nor a query."""
        if self.query:
            return self.query.columns
        return self.parts[0].columns if self.parts else ()

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    @property
    def bytes(self) -> int:
        return sum(part.bytes for part in self.parts)

    @property
    def content_fingerprint(self) -> str:
        """Hash of the content alone: formats, and name, columns and bytes of the parts in order; or the query."""
        content: list[Any] = [_as_values(self.format), [(part.name, part.columns, part.sha256) for part in self.parts]]
        if self.query:
            content.append([self.query.fingerprint, self.query.columns, dict(self.query.binds)])
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    @property
    def revision(self) -> int:
        """Which landing of its partition this is, counted from 1."""
        return revision_of(self.batch_id)

    def to_json(self) -> str:
        values = asdict(self) | {
            "format": _as_values(self.format),
            "rows": self.rows,
            "bytes": self.bytes,
            "content_fingerprint": self.content_fingerprint,
        }
        values = {name: value for name, value in values.items() if value is not None}
        return json.dumps(values, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a manifest back.

        Raises:
            ValueError: not a manifest, of a newer format, or its content does not match its fingerprint.
        """
        values = json.loads(text)
        if not isinstance(values, dict) or values.get("version") != FORMAT_VERSION:
            raise ValueError("not a manifest of this version")
        known = {item.name for item in fields(cls)}
        kept = {name: value for name, value in values.items() if name in known}
        kept["format"] = _from_values(values["format"])
        kept["parts"] = tuple(Part(**{**part, "columns": tuple(part["columns"])}) for part in values["parts"])
        if query := kept.get("query"):
            kept["query"] = PinnedQuery(**{**query, "columns": tuple(query["columns"])})
        if window := kept.get("window"):
            kept["window"] = Window(**window)
        manifest = cls(**kept)
        if manifest.content_fingerprint != values.get("content_fingerprint"):
            raise ValueError("its content does not match its fingerprint")
        return manifest


def _as_values(form: Format) -> dict[str, Any]:
    """A format as plain values. A CSV has no ``kind``: manifests of the first release keep their fingerprint."""
    return asdict(form) if isinstance(form, CsvFormat) else {"kind": form.kind, **asdict(form)}


def _from_values(values: Mapping[str, Any]) -> Format:
    options = dict(values)
    kind = options.pop("kind", CsvFormat.kind)
    if kind not in FORMATS:
        raise ValueError(f"format {kind!r} is of a later release")
    return FORMATS[kind](**options)


def batch_id(partition_compact: str, revision: int) -> str:
    """``20250501_01`` is the first landing of a partition, ``_02`` exists only when the content differs."""
    return f"{partition_compact}_{revision:02d}"


def folder_name(text: str) -> str:
    """A name as one folder: all but letters, digits and ``_-.`` percent-encoded, as Hive does it.

    Two names never share a folder, no name leads out of its parent or hides, and one too long for a
    file system ends in its hash.

    Raises:
        ValueError: the name is empty.
    """
    if not text:
        raise ValueError("an empty name names no folder")
    name = quote(text, safe="").replace("~", "%7E")
    if name.startswith("."):
        name = "%2E" + name[1:]
    if len(name) <= MAX_FOLDER_NAME:
        return name
    return f"{name[:160]}~{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def partition_folder(table: str, partition: str) -> str:
    """Where the batches of a partition lie below their landing root."""
    return f"{folder_name(table)}/partition={folder_name(partition)}"


def batch_folder(table: str, partition: str, batch: str) -> str:
    """Where a batch lies below its landing root; derives from names only, never from a clock or a run."""
    return f"{partition_folder(table, partition)}/batch={batch}"


def batch_of_folder(name: str) -> str | None:
    """The batch id in the name of a batch folder; None for any other folder."""
    found = re.fullmatch(r"batch=(\w*_\d{2,})", name, re.ASCII)
    return found[1] if found else None


def revision_of(batch: str) -> int:
    """Which landing of its partition a batch is, counted from 1."""
    return int(batch.rpartition("_")[2])
