"""The command line as a whole: exit codes, errors as text and as JSON, and how little it imports."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent import errors
from airflow_idempotent.cli.commands import COMMANDS
from airflow_idempotent.cli.output import error_document, exit_code
from airflow_idempotent.errors import IdempotentError
from tests.cli_fixtures import Command

HEAVY = {"airflow", "fsspec", "jinja2", "psycopg", "psycopg2", "pydantic", "rich", "sqlalchemy", "sqlglot", "yaml"}
DATABASE = {"ConnectionLostError", "DatabaseError", "LockTimeoutError", "ServerBusyError", "SourceUnavailableError"}
DATABASE |= {"SourceQueryError", "StatementTimeoutError", "UnreachableError"}
USAGE = {"ArgumentsError", "DuplicateTableError", "NoPartitionError", "OutOfRangeError", "ParamsError", "RangeError"}
USAGE |= {"SpecError", "TargetMissingError", "UsageError", "WatermarkError"}
FINDINGS = {
    "AttachError",
    "BadFileError",
    "BadRowError",
    "BatchDamagedError",
    "CheckQueryError",
    "ConstraintError",
    "CursorError",
    "CutoverError",
    "DependentsError",
    "DriftError",
    "EmptySnapshotError",
    "EventTimeMissingError",
    "ExtraMissingError",
    "FileChangingError",
    "GateClosedError",
    "JournalError",
    "KeyElsewhereError",
    "LawBrokenError",
    "ManifestError",
    "NoChildTableError",
    "NullKeyError",
    "NullVersionError",
    "OtherSpecError",
    "OutsidePartitionError",
    "PrecisionError",
    "PythonSourceError",
    "PythonSourceFailedError",
    "RepeatedInBatchError",
    "RepeatedKeyError",
    "RollbackError",
    "RowsChangedError",
    "SchemaDriftError",
    "ShadowError",
    "SourceChangedError",
    "SourceMissingError",
    "SpecChangedError",
    "StillReferencedError",
    "SwapSupersededError",
    "TieError",
    "TooManyRejectedError",
    "TransformError",
    "UnknownOpError",
    "UnknownValueError",
    "WritesLostError",
}
KINDS = [
    kind for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, IdempotentError) and kind is not IdempotentError
]  # fmt: skip


def imported_by(*words: str) -> set[str]:
    program = (
        f"import sys\nfrom airflow_idempotent.cli.main import main\ntry: main({list(words)})\nexcept SystemExit: pass\n"
    )
    program += "print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["run", "--help"], ["run"]], ids=" ".join)
def test_help_is_there_at_once(words: list[str]) -> None:
    assert not HEAVY & imported_by(*words)


@pytest.mark.parametrize(
    "words",
    [
        ["lint", "tables"],
        ["explain", "tables/orders.yaml"],
        ["render", "tables/orders.yaml", "--partition", "2025-05-01"],
        ["plan", "tables/orders.yaml", "--from-date", "2025-05-01", "--to-date", "2025-05-02"],
        ["run", "tables/orders.yaml", "--partition", "2025-05-01", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["status", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["watermark", "show", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["dedupe", "orders", "--unique-key", "id", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["swap", "orders", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["rollback", "orders", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["versions", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["pin", "orders", "--version", "1", "--dsn", "postgresql://x@127.0.0.1:1/x"],
        ["schema"],
    ],
    ids=lambda words: words[0],
)
def test_no_command_imports_airflow_or_what_it_does_not_need(folder: Path, words: list[str]) -> None:
    imported = imported_by(*words)

    assert not {"airflow", "fsspec", "pendulum", "rich", "sqlalchemy"} & imported


def test_each_command_says_what_it_does(command: Command) -> None:
    for name in COMMANDS:
        with pytest.raises(SystemExit) as ended:
            command(name, "--help")

        assert ended.value.code == 0


def test_an_unknown_command_is_refused(command: Command) -> None:
    answer = command("lnt")

    assert answer.code == 2
    assert "invalid choice: 'lnt'" in answer.err


def test_an_error_is_its_text_on_standard_error(folder: Path, command: Command) -> None:
    answer = command("explain", "tables/nothere.yaml")

    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("tables/nothere.yaml: 1 problem, no DAG was built from it.")


def test_an_error_is_one_json_document_on_standard_output(folder: Path, command: Command) -> None:
    answer = command("explain", "tables/nothere.yaml", "--json")

    assert (answer.code, answer.err) == (2, "")
    assert answer.document["error"] == "SpecError"
    assert answer.document["file"] == "tables/nothere.yaml"
    assert answer.document["message"].startswith("tables/nothere.yaml: 1 problem")


def test_wrong_options_are_a_json_document_too(command: Command) -> None:
    answer = command("plan", "--json")

    assert (answer.code, answer.document["error"]) == (2, "UsageError")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing says which partitions are meant"),
        (["--partition", "2025-05-01", "--to-date", "2025-05-02"], "--partition and a range were both given"),
        (["--from-date", "2025-05-01"], "--from-date and --to-date belong together"),
        (["--partition", "2025-05-01", "--reprocess-behavior", "missing"], "--reprocess-behavior is about a range"),
        (["--from-date", "2025-05-02", "--to-date", "2025-05-02"], "from_date must be before to_date"),
        (["--partition", "2025-5-1"], "2025-5-1"),
    ],
)
def test_run_says_what_to_type_when_it_is_not_clear_what_is_meant(
    folder: Path, command: Command, words: list[str], said: str
) -> None:
    answer = command("run", "tables/orders.yaml", *words)

    assert (answer.code, answer.out) == (2, "")
    assert said in answer.err


def test_a_path_that_cannot_be_written_is_an_error_of_ours(folder: Path, command: Command) -> None:
    (folder / "file").write_text("")
    words = ("--partition", "2025-05-01", "--dsn", "postgresql://x@127.0.0.1:1/x", "--root", "file")

    answer = command("run", "tables/orders.yaml", *words)

    assert answer.code == 2
    assert "Traceback" not in answer.err
    assert "file" in answer.err


def fact(kind: str) -> Any:
    return () if "tuple" in kind else 1 if kind.startswith("int") else "x"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_error_has_an_exit_code(kind: type[IdempotentError]) -> None:
    expected = 3 if kind.__name__ in DATABASE else 2 if kind.__name__ in USAGE else 1
    assert expected != 1 or kind.__name__ in FINDINGS, "say which exit code the new error has"

    facts = {item.name: fact(str(item.type)) for item in fields(kind) if item.default is MISSING}
    error = kind(**facts)

    assert exit_code(error) == expected
    assert error_document(error)["error"] == kind.__name__
