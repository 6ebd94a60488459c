"""Landing in an object store: parts first, the manifest last and only once, and never a rename."""

from __future__ import annotations

import uuid
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from airflow_idempotent.core.manifest import MANIFEST_NAME, Manifest
from airflow_idempotent.errors import BatchDamagedError
from airflow_idempotent.landing.inputs import find_files
from airflow_idempotent.landing.paths import local_path, written_at
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.bucket import Bucket, LostError
from tests.unit.landing.conftest import WriteSource
from tests.unit.landing.landed import DAY, TABLE, files, land_day, verified

BATCH = "raw/analytics.orders/partition=2025-05-01/batch=20250501"


def whole(bucket: Bucket) -> tuple[Manifest, ...]:
    """Look at a store without the faults of the moment."""
    return verified(BatchStore(Bucket(bucket.objects).path()))


def test_a_file_lands_under_a_key_that_holds_its_hash(write_source: WriteSource) -> None:
    bucket = Bucket()

    landed = land_day(BatchStore(bucket.path()), files(write_source("id\n1\n2\n")))

    (part,) = landed.manifest.parts
    assert part.name == f"part-00000-{part.sha256[:16]}.csv"
    assert list(bucket.objects) == [f"{BATCH}_01/{part.name}", f"{BATCH}_01/{MANIFEST_NAME}"]
    assert landed.address == f"bucket://{BATCH}_01/{MANIFEST_NAME}"
    assert whole(bucket) == (landed.manifest,)


def test_the_same_content_again_uploads_nothing(write_source: WriteSource) -> None:
    bucket = Bucket()
    store = BatchStore(bucket.path())
    first = land_day(store, files(write_source("id\n1\n")))
    before = dict(bucket.objects)

    again = land_day(store, files(write_source("id\n1\n")))

    assert (again.manifest, again.replayed) == (first.manifest, True)
    assert bucket.objects == before


@pytest.mark.parametrize("old", [None, "id\n1\n"], ids=["first landing", "correction"])
@pytest.mark.parametrize("conditional", [True, False], ids=["conditional put", "no conditional put"])
def test_a_failure_at_any_request_then_a_retry_equals_one_clean_run(
    write_source: WriteSource, old: str | None, conditional: bool
) -> None:
    new = files(write_source("id\n1\n2\n", "a.csv"), write_source(b"id\n" + b"3\n" * 700_000, "b.csv"))

    def prepared() -> Bucket:
        bucket = Bucket(conditional=conditional)
        if old is not None:
            land_day(BatchStore(bucket.path()), files(write_source(old)))
        return bucket

    clean = prepared()
    land_day(BatchStore(clean.path()), new)
    expected = whole(clean)
    for request in range(1, 1000):
        bucket = prepared()
        bucket.requests, bucket.fail_at = 0, request
        with suppress(LostError):
            land_day(BatchStore(bucket.path()), new)
        if bucket.requests < request:
            assert request > 10
            return
        assert whole(bucket) in (expected[:-1], expected)
        bucket.fail_at = 0

        land_day(BatchStore(bucket.path()), new)

        assert whole(bucket) == expected
        assert bucket.objects.keys() == clean.objects.keys()


def test_a_broken_upload_leaves_no_object(write_source: WriteSource) -> None:
    bucket = Bucket()
    source = files(write_source(b"id\n" + b"1\n" * 3_000_000))

    def die_half_way(verb: str, key: str) -> None:
        if verb == "UPLOAD":
            bucket.fail_at = bucket.fail_at or bucket.requests + 3

    bucket.after = die_half_way
    with pytest.raises(LostError, match="UPLOAD"):
        land_day(BatchStore(bucket.path()), source)

    assert bucket.objects == {}


def test_an_answer_that_was_lost_does_not_make_a_second_batch(write_source: WriteSource) -> None:
    bucket = Bucket()

    def lose_the_answer(verb: str, key: str) -> None:
        if verb == "PUT" and key.endswith(MANIFEST_NAME):
            bucket.after = lambda verb, key: None
            raise OSError("timeout")

    bucket.after = lose_the_answer

    landed = land_day(BatchStore(bucket.path()), files(write_source("id\n1\n")))

    assert not landed.replayed
    assert whole(bucket) == (landed.manifest,)


@pytest.mark.parametrize("moment", ["UPLOAD", "PUT"])
@pytest.mark.parametrize(("other", "revisions"), [("id\n1\n", [1]), ("id\n2\n", [1, 2])], ids=["same", "different"])
def test_two_attempts_in_one_moment_do_not_mix_their_parts(
    write_source: WriteSource, moment: str, other: str, revisions: list[int]
) -> None:
    bucket = Bucket()
    mine, others = files(write_source("id\n1\n", "mine.csv")), files(write_source(other, "other.csv"))

    def other_attempt(verb: str, key: str) -> None:
        if verb == moment:
            bucket.after = lambda verb, key: None
            land_day(BatchStore(bucket.path()), others)

    bucket.after = other_attempt

    landed = land_day(BatchStore(bucket.path()), mine)

    assert [manifest.revision for manifest in whole(bucket)] == revisions
    assert whole(bucket)[-1] == landed.manifest
    assert landed.replayed == (len(revisions) == 1)


