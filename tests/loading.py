"""A warehouse for tests of the engine: batches are CSV texts in memory, one line loads one.

Nothing here knows about landing: manifests are written by hand, so that a test can also lie in one.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO

from airflow_idempotent.core.manifest import CsvFormat, Manifest, Part, batch_id
from airflow_idempotent.core.step import Attempt, Receipt
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec

DAY = "2025-05-01"


@dataclass
class Batches:
    """Landed parts, in memory; opens them as ``BatchStore`` does."""

    content: dict[tuple[str, str], bytes] = field(default_factory=dict)

    def land(
        self,
        spec: LoadSpec,
        *texts: str | bytes,
        partition: str = DAY,
        revision: int = 1,
        zipped: bool = False,
        created_at: str = "",
        **form: str,
    ) -> Manifest:
        """A batch of one part per text, numbered as told."""
        span = spec.partition(partition)
        batch = batch_id(span.compact, revision)
        csv_format = CsvFormat(**form)
        parts = []
        for number, text in enumerate(texts):
            raw = text if isinstance(text, bytes) else text.encode(csv_format.encoding)
            plain, name = raw, f"part-{number:05d}.csv"
            if zipped:
                raw, name = gzip.compress(plain, mtime=0), name + ".gz"
            header, *records = records_of(plain, csv_format)
            parts.append(
                Part(name, len(raw), len(records), hashlib.sha256(raw).hexdigest(), tuple(header), f"in{number}.csv")
            )
            self.content[batch, name] = raw
        bounds = {"start": span.start.isoformat(), "end": span.end.isoformat()}
        return Manifest(
            spec.table, span.key, batch, **bounds, format=csv_format, parts=tuple(parts), created_at=created_at
        )

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO:
        return io.BytesIO(self.content[manifest.batch_id, part.name])


def records_of(raw: bytes, form: CsvFormat) -> list[list[str]]:
    """The records of a CSV, header first."""
    text = io.StringIO(raw.decode(form.encoding, errors="replace").replace("\0", "?"), newline="")
    return list(csv.reader(text, delimiter=form.delimiter, quotechar=form.quote))


@dataclass
class Warehouse:
    """A database, and the shortest way to do something with it."""

    connect: Callable[[], Any]
    batches: Batches = field(default_factory=Batches)

    def sql(self, text: str, binds: Sequence[Any] | Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Run a statement in a transaction of its own; its rows, if it has any."""
        with closing(self.connect()) as connection:
            cursor = connection.cursor()
            cursor.execute(text, binds)
            rows = list(cursor.fetchall()) if cursor.description else []
            connection.commit()
        return rows

    @contextmanager
    def session(self) -> Any:
        """A cursor in an open transaction, rolled back at the end if it is still open."""
        with closing(self.connect()) as connection:
            yield connection.cursor()
            connection.rollback()

    def load(
        self,
        spec: LoadSpec,
        *texts: str | bytes,
        partition: str = DAY,
        revision: int = 1,
        attempt: Attempt | None = None,
        dry_run: bool = False,
        skip_unchanged: bool = False,
        connect: Callable[[], Any] | None = None,
        **landing: Any,
    ) -> Receipt:
        """Land the texts as one batch and load it."""
        manifest = self.batches.land(spec, *texts, partition=partition, revision=revision, **landing)
        return self.load_again(
            spec, manifest, attempt=attempt, dry_run=dry_run, skip_unchanged=skip_unchanged, connect=connect
        )

    def load_again(
        self,
        spec: LoadSpec,
        manifest: Manifest,
        *,
        attempt: Attempt | None = None,
        dry_run: bool = False,
        skip_unchanged: bool = False,
        connect: Callable[[], Any] | None = None,
    ) -> Receipt:
        """Load a batch that has been landed."""
        load = Load(spec, spec.partition(manifest.partition), manifest, skip_unchanged)
        return stage_merge(
            load, connect=connect or self.connect, batches=self.batches, attempt=attempt, dry_run=dry_run
        )

    def validate(self, spec: LoadSpec, manifest: Manifest | None = None, *, partition: str = DAY) -> Receipt:
        """Look at what is there now."""
        found = manifest or self.batches.land(spec, partition=partition)
        return validate(Load(spec, spec.partition(found.partition), found), connect=self.connect, batches=self.batches)

    def physical(self, table: str, columns: str = "t.*") -> list[tuple[Any, ...]]:
        """Every row with where it lies and which transaction wrote it: equal means nobody has written."""
        return self.sql(
            f"SELECT tableoid::regclass::text, ctid::text, xmin::text, {columns} FROM {table} t ORDER BY 1, 2"
        )

    def events(self, table: str) -> list[tuple[Any, ...]]:
        """What the ledger says of a table: (partition, batch, step, state)."""
        return self.sql(
            "SELECT partition_key, batch_id, step, state FROM airflow_idempotent.events "
            "WHERE table_name = %s ORDER BY event_id",
            [table],
        )


def now() -> str:
    """An instant for ``created_at``."""
    return datetime.now(UTC).isoformat()
