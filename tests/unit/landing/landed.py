"""What the tests of landing ask of a store: is everything it shows whole?"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.land import Landed, land
from airflow_idempotent.landing.store import BatchStore

TABLE = "analytics.orders"
DAY = Grain.DAY.partition(datetime(2025, 5, 1, tzinfo=UTC))


def files(*paths: Any, **options: Any) -> FilesInput:
    """Give these files as an input; options are those of the CSV format."""
    return FilesInput(paths, format=CsvFormat(**options))


def land_day(store: BatchStore, source: Any, **options: Any) -> Landed:
    return land(source, store=store, table=TABLE, partition=DAY, **options)


def verified(store: BatchStore) -> tuple[Manifest, ...]:
    """Read every batch that the store shows, byte for byte, and give their manifests."""
    manifests = store.manifests(TABLE, DAY.key)
    for manifest in manifests:
        for part in manifest.parts:
            with store.open_part(manifest, part) as file:
                content = file.read()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (part.bytes, part.sha256)
    return manifests


def tree(root: Path) -> dict[str, bytes]:
    """All files below a folder, hidden ones too."""
    return {str(path.relative_to(root)): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