def test_an_empty_manifest_in_the_way_ends_in_an_error_that_names_it(write_source: WriteSource) -> None:
    bucket = Bucket()
    bucket.put(f"{BATCH}_01/{MANIFEST_NAME}", b"", new=True)

    with pytest.raises(BatchDamagedError, match="found: an empty one") as refused:
        land_day(BatchStore(bucket.path()), files(write_source("id\n1\n")))

    assert refused.value.file == f"bucket://{BATCH}_01/{MANIFEST_NAME}"


def test_a_sweep_takes_old_objects_that_no_manifest_names_and_leaves_those_of_unknown_age(
    write_source: WriteSource,
) -> None:
    bucket = Bucket()
    store = BatchStore(bucket.path())
    land_day(store, files(write_source("id\n1\n")))
    for key, written in [("_01/lost.csv", 1.0), ("_02/a.csv", 1.0), ("_02/b.csv", 1.0), ("_03/a.csv", None)]:
        bucket.objects[BATCH + key] = (b"id\n", written)
    bucket.put(f"{BATCH}_04/a.csv", b"id\n", new=True)
    bucket.objects[f"{BATCH}_04/b.csv"] = (b"id\n", 1.0)  # the first part of an upload that goes on

    assert store.sweep(TABLE, DAY.key) == 3

    left = [key.removeprefix(BATCH) for key in bucket.objects]
    assert left[2:] == ["_03/a.csv", "_04/a.csv", "_04/b.csv"]
    assert len(verified(store)) == 1


def test_a_deletion_that_fails_at_any_request_leaves_whole_batches_only(write_source: WriteSource) -> None:
    for request in range(1, 1000):
        bucket = Bucket()
        store = BatchStore(bucket.path())
        for content in ("id\n1\n", "id\n2\n", "id\n3\n"):
            land_day(store, files(write_source(content)))
        bucket.requests, bucket.fail_at = 0, request
        with suppress(LostError):
            retain(store, TABLE, DAY, 1)
        if bucket.requests < request:
            return
        assert whole(bucket)[-1].revision == 3

        retain(store, TABLE, DAY, 1)
        BatchStore(bucket.path(), orphan_age=timedelta(0)).sweep(TABLE, DAY.key)

        assert len(whole(bucket)) == 1
        assert len(bucket.objects) == 2


def test_fsspec_paths_work_as_source_and_as_store() -> None:
    upath = pytest.importorskip("upath").UPath
    root = upath(f"memory://{uuid.uuid4().hex}")
    for name in ("b.csv", "a.csv", "_SUCCESS", ".hidden.csv", "c.csv.part", "deep/er/d.csv", "_temporary/0/e.csv"):
        (root / "inbox" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "inbox" / name).write_bytes(f"id\n{ord(name[0])}\n".encode())
    store = BatchStore(root / "raw")

    flat = find_files(f"{root}/inbox/*.csv*", open_path=upath)
    deep = find_files(f"{root}/inbox/**/*.csv", open_path=upath)
    landed = land_day(store, flat)

    assert [path.name for path in flat.paths] == ["a.csv", "b.csv"]
    assert [path.name for path in deep.paths] == ["a.csv", "b.csv", "d.csv"]
    assert verified(store) == (landed.manifest,)
    assert store.from_address(upath(landed.address)) == landed.manifest
    assert land_day(store, flat).replayed
    assert not land_day(store, deep).replayed
    assert [manifest.revision for manifest in verified(store)] == [1, 2]
    assert retain(store, TABLE, DAY, 1) == 1
    assert written_at(store.folder(verified(store)[0]) / MANIFEST_NAME) is not None


def test_a_reader_of_an_fsspec_store_sees_whole_batches_only(write_source: WriteSource) -> None:
    upath = pytest.importorskip("upath").UPath
    store = BatchStore(upath(f"memory://{uuid.uuid4().hex}/raw"))
    done = Event()
    seen: list[int] = []

    def read() -> None:
        while not done.is_set():
            if (latest := store.latest(TABLE, DAY.key)) is not None:
                store.check_sizes(latest)
                seen.append(latest.revision)

    reader = Thread(target=read)
    reader.start()
    for number in range(40):
        land_day(store, files(write_source(f"id\n{number}\n")))
    done.set()
    reader.join()

    assert seen == sorted(seen)
    assert seen


def test_a_local_folder_is_treated_as_one_however_it_is_spelled(tmp_path: Path, write_source: WriteSource) -> None:
    upath = pytest.importorskip("upath").UPath
    store = BatchStore(upath(f"file://{tmp_path}/raw"))

    landed = land_day(store, files(write_source("id\n1\n")))

    assert landed.manifest.parts[0].name == "part-00000.csv"
    assert store.root == tmp_path / "raw"


def test_a_path_of_an_object_store_that_is_also_a_pathlib_path_is_not_taken_for_a_local_one(tmp_path: Path) -> None:
    class OfAirflow2(type(tmp_path)):  # type: ignore[misc]
        protocol = "s3"

    assert local_path(OfAirflow2("/bucket/raw")) is None
    assert local_path(tmp_path) == tmp_path


def test_what_others_landed_is_seen_although_listings_are_remembered(write_source: WriteSource) -> None:
    mine = Bucket()
    others = Bucket(mine.objects)
    land_day(BatchStore(mine.path()), files(write_source("id\n1\n")))
    land_day(BatchStore(others.path()), files(write_source("id\n2\n")))

    assert land_day(BatchStore(mine.path()), files(write_source("id\n2\n"))).replayed
    assert land_day(BatchStore(mine.path()), files(write_source("id\n3\n"))).manifest.revision == 3
