"""Files of every format, landed and loaded: equal rows in equal tables, and errors that say where."""

from __future__ import annotations

import gzip
import io
import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from airflow_idempotent.core.manifest import CsvFormat, Format, JsonlFormat, ParquetFormat, Part
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.errors import BadRowError, BatchDamagedError, SchemaDriftError
from airflow_idempotent.formats.arrow import arrow_csv
from airflow_idempotent.landing.csv_text import CsvText
from airflow_idempotent.landing.inputs import FilesInput
from airflow_idempotent.landing.land import land
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstd.compress}
FORMS: dict[str, Format] = {"csv": CsvFormat(), "jsonl": JsonlFormat(), "parquet": ParquetFormat()}


class Lake:
    """A folder of files, and a store to land them in."""

    def __init__(self, folder: Path, connect: Connect) -> None:
        self.folder, self.warehouse = folder, Warehouse(connect)
        self.store = BatchStore(folder / "lake")

    def file(self, name: str, content: bytes | str) -> Path:
        path = self.folder / name
        raw = content.encode() if isinstance(content, str) else content
        path.write_bytes(PACK[path.suffix if path.suffix in PACK else ""](raw))
        return path

    def load(self, spec: LoadSpec, *paths: Path, columns: tuple[str, ...] = (), form: Format | None = None) -> Receipt:
        kind = next(part for part in paths[0].name.split(".") if part in FORMS)
        source = FilesInput(paths, format=form or FORMS[kind], columns=columns)
        partition = spec.partition(DAY)
        manifest = land(source, store=self.store, table=spec.table, partition=partition).manifest
        return stage_merge(Load(spec, partition, manifest), connect=self.warehouse.connect, batches=self.store)

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return self.warehouse.sql(f"SELECT t::text FROM {table} t ORDER BY 1")


@pytest.fixture
def lake(tmp_path: Path, connect: Connect) -> Lake:
    return Lake(tmp_path, connect)


