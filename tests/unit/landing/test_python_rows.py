"""Landing what a Python function yields: which values, which columns, how often, and what goes wrong."""

from __future__ import annotations

import ipaddress
import tracemalloc
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy
import pyarrow as pa
import pytest

from airflow_idempotent.errors import (
    BadFileError,
    PythonSourceError,
    PythonSourceFailedError,
    SourceChangedError,
    SourceMissingError,
)
from airflow_idempotent.landing.inputs import PythonInput
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import land_day, tree, verified


class Colour(Enum):
    RED = "red"


class Word(str, Enum):  # noqa: UP042, what people have in their code
    YES = "yes"


def rows_of(returned: Any, **options: Any) -> PythonInput:
    """A source whose function returns that, or what that makes."""
    return PythonInput("feeds:rows", returned if callable(returned) else lambda: returned, **options)


def content(store: BatchStore) -> str:
    manifest = verified(store)[-1]
    with store.open_part(manifest, manifest.parts[0]) as file:
        return file.read().decode()


def field_of(store: BatchStore, value: Any, **options: Any) -> str:
    """How one value is written, beside a second column."""
    land_day(store, rows_of([{"a": value, "b": 1}], **options))
    return content(store).removeprefix("a,b\n").removesuffix(",1\n")


# --- values ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("", '""'),
        ('a "q", b', '"a ""q"", b"'),
        (True, "t"),
        (False, "f"),
        (-7, "-7"),
        (0.1, "0.1"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E+3"), "1000"),
        (Decimal("NaN"), "NaN"),
        (b"\x00\xff", "\\x00ff"),
        pytest.param(memoryview(b"\x01"), "\\x01", id="memoryview"),
        (date(2025, 5, 1), "2025-05-01"),
        (datetime(2025, 5, 1, 8, 30), "2025-05-01 08:30:00"),  # noqa: DTZ001
        (datetime(2025, 5, 1, 8, tzinfo=UTC), "2025-05-01 08:00:00+00:00"),
        (datetime(2025, 5, 1, 8, tzinfo=timezone(timedelta(hours=2))), "2025-05-01 06:00:00+00:00"),
        (time(8, 30), "08:30:00"),
        (timedelta(days=1, seconds=2), "1 days 2 seconds 0 microseconds"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (ipaddress.ip_address("10.0.0.1"), "10.0.0.1"),
        (Word.YES, "yes"),
        ({"b": 1, "a": [1, None]}, '"{""a"":[1,null],""b"":1}"'),
        ([], "{}"),
        ([1, None, 3], '"{1,NULL,3}"'),
        (("a", "", "NULL", 'x "y"', "c,d", "e\\f"), '"{a,"""",""NULL"",""x \\""y\\"""",""c,d"",""e\\\\f""}"'),
        ([[1, 2], [3, 4]], '"{{1,2},{3,4}}"'),
        ([True, date(2025, 5, 1), Decimal("1.5")], '"{t,2025-05-01,1.5}"'),
        ([{"a": 1}], '"{""{\\""a\\"":1}""}"'),
        (numpy.int64(7), "7"),
        (numpy.float64(0.5), "0.5"),
        (numpy.bool_(True), "t"),
        (numpy.array([1, 2]), '"{1,2}"'),
        (numpy.array([[1.5], [2.5]]), '"{{1.5},{2.5}}"'),
    ],
    ids=repr,
)
def test_a_value_is_written_as_postgres_reads_it(store: BatchStore, value: Any, text: str) -> None:
    assert field_of(store, value) == text


def test_a_list_for_a_column_of_json_is_json(store: BatchStore) -> None:
    assert field_of(store, [1, None, "a"], json_columns=frozenset({"a"})) == '"[1,null,""a""]"'


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({1, 2}, "column 'a': a set has no order, write sorted(…)"),
        (frozenset("a"), "column 'a': a frozenset has no order"),
        (object(), "column 'a': object has no text"),
        ([object()], "column 'a': object has no text"),
        ((x for x in "ab"), "column 'a': generator has no text"),
        ("\ud800", "text that is no Unicode"),
    ],
    ids=["set", "frozenset", "object", "object in a list", "generator", "half a character"],
)
def test_a_value_that_two_runs_would_write_differently_is_refused(store: BatchStore, value: Any, reason: str) -> None:
    with pytest.raises(PythonSourceError, match="yields row 2") as refused:
        land_day(store, rows_of([{"a": 1}, {"a": value}]))

    assert reason in str(refused.value)
    assert tree(store.root) == {}


# --- rows ----------------------------------------------------------------------------------------------------


