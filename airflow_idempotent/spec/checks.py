"""How checks are written: ``- unique: [order_id]`` or ``- row_count: {min: 1, severity: warn}``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

from airflow_idempotent.checks import ALIASES, CHECKS, Check
from airflow_idempotent.checks.aliases import column_checks, in_our_words, other_words
from airflow_idempotent.spec.repeatable import normal_text, unrepeatable
from airflow_idempotent.spec.words import meant, said

COLUMN_MAPPING = "column_mapping"


@cache
def _adapter(kind: str) -> TypeAdapter[Check]:
    return TypeAdapter(CHECKS[kind])


def _read(entry: Any) -> Check:
    """One entry of ``checks`` as a check; a single value or list fills the check's main option."""
    if isinstance(entry, Check):
        return entry
    if isinstance(entry, str):
        entry = {entry: {}}
    if not isinstance(entry, Mapping) or len(entry) != 1:
        raise PydanticCustomError("check", "a check is one name with its options, like 'unique: [order_id]'")
    [(name, options)] = entry.items()
    kind = ALIASES.get(name, name)
    if kind not in CHECKS:
        raise PydanticCustomError(
            "check", "unknown check {name}{meant}", {"name": repr(name), "meant": meant(str(name), [*CHECKS, *ALIASES])}
        )
    if options is None:
        options = {}
    if not isinstance(options, Mapping):
        options = {CHECKS[kind].shorthand: options}
    try:
        check = _adapter(kind).validate_python(in_our_words(name, options)[1])
    except ValidationError as error:
        known = [item.name for item in fields(CHECKS[kind])]
        lines = [_line(problem, known) for problem in error.errors()]
        raise PydanticCustomError("check", "{name}: {lines}", {"name": name, "lines": "; ".join(lines)}) from None
    except ValueError as error:
        raise PydanticCustomError("check", "{name}: {lines}", {"name": name, "lines": str(error)}) from None
    if found := [*unrepeatable(check)]:
        raise PydanticCustomError("check", "{name}: {lines}", {"name": name, "lines": "; ".join(found)})
    return check


def _expanded(entries: Any) -> Any:
    """A list of checks with each ``column_mapping`` of Airflow's operators as the checks it stands for."""
    if not isinstance(entries, list | tuple):
        return entries
    found: list[Any] = []
    for entry in entries:
        if (
            isinstance(entry, Mapping)
            and list(entry) == [COLUMN_MAPPING]
            and isinstance(entry[COLUMN_MAPPING], Mapping)
        ):
            found += column_checks(entry[COLUMN_MAPPING])
        else:
            found.append(entry)
    return found


def _line(problem: Any, known: list[str]) -> str:
    path = ".".join(str(item) for item in problem["loc"])
    if problem["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"unknown option {path!r}{meant(path, known)}"
    return f"{path}: {said(problem)}" if path else said(problem)


def _written(check: Check) -> dict[str, Any]:
    """The check as a user would write it, defaults left out; what the fingerprint sees."""
    options = {
        item.name: value
        for item in fields(check)
        if (value := getattr(check, item.name)) != item.default or item.name == "severity"
    }
    options["severity"] = str(check.severity)
    options |= {name: normal_text(text) for name, text in options.items() if name in ("where", "sql") and text}
    return {check.kind: {name: _plain(value) for name, value in options.items() if value is not None}}


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _schema() -> dict[str, Any]:
    options: dict[str, Any] = {
        name: {
            "anyOf": [
                {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {word: {} for word in (*(item.name for item in fields(check)), *other_words(name))},
                },
                {"type": ["string", "array", "integer", "null"]},
            ]
        }
        for name, check in [*CHECKS.items(), *((alias, CHECKS[kind]) for alias, kind in ALIASES.items())]
    }
    options[COLUMN_MAPPING] = {"type": "object", "additionalProperties": {"type": "object"}}
    entry = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
        "properties": options,
    }
    return {"anyOf": [entry, {"enum": list(CHECKS)}]}


CheckEntry = Annotated[Check, BeforeValidator(_read), PlainSerializer(_written), WithJsonSchema(_schema())]
Checks = Annotated[tuple[CheckEntry, ...], BeforeValidator(_expanded)]
