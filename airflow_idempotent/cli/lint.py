"""``lint``: every problem of every spec file, and what is allowed but rarely meant."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_idempotent.cli.functions import missing
from airflow_idempotent.cli.output import DONE, FINDINGS, USAGE, Output, error_document
from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES
from airflow_idempotent.errors import IdempotentError, SpecError, UsageError
from airflow_idempotent.spec.loader import layers, load_file, load_folder
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.table import PRESETS
from airflow_idempotent.spec.transform import Transform

if TYPE_CHECKING:
    from airflow_idempotent.spec.table import TableSpec

_DURATION = re.compile(r"P(?=\d|T\d)(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?")

Warnings = dict[str, list[tuple[str, str]]]
"""What was found in each file, as (option, text)."""


def run(args: Namespace, out: Output) -> int:
    """Check a file, or a folder with all below it."""
    specs, broken = _load(Path(args.path))
    if not specs and not broken:
        raise UsageError(
            command="lint", reason=f"{args.path!r} holds no spec file", hint="A spec is a .yaml or .yml file."
        )
    warnings = {str(path): list(_warnings(path, spec)) for path, spec in specs.items()}
    errors = list({id(error): error for error in broken.values()}.values())
    out.document(_document(errors, warnings))
    out.say(*_text(errors, warnings))
    total = sum(map(len, warnings.values()))
    problems = sum(len(error.problems) if isinstance(error, SpecError) else 1 for error in errors)
    files = _count(len(specs) + len(broken), "file")
    out.say(f"{files}, {_count(problems, 'problem')}, {_count(total, 'warning')}")
    if not specs and all(_unreadable(error) for error in errors):
        return USAGE
    return FINDINGS if errors or (args.strict and total) else DONE


def _document(errors: list[IdempotentError], warnings: Warnings) -> dict[str, Any]:
    found = [{"file": file, "path": path, "message": text} for file, each in warnings.items() for path, text in each]
    return {"errors": [error_document(error) for error in errors], "warnings": found}


def _text(errors: list[IdempotentError], warnings: Warnings) -> Iterator[str]:
    for error in errors:
        yield from (_without_advice(error), "")
    for file, found in warnings.items():
        if found:
            yield from (f"{file}: {_count(len(found), 'warning')}", *(f"  {path}: {text}" for path, text in found), "")


def _load(path: Path) -> tuple[dict[Path, TableSpec], dict[Path, IdempotentError]]:
    if not path.exists():
        raise UsageError(
            command="lint", reason=f"there is no {str(path)!r}", hint="Name a spec file or a folder of them."
        )
    if path.is_dir():
        specs, broken = load_folder(path)
    else:
        specs, broken = {}, {}
        try:
            specs[path] = load_file(path)
        except SpecError as error:
            broken[path] = error
    for file, spec in list(specs.items()):
        wrong = {option: text for option, text in spec.schedules.items() if not _is_schedule(text)}
        none = "is neither a preset, nor a cron expression, nor an ISO 8601 duration"
        if wrong:
            del specs[file]
            problems = tuple((option, f"{text!r} {none}") for option, text in wrong.items())
            broken[file] = SpecError(file=str(file), problems=problems)
    for file, spec in list(specs.items()):
        if isinstance(spec.source, Python) and (text := missing(spec.source.callable, file)):
            del specs[file]
            broken[file] = SpecError(file=str(file), problems=(("source.callable", text),))
    return specs, broken


def _warnings(path: Path, spec: TableSpec) -> Iterator[tuple[str, str]]:
    """What is allowed but rarely meant, as (option, text)."""
    yield from _of_transform(spec)
    if not spec.version and not isinstance(spec.source, Transform):
        yield (
            "version",
            "none is given: of two rows of one key in different partitions the one that is loaded last wins",
        )
    if not spec.checks:
        yield "checks", "none is given, so any rows are published; begin with 'row_count: {min: 1}'"
    if not spec.partition_column:
        yield "partition_by.column", "none is given, so 'validate' cannot recount a partition of the table"
    below, own = layers(path)
    table: Any = own.get("table", below.get("table", ""))
    names = [("table", part.strip('"')) for part in re.findall(r'"(?:[^"]|"")+"|[^."]+', str(table))]
    names += [(f"columns.{number}.name", column.name) for number, column in enumerate(spec.columns)]
    for option, name in names:
        if (size := len(name.encode())) > MAX_IDENTIFIER_BYTES:
            yield option, f"{name!r} has {size} bytes, PostgreSQL cuts names at {MAX_IDENTIFIER_BYTES}"


def _of_transform(spec: TableSpec) -> Iterator[tuple[str, str]]:
    if not isinstance(spec.source, Transform):
        return
    for text in spec.source.warnings:
        yield "source.sql", text
    if spec.version:
        yield (
            "version",
            "a row that is computed again with an equal version may lose to the old one; without 'version' it wins",
        )


def _is_schedule(text: str | None) -> bool:
    """Whether Airflow will take it; asked here without importing Airflow."""
    if text is None or text in PRESETS:
        return True
    if text.upper().startswith("P"):
        return bool(_DURATION.fullmatch(text.upper()))
    from croniter import croniter

    return bool(croniter.is_valid(text))


def _unreadable(error: IdempotentError) -> bool:
    return isinstance(error, SpecError) and all(
        text.startswith(("cannot be read", "not YAML")) for _, text in error.problems
    )


def _without_advice(error: IdempotentError) -> str:
    """The error without 'then: airflow-idempotent lint', which is what was just done."""
    if not isinstance(error, SpecError):
        return str(error)
    count = _count(len(error.problems), "problem")
    return "\n".join([f"{error.file}: {count}", *(f"  - {line}" for line in error.details)])


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