def test_rows_land_in_their_order_with_the_columns_of_the_first(store: BatchStore) -> None:
    landed = land_day(store, rows_of(iter([{"b": 2, "a": 1}, OrderedDict(a=3, b=4)])))

    assert content(store) == "b,a\n2,1\n4,3\n"
    assert landed.manifest.rows == 2
    assert landed.manifest.parts[0].columns == ("b", "a")
    assert landed.manifest.source == {"kind": "python", "function": "feeds:rows"}


def test_the_same_rows_are_the_same_batch_and_others_the_next(store: BatchStore) -> None:
    first = land_day(store, rows_of([{"a": 1}]))
    before = tree(store.root)
    again = land_day(store, rows_of(lambda: iter([{"a": 1}])))
    assert (again.replayed, tree(store.root)) == (True, before)

    other = land_day(store, rows_of([{"a": 2}]))
    assert (first.manifest.batch_id, other.manifest.batch_id) == ("20250501_01", "20250501_02")
    with pytest.raises(SourceChangedError, match="differs from batch 20250501_02"):
        land_day(store, rows_of([{"a": 3}]), on_source_change="fail")


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ({"a": 1}, "row 2 with other keys than the first: it lacks 'b'"),
        ({"a": 1, "b": 2, "c": 3}, "row 2 with other keys than the first: it has also 'c'"),
        ({"a": 1, "B": 2}, "row 2 with other keys than the first: it has also 'B' and lacks 'b'"),
        ({}, "row 2 with other keys than the first: it lacks 'a', 'b'"),
        ((1, 2), "yields tuple as row 2: yield dicts, Arrow tables or batches, or bytes"),
        ("1,2", "yields str as row 2"),
        (None, "yields NoneType as row 2"),
        (b"1,2\n", "yields bytes as row 2"),
    ],
)
def test_a_row_that_is_unlike_the_first_is_refused_with_its_number(store: BatchStore, second: Any, text: str) -> None:
    with pytest.raises(PythonSourceError) as refused:
        land_day(store, rows_of([{"a": 1, "b": 2}, second]))

    assert text in str(refused.value)
    assert not refused.value.retryable
    assert tree(store.root) == {}


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, "returned nothing: yield rows, or return a list of them"),
        ({"a": 1}, "returned one dict"),
        ("a,b\n", "returned a str"),
        (7, "returned a int"),
        ([{}], "a first row whose keys are not all names: ()"),
        ([{1: 2}], "a first row whose keys are not all names: (1,)"),
        ([b"a,b\n", {"a": 1}], "yields bytes first and dict later"),
    ],
)
def test_what_is_no_rows_is_refused(store: BatchStore, returned: Any, text: str) -> None:
    with pytest.raises(PythonSourceError) as refused:
        land_day(store, rows_of(lambda: returned))

    assert text in str(refused.value)
    assert tree(store.root) == {}


def test_no_rows_are_a_header_when_the_columns_are_known(store: BatchStore) -> None:
    landed = land_day(store, rows_of([], columns=("a", "b")))

    assert content(store) == "a,b\n"
    assert (landed.manifest.rows, landed.manifest.columns) == (0, ("a", "b"))


def test_no_rows_of_unknown_columns_are_a_batch_without_parts(store: BatchStore) -> None:
    landed = land_day(store, rows_of([]))

    assert (landed.manifest.parts, landed.manifest.batch_id) == ((), "20250501_01")
    assert land_day(store, rows_of([])).replayed


def test_memory_does_not_grow_with_the_rows(store: BatchStore) -> None:
    def many() -> Iterator[dict[str, Any]]:
        for number in range(200_000):
            yield {"id": number, "text": "x" * 50}

    tracemalloc.start()
    landed = land_day(store, rows_of(many))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert landed.manifest.bytes > 11_000_000
    assert peak < 9_000_000


# --- bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "returned",
    [b"a,b\n1,2\n", bytearray(b"a,b\n1,2\n"), [b"a,b", b"\n1,2\n"], [b"", b"a,b\n1,2\n"], [memoryview(b"a,b\n1,2\n")]],
)
def test_bytes_are_csv_and_land_as_they_are(store: BatchStore, returned: Any) -> None:
    landed = land_day(store, rows_of(lambda: returned))

    assert content(store) == "a,b\n1,2\n"
    assert (landed.manifest.rows, landed.manifest.columns) == (1, ("a", "b"))


def test_bytes_that_are_no_csv_name_the_function(store: BatchStore) -> None:
    with pytest.raises(BadFileError, match="what feeds:rows yields: has more than one column 'a'"):
        land_day(store, rows_of(b"a,a\n"))


# --- Arrow ---------------------------------------------------------------------------------------------------

