"""Which batch a task has to work on: the newest that landed, wherever the XCom says it should be."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_idempotent.core.manifest import Manifest, partition_folder
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.errors import ManifestError
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.operators.connections import landing_root, storage_path
from airflow_idempotent.operators.run import LOST
from airflow_idempotent.spec.load import LoadSpec

log = logging.getLogger(__name__)


def batch_for(spec: LoadSpec, partition: Partition, batch: Any) -> tuple[BatchStore, Manifest | None]:
    """The store, and the newest batch of the partition in it; None when nothing has landed.

    ``batch`` is what land handed on. It is a hint: it says where to look when the spec does not.
    Lost, of another partition, or older than what lies there, it changes nothing. The address of a
    manifest, given as text, is an order: that batch, whatever else has landed.

    Raises:
        ManifestError: at the address given there is no batch of this partition.
    """
    if isinstance(batch, str) and batch not in LOST:
        return _ordered(spec, partition, batch)
    hint = _hint(spec, partition, batch)
    root = spec.landing.root
    store = _store_of(str(hint["address"])) if hint and not root else BatchStore(landing_root(root))
    newest = store.latest(spec.landed_as, partition.key)
    if newest and hint and newest.batch_id != hint.get("batch_id"):
        log.info(
            "table=%s partition=%s batch=%s takes the place of %s, which XCom names",
            spec.table,
            partition,
            newest.batch_id,
            hint.get("batch_id"),
        )
    return store, newest


def nothing_landed(spec: LoadSpec, partition: Partition, store: BatchStore) -> ManifestError:
    """The error when there is no batch, with the folder that was searched."""
    return ManifestError(
        address=str(store.root / partition_folder(spec.landed_as, partition.key)), reason="no batch has landed"
    )


def _ordered(spec: LoadSpec, partition: Partition, address: str) -> tuple[BatchStore, Manifest]:
    manifest = BatchStore.from_address(storage_path(address))
    if (manifest.table, manifest.partition) != (spec.landed_as, partition.key):
        raise ManifestError(
            address=address,
            reason=f"it is of {manifest.table} {manifest.partition}, not of {spec.landed_as} {partition}",
        )
    return _store_of(address), manifest


def _hint(spec: LoadSpec, partition: Partition, batch: Any) -> Mapping[str, Any] | None:
    found = [batch] if isinstance(batch, Mapping) else batch
    if isinstance(found, str) or not isinstance(found, Sequence):
        return None
    wanted = (spec.landed_as, partition.key)
    pointers = [
        item for item in found if isinstance(item, Mapping) and (item.get("table"), item.get("partition")) == wanted
    ]
    return next((item for item in pointers if str(item.get("address") or "") not in LOST), None)


def _store_of(address: str) -> BatchStore:
    """The store in which the manifest of that address lies: root/table/partition=…/batch=…/manifest."""
    return BatchStore(storage_path(address).parent.parent.parent.parent)
