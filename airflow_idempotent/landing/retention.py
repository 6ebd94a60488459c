"""Deletes batches that newer ones have replaced."""

from __future__ import annotations

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.landing.store import BatchStore


def retain(store: BatchStore, table: str, partition: Partition | str, keep_batches: int) -> int:
    """Delete the batches of a partition that are older than its newest ``keep_batches``; say how many.

    The newest batch always stays. Each batch loses its manifest first, so no reader takes one that
    is being deleted; interrupted, a second run goes on. A second run deletes nothing.

    Raises:
        ValueError: ``keep_batches`` is less than 1.
    """
    if keep_batches < 1:
        raise ValueError(f"keep_batches must be at least 1, not {keep_batches}: the newest batch always stays")
    key = partition.key if isinstance(partition, Partition) else partition
    old = store.manifests(table, key)[:-keep_batches]
    for manifest in old:
        store.remove(manifest)
    return len(old)
