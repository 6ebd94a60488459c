"""A landed part on its way into a COPY: unpacked, counted, hashed, and believed only then."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable

import pytest
from backports import zstd

from airflow_idempotent.core.manifest import CsvFormat, Part
from airflow_idempotent.engine.batches import ByteStream, VerifiedReader, unreadable_column
from airflow_idempotent.errors import BatchDamagedError

TEXT = b'id,v\n1,"a\nb"\n2,c\n'


def part_of(raw: bytes, *, name: str = "part-00000.csv", rows: int = 2) -> Part:
    return Part(name, len(raw), rows, hashlib.sha256(raw).hexdigest(), ("id", "v"))


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize(
    ("name", "pack"), [("p.csv", bytes), ("p.csv.gz", gzip.compress), ("p.csv.zst", zstd.compress)]
)
def test_what_is_read_is_the_content_and_is_verified(size: int, name: str, pack: Callable[[bytes], bytes]) -> None:
    raw = pack(TEXT)
    reader = VerifiedReader(io.BytesIO(raw), part_of(raw, name=name))

    assert b"".join(iter(lambda: reader.read(size), b"")) == TEXT
    reader.verify(2)


@pytest.mark.parametrize(("other", "said"), [(TEXT[:-1], "16 bytes"), (TEXT + b"3", "18 bytes"), (b"x" * 17, "sha256")])
def test_other_bytes_are_refused_even_when_nobody_has_read_them(other: bytes, said: str) -> None:
    with pytest.raises(BatchDamagedError, match=said):
        VerifiedReader(io.BytesIO(other), part_of(TEXT)).verify()


def test_another_number_of_records_is_refused() -> None:
    reader = VerifiedReader(io.BytesIO(TEXT), part_of(TEXT))

    with pytest.raises(BatchDamagedError, match="found: 17 bytes, 3 rows"):
        reader.verify(3)


def test_why_a_part_could_not_be_read_is_kept() -> None:
    raw = gzip.compress(TEXT)
    stream = ByteStream(VerifiedReader(io.BytesIO(raw[:-9]), part_of(raw, name="part-00000.csv.gz")).chunks())

    with pytest.raises(EOFError):
        b"".join(iter(lambda: stream.read(4), b""))
    assert isinstance(stream.failure, EOFError)


@pytest.mark.parametrize(
    ("name", "pack"), [("p.csv", bytes), ("p.csv.gz", gzip.compress), ("p.csv.zst", zstd.compress)]
)
def test_a_part_that_is_read_in_any_order_is_verified_before(name: str, pack: Callable[[bytes], bytes]) -> None:
    raw = pack(TEXT)

    with VerifiedReader(io.BytesIO(raw), part_of(raw, name=name)).whole() as file:
        assert (file.seek(5), file.read()) == (5, TEXT[5:])
    with (
        pytest.raises(BatchDamagedError),
        VerifiedReader(io.BytesIO(raw), part_of(TEXT + b"3", name=name)).whole(),
    ):
        pass


@pytest.mark.parametrize(
    ("raw", "line", "form", "column"),
    [
        (b"id,v\n1,a\n2,b\0\n", 3, CsvFormat(), "v"),
        (b'id,v\n1,"a\nb"\n\0,b\n', 4, CsvFormat(), "id"),
        (b'id;v\n1;"a\nb\0"\n', 3, CsvFormat(delimiter=";"), "v"),
        (b"id,v\n1,\xff\n", 2, CsvFormat(), "v"),
        (b"id,v\n1,\xff\n", 2, CsvFormat(encoding="latin1"), None),
        (b"id,v\n1,a\n", 2, CsvFormat(), None),
        (b"id,v\n", 9, CsvFormat(), None),
        (b"id,v\n1," + b"x" * 200_000 + b"\0\n", 2, CsvFormat(), None),  # longer than Python's csv reads
    ],
)
def test_the_column_of_bytes_that_are_no_text_is_found(
    raw: bytes, line: int, form: CsvFormat, column: str | None
) -> None:
    part = part_of(raw)

    assert unreadable_column(VerifiedReader(io.BytesIO(raw), part), line, part, form) == column
