"""Landing JSON Lines, Parquet, CSV without a header, gzip and zstd: byte for byte, with rows and columns."""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from backports import zstd
from pyarrow import parquet

from airflow_idempotent.core.manifest import CsvFormat, Format, JsonlFormat, ParquetFormat
from airflow_idempotent.errors import BadFileError, SourceChangedError
from airflow_idempotent.landing.inputs import FilesInput, find_files
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.conftest import WriteSource
from tests.unit.landing.landed import land_day, verified

JSONL, PARQUET, BARE = JsonlFormat(), ParquetFormat(), CsvFormat(header=False)
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}


def parquet_of(table: pa.Table) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out)
    return out.getvalue()


CONTENT: dict[str, tuple[Format, bytes]] = {
    "csv": (CsvFormat(), b"id,note\n1,a\n2,b\n"),
    "jsonl": (JSONL, b'{"id": 1}\n\n{"note": "b", "id": 2}'),
    "parquet": (PARQUET, parquet_of(pa.table({"id": [1, 2], "note": ["a", "b"]}))),
}


@pytest.mark.parametrize("kind", CONTENT)
@pytest.mark.parametrize("ending", PACK)
def test_a_file_of_each_format_and_compression_lands_as_it_came(
    store: BatchStore, write_source: WriteSource, kind: str, ending: str
) -> None:
    form, content = CONTENT[kind]
    raw = PACK[ending](content)

    landed = land_day(store, FilesInput((write_source(raw, f"orders.{kind}{ending}"),), format=form))

    (part,) = landed.manifest.parts
    assert (part.name, part.rows, part.columns) == (f"part-00000.{kind}{ending}", 2, ("id", "note"))
    assert (Path(landed.address).parent / part.name).read_bytes() == raw
    assert verified(store) == (landed.manifest,)
    assert land_day(store, FilesInput((write_source(raw, f"orders.{kind}{ending}"),), format=form)).replayed


@pytest.mark.parametrize("name", ["orders.ndjson", "orders.json"])
def test_the_format_is_what_the_spec_says_whatever_the_name(
    store: BatchStore, write_source: WriteSource, name: str
) -> None:
    landed = land_day(store, FilesInput((write_source(b'{"a": 1}\r\n', name),), format=JSONL))

    assert landed.manifest.parts[0].name == "part-00000.jsonl"


def test_the_columns_of_json_lines_are_the_keys_of_all_lines_however_the_bytes_are_cut(
    store: BatchStore, write_source: WriteSource
) -> None:
    lines = b'\xef\xbb\xbf{"b": {"not": 1}}\n \t\r\n' + b'{"a": "\xc3\xa9"}\n' * 200_000 + b'{"c": null}'

    (part,) = land_day(store, FilesInput((write_source(lines),), format=JSONL)).manifest.parts

    assert (part.columns, part.rows) == (("b", "a", "c"), 200_002)


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_json_lines_without_a_line_are_a_part_without_rows(
    store: BatchStore, write_source: WriteSource, content: bytes
) -> None:
    (part,) = land_day(store, FilesInput((write_source(content),), format=JSONL)).manifest.parts

    assert (part.columns, part.rows) == ((), 0)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": 1}\n\n[1]\n', r"is not a JSON object \(line 3\)"),
        (b'{"a": 1}\n{"a": }', r"is not JSON \(Expecting value at character 7\) \(line 2\)"),
        (b'{"a": 1} {"a": 2}', r"is not JSON \(Extra data at character 10\) \(line 1\)"),
        (b'{"a": NaN}', r'is not JSON \(NaN is no number of JSON, write it as text: "NaN"\) \(line 1\)'),
        (b'{"a": 1}\n{"a": "\xff"}', r"holds bytes that are not UTF-8: ff \(line 2\)"),
        (b'{"a": ' + b"[" * 100_000, r"is not JSON .* \(line 1\)"),
        (b'{"": 1}', r"a key that names no column \(line 1\)"),
        (b"{}\n{}", "has no key in any of its objects"),
        (gzip.compress(b'{"a": 1}'), r"is compressed by gzip, but its name does not end in '\.gz'"),
        (zstd.compress(b'{"a": 1}'), r"is compressed by zstd, but its name does not end in '\.zst'"),
    ],
)
def test_what_is_no_json_lines_is_refused_with_its_line(
    store: BatchStore, write_source: WriteSource, content: bytes, reason: str
) -> None:
    with pytest.raises(BadFileError, match=rf"orders\.jsonl: .*{reason}.*nothing was landed"):
        land_day(store, FilesInput((write_source(content, "orders.jsonl"),), format=JSONL))
    assert verified(store) == ()