def parquet_of(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


# --- every type of PostgreSQL ----------------------------------------------------------------------

TYPES = """
CREATE TYPE mood AS ENUM ('sad', 'very happy');
CREATE DOMAIN positive AS integer CHECK (VALUE > 0);
"""
EVERYTHING = """
CREATE TABLE {} (
    id bigint PRIMARY KEY, j json, jb jsonb, ia integer[], ta text[], ja jsonb[], b bytea, u uuid, e mood, p positive,
    i interval, r int4range, n numeric, s numeric(38, 10), f double precision, f4 real, o boolean, d date,
    ts timestamp, tz timestamptz, t time, x text, v varchar(5))
"""
ODD_TEXT = "a \"b\", c;\n\\. \\N \t é 漢 😀 \\x \r\n'NULL'"

CSV = (
    "id,j,jb,ia,ta,ja,b,u,e,p,i,r,n,s,f,f4,o,d,ts,tz,t,x,v\n"
    '1,"{""b"": 1, ""a"": [1.50]}","{""b"": 1e2, ""a"": null}","{1,NULL,-3}","{""a,\\""b"",NULL,NULL,""""}",'
    '"{""{\\""k\\"": [1]}"",NULL}",\\x00ff,00000000-0000-0000-0000-0000000000ff,very happy,7,1 day 02:00:00,"[1,5)",'
    "123456789012345678901234567890.123456789,0.1234567890,1.7976931348623157e+308,0.1,t,2025-05-01,"
    "2025-05-01 10:00:00.000001,2025-05-01 10:00:00.5+00,23:59:59.999999,"
    + '"'
    + ODD_TEXT.replace('"', '""')
    + '",""\n'
    "2,,,,,,,,,,,,NaN,,NaN,-Infinity,f,,,,,,\n"
    "3,,[],{},{},{},\\x,,,,,empty,Infinity,,-0,0,,,,,,,\n"
)
JSONL = "\n".join(
    [
        '{"id": 1, "j": {"b": 1, "a": [1.50]}, "jb": {"b": 1e2, "a": null}, "ia": [1, null, -3],'
        ' "ta": ["a,\\"b", null, null, ""], "ja": [{"k": [1]}, null], "b": "\\\\x00ff",'
        ' "u": "00000000-0000-0000-0000-0000000000ff", "e": "very happy", "p": 7, "i": "26:00", "r": "[1,4]",'
        ' "n": 123456789012345678901234567890.123456789, "s": 0.1234567890, "f": 1.7976931348623157e+308, "f4": 0.1,'
        ' "o": true, "d": "2025-05-01", "ts": "2025-05-01T10:00:00.000001", "tz": "2025-05-01T12:00:00.5+02:00",'
        f' "t": "23:59:59.999999", "x": {json.dumps(ODD_TEXT)}, "v": ""}}'.replace('"26:00"', '"1 day 02:00"'),
        "",
        '  {"n": "NaN", "id": 2, "f": "NaN", "f4": "-Infinity", "o": false, "x": null}\r',
        '{"id":3,"jb":[],"ia":[],"ta":[],"ja":[],"b":"\\\\x","r":"empty","n":"Infinity","f":-0,"f4":0}',
    ]
)


def everything_in_arrow() -> pa.Table:
    instant = datetime(2025, 5, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    wall_clock = instant.replace(microsecond=1, tzinfo=None)
    columns: dict[str, tuple[list[Any], pa.DataType]] = {
        "id": ([1, 2, 3], pa.uint16()),
        "j": (['{"b": 1, "a": [1.50]}', None, None], pa.string()),
        "jb": (['{"b": 1e2, "a": null}', None, "[]"], pa.large_string()),
        "ia": ([[1, None, -3], None, []], pa.list_(pa.int8())),
        "ta": ([['a,"b', None, None, ""], None, []], pa.large_list(pa.string())),
        "ja": ([[{"k": [1]}, None], None, []], pa.list_(pa.struct([("k", pa.list_(pa.int64()))]))),
        "b": ([b"\x00\xff", None, b""], pa.binary()),
        "u": ([uuid.UUID(int=255).bytes, None, None], pa.uuid()),
        "e": (["very happy", None, None], pa.dictionary(pa.int32(), pa.string())),
        "p": ([7, None, None], pa.int64()),
        "i": ([timedelta(days=1, hours=2), None, None], pa.duration("ms")),
        "r": (["[1,5)", None, "empty"], pa.string()),
        "n": (["123456789012345678901234567890.123456789", "NaN", "Infinity"], pa.string()),
        "s": ([Decimal("0.1234567890"), None, None], pa.decimal128(38, 10)),
        "f": ([1.7976931348623157e308, float("nan"), -0.0], pa.float64()),
        "f4": ([0.1, float("-inf"), 0], pa.float32()),
        "o": ([True, False, None], pa.bool_()),
        "d": ([date(2025, 5, 1), None, None], pa.date32()),
        "ts": ([wall_clock, None, None], pa.timestamp("us")),
        "tz": ([instant, None, None], pa.timestamp("ms", "Europe/Berlin")),
        "t": ([time(23, 59, 59, 999_999), None, None], pa.time64("us")),
        "x": ([ODD_TEXT, None, None], pa.string()),
        "v": (["", None, None], pa.string()),
    }
    return pa.table({name: pa.array(values, kind) for name, (values, kind) in columns.items()})


def test_every_type_ends_in_the_same_rows_from_every_format(lake: Lake) -> None:
    lake.warehouse.sql(TYPES)
    content = {"csv": CSV.encode(), "jsonl": JSONL.encode(), "parquet": parquet_of(everything_in_arrow())}
    rows = {}
    for kind, raw in content.items():
        lake.warehouse.sql(EVERYTHING.format(kind))
        receipt = lake.load(LoadSpec(table=kind, unique_key=["id"]), lake.file(f"all.{kind}", raw))
        assert receipt.effects.inserted == 3
        rows[kind] = lake.rows(kind)

    assert rows["jsonl"] == rows["csv"]
    assert rows["parquet"] == rows["csv"]
    [(x, v, n, ja, j)] = lake.warehouse.sql("SELECT x, v, n::text, ja::text, j::text FROM csv WHERE id = 1")
    assert (x, v, n) == (ODD_TEXT, "", "123456789012345678901234567890.123456789")
    assert (ja, j) == ('{"{\\"k\\": [1]}",NULL}', '{"b": 1, "a": [1.50]}')


def test_a_second_run_of_each_format_writes_nothing(lake: Lake) -> None:
    lake.warehouse.sql(TYPES + EVERYTHING.format("everything"))
    spec = LoadSpec(table="everything", unique_key=["id"])
    for kind, raw in {
        "csv": CSV.encode(),
        "jsonl": JSONL.encode(),
        "parquet": parquet_of(everything_in_arrow()),
    }.items():
        receipt = lake.load(spec, lake.file(f"all.{kind}", raw))
        before = lake.warehouse.physical("everything", "t::text")

        assert lake.load(spec, lake.file(f"all.{kind}", raw)).effects.touched == 0
        assert (receipt.effects.touched, receipt.effects.unchanged) in [(3, 0), (0, 3)]
        assert lake.warehouse.physical("everything", "t::text") == before


# --- any rows, every format and compression --------------------------------------------------------

TABLE = "CREATE TABLE {} (k bigint PRIMARY KEY, x text, n numeric, f double precision, o boolean, b bytea, l text[])"
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
numbers = st.decimals(-(10**20), 10**20, places=9, allow_nan=False)
floats = st.floats(allow_subnormal=False) | st.sampled_from([float("nan"), float("inf"), -0.0])
payloads = st.tuples(
    st.none() | texts,
    st.none() | numbers,
    st.none() | floats,
    st.none() | st.booleans(),
    st.none() | st.binary(max_size=5),
    st.none() | st.lists(st.none() | texts, max_size=3),
)
tables = st.dictionaries(st.integers(-(2**63), 2**63 - 1), payloads, max_size=6)
NAMES = ("k", "x", "n", "f", "o", "b", "l")


def float_text(value: float) -> str | float:
    return {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(repr(value), value)


def array_of(items: Sequence[str | None]) -> str:
    escaped = ["NULL" if item is None else '"' + item.replace("\\", r"\\").replace('"', r"\"") + '"' for item in items]
    return "{" + ",".join(escaped) + "}"


def as_csv(rows: Sequence[tuple[Any, ...]]) -> bytes:
    text = CsvText(CsvFormat())
    return text.header(NAMES) + text.rows([(*row[:6], None if row[6] is None else array_of(row[6])) for row in rows])


def as_jsonl(rows: Sequence[tuple[Any, ...]]) -> bytes:
    lines = []
    for row in rows:
        values = dict(zip(NAMES, row, strict=True))
        number = values.pop("n")
        values["f"] = None if row[3] is None else float_text(row[3])
        values["b"] = None if row[5] is None else "\\x" + row[5].hex()
        line = json.dumps({name: value for name, value in values.items() if value is not None}, ensure_ascii=False)
        lines.append(line if number is None else f'{line[:-1]}, "n": {number:f}}}')
    return "\n".join(lines).encode()


def as_parquet(rows: Sequence[tuple[Any, ...]]) -> bytes:
    kinds = [
        pa.int64(),
        pa.string(),
        pa.decimal128(38, 9),
        pa.float64(),
        pa.bool_(),
        pa.binary(),
        pa.list_(pa.string()),
    ]
    columns = [pa.array([row[place] for row in rows], kind) for place, kind in enumerate(kinds)]
    return parquet_of(pa.table(columns, names=NAMES), compression="zstd", row_group_size=2)


WRITE = {"csv": as_csv, "jsonl": as_jsonl, "parquet": as_parquet}


@given(tables)
@settings(max_examples=25)
def test_any_rows_load_to_equal_tables_from_every_format_and_compression(
    tmp_path: Path, connect_once: Connect, content: dict[int, tuple[Any, ...]]
) -> None:
    rows = [(key, *values) for key, values in content.items()]
    with closing(connect_once()) as connection:
        connection.autocommit = True
        tables = [f"t_{kind}{ending.replace('.', '_')}" for kind in WRITE for ending in PACK]
        for table in tables:
            connection.cursor().execute(f"DROP TABLE IF EXISTS {table}; " + TABLE.format(table))
    lake = Lake(tmp_path, connect_once)
    for kind, write in WRITE.items():
        for ending in PACK:
            table = f"t_{kind}{ending.replace('.', '_')}"
            lake.load(LoadSpec(table=table, unique_key=["k"]), lake.file(f"rows.{kind}{ending}", write(rows)))

    found = {table: lake.rows(table) for table in tables}
    assert len(found["t_csv"]) == len(rows)
    assert all(found[table] == found["t_csv"] for table in tables)
    assert sorted(lake.warehouse.sql("SELECT k, x, n, o FROM t_jsonl_zst")) == sorted(
        [(row[0], row[1], row[2], row[4]) for row in rows]
    )


# --- what only one format has ----------------------------------------------------------------------


@pytest.fixture
def orders(lake: Lake) -> LoadSpec:
    lake.warehouse.sql(
        "CREATE TABLE orders (id bigint PRIMARY KEY, amount numeric(10, 2), note text, tags int[], doc jsonb)"
    )
    return LoadSpec(table="orders", unique_key=["id"])


def test_parts_of_one_batch_may_be_compressed_in_different_ways_and_have_different_keys(
    lake: Lake, orders: LoadSpec
) -> None:
    paths = [
        lake.file("a.jsonl", '{"id": 1, "amount": 1.50}\n'),
        lake.file("b.jsonl.gz", '{"note": "x", "id": 2}\n'),
        lake.file("c.jsonl.zst", '{"id": 3, "tags": [1]}\n{"id": 4}'),
        lake.file("d.jsonl", ""),
    ]

    assert lake.load(orders, *paths).effects.inserted == 4
    assert lake.rows("orders") == [("(1,1.50,,,)",), ("(2,,x,,)",), ("(3,,,{1},)",), ("(4,,,,)",)]


def test_a_column_of_the_spec_that_no_line_has_is_null(lake: Lake, orders: LoadSpec) -> None:
    columns = [{"name": "id", "data_type": "bigint"}, {"name": "note", "data_type": "text"}]
    lake.load(orders, lake.file("a.jsonl", '{"id": 1, "note": "x"}'))

    lake.load(LoadSpec(table="orders", unique_key=["id"], columns=columns), lake.file("b.jsonl", '{"id": 1}'))

    assert lake.rows("orders") == [("(1,,,,)",)]


def test_a_key_that_the_target_lacks_is_refused_or_left_out(lake: Lake, orders: LoadSpec) -> None:
    path = lake.file("a.jsonl", '{"id": 1}\n{"id": 2, "color": {"deep": ["red"]}}')

    with pytest.raises(SchemaDriftError, match="column 'color' of the batch is not in the target"):
        lake.load(orders, path)
    lake.load(LoadSpec(table="orders", unique_key=["id"], on_schema_change="ignore"), path)
    assert len(lake.rows("orders")) == 2


def test_nested_values_become_json_text_where_the_column_is_text(lake: Lake, orders: LoadSpec) -> None:
    lake.load(orders, lake.file("a.jsonl", '{"id": 1, "note": {"a": [1.10]}, "doc": "plain", "tags": "{1,2}"}'))

    assert lake.warehouse.sql("SELECT note, doc::text, tags FROM orders") == [('{"a": [1.10]}', '"plain"', [1, 2])]


def test_csv_without_a_header_is_named_by_its_columns(lake: Lake, orders: LoadSpec) -> None:
    path = lake.file("a.csv.zst", "x,1,2.50\n,2,3\n")

    lake.load(orders, path, form=CsvFormat(header=False), columns=("note", "id", "amount"))

    assert lake.rows("orders") == [("(1,2.50,x,,)",), ("(2,3.00,,,)",)]


def test_batches_of_arrow_become_the_csv_that_a_part_may_be(lake: Lake, orders: LoadSpec) -> None:
    table = pa.table({"id": [1, 2], "note": ["", None], "tags": [[1, 2], None], "doc": [{"a": 1}, None]})
    path = lake.file("a.csv", b"".join(arrow_csv(table.to_reader(1), types={"tags": "integer[]"})))

    lake.load(orders, path)

    assert lake.rows("orders") == [('(1,,"","{1,2}","{""a"": 1}")',), ("(2,,,,)",)]


# --- errors say where ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "line", "column", "reason"),
    [
        (['{"id": 1, "note": "a\\nb"}', "", '{"id": "x"}'], 3, "id", 'invalid input syntax for type bigint: "x"'),
        (['{"id": 1, "note": "a\\r\\nb"}', '{"id": 2, "note": "\\n\\n"}', '{"id": "x"}'], 3, "id", 'bigint: "x"'),
        (['{"id": 1}', '{"id": 2, "note": "a\\u0000b"}'], 2, "note", r"\u0000"),
        (['{"id": 1}', '{"id": 2, "note": "\\ud800"}'], 2, "note", "surrogate"),
        (['{"id": 1}', '{"id": 2, "doc": {"a": "\\u0000"}}'], 2, "doc", "unsupported Unicode escape sequence"),
        (['{"id": 1, "amount": 1e400}'], 1, None, "do not fit"),
        (['{"id": 1}', '{"id": 1e400}'], 2, "id", "invalid input syntax"),
        (['{"id": 1, "tags": ["x"]}'], 1, "tags", "invalid input syntax for type integer"),
        (['{"id": 1, "tags": {"x": 1}}'], 1, "tags", "malformed array literal"),
    ],
)
def test_a_value_of_a_line_that_cannot_be_read_is_found(
    lake: Lake, orders: LoadSpec, lines: list[str], line: int, column: str | None, reason: str
) -> None:
    with pytest.raises(BadRowError) as raised:
        lake.load(orders, lake.file("bad.jsonl.gz", "\n".join(lines)))

    assert reason in raised.value.reason
    if column:
        assert (raised.value.file, raised.value.line, raised.value.column) == ("bad.jsonl.gz", line, column)
    assert lake.rows("orders") == []


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array(["a\nb", "c\n\nd", "x\0y"]), r"\u0000"),
        (pa.array([0, 1000, 1001], pa.timestamp("ns")), "nanoseconds"),
        (pa.array([0, None, 86_400_000_000_001], pa.time64("ns")), "nanoseconds"),
        (pa.array([None, 0, -800_000], pa.date32()), "before the year 1"),
        (pa.array([[0.5], None, [float("nan")]]), "JSON has no such number"),
        (pa.array([[0], None, [1]], pa.list_(pa.timestamp("ns"))), "nanoseconds"),
    ],
)
@pytest.mark.parametrize("ending", ["", ".zst"])
def test_a_value_of_parquet_that_would_lose_something_is_refused_with_its_row(
    lake: Lake, orders: LoadSpec, column: pa.Array, reason: str, ending: str
) -> None:
    table = pa.table({"id": [1, 2, 3], "note": column})

    with pytest.raises(BadRowError) as raised:
        lake.load(orders, lake.file(f"bad.parquet{ending}", parquet_of(table)))

    error = raised.value
    assert reason in error.reason
    assert (error.file, error.row, error.line, error.column) == (f"bad.parquet{ending}", 3, None, "note")
    assert lake.rows("orders") == []


