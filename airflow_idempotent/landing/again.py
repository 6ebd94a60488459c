"""Lands an earlier batch once more, as the newest: the way back for a single partition."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from airflow_idempotent.core.manifest import COMPRESSIONS, Manifest, Part, batch_id
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.errors import BatchDamagedError, RollbackError
from airflow_idempotent.landing.land import ROUNDS, Landed
from airflow_idempotent.landing.store import BatchStore, Draft

CHUNK = 1 << 20
_ENDINGS = {kind: ending for ending, kind in COMPRESSIONS.items()}


def land_again(
    batch: str, *, store: BatchStore, table: str, partition: Partition, attempt: str = "", created_at: str = ""
) -> Landed:
    """Make the newest batch of a partition hold what an earlier one holds, byte for byte.

    All batches stay as they are. A second run finds the content in the newest batch, and writes nothing.

    Raises:
        ManifestError: there is no such batch, or not any more.
        RollbackError: the batch is a query, whose rows are not kept.
        BatchDamagedError: the batch is not what its manifest says.
    """
    old = store.read(table, partition.key, batch)
    if old.query:
        reason = f"batch {batch} is a query, which reads what its tables hold now"
        raise RollbackError(table=table, version=None, reason=reason)
    for _ in range(ROUNDS):
        latest = store.latest(table, partition.key) or old
        if _content(latest) == _content(old):
            store.check_sizes(latest)
            return Landed(latest, store.address(latest), replayed=True)
        with store.draft(table, partition.key) as draft:
            parts = tuple(_copied(store, old, part, number, draft) for number, part in enumerate(old.parts))
            manifest = replace(
                old,
                batch_id=batch_id(partition.compact, latest.revision + 1),
                parts=parts,
                source={**old.source, "rolled_back_to": batch},
                attempt=attempt,
                created_at=created_at,
            )
            if draft.publish(manifest):
                return Landed(manifest, store.address(manifest), replayed=False)
    raise BatchDamagedError(file=store.address(old), expected="the newest batch to stay", found="others land meanwhile")


def _content(manifest: Manifest) -> tuple[Any, ...]:
    """What makes two batches alike, wherever their parts lie."""
    return manifest.format, manifest.query, [(part.columns, part.sha256) for part in manifest.parts]


def _copied(store: BatchStore, old: Manifest, part: Part, number: int, draft: Draft) -> Part:
    """A part in the new batch, once it is proved to be what the manifest says."""
    suffix = f".{old.format.kind}{_ENDINGS.get(part.compression, '')}"
    digest, size = hashlib.sha256(), 0
    with store.open_part(old, part) as source, draft.part(number, suffix) as target:
        while chunk := source.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            target.write(chunk)
    if digest.hexdigest() != part.sha256:
        found = f"{size} bytes, sha256 {digest.hexdigest()[:16]}…"
        raise BatchDamagedError(file=part.name, expected=f"{part.bytes} bytes, sha256 {part.sha256[:16]}…", found=found)
    return replace(part, name=draft.part_name(number, suffix, part.sha256))