DAMAGED = b"\x28\xb5\x2f\xfd" + b"\xff" * 20


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.csv.zst", b"id\n1\n", "is not zstd as its name says"),
        ("a.csv.zst", DAMAGED, "is damaged"),
        ("a.csv.zst", zstd.compress(b"id\n1\n" * 1000)[:-3], "ends in the middle of its compressed data"),
        ("a.csv.zst", zstd.compress(b"id\n1\n") + zstd.compress(b"2\n")[:-1], "ends in the middle"),
        ("a.csv.gz", gzip.compress(b"id\n1\n" * 1000)[:-3], "ends in the middle of its compressed data"),
    ],
)
def test_a_compressed_file_that_is_damaged_is_refused(
    store: BatchStore, write_source: WriteSource, name: str, content: bytes, reason: str
) -> None:
    with pytest.raises(BadFileError, match=reason):
        land_day(store, FilesInput((write_source(content, name),)))


def test_all_frames_of_a_zstd_file_are_read(store: BatchStore, write_source: WriteSource) -> None:
    frames = b"".join(map(zstd.compress, [b"id\n", b"1\n" * 3_000_000, b"", b"2\n"]))

    (part,) = land_day(store, FilesInput((write_source(frames, "a.csv.zst"),))).manifest.parts

    assert part.rows == 3_000_001


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"id,note\n1,a\n", "is no Parquet file: it does not begin with 'PAR1'"),
        (b"", "has no Parquet footer"),
        (CONTENT["parquet"][1][:-10], "has no Parquet footer at its end, a broken upload"),
        (b"PAR1" + (99).to_bytes(4, "little") + b"PAR1", "has a Parquet footer of 107 bytes, more than there are"),
        (b"PAR1" + b"x" * 99 + (99).to_bytes(4, "little") + b"PAR1", "has a Parquet footer that cannot be read"),
        (parquet_of(pa.table([[1], [2]], names=["a", "a"])), "has more than one column 'a'"),
        (parquet_of(pa.table([[1]], names=[""])), "has no name for column 1"),
    ],
)
def test_what_is_no_parquet_is_refused(
    store: BatchStore, write_source: WriteSource, content: bytes, reason: str
) -> None:
    with pytest.raises(BadFileError, match=re.escape(reason)):
        land_day(store, FilesInput((write_source(content, "orders.parquet"),), format=PARQUET))


@pytest.mark.parametrize(
    ("content", "rows"), [(b"1,a\n2,b\n", 2), (b"1,a", 1), (b"", 0), (b'\xef\xbb\xbf1,"a\nb"\n', 1)]
)
def test_csv_without_a_header_counts_every_record(
    store: BatchStore, write_source: WriteSource, content: bytes, rows: int
) -> None:
    source = FilesInput((write_source(content),), format=BARE, columns=("id", "note"))

    (part,) = land_day(store, source).manifest.parts

    assert (part.rows, part.columns) == (rows, ("id", "note"))


def test_other_names_for_the_columns_are_other_content(store: BatchStore, write_source: WriteSource) -> None:
    path = write_source(b"1,a\n")
    land_day(store, FilesInput((path,), format=BARE, columns=("id", "note")))
    swapped = FilesInput((path,), format=BARE, columns=("note", "id"))

    with pytest.raises(SourceChangedError, match="the columns of the spec"):
        land_day(store, swapped, on_source_change="fail")
    assert not land_day(store, swapped).replayed


@pytest.mark.parametrize(("form", "columns"), [(BARE, ()), (CsvFormat(), ("id",)), (JSONL, ("id",))])
def test_columns_are_named_for_files_that_do_not_do_so_and_for_no_others(form: Format, columns: Sequence[str]) -> None:
    with pytest.raises(ValueError, match="columns are given for CSV without a header"):
        find_files("*.csv", format=form, columns=tuple(columns))


def test_how_a_file_is_compressed_is_content(store: BatchStore, write_source: WriteSource) -> None:
    land_day(store, FilesInput((write_source(b'{"a": 1}', "a.jsonl"),), format=JSONL))
    packed = FilesInput((write_source(zstd.compress(b'{"a": 1}'), "a.jsonl.zst"),), format=JSONL)

    with pytest.raises(SourceChangedError, match="compressed by zstd"):
        land_day(store, packed, on_source_change="fail")
