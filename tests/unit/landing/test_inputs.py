"""Finding the files of a partition."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.landing.inputs import QueryInput, find_files


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    for name in ("b.csv", "a.csv", "c.csv.gz", ".a.csv", "_a.csv", "d.csv.tmp", "d.csv.part", "x.txt", "day/e.csv"):
        path = tmp_path / "inbox" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("id\n")
    for folder in ("folder.csv", "_temporary/0", ".hidden"):
        (tmp_path / "inbox" / folder).mkdir(parents=True)
        (tmp_path / "inbox" / folder / "f.csv").write_text("id\n")
    return tmp_path / "inbox"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.csv", ["a.csv", "b.csv"]),
        ("*", ["a.csv", "b.csv", "c.csv.gz", "x.txt"]),
        ("*.csv*", ["a.csv", "b.csv", "c.csv.gz"]),
        ("[ab].csv", ["a.csv", "b.csv"]),
        ("?.csv", ["a.csv", "b.csv"]),
        ("**/*.csv", ["a.csv", "b.csv", "day/e.csv", "folder.csv/f.csv"]),
        ("*/e.csv", ["day/e.csv"]),
        ("a.csv", ["a.csv"]),
        ("_a.csv", ["_a.csv"]),
        ("_temporary/0/*.csv", ["_temporary/0/f.csv"]),
        ("nothing.csv", []),
        ("nowhere/*.csv", []),
        ("day", []),
    ],
)
def test_a_pattern_finds_finished_files_in_order_of_their_names(inbox: Path, pattern: str, found: list[str]) -> None:
    source = find_files(f"{inbox}/{pattern}", format=CsvFormat(delimiter=";"))

    assert [str(path.relative_to(inbox)) for path in source.paths] == found
    assert source.pattern == f"{inbox}/{pattern}"
    assert source.format.delimiter == ";"


def test_a_relative_pattern_starts_in_the_current_folder(inbox: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inbox)

    assert find_files("*.csv").paths == (Path("a.csv"), Path("b.csv"))
    assert find_files("day/*.csv").paths == (Path("day/e.csv"),)


def test_a_name_that_only_looks_like_a_pattern_is_found(inbox: Path) -> None:
    (inbox / "a[1].csv").write_text("id\n")

    assert [path.name for path in find_files(f"{inbox}/a[1].csv").paths] == ["a[1].csv"]


@pytest.mark.parametrize("form", [CsvFormat(encoding="latin1"), CsvFormat(header=False)])
def test_a_query_lands_in_utf8_with_a_header_only(form: CsvFormat) -> None:
    with pytest.raises(ValueError, match="UTF-8 and with a header"):
        QueryInput("select 1", {}, list, form)
