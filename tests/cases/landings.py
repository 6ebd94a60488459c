"""What happens around a landing: sources that change, readers that list and copy while it goes on."""

from __future__ import annotations

import hashlib
from pathlib import Path

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.operators.connections import storage_path
from tests.cases.case import Step
from tests.cases.loads import root_of
from tests.cases.world import World

# --- steps ----------------------------------------------------------------------------------------


def change_source(world: World, step: Step) -> None:
    """Other content under the same name."""
    world.write(step["file"], step["to"])


def downstream_list(world: World, step: Step) -> None:
    """A reader that looks now: it must find nothing, or whole batches."""
    world.memory.setdefault("listed", []).append(whole_batches(root_of(world, step)))


def reader(world: World, step: Step) -> None:
    """A reader that took the first manifest before the last landing, and copies its bytes only now."""
    batches = whole_batches(root_of(world, step))
    assert batches, "nothing has landed"
    assert batches[0].revision == 1, "the batch that a reader works on is gone"


def poll_destination(world: World, step: Step) -> None:
    """End the reader that has been listing all the time; it may have seen whole files only."""
    if (poller := world.memory.pop("poller", None)) is not None:
        poller.stop()


# --- batches --------------------------------------------------------------------------------------


def batches(root: str) -> list[Manifest]:
    """The manifests below a landing root, in order of their addresses."""
    base = storage_path(root)
    paths = sorted((str(path) for path in base.glob("*/partition=*/batch=*/_manifest.json")) if base.exists() else ())
    return [BatchStore.from_address(storage_path(path)) for path in paths]


def whole_batches(root: str) -> list[Manifest]:
    """The same, each compared with the bytes that lie beside it."""
    store, found = BatchStore(storage_path(root)), batches(root)
    for manifest in found:
        for part in manifest.parts:
            with store.open_part(manifest, part) as file:
                data = file.read()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (part.bytes, part.sha256), part.name
    return found


def left_over(root: Path) -> list[str]:
    """Files below a landing root that belong to no batch."""
    named = {
        f"batch={manifest.batch_id}/{name}"
        for manifest in batches(str(root))
        for name in ("_manifest.json", *(part.name for part in manifest.parts))
    }
    files = [path for path in root.rglob("*") if path.is_file()]
    return [str(path) for path in files if f"{path.parent.name}/{path.name}" not in named]
