"""The store shows manifests that fit their place, and nothing else."""

from __future__ import annotations

import os
import pickle
import time
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_idempotent.core.manifest import MANIFEST_NAME, folder_name
from airflow_idempotent.errors import BatchDamagedError, ManifestError
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.conftest import WriteSource
from tests.unit.landing.landed import DAY, TABLE, files, land_day, tree, verified


@pytest.mark.parametrize(
    "table", ['"Sales-2024"."Order"', "a/../../b.c", "..", "schema.tab le\n", 'x."\u00e4/%2F"', "n" * 500]
)
def test_any_table_name_is_one_folder_below_the_root(store: BatchStore, write_source: WriteSource, table: str) -> None:
    landed = land(files(write_source("id\n1\n")), store=store, table=table, partition=DAY)

    assert store.latest(table, DAY.key) == landed.manifest
    (folder,) = store.root.iterdir()
    assert folder.name == folder_name(table)
    assert folder.name.isascii()
    assert len(folder.name) <= 200
    assert not folder.name.startswith(".")
    assert Path(landed.address).relative_to(store.root).parts[0] == folder.name


def test_names_that_look_alike_have_folders_of_their_own() -> None:
    names = ["a.b", "a%2Eb", "a/b", "a%2Fb", "A.b", "a b", "a%20b", ".a", "%2Ea", "a~b", "a%7Eb", "n" * 300, "n" * 301]
    names.append(folder_name("n" * 300))

    assert len({folder_name(name) for name in names}) == len(names)


def test_an_empty_store_holds_nothing(store: BatchStore) -> None:
    assert store.manifests(TABLE, DAY.key) == ()
    assert store.latest(TABLE, DAY.key) is None
    assert store.sweep(TABLE, DAY.key) == 0
    assert not store.root.exists()


def test_batches_are_in_order_of_their_numbers_beyond_99(store: BatchStore, write_source: WriteSource) -> None:
    manifest = land_day(store, files(write_source("id\n1\n"))).manifest
    for revision in (9, 99, 100):
        folder = store.folder(manifest).with_name(f"batch=20250501_{revision:02d}")
        folder.mkdir()
        text = (store.folder(manifest) / MANIFEST_NAME).read_text()
        (folder / MANIFEST_NAME).write_text(text.replace('"20250501_01"', f'"20250501_{revision:02d}"'))

    assert [found.revision for found in store.manifests(TABLE, DAY.key)] == [1, 9, 99, 100]
    assert land_day(store, files(write_source("id\n2\n"))).manifest.batch_id == "20250501_101"


def test_a_batch_that_does_not_exist_is_an_error_that_lists_those_that_do(
    store: BatchStore, write_source: WriteSource
) -> None:
    land_day(store, files(write_source("id\n1\n")))

    with pytest.raises(ManifestError, match=r"no such batch \(landed: 20250501_01\)"):
        store.read(TABLE, DAY.key, "20250501_07")
    with pytest.raises(ManifestError, match="Clear the 'land' task"):
        store.from_address(store.root / "elsewhere" / MANIFEST_NAME)


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda text: "", "unreadable"),
        (lambda text: text[: len(text) // 2], "unreadable"),
        (lambda text: "[]", "unreadable"),
        (lambda text: text.replace('"rows": 1', '"rows": 2').replace("\n", " ") + "x", "unreadable"),
        (lambda text: text.replace("part-00000.csv", "../part-00000.csv"), "unreadable"),
        (lambda text: text.replace("20250501_01", "20250501_02"), "that of batch 20250501_02"),
        (lambda text: text.replace("analytics.orders", "analytics.Orders"), "manifest of analytics.Orders"),
    ],
)
def test_a_manifest_that_cannot_be_trusted_is_an_error_not_an_older_batch(
    store: BatchStore, write_source: WriteSource, damage: object, found: str
) -> None:
    path = Path(land_day(store, files(write_source("id\n1\n"))).address)
    path.write_text(damage(path.read_text()))  # type: ignore[operator]

    with pytest.raises(BatchDamagedError, match=found) as refused:
        store.latest(TABLE, DAY.key)

    assert refused.value.file == str(path)
    assert "Delete the folder of this batch" in str(pickle.loads(pickle.dumps(refused.value)))


def test_a_part_that_is_gone_is_a_damaged_batch(store: BatchStore, write_source: WriteSource) -> None:
    manifest = land_day(store, files(write_source("id\n1\n"))).manifest
    (store.folder(manifest) / "part-00000.csv").unlink()

    with pytest.raises(BatchDamagedError, match="no such file"):
        store.open_part(manifest, manifest.parts[0])


def test_a_reader_that_holds_an_old_manifest_still_gets_the_old_bytes(
    store: BatchStore, write_source: WriteSource
) -> None:
    old = land_day(store, files(write_source("id\n1\n"))).manifest

    land_day(store, files(write_source("id\n1\n2\n")))

    assert store.open_part(old, old.parts[0]).read() == b"id\n1\n"


def test_parts_without_a_manifest_are_invisible_and_make_way_for_the_batch_of_that_number(
    store: BatchStore, write_source: WriteSource
) -> None:
    orphan = store.root / TABLE / "partition=2025-05-01" / "batch=20250501_01"
    orphan.mkdir(parents=True)
    (orphan / "part-00000.csv").write_text("id\n1\n")
    (orphan / "part-00001.csv").write_text("id\n2\n")
    assert store.latest(TABLE, DAY.key) is None

    landed = land_day(store, files(write_source("id\n1\n2\n")))

    assert verified(store) == (landed.manifest,)
    assert {path.name for path in orphan.iterdir()} == {"part-00000.csv", MANIFEST_NAME}


def test_a_sweep_spares_what_is_young_and_what_is_no_batch(store: BatchStore, write_source: WriteSource) -> None:
    manifest = land_day(store, files(write_source("id\n1\n"))).manifest
    partition = store.folder(manifest).parent
    old = time.time() - timedelta(days=2).total_seconds()
    for name in ("batch=20250501_07", ".tmp-elsewhere-1-ab", "notes"):
        for age in ("old", "young"):
            folder = partition / (name + "0" * (age == "old"))
            folder.mkdir()
            (folder / "part-00000.csv").write_text("id\n")
            if age == "old":
                os.utime(folder / "part-00000.csv", (old, old))
                os.utime(folder, (old, old))

    assert store.sweep(TABLE, DAY.key) == 2

    left = sorted(path.name for path in partition.iterdir())
    assert left == [".tmp-elsewhere-1-ab", "batch=20250501_01", "batch=20250501_07", "notes", "notes0"]
    assert store.sweep(TABLE, DAY.key) == 0


def test_only_the_newest_batches_are_kept_and_the_newest_always(store: BatchStore, write_source: WriteSource) -> None:
    for number in range(5):
        land_day(store, files(write_source(f"id\n{number}\n")))

    assert retain(store, TABLE, DAY, 2) == 3
    assert retain(store, TABLE, DAY, 2) == 0
    assert [manifest.revision for manifest in verified(store)] == [4, 5]
    assert len(tree(store.root)) == 4
    with pytest.raises(ValueError, match="at least 1"):
        retain(store, TABLE, DAY, 0)


def test_a_relative_root_stays_the_same_folder_when_the_process_moves(
    tmp_path: Path, write_source: WriteSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = BatchStore(Path("raw"))
    monkeypatch.chdir("/")

    assert land_day(store, files(write_source("id\n1\n"))).address.startswith(f"{tmp_path}/raw/")
