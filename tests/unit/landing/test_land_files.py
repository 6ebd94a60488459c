"""Landing files: byte for byte, counted, and only when they differ from what has landed."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
from pathlib import Path

import pytest

from airflow_idempotent.errors import (
    BadFileError,
    BatchDamagedError,
    FileChangingError,
    SourceChangedError,
    SourceMissingError,
)
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.conftest import WriteSource
from tests.unit.landing.landed import DAY, TABLE, files, land_day, tree, verified


def test_a_file_lands_byte_for_byte_under_a_name_that_derives_from_table_and_partition(
    store: BatchStore, write_source: WriteSource
) -> None:
    content = b'\xef\xbb\xbfid,s\r\n1,"a ""q"", b"\r\n2,"line1\nline2"\r\n3,tab\there'

    landed = land_day(store, files(write_source(content)))

    folder = store.root / "analytics.orders" / "partition=2025-05-01" / "batch=20250501_01"
    assert (folder / "part-00000.csv").read_bytes() == content
    assert landed.address == str(folder / "_manifest.json")
    (part,) = landed.manifest.parts
    assert (part.bytes, part.rows, part.sha256) == (len(content), 3, hashlib.sha256(content).hexdigest())
    assert (part.columns, part.source) == (("id", "s"), "orders.csv")


def test_the_manifest_on_disk_is_the_one_returned(store: BatchStore, write_source: WriteSource) -> None:
    landed = land_day(
        store,
        files(write_source("id\n1\n")),
        cutoff_ts="2025-05-02T06:00:00+00:00",
        attempt="orders/run/land/1",
        created_at="2025-05-02T00:10:00+00:00",
        source_facts={"conn_id": "inbox", "tuple": (1, 2)},
    )

    assert store.from_address(Path(landed.address)) == landed.manifest == store.latest(TABLE, DAY.key)
    stored = json.loads(Path(landed.address).read_text())
    assert (stored["start"], stored["end"]) == ("2025-05-01T00:00:00+00:00", "2025-05-02T00:00:00+00:00")
    assert (stored["cutoff_ts"], stored["attempt"]) == ("2025-05-02T06:00:00+00:00", "orders/run/land/1")
    assert (stored["source"]["kind"], stored["source"]["conn_id"]) == ("files", "inbox")


def test_the_same_content_again_is_the_same_batch_and_writes_nothing(
    store: BatchStore, write_source: WriteSource
) -> None:
    first = land_day(store, files(write_source("id\n1\n")), attempt="try 1")
    before = tree(store.root)

    again = land_day(store, files(write_source("id\n1\n", "renamed.csv")), attempt="try 2")

    assert again.replayed
    assert not first.replayed
    assert again.manifest == first.manifest
    assert tree(store.root) == before


def test_other_content_is_the_next_batch_and_the_old_one_stays(store: BatchStore, write_source: WriteSource) -> None:
    land_day(store, files(write_source("id\n1\n")))

    second = land_day(store, files(write_source("id\n1\n2\n")))

    assert second.manifest.batch_id == "20250501_02"
    assert [manifest.rows for manifest in verified(store)] == [1, 2]


def test_content_that_returns_is_a_new_batch_because_the_newest_one_counts(
    store: BatchStore, write_source: WriteSource
) -> None:
    for content in ("id\n1\n", "id\n2\n", "id\n1\n"):
        land_day(store, files(write_source(content)))

    assert [manifest.revision for manifest in verified(store)] == [1, 2, 3]


def test_the_same_bytes_read_in_another_format_are_other_content(store: BatchStore, write_source: WriteSource) -> None:
    land_day(store, files(write_source("id\nNA\n")))

    assert not land_day(store, files(write_source("id\nNA\n"), null="NA")).replayed


def test_a_changed_source_is_refused_when_it_must_not_change_and_the_difference_is_told(
    store: BatchStore, write_source: WriteSource
) -> None:
    land_day(store, files(write_source("id\n1\n", "a.csv"), write_source("id\n2\n", "b.csv")))
    before = tree(store.root)
    changed = files(
        write_source("id\n1\n", "a.csv"), write_source("id\n3\n", "b.csv"), write_source("id\n4\n", "c.csv")
    )

    with pytest.raises(SourceChangedError) as refused:
        land_day(store, changed, on_source_change="fail")

    [other, new] = refused.value.changed
    assert re.fullmatch(r"b.csv: other content of the same length, sha256 \w{12}, in the batch \w{12}", other)
    assert new == "c.csv: new"
    assert tree(store.root) == before


def test_several_files_are_numbered_in_the_order_given(store: BatchStore, write_source: WriteSource) -> None:
    paths = [write_source(f"id\n{n}\n" + "9\n" * n, f"p{n}.csv") for n in range(3)]

    manifest = land_day(store, files(*paths)).manifest

    assert [(part.name, part.source, part.rows) for part in manifest.parts] == [
        ("part-00000.csv", "p0.csv", 1),
        ("part-00001.csv", "p1.csv", 2),
        ("part-00002.csv", "p2.csv", 3),
    ]


def test_when_one_of_several_files_fails_nothing_has_landed_and_the_retry_lands_what_is_there_then(
    store: BatchStore, write_source: WriteSource
) -> None:
    paths = [write_source(f"id\n{n}\n", f"p{n}.csv") for n in (1, 2)]
    with pytest.raises(SourceMissingError):
        land_day(store, files(*paths, paths[0].with_name("p3.csv")))
    assert tree(store.root) == {}
    write_source("id\n10\n", "p1.csv")

    land_day(store, files(*paths, write_source("id\n3\n", "p3.csv")))

    (manifest,) = verified(store)
    assert [store.open_part(manifest, part).read() for part in manifest.parts] == [b"id\n10\n", b"id\n2\n", b"id\n3\n"]


@pytest.mark.parametrize("members", [1, 3])
def test_a_compressed_file_stays_as_it_is_and_its_rows_are_counted(
    store: BatchStore, write_source: WriteSource, members: int
) -> None:
    lines = b"id\n" + b"".join(b"%d\n" % n for n in range(300_000))
    cut = len(lines) // members + 1
    content = b"".join(gzip.compress(lines[at : at + cut], mtime=0) for at in range(0, len(lines), cut)) + b"\0" * 100

    (part,) = land_day(store, files(write_source(content, "orders.csv.gz"))).manifest.parts

    assert (part.name, part.bytes, part.rows) == ("part-00000.csv.gz", len(content), 300_000)
    assert part.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("zero.csv", b"", "is empty"),
        ("zero.csv.gz", b"", "is empty"),
        ("zero-inside.csv.gz", gzip.compress(b""), "is empty"),
        ("mark.csv", b"\xef\xbb\xbf", "empty first line"),
        ("blank.csv", b"\n1\n", "empty first line"),
        ("twice.csv", b"id,v,v\n3,a,b\n", "more than one column 'v'"),
        ("unnamed.csv", b"id,,w,\n", "without a name for column 2, 4"),
        ("latin.csv", b"id,s\n1,caf\xe9\n", r"not utf-8: e9 at byte 10 \(line 2\)"),
        ("cut.csv", b"id,s\n1,caf\xc3", r"not utf-8: c3 at byte 10 \(line 2\)"),
        ("open.csv", b'id,s\n1,"abc\n2,x\n', "ends inside a quoted field"),
        ("packed.csv", gzip.compress(b"id\n1\n"), "its name does not end in '.gz'"),
        ("plain.csv.gz", b"id\n1\n", "is not gzip"),
        (
            "cut.csv.gz",
            gzip.compress(b"id\n" + os.urandom(1000).hex().encode())[:-20],
            "in the middle of its compressed",
        ),
        ("damaged.csv.gz", gzip.compress(b"id\n1\n")[:-8] + b"\1" * 8, "is not gzip as its name says, or is damaged"),
        ("more.csv.gz", gzip.compress(b"id\n1\n") + b"junk", "is not gzip as its name says, or is damaged"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_is_refused_by_name(
    store: BatchStore, write_source: WriteSource, name: str, content: bytes, reason: str
) -> None:
    path = write_source(content, name)

    with pytest.raises(BadFileError, match=reason) as refused:
        land_day(store, files(path))

    assert refused.value.file == str(path)
    assert tree(store.root) == {}


def test_a_header_alone_is_an_empty_partition(store: BatchStore, write_source: WriteSource) -> None:
    manifest = land_day(store, files(write_source("id,d,v\n"))).manifest

    assert (manifest.rows, manifest.parts[0].columns) == (0, ("id", "d", "v"))


def test_latin1_lands_when_the_format_says_so(store: BatchStore, write_source: WriteSource) -> None:
    (part,) = land_day(store, files(write_source(b"id,caf\xe9\n1,\xe9\n"), encoding="latin1")).manifest.parts

    assert (part.columns, part.rows) == (("id", "café"), 1)


def test_no_files_is_a_missing_source(store: BatchStore) -> None:
    with pytest.raises(SourceMissingError, match=r"analytics.orders 2025-05-01: no input at '/inbox/\*.csv'"):
        land_day(store, FilesInput((), "/inbox/*.csv"))


def test_no_files_is_an_empty_batch_where_that_is_allowed(store: BatchStore, write_source: WriteSource) -> None:
    land_day(store, files(write_source("id\n1\n")))

    landed = land_day(store, files(), may_be_empty=True)

    assert [(manifest.revision, manifest.rows) for manifest in verified(store)] == [(1, 1), (2, 0)]
    assert landed.manifest.parts == ()
    assert land_day(store, files(), may_be_empty=True).replayed


@pytest.mark.parametrize("name", ["a\nb.csv", "\x1b[31m.csv", "a\u202eb.csv", "..\\x.csv"])
def test_a_file_name_that_hides_something_is_refused(store: BatchStore, write_source: WriteSource, name: str) -> None:
    with pytest.raises(BadFileError, match="no plain file name") as refused:
        land_day(store, files(write_source("id\n1\n", name)))

    assert refused.value.file.isprintable()


def test_a_file_that_may_not_be_read_is_refused_by_name(store: BatchStore, write_source: WriteSource) -> None:
    class Closed(type(store.root)):  # type: ignore[misc]  # root, as whom tests may run, may read everything
        def open(self, *arguments: object) -> None:
            raise PermissionError(13, "Permission denied", str(self))

    with pytest.raises(BadFileError, match="may not be read by this user"):
        land_day(store, files(Closed(write_source("id\n1\n"))))


def test_a_file_that_grows_while_it_is_read_is_refused_but_worth_a_retry(
    store: BatchStore, write_source: WriteSource
) -> None:
    path = write_source(b"id\n" + b"1234567\n" * 400_000)

    def append(rows: int, size: int) -> None:
        with path.open("ab") as file:
            file.write(b"1\n")

    with pytest.raises(FileChangingError) as refused:
        land_day(store, files(path), progress=append)

    assert refused.value.retryable
    assert tree(store.root) == {}


def test_a_broken_file_that_is_still_being_written_is_worth_a_retry(
    store: BatchStore, write_source: WriteSource
) -> None:
    path = write_source(b"id\n" + b"1234567\n" * 140_000 + b"\xff\n")

    with pytest.raises(FileChangingError):
        land_day(store, files(path), progress=lambda rows, size: path.write_bytes(path.read_bytes() + b"1\n"))


def test_progress_tells_rows_and_bytes_so_far_over_all_files(store: BatchStore, write_source: WriteSource) -> None:
    told: list[tuple[int, int]] = []
    big = write_source(b"id\n" + b"1234567\n" * 300_000, "big.csv")

    land_day(store, files(big, write_source("id\n1\n", "small.csv")), progress=lambda *now: told.append(now))

    assert told == sorted(told)
    assert told[-1] == (300_001, 2_400_003 + 5)
    assert len(told) == 4


def test_a_batch_whose_part_was_cut_is_reported_and_not_replayed(store: BatchStore, write_source: WriteSource) -> None:
    source = files(write_source("id\n1\n"))
    manifest = land_day(store, source).manifest
    (store.folder(manifest) / "part-00000.csv").write_bytes(b"id\n")

    with pytest.raises(BatchDamagedError, match="Delete the folder of this batch"):
        land_day(store, source)


def test_a_deleted_batch_is_landed_again_under_the_same_number(store: BatchStore, write_source: WriteSource) -> None:
    source = files(write_source("id\n1\n"))
    first = land_day(store, source).manifest
    store.remove(first)

    assert land_day(store, source).manifest == first


def test_passwords_in_addresses_stay_out_of_the_manifest(store: BatchStore, write_source: WriteSource) -> None:
    path = write_source("id\n1\n")

    landed = land_day(store, FilesInput((path,), "ftp://user:secret@host/*.csv"))

    assert "secret" not in Path(landed.address).read_text()