def test_a_value_of_parquet_that_the_database_refuses_is_found_by_its_row(lake: Lake, orders: LoadSpec) -> None:
    table = pa.table({"note": ["a\nb\n", '"\n"', None], "id": ["1", "2", "x"]})

    with pytest.raises(BadRowError, match=r"bad\.parquet row 3 column 'id'"):
        lake.load(orders, lake.file("bad.parquet", parquet_of(table, row_group_size=2)))


@pytest.mark.parametrize("name", ["a.csv.zst", "a.jsonl.zst", "a.jsonl.gz", "a.jsonl", "a.parquet", "a.parquet.gz"])
@pytest.mark.parametrize("cut", [False, True])
def test_a_part_that_was_damaged_after_landing_is_refused(lake: Lake, orders: LoadSpec, name: str, cut: bool) -> None:
    content = {"csv": b"id,note\n1,aaaaaaaaaaaa\n", "jsonl": b'{"id": 1, "note": "aaaaaaaaaa"}\n{"id": 2}\n'}
    content["parquet"] = parquet_of(pa.table({"id": [1, 2]}))
    path = lake.file(name, content[name.split(".")[1]])
    partition = orders.partition(DAY)
    source = FilesInput((path,), format=FORMS[name.split(".")[1]])
    manifest = land(source, store=lake.store, table=orders.table, partition=partition).manifest
    part: Part = manifest.parts[0]
    landed = lake.store.folder(manifest) / part.name
    raw = bytearray(landed.read_bytes())
    raw[len(raw) // 2] ^= 0xFF
    landed.chmod(0o600)
    landed.write_bytes(raw[:-4] if cut else raw)

    with pytest.raises(BatchDamagedError):
        stage_merge(Load(orders, partition, manifest), connect=lake.warehouse.connect, batches=lake.store)
    assert lake.rows("orders") == []
