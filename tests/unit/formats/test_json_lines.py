"""JSON Lines as CSV: digits, texts and nesting as they are written."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.formats.json_lines import array_of, json_lines_csv, lines_of, raw_items, raw_values
from airflow_idempotent.formats.refused import RefusedError
from airflow_idempotent.formats.wire import record_at


def as_csv(line: str, *columns: str, **types: str) -> str:
    return b"".join(json_lines_csv([line.encode()], columns, types)).decode()


@pytest.mark.parametrize(
    "number", ["0.1", "1e400", "-0", "0.10", "1E-7", "12345678901234567890123456789012345678901234567890", "9" * 5000]
)
def test_a_number_keeps_every_digit(number: str) -> None:
    assert as_csv(f'{{"n": {number}}}', "n") == f'"{number}"\n'
    assert as_csv(f'{{"n": [{number}]}}', "n", n="numeric[]") == f'"{{""{number}""}}"\n'
    assert as_csv(f'{{"n": {{"a":{number}}}}}', "n", n="jsonb") == f'"{{""a"":{number}}}"\n'


@pytest.mark.parametrize(
    ("line", "kind", "field"),
    [
        ("{}", "text", ""),
        ('{"v": null}', "jsonb", ""),
        ('{"v": ""}', "text", '""'),
        ('{"v": "a\\"b"}', "text", '"a""b"'),
        ('{"v": true}', "text", '"true"'),
        ('{"v": "true"}', "jsonb", '"""true"""'),
        ('{"v": true}', "jsonb", '"true"'),
        ('{"v" : [ 1 , 2 ] , "w":0}', "json", '"[ 1 , 2 ]"'),
        ('{"v": [1, [2]]}', "text", '"[1, [2]]"'),
        ('{"v": [[1, 2], [3, null]]}', "integer[]", '"{{""1"",""2""},{""3"",NULL}}"'),
        ('{"v": ["a\\\\b", "NULL", true]}', "text[]", '"{""a\\\\b"",""NULL"",""true""}"'),
        ('{"v": [{"a": [1]}, "x", null]}', "jsonb[]", '"{""{\\""a\\"": [1]}"",""\\""x\\"""",NULL}"'),
        ('{"v": []}', "date[]", '"{}"'),
        ('{"v": "{1,2}"}', "integer[]", '"{1,2}"'),
        ('{"v": 1, "v": 2}', "integer", '"2"'),
        ('{"v": {"a": 1}, "v": {"a": 2}}', "jsonb", '"{""a"": 2}"'),
    ],
)
def test_a_value_is_written_for_the_type_of_its_column(line: str, kind: str, field: str) -> None:
    columns = ("v", "w") if '"w"' in line else ("v",)

    assert as_csv(line, *columns, v=kind) == field + (',"0"' if '"w"' in line else "") + "\n"


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
def test_lines_are_numbered_however_the_bytes_are_cut(size: int) -> None:
    raw = b'\xef\xbb\xbf{"a":1}\r\n\n  \n{"b":"\xc3\xa9"}'

    lines = list(lines_of(raw[place : place + size] for place in range(0, len(raw), size)))

    assert lines == [(1, b'{"a":1}\r'), (4, '{"b":"é"}'.encode())]


def test_a_key_that_the_manifest_does_not_list_is_refused() -> None:
    with pytest.raises(RefusedError) as raised:
        as_csv('{"a": 1, "b": 2}', "a")
    assert (raised.value.line, raised.value.column) == (1, "b")


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), values, max_size=4), st.sampled_from([None, 1]))
def test_what_is_written_is_taken_apart_without_being_changed(value: dict[str, object], indent: int | None) -> None:
    text = json.dumps(value, indent=indent)

    assert {name: json.loads(raw) for name, raw in raw_values(text).items()} == value
    assert [json.loads(raw) for raw in raw_items(json.dumps([*value.values()], indent=indent))] == [*value.values()]


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.text('a"\n\r,\\é', max_size=6)), max_size=5))
def test_a_line_of_the_csv_leads_back_to_its_record(rows: list[dict[str, str]]) -> None:
    chunks = list(json_lines_csv([json.dumps(row).encode() + b"\n" for row in rows], ("a", "b")))
    records = list(csv.reader(io.StringIO(b"".join(chunks).decode(), newline="")))
    assert records == [[row.get("a", ""), row.get("b", "")] for row in rows]

    line = 0
    for number, row in enumerate(rows, 1):
        # What PostgreSQL counts: in the first record it does not know yet that lines end in "\n".
        line += "".join(row.values()).count("\n" if number > 1 else "\r") + 1
        assert record_at(chunks, line) == number


def test_a_value_that_is_no_list_stays_as_it_is() -> None:
    assert array_of('{"a": 1}', "integer[]") == '{"a": 1}'
