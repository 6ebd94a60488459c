"""Manifests: what is read back is what was written, or it is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.manifest import (
    CsvFormat,
    Format,
    JsonlFormat,
    Manifest,
    ParquetFormat,
    Part,
    batch_folder,
    batch_id,
    batch_of_folder,
    compression_of,
    copied_as,
    folder_name,
    revision_of,
)

PART = Part("part-00000.csv", bytes=120, rows=3, sha256="ab" * 32, columns=("order_id", "amount"), source="orders.csv")
MANIFEST = Manifest(
    table="analytics.orders",
    partition="2025-05-01",
    batch_id="20250501_01",
    start="2025-05-01T00:00:00+00:00",
    end="2025-05-02T00:00:00+00:00",
    format=CsvFormat(),
    parts=(PART,),
    source={"kind": "files", "path": "/inbox/*.csv"},
    cutoff_ts="2025-05-02T06:00:00+00:00",
    attempt="orders/scheduled/land#1",
    created_at="2025-05-02T06:00:01+00:00",
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
counts = st.integers(0, 10**12)
parts = st.builds(
    Part, name=texts, bytes=counts, rows=counts, sha256=texts, columns=st.lists(texts, max_size=4).map(tuple)
)
formats = st.builds(CsvFormat, delimiter=texts, quote=texts, null=texts, encoding=texts, header=st.booleans())
manifests = st.builds(
    Manifest,
    table=texts,
    partition=texts,
    batch_id=texts,
    start=texts,
    end=texts,
    format=formats,
    parts=st.lists(parts, max_size=3).map(tuple),
    source=st.dictionaries(texts, st.one_of(texts, counts, st.none()), max_size=3),
    cutoff_ts=texts,
    attempt=texts,
    created_at=texts,
    version=st.just(1),
)


@given(manifests)
@settings(max_examples=60, deadline=None)
def test_a_manifest_is_read_back_as_it_was_written(manifest: Manifest) -> None:
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_a_manifest_is_text_that_people_can_read_and_that_does_not_vary() -> None:
    text = replace(MANIFEST, table="größe").to_json()

    assert '"table": "größe"' in text
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(json.loads(text))
    assert json.loads(text)["rows"] == 3


@pytest.mark.parametrize(
    "change",
    [
        {"table": "other"},
        {"partition": "2025-05-02"},
        {"batch_id": "20250501_02"},
        {"start": "", "end": ""},
        {"source": {}},
        {"cutoff_ts": ""},
        {"attempt": "again"},
        {"created_at": "later"},
        {"parts": (replace(PART, source="renamed.csv"),)},
        {"parts": (replace(PART, rows=4, bytes=121),)},
    ],
)
def test_the_fingerprint_does_not_depend_on_where_and_when_content_was_landed(change: dict[str, object]) -> None:
    assert replace(MANIFEST, **change).content_fingerprint == MANIFEST.content_fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"format": CsvFormat(delimiter=";")},
        {"format": CsvFormat(quote="'")},
        {"format": CsvFormat(null="NULL")},
        {"format": CsvFormat(encoding="latin1")},
        {"format": CsvFormat(header=False)},
        {"format": JsonlFormat()},
        {"format": ParquetFormat()},
        {"parts": ()},
        {"parts": (PART, PART)},
        {"parts": (replace(PART, sha256="cd" * 32),)},
        {"parts": (replace(PART, columns=("amount", "order_id")),)},
        {"parts": (replace(PART, name="part-00000.csv.gz"),)},
    ],
)
def test_the_fingerprint_depends_on_all_of_the_content(change: dict[str, object]) -> None:
    assert replace(MANIFEST, **change).content_fingerprint != MANIFEST.content_fingerprint


def test_the_order_of_parts_is_content() -> None:
    other = replace(PART, name="part-00001.csv", sha256="cd" * 32)
    one, two = replace(MANIFEST, parts=(PART, other)), replace(MANIFEST, parts=(other, PART))

    assert one.content_fingerprint != two.content_fingerprint


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ab" * 32, "cd" * 32),
        ('"amount"', '"amounts"'),
        ("part-00000.csv", "part-00001.csv"),
        ('"delimiter": ","', '"delimiter": ";"'),
        ('"content_fingerprint": "', '"content_fingerprint": "0'),
    ],
)
def test_tampering_with_the_content_is_found(old: str, new: str) -> None:
    with pytest.raises(ValueError, match="does not match its fingerprint"):
        Manifest.from_json(MANIFEST.to_json().replace(old, new))


RELEASED = """{
  "attempt": "", "batch_id": "20250501_01", "bytes": 10, "created_at": "", "cutoff_ts": "",
  "content_fingerprint": "ce623e80fd5563c4fa200b92e3922d9dcd02630edd9bf1e3c556df9698fbfb73",
  "end": "2025-05-02T00:00:00+00:00", "start": "2025-05-01T00:00:00+00:00", "partition": "2025-05-01",
  "format": {"delimiter": ";", "encoding": "latin1", "header": true, "null": "NA", "quote": "'"},
  "parts": [{"bytes": 10, "columns": ["id"], "name": "part-00000.csv.gz", "rows": 1, "sha256": "abcd", "source": "a"}],
  "rows": 1, "source": {"kind": "files"}, "table": "analytics.orders", "version": 1
}"""


def test_a_manifest_of_the_first_release_is_still_read() -> None:
    manifest = Manifest.from_json(RELEASED)

    assert manifest.format == CsvFormat(";", "'", "NA", "latin1")
    assert manifest.parts[0].compression == "gzip"
    assert json.loads(manifest.to_json()) == json.loads(RELEASED)


@pytest.mark.parametrize("form", [JsonlFormat(), ParquetFormat()])
def test_a_format_is_read_back_as_the_one_it_was(form: Format) -> None:
    text = replace(MANIFEST, format=form).to_json()

    assert json.loads(text)["format"] == {"kind": form.kind}
    assert Manifest.from_json(text).format == form


def test_a_format_of_a_later_release_is_not_taken_for_csv() -> None:
    text = MANIFEST.to_json().replace('"format": {', '"format": {"kind": "orc",')

    with pytest.raises(ValueError, match="'orc' is of a later release"):
        Manifest.from_json(text)


def test_rows_of_another_format_are_sent_as_csv_that_tells_null_from_nothing() -> None:
    assert copied_as(CsvFormat(";")) == CsvFormat(";")
    assert copied_as(JsonlFormat()) == copied_as(ParquetFormat()) == CsvFormat(header=False)


@pytest.mark.parametrize(
    ("name", "compression"),
    [("a.csv", ""), ("a.csv.gz", "gzip"), ("a.CSV.GZ", "gzip"), ("a.jsonl.zst", "zstd"), ("gz", ""), ("a.gz.csv", "")],
)
def test_the_end_of_a_name_says_how_a_file_is_compressed(name: str, compression: str) -> None:
    assert compression_of(name) == compression


@pytest.mark.parametrize("text", ["[]", "null", "{}", '{"version": 2}', '"manifest"', "1"])
def test_other_json_is_no_manifest(text: str) -> None:
    with pytest.raises(ValueError, match="not a manifest of this version"):
        Manifest.from_json(text)


@pytest.mark.parametrize("text", ["", "{", MANIFEST.to_json()[:-20]])
def test_half_a_manifest_is_no_manifest(text: str) -> None:
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        Manifest.from_json(text)


def test_what_a_later_release_may_add_is_ignored() -> None:
    text = MANIFEST.to_json().replace('"version": 1', '"version": 1, "weather": "fine"')

    assert Manifest.from_json(text) == MANIFEST


def test_rows_and_bytes_are_those_of_all_parts() -> None:
    two = replace(MANIFEST, parts=(PART, replace(PART, name="part-00001.csv.gz", rows=4, bytes=80)))

    assert (two.rows, two.bytes) == (7, 200)
    assert [part.compression for part in two.parts] == ["", "gzip"]


@pytest.mark.parametrize(
    ("batch", "revision"), [("20250501_01", 1), ("2025W18_02", 2), ("20250501T07_10", 10), ("20250501_123", 123)]
)
def test_a_batch_says_which_landing_it_was(batch: str, revision: int) -> None:
    compact = batch.rpartition("_")[0]

    assert replace(MANIFEST, batch_id=batch).revision == revision_of(batch) == revision
    assert batch_id(compact, revision) == batch
    assert batch_of_folder(f"batch={batch}") == batch


@pytest.mark.parametrize(
    "name", ["batch=", "batch=20250501", "batch=20250501_1", "20250501_01", "batch=20250501_01x", "_tmp"]
)
def test_other_folders_hold_no_batch(name: str) -> None:
    assert batch_of_folder(name) is None


@given(texts.filter(bool), texts.filter(bool))
@settings(max_examples=100, deadline=None)
def test_two_names_never_share_a_folder_and_none_leads_out_of_it(one: str, other: str) -> None:
    folders = {folder_name(one), folder_name(other)}

    assert len(folders) == len({one, other})
    assert not any("/" in folder or "\\" in folder or folder.startswith(".") for folder in folders)


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("public.orders", "public.orders"),
        ('"a b".c', "%22a%20b%22.c"),
        ("../etc", "%2E.%2Fetc"),
        ("a~b", "a%7Eb"),
        ("größe", "gr%C3%B6%C3%9Fe"),
    ],
)
def test_odd_characters_of_a_name_are_escaped_in_its_folder(name: str, folder: str) -> None:
    assert folder_name(name) == folder


def test_a_long_name_becomes_a_folder_that_every_file_system_takes() -> None:
    one, other = folder_name("ö" * 100 + "1"), folder_name("ö" * 100 + "2")

    assert one != other
    assert len(one) < 200


def test_a_name_that_is_empty_names_no_folder() -> None:
    with pytest.raises(ValueError, match="names no folder"):
        folder_name("")


def test_a_batch_lies_where_its_names_say() -> None:
    assert batch_folder("analytics.orders", "2025-05-01", "20250501_01") == (
        "analytics.orders/partition=2025-05-01/batch=20250501_01"
    )
