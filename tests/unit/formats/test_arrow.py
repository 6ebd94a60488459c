"""Arrow as CSV: exact, and the same bytes for the same rows."""

from __future__ import annotations

import io
import subprocess
import sys
import uuid
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.errors import ExtraMissingError
from airflow_idempotent.formats.arrow import ARROW_CSV, arrow_csv
from airflow_idempotent.formats.parquet import parquet_csv
from airflow_idempotent.formats.refused import RefusedError


def field(value: Any, kind: pa.DataType | None = None, *, to: str = "") -> str:
    """One value as the CSV that it becomes, unquoted."""
    written = b"".join(arrow_csv(pa.table({"v": pa.array([value], kind)}), types={"v": to}, header=False)).decode()
    assert written.startswith('"')
    return written.removeprefix('"').removesuffix('"\n').replace('""', '"')


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (2**64 - 1, pa.uint64(), "18446744073709551615"),
        (Decimal("12345678901234567890123456789.012345678"), pa.decimal128(38, 9), None),
        (Decimal("1" * 70 + ".123456"), pa.decimal256(76, 6), None),
        (0.1, pa.float64(), "0.1"),
        (0.1, pa.float32(), "0.1"),
        (1.5, pa.float16(), "1.5"),
        (-0.0, pa.float64(), "-0"),
        (float("nan"), pa.float64(), "NaN"),
        (float("-inf"), pa.float32(), "-Infinity"),
        (-1, pa.timestamp("us"), "1969-12-31 23:59:59.999999"),
        (-1000, pa.timestamp("ns", "America/New_York"), "1969-12-31 23:59:59.999999+00"),
        (1, pa.timestamp("s", "Nowhere/Atall"), "1970-01-01 00:00:01.000000+00"),
        (86_399, pa.time32("s"), "23:59:59.000000"),
        (1000, pa.time64("ns"), "00:00:00.000001"),
        (timedelta(days=-1, microseconds=5), pa.duration("us"), "-1 days 0 seconds 5 microseconds"),
        ((14, -3, 5000), pa.month_day_nano_interval(), "14 months -3 days 5 microseconds"),
        (b"\x00\xff", pa.binary(), "\\x00ff"),
        (b"\x00\xff", pa.binary_view(), "\\x00ff"),
        (b"\x00\xff", pa.binary(2), "\\x00ff"),
        (uuid.UUID(int=1).bytes, pa.uuid(), "00000000000000000000000000000001"),
        ("é", pa.string_view(), "é"),
        ("a", pa.dictionary(pa.int8(), pa.string()), "a"),
        ({"a": Decimal("1.50"), "b": [b"x", None], "c": 0}, None, '{"a":1.50,"b":["\\\\x78",null],"c":0}'),
        ([("k", 1.5), ("é", None)], pa.map_(pa.string(), pa.float64()), '{"k":1.5,"é":null}'),
        ([1000], pa.list_(pa.timestamp("ns", "UTC")), '["1970-01-01 00:00:00.000001+00:00"]'),
    ],
)
def test_a_value_keeps_all_it_has(value: Any, kind: pa.DataType | None, text: str | None) -> None:
    assert field(value, kind) == (str(value) if text is None else text)


@pytest.mark.parametrize(
    ("value", "to", "text"),
    [
        ([1, None], "bigint[]", '{"1",NULL}'),
        ([[1], [2]], "integer[]", '{{"1"},{"2"}}'),
        (['a"\\'], "text[]", '{"a\\"\\\\"}'),
        ([b"\x01"], "bytea[]", '{"\\\\x01"}'),
        ([[1], {"a": 2}][:1], "jsonb[]", '{"[1]"}'),
        ([1, None], "jsonb", "[1,null]"),
        ([1, None], "", "[1,null]"),
        (["a"], "json", '["a"]'),
    ],
)
def test_a_list_is_an_array_only_for_an_array(value: Any, to: str, text: str) -> None:
    assert field(value, to=to) == text