TABLE = pa.table(
    {
        "id": pa.array([1, 2], pa.int32()),
        "amount": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
        "at": pa.array([datetime(2025, 5, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "tags": pa.array([["a", "b c"], []], pa.list_(pa.string())),
    }
)
FROM_ROWS = 'id,amount,at,tags\n1,1.50,2025-05-01 00:00:00+00:00,"{a,""b c""}"\n2,,,{}\n'
FROM_ARROW = """id,amount,at,tags
"1","1.50","2025-05-01 00:00:00.000000+00","{""a"",""b c""}"
"2",,,"{}"
"""


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE,
        lambda: TABLE.to_batches()[0],
        lambda: pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches(max_chunksize=1)),
        lambda: [TABLE.slice(0, 1), TABLE.slice(1)],
        lambda: iter(TABLE.to_batches(max_chunksize=1)),
        lambda: [TABLE.slice(0, 1), TABLE.select(["tags", "at", "amount", "id"]).slice(1)],
    ],
    ids=["table", "batch", "reader", "tables", "batches", "other order"],
)
def test_arrow_data_lands_as_the_same_bytes_however_it_is_cut(store: BatchStore, make: Callable[[], Any]) -> None:
    landed = land_day(store, rows_of(make))

    assert (content(store), landed.manifest.rows) == (FROM_ARROW, 2)


def test_rows_may_follow_arrow_data(store: BatchStore) -> None:
    landed = land_day(store, rows_of([TABLE.slice(0, 1), *TABLE.slice(1).to_pylist()]))

    assert content(store).splitlines()[:2] == FROM_ARROW.splitlines()[:2]
    assert content(store).splitlines()[2] == FROM_ROWS.splitlines()[2]
    assert landed.manifest.rows == 2


def test_a_list_is_json_where_the_spec_says_so(store: BatchStore) -> None:
    land_day(store, rows_of(lambda: TABLE.select(["tags"]), json_columns=frozenset({"tags"})))

    assert content(store) == 'tags\n"[""a"",""b c""]"\n"[]"\n'


def test_what_arrow_holds_and_the_database_does_not_names_row_and_column(store: BatchStore) -> None:
    late = pa.table({"at": pa.array([0, 1], pa.timestamp("ns"))})
    with pytest.raises(PythonSourceError, match="yields row 4, column 'at': has nanoseconds"):
        land_day(store, rows_of([late.slice(0, 1), late.slice(0, 1), late]))


def test_arrow_data_without_rows_has_a_header(store: BatchStore) -> None:
    landed = land_day(store, rows_of(lambda: TABLE.slice(0, 0)))

    assert (content(store), landed.manifest.rows) == ("id,amount,at,tags\n", 0)


def test_arrow_data_of_other_columns_is_refused(store: BatchStore) -> None:
    with pytest.raises(PythonSourceError, match="row 3 with other keys than the first"):
        land_day(store, rows_of([TABLE, TABLE.drop_columns("tags")]))
    twice = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(PythonSourceError, match="a column twice: a, a"):
        land_day(store, rows_of(lambda: twice))


# --- what goes wrong inside --------------------------------------------------------------------------------


def test_an_error_of_the_function_is_told_and_may_be_tried_again(store: BatchStore) -> None:
    def broken() -> Iterator[dict[str, int]]:
        yield {"a": 1}
        yield {"a": 2}
        raise TimeoutError("no answer\nwith, the, row")

    with pytest.raises(PythonSourceFailedError) as failed:
        land_day(store, rows_of(broken))

    assert "source 'feeds:rows' raised TimeoutError: no answer after 2 rows; nothing was landed." in str(failed.value)
    assert "the, row" not in str(failed.value)
    assert failed.value.retryable
    assert isinstance(failed.value.__cause__, TimeoutError)
    assert tree(store.root) == {}


def test_what_is_said_to_airflow_and_errors_of_ours_pass_as_they_are(store: BatchStore) -> None:
    skip = type("AirflowSkipException", (Exception,), {"__module__": "airflow.exceptions"})

    def skipping() -> Iterator[dict[str, int]]:
        raise skip("nothing today")
        yield {}

    def missing() -> Iterator[dict[str, int]]:
        raise SourceMissingError(table="t", partition="p", source="s")
        yield {}

    with pytest.raises(skip):
        land_day(store, rows_of(skipping))
    with pytest.raises(SourceMissingError):
        land_day(store, rows_of(missing))


def test_a_generator_is_ended_when_landing_fails(store: BatchStore) -> None:
    seen = SimpleNamespace(closed=False)

    def rows() -> Iterator[Any]:
        try:
            yield {"a": 1}
            yield {"b": 1}
            yield {"a": 1}
        finally:
            seen.closed = True

    with pytest.raises(PythonSourceError):
        land_day(store, rows_of(rows))

    assert seen.closed
