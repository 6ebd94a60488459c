"""Specs as files: YAML, ``defaults.yml`` beside them, and folders of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_idempotent.checks import RowCount, Unique
from airflow_idempotent.core.manifest import CsvFormat, Format, JsonlFormat, ParquetFormat
from airflow_idempotent.errors import DuplicateTableError, SpecError
from airflow_idempotent.spec.loader import layers, load_file, load_folder, spec_files
from airflow_idempotent.spec.options import ColumnSpec, PartitionBy
from airflow_idempotent.spec.source import CsvOptions, Files
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.strategies import Merge

ORDERS = """\
table: analytics.orders
source: {kind: files, path: /inbox/*.csv}
start_date: 2025-01-01
unique_key: [order_id]
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file below a new folder."""

    def write(text: str | bytes = ORDERS, name: str = "orders.yaml") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def problems(path: Path) -> list[tuple[str, str]]:
    with pytest.raises(SpecError) as refused:
        load_file(path, name="orders.yaml")
    assert refused.value.file == "orders.yaml"
    return list(refused.value.problems)


# --- one file --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "form", "columns"),
    [
        ({}, CsvFormat(), ()),
        ({"csv": {"header": False}}, CsvFormat(header=False), ("id", "note")),
        ({"csv": {"header": False, "columns": ["x"]}}, CsvFormat(header=False), ("x",)),
        ({"format": "jsonl"}, JsonlFormat(), ()),
        ({"format": "parquet"}, ParquetFormat(), ()),
    ],
)
def test_the_words_of_a_source_say_how_its_files_are_read(
    words: dict[str, Any], form: Format, columns: tuple[str, ...]
) -> None:
    source = Files("/inbox", **words)

    assert (source.value(), source.file_columns(("id", "note"))) == (form, columns)


def test_yaml_and_python_make_the_same_spec(write: Write) -> None:
    text = """
    # a comment
    table: analytics.orders
    source: {kind: files, path: "/inbox/{{ ds }}.csv", csv: {delimiter: ";"}}
    start_date: 2025-01-01
    end_date: 2025-07-01 12:00:00
    primary_key: order_id
    columns:
      - {name: order_id, data_type: bigint, constraints: [not_null]}
      - name: order_date
        data_type: date
    partition_by: {column: order_date, grain: month}
    strategy: merge
    checks:
      - unique: order_id
      - row_count: {min: 1}
    """
    assert load_file(write(text)) == TableSpec(
        table="analytics.orders",
        source=Files("/inbox/{{ ds }}.csv", csv=CsvOptions(delimiter=";")),
        start_date="2025-01-01",
        end_date="2025-07-01T12:00",
        unique_key=["order_id"],
        columns=[
            ColumnSpec(name="order_id", data_type="bigint", constraints=["not_null"]),
            ColumnSpec(name="order_date", data_type="date"),
        ],
        partition_by=PartitionBy(column="order_date", grain="month"),
        strategy=Merge(),
        checks=[Unique(columns=("order_id",)), RowCount(min=1)],
    )


@pytest.mark.parametrize("change", ["\r\n", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_do_not_matter(write: Write, change: str) -> None:
    text = ORDERS.replace("\n", change) if change == "\r\n" else change + ORDERS

    assert load_file(write(text)) == load_file(write())


def test_an_anchor_and_a_merge_key_are_understood(write: Write) -> None:
    text = ORDERS.replace("[order_id]", "&key [order_id]") + (
        "version: *key\nlate_data: {<<: {lookback: 1}, lookback: 2}\n"
    )
    spec = load_file(write(text))

    assert spec.version == ("order_id",)
    assert spec.late_data.lookback == 2


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("", "", "empty: a spec begins with 'table: schema.table'"),
        ("# nothing yet\n", "", "empty: a spec begins with 'table: schema.table'"),
        ("- table: a\n", "", "not a mapping: a spec begins with 'table: schema.table'"),
        ("orders\n", "", "not a mapping: a spec begins with 'table: schema.table'"),
        (ORDERS + "table: b\n", "line 5", "not YAML: 'table' is given twice"),
        (ORDERS + "landing:\n  root: a\n  root: b\n", "line 7", "not YAML: 'root' is given twice"),
        (ORDERS + "5: 6\n", "line 5", "not YAML: 5 is not the name of an option"),
        (ORDERS + "on: 6\n", "line 5", "not YAML: True is not the name of an option"),
        (ORDERS + "late_data: {1: 2}\n", "line 5", "not YAML: 1 is not the name of an option"),
        (ORDERS + "checks: [{5: 5}]\n", "line 5", "not YAML: 5 is not the name of an option"),
        (ORDERS + "? [a]\n: b\n", "line 5", "not YAML: ['a'] is not the name of an option"),
        ("table: a: b\n", "line 1", "not YAML: mapping values are not allowed in this context"),
        (ORDERS + "---\n" + ORDERS, "line 5", "not YAML: but found another document"),
    ],
)
def test_what_is_no_spec_is_told_with_its_line(write: Write, text: str, path: str, said: str) -> None:
    assert problems(write(text)) == [(path, said)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ORDERS + "tags: [a\n", "not YAML: did not find expected"),
        (ORDERS + "tags:\n\t- a\n", "not YAML: found "),
        (ORDERS + "owner: \x07\n", "not YAML: unacceptable character #x0007"),
        (ORDERS + "owner: !!python/object/apply:os.system [ls]\n", "not YAML: could not determine a constructor"),
        (ORDERS + "catchup: !!bool x\n", "not YAML: "),
        (ORDERS + "tags: " + "[" * 5000, "not YAML: "),
        (ORDERS.encode() + b"owner: \xe9\n", "cannot be read: 'utf-8'"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_problem_and_no_crash(write: Write, text: str | bytes, said: str) -> None:
    [(_, text_of_it)] = problems(write(text))

    assert text_of_it.startswith(said)


def test_a_missing_file_is_a_problem_of_that_file(tmp_path: Path) -> None:
    [(path, text)] = problems(tmp_path / "orders.yaml")

    assert path == ""
    assert text.startswith("cannot be read: ")


def test_a_date_that_no_calendar_has_is_a_problem_of_its_option(write: Write) -> None:
    [(path, text)] = problems(write(ORDERS.replace("2025-01-01", "2025-02-30")))

    assert path == "start_date"
    assert "day value is outside expected range" in text


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["table", "source", "start_date", "checks", "columns", "version", "timezone", "x", "5"]),
            st.sampled_from(["", "~", "5", "[5]", "{5: 5}", "[{a: b}]", "a", "!!set {a}", "2025-02-30", "&x [*x]"]),
        ),
        max_size=3,
    )
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_written_is_a_spec_or_a_spec_error(write: Write, lines: list[tuple[str, str]]) -> None:
    kept = [line for line in ORDERS.splitlines() if line.partition(":")[0] not in dict(lines)]
    path = write("\n".join([*kept, *(f"{name}: {value}" for name, value in lines)]))

    with suppress(SpecError):
        assert isinstance(load_file(path), TableSpec)


# --- defaults --------------------------------------------------------------------------------------


def test_defaults_are_inherited_option_by_option(write: Write) -> None:
    write(
        "source: {kind: files, path: /all, csv: {delimiter: ;}}\nstart_date: 2025-01-01\n"
        "keys: [id]\ntags: [a, b]\nchecks: [reconcile]\nretries: 9\n",
        "defaults.yml",
    )
    spec = load_file(write("table: orders\nsource: {path: /mine}\ntags: [c]\nretries: 0\n"))

    assert spec.source == Files("/mine", csv=CsvOptions(delimiter=";"))
    assert (spec.unique_key, spec.tags, spec.retries) == (("id",), ("c",), 0)
    assert [check.kind for check in spec.checks] == ["reconcile"]


def test_a_spec_may_use_another_name_for_an_option_of_the_defaults(write: Write) -> None:
    write("primary_key: [id]\nstart: 2024-01-01\n", "defaults.yml")
    spec = load_file(write())

    assert (spec.unique_key, spec.start_date.year) == (("order_id",), 2025)
    assert layers(write())[0] == {"unique_key": ["id"], "start_date": spec.start_date.replace(year=2024).date()}


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "{}\n"])
def test_defaults_that_say_nothing_are_no_problem(write: Write, text: str) -> None:
    write(text, "defaults.yml")

    assert load_file(write()).table == "analytics.orders"


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("a: b: c\n", "line 1", "not YAML: mapping values are not allowed in this context"),
        ("retries: 1\nretries: 2\n", "line 2", "not YAML: 'retries' is given twice"),
        ("[]\n", "", "not a mapping: a spec begins with 'table: schema.table'"),
        ("cron: a\nschedule: b\n", "", "'schedule' and 'schedule' are the same option, keep 'schedule'"),
    ],
)
def test_broken_defaults_are_told_as_a_problem_of_that_file(write: Write, text: str, path: str, said: str) -> None:
    defaults = write(text, "defaults.yml")

    with pytest.raises(SpecError) as refused:
        load_file(write())

    assert refused.value.file == str(defaults)
    assert refused.value.problems == ((path, said),)


# --- folders ---------------------------------------------------------------------------------------


def test_a_folder_is_searched_for_specs_and_nothing_else(write: Write, tmp_path: Path) -> None:
    for name in ("b.yaml", "a.yml", "deep/er/c.yaml", "defaults.yml", "deep/defaults.yml", ".x.yaml", "_x.yml", "d.md"):
        write("", name)

    assert [path.name for path in spec_files(tmp_path)] == ["a.yml", "b.yaml", "c.yaml"]


def test_a_broken_file_takes_no_other_spec_with_it(write: Write, tmp_path: Path) -> None:
    good = write()
    texts = ["", "? [a]\n: b\n", "a: \x07", "a: !!bool x", "start_date: 2025-02-30", "{5: {6: 7}}"]
    broken = [write(text, f"broken{number}.yaml") for number, text in enumerate(texts)]
    specs, errors = load_folder(tmp_path)

    assert set(specs) == {good}
    assert set(errors) == set(broken)
    assert all(isinstance(error, SpecError) for error in errors.values())


def test_defaults_reach_the_specs_beside_them_only(write: Write, tmp_path: Path) -> None:
    write("retries: 7\n", "defaults.yml")
    above, below = write(), write(ORDERS.replace("orders", "lines"), "deep/lines.yaml")
    specs, _ = load_folder(tmp_path)

    assert (specs[above].retries, specs[below].retries) == (7, 3)


@pytest.mark.parametrize(
    ("second", "claim"),
    [
        (ORDERS, "analytics.orders"),
        (ORDERS.replace("analytics.orders", '\'"analytics"."orders"\''), "analytics.orders"),
        (ORDERS + "dag_id: other\n", "analytics.orders"),
        (ORDERS.replace("analytics.orders", "lines") + "dag_id: analytics.orders\n", "analytics.orders"),
    ],
)
def test_two_files_that_claim_one_table_or_dag_id_are_both_refused(
    write: Write, tmp_path: Path, second: str, claim: str
) -> None:
    third = write(ORDERS.replace("orders", "lines"), "lines.yaml")
    files = {write(), write(second, "second.yaml")}
    specs, errors = load_folder(tmp_path)

    assert set(specs) == {third}
    assert set(errors) == files
    for error in errors.values():
        assert isinstance(error, DuplicateTableError)
        assert (error.name, set(error.files)) == (claim, set(map(str, files)))


def test_one_table_under_its_short_and_its_full_name_is_one_table(write: Write, tmp_path: Path) -> None:
    write(ORDERS.replace("analytics.orders", "orders"), "short.yaml")
    write(ORDERS.replace("analytics.orders", "public.orders"), "full.yaml")

    assert load_folder(tmp_path)[0] == {}