def test_sixteen_bytes_are_a_uuid_for_a_uuid_column() -> None:
    assert field(bytes(range(16)), pa.binary(16), to="uuid") == bytes(range(16)).hex()


def test_null_is_bare_and_an_empty_text_is_quoted() -> None:
    assert b"".join(arrow_csv(pa.table({"a,": ["", None], "n": pa.nulls(2)}))) == b'"a,","n"\n"",\n,\n'


@pytest.mark.parametrize(
    ("array", "row", "reason"),
    [
        (pa.array(["a", "b\0"]), 2, r"\u0000"),
        (pa.array([None, 1], pa.timestamp("ns")), 2, "would lose digits"),
        (pa.array([-1], pa.time64("us")), 1, "no time of a day"),
        (pa.array([-(10**17)], pa.timestamp("us")), 1, "before the year 1"),
        (pa.array([None, [{"a": float("inf")}]]), 2, "JSON has no such number"),
        (pa.array([(0, 0, 1)], pa.month_day_nano_interval()), 1, "would lose digits"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_its_row(array: pa.Array, row: int, reason: str) -> None:
    before = pa.nulls(2, array.type)
    table = pa.Table.from_arrays([pa.chunked_array([before, array])], names=["v"])

    with pytest.raises(RefusedError) as raised:
        list(arrow_csv(table))
    assert reason in raised.value.reason
    assert (raised.value.row, raised.value.column) == (2 + row, "v")


@given(
    st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))), st.integers(1, 4)
)
def test_equal_rows_are_equal_bytes_however_they_are_cut(texts: list[str | None], rows: int) -> None:
    table = pa.table({"n": pa.array(range(len(texts)), pa.int64()), "t": pa.array(texts, pa.string())})
    whole = b"".join(arrow_csv(table))

    assert b"".join(arrow_csv(table.to_reader(rows))) == whole
    if texts:
        assert b"".join(arrow_csv(iter(table.to_batches(rows)))) == whole
    out = io.BytesIO()
    parquet.write_table(table, out, row_group_size=rows)
    assert b'"n","t"\n' + b"".join(parquet_csv(out)) == whole


def test_batches_of_other_columns_are_refused() -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"b": [1]})]

    with pytest.raises(RefusedError, match="a batch has the columns b, the first one a"):
        list(arrow_csv(batches))


def test_a_column_of_a_type_without_counterpart_is_refused() -> None:
    union = pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1]), pa.array(["a"])])

    with pytest.raises(RefusedError, match="is of the Arrow type sparse_union") as raised:
        list(arrow_csv(pa.table({"v": union})))
    assert raised.value.column == "v"


def test_the_csv_says_how_it_is_read() -> None:
    assert CsvFormat() == ARROW_CSV


WITHOUT_PYARROW = """
import sys
sys.modules["pyarrow"] = None
from pathlib import Path
from airflow_idempotent.core.manifest import ParquetFormat
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import land_day
try:
    land_day(BatchStore(Path(sys.argv[2])), FilesInput((Path(sys.argv[1]),), format=ParquetFormat()))
except Exception as error:
    print(type(error).__name__, error)
"""


def test_a_machine_without_pyarrow_says_what_to_install(tmp_path: Path) -> None:
    path = tmp_path / "orders.parquet"
    parquet.write_table(pa.table({"id": [1]}), path)
    program = [sys.executable, "-c", WITHOUT_PYARROW, str(path), str(tmp_path / "lake")]

    said = subprocess.run(program, check=True, capture_output=True, text=True, cwd=Path(__file__).parents[3]).stdout

    assert said.startswith(f"{ExtraMissingError.__name__} ")
    assert "needs the package 'pyarrow'" in said
    assert "pip install 'airflow-provider-idempotent[parquet]'" in said
    assert not list((tmp_path / "lake").rglob("*.parquet"))
