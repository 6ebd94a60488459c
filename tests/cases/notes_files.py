"""Notes of cases about files, and about what lies where after a landing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from airflow_idempotent.errors import BadFileError
from airflow_idempotent.landing.paths import clean_name
from tests.cases.landings import left_over, whole_batches
from tests.cases.noting import Note, equal, refusal, run, says
from tests.cases.verdict import Done
from tests.cases.world import World


def byte_exact(world: World, done: Sequence[Done]) -> None:
    manifest = whole_batches(str(world.lake))[0]
    equal([(part.source, part.rows) for part in manifest.parts], [("crlf.csv", 3), ("mixed.csv", 2)])
    for part in manifest.parts:
        equal(part.sha256, hashlib.sha256(world.case.files[part.source]).hexdigest())
    says(done[2], "mixed.csv line 2", "carriage return")


def mark_is_kept(world: World, done: Sequence[Done]) -> None:
    [manifest] = whole_batches(str(world.lake))
    equal(manifest.parts[0].columns, ("id", "v"))
    equal(manifest.parts[0].sha256, hashlib.sha256(b"\xef\xbb\xbfid,v\n1,a\n").hexdigest())


def nul_is_found(world: World, done: Sequence[Done]) -> None:
    says(done[0], "in.csv line 3", "column 's'")
    says(done[1], "esc.csv line 2", "column 'j'")


def encoding_is_known(world: World, done: Sequence[Done]) -> None:
    says(done[0], "latin.csv", "not utf-8", "e9", "line 2")
    says(done[2], "cut.csv", "not utf-8", "c3", "line 2")
    equal([manifest.format.encoding for manifest in whole_batches(str(world.lake))], ["latin1"])


def each_by_name(world: World, done: Sequence[Done]) -> None:
    says(done[0], "'id' is missing in the batch")
    says(done[1], "'surprise'")
    says(done[2], "more than one column 'v'")
    says(done[3], "ragged.csv line 3", 'column "w"')


def broken_upload(world: World, done: Sequence[Done]) -> None:
    says(done[0], "zero.csv", "0 bytes")
    equal(done[1].value["effects"]["deleted"], 0)


def only_the_manifest_counts(world: World, done: Sequence[Done]) -> None:
    equal(world.memory["listed"], [[]])
    [manifest] = whole_batches(str(world.lake))
    equal([(part.rows, part.bytes) for part in manifest.parts], [(2, 7)])
    equal(left_over(world.lake), [])


def whole_set(world: World, done: Sequence[Done]) -> None:
    [manifest] = whole_batches(str(world.lake))
    digests = [hashlib.sha256(text).hexdigest() for text in (b"id\n10\n", b"id\n2\n", b"id\n3\n")]
    equal([part.sha256 for part in manifest.parts], digests)
    equal(left_over(world.lake), [])


def replaced_as_a_whole(world: World, done: Sequence[Done]) -> None:
    equal([(item.batch_id[-2:], item.rows) for item in whole_batches(str(world.lake))], [("01", 1), ("02", 2)])
    for name in ("../x", "/etc/passwd", "..", "a\x1b[2Jb.csv", ""):
        try:
            clean_name(name)
        except BadFileError:
            continue
        raise AssertionError(f"{name!r} passes for the name of a source file")
    world.write("a\x07.csv", "id\n1\n")
    assert "control characters" in refusal(lambda: run(world, done[0].step, file="a\x07.csv"))
    Path(world.folder / "source" / "a\x07.csv").unlink()


NOTES: dict[str, Note] = {
    "F02": byte_exact,
    "F03": mark_is_kept,
    "F04": nul_is_found,
    "F05": encoding_is_known,
    "F07": each_by_name,
    "F08m": broken_upload,
    "L01": only_the_manifest_counts,
    "L03": whole_set,
    "L05": replaced_as_a_whole,
}
