"""One partition from source to verdict: land, stage_merge, validate, by the engine that Airflow uses."""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, BinaryIO

from airflow_idempotent.core.manifest import Manifest, Part
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Attempt, Receipt, State
from airflow_idempotent.core.version import Target
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.states import known_partitions
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import SourceMissingError
from airflow_idempotent.landing.inputs import Input
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec

Progress = Callable[[str, int, int, int], None]
"""Told (step, rows, bytes, bytes in all); what is not known is 0."""


@dataclass(slots=True)
class Outcome:
    """What became of a partition so far: each step that is done has its proof. ``seconds`` is per step.

    ``beside`` says where the versions stand that are loaded beside the live table.
    """

    partition: str
    landed: Landed | None = None
    published: Receipt | None = None
    validated: Receipt | None = None
    skipped: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    beside: list[dict[str, Any]] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for programs."""
        landed, published, validated = self.landed, self.published, self.validated
        document: dict[str, Any] = {"partition": self.partition, "skipped": self.skipped}
        if landed:
            manifest = landed.manifest
            document["landed"] = {"batch_id": manifest.batch_id, "rows": manifest.rows, "bytes": manifest.bytes}
            document["landed"] |= {"address": landed.address, "replayed": landed.replayed}
        document["published"] = published.as_pointer() if published else None
        document["state"] = str(validated.state) if validated else published and str(published.state)
        document |= {"beside": self.beside} if self.beside else {}
        document["checks"] = [asdict(check) for check in (validated or published).checks] if published else []
        return document | {"seconds": {step: round(spent, 3) for step, spent in self.seconds.items()}}


def load_partition(
    spec: LoadSpec,
    partition: Partition,
    source: Input,
    *,
    store: BatchStore,
    connect: Connect,
    cutoff_ts: str = "",
    created_at: str = "",
    skip_unchanged: bool = False,
    force: bool = False,
    dry_run: bool = False,
    target: Target = "live",
    attempt: Attempt | None = None,
    progress: Progress | None = None,
    outcome: Outcome | None = None,
) -> Outcome:
    """Land, load and validate one partition.

    Other partitions and keys are left alone. A second run lands the same batch and writes no row.
    A dry run rolls the load back and validates nothing; give it a ``store`` of its own. ``outcome``
    is filled on the way, so that it tells how far things came when an error is raised.

    Raises:
        IdempotentError: see each; what was committed before stays, the rest is as it was.
    """
    done = outcome if outcome is not None else Outcome(partition.key)
    told: Progress = progress or _nobody
    facts = {"cutoff_ts": cutoff_ts, "created_at": created_at, "attempt": str(attempt or "")}
    with _timed(done, "land"):
        done.landed = land_partition(spec, partition, source, store, told, facts)
    if done.landed is None:
        done.skipped = "no input, and on_empty is skip"
        return done
    load = Load(spec, partition, done.landed.manifest, skip_unchanged, force, target=target)
    with _timed(done, "stage_merge"):
        batches = Watched(store, told, load.manifest.bytes)
        done.published = stage_merge(load, connect=connect, batches=batches, attempt=attempt, dry_run=dry_run)
    if dry_run:
        return done
    if done.published.replayed and _is_validated(load, connect):
        done.skipped = "this batch is loaded and validated under this spec"
        return done
    with _timed(done, "validate"):
        told("validate", 0, 0, 0)
        done.validated = validate(load, connect=connect, attempt=attempt, batches=store)
    return done


def load_batch(
    spec: LoadSpec, partition: Partition, manifest: Manifest, *, store: BatchStore, connect: Connect
) -> tuple[Receipt, Receipt]:
    """Load and validate a batch that has been landed, as any other."""
    load = Load(spec, partition, manifest)
    published = stage_merge(load, connect=connect, batches=store)
    return published, validate(load, connect=connect)


def land_partition(
    spec: LoadSpec,
    partition: Partition,
    source: Input,
    store: BatchStore,
    told: Progress,
    facts: Mapping[str, Any],
) -> Landed | None:
    """The newest batch, and those that it made superfluous gone; None without input where that is allowed."""
    try:
        landed = land(
            source,
            store=store,
            table=spec.landed_as,
            partition=partition,
            on_source_change=spec.landing.on_source_change,
            progress=lambda rows, size: told("land", rows, size, 0),
            may_be_empty=spec.on_empty == "publish_empty",
            **facts,
        )
    except SourceMissingError:
        if spec.on_empty != "skip":
            raise
        return None
    retain(store, spec.landed_as, partition, spec.landing.keep_batches)
    return landed


def _is_validated(load: Load, connect: Connect) -> bool:
    start, end = load.partition.start, load.partition.end
    version = load.spec.table_version if load.target == "shadow" else None
    known = known_partitions(connect, load.spec.table, start, end, version).get(load.partition.key)
    return known is not None and known.state is State.VALIDATED


class Watched:
    """Opens landed parts and tells how much of them was read."""

    def __init__(self, store: BatchStore, progress: Progress, size: int) -> None:
        self._store, self._progress, self._size = store, progress, size
        self._read = 0

    def open_part(self, manifest: Manifest, part: Part) -> BinaryIO:
        """The bytes of a part, watched."""
        return _WatchedFile(self._store.open_part(manifest, part), self._add)  # type: ignore[return-value]

    def _add(self, count: int) -> None:
        self._read += count
        self._progress("stage_merge", 0, self._read, self._size)
        if self._read >= self._size:  # the rest happens in the database, which tells nothing on the way
            self._progress("stage_merge, writing", 0, 0, 0)


class _WatchedFile(io.RawIOBase):
    def __init__(self, raw: Any, told: Callable[[int], None]) -> None:
        self._raw, self._told = raw, told

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._raw.read(size)
        self._told(len(data))
        return data

    def close(self) -> None:
        self._raw.close()
        super().close()


@contextmanager
def _timed(outcome: Outcome, step: str) -> Iterator[None]:
    """Write down how long a step took, also when it fails."""
    started = time.monotonic()
    try:
        yield
    finally:
        outcome.seconds[step] = time.monotonic() - started


def _nobody(step: str, rows: int, size: int, of: int) -> None:
    """Nobody asked for progress."""
