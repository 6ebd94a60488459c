"""What a spec file may hold, generated from the models: a JSON schema for editors, a page for people."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from enum import Enum
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from airflow_idempotent.checks import ALIASES as CHECK_ALIASES
from airflow_idempotent.checks import CHECKS, Check
from airflow_idempotent.spec.audit import Audit
from airflow_idempotent.spec.expect import Changed, Expect
from airflow_idempotent.spec.options import ColumnSpec, Landing, Names, PartitionBy, Reject
from airflow_idempotent.spec.publish import Publish
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.source import CsvOptions, Files, Query
from airflow_idempotent.spec.table import Backfill, LateData, TableSpec
from airflow_idempotent.spec.transform import Transform
from airflow_idempotent.spec.words import ALIASES
from airflow_idempotent.strategies import STRATEGIES

_NESTED: tuple[tuple[str, type[BaseModel]], ...] = (
    ("source (kind: files)", Files),
    ("source.csv", CsvOptions),
    ("source (kind: query)", Query),
    ("source (kind: python)", Python),
    ("source (kind: transform)", Transform),
    ("landing", Landing),
    ("reject", Reject),
    ("columns[]", ColumnSpec),
    ("partition_by", PartitionBy),
    ("publish", Publish),
    ("publish.expect", Expect),
    ("publish.expect.changed", Changed),
    ("late_data", LateData),
    ("backfill", Backfill),
    ("audit", Audit),
)
_EVERY_CHECK = {
    "severity": "`error` or `warn`",
    "warn_if": "how many violations are a warning: `>10`, `!=0` (the default), `>1%` of the rows looked at",
    "error_if": "how many are an error, in the same form; checks that count nothing take neither",
    "where": "SQL condition on the columns of a row: other rows are not looked at",
    "store_failures": "rows that break it go to `airflow_idempotent.check_failures`: `true` for 100, or `{limit: 50}`",
}
"""What the options of all checks mean."""
_DATE = {"anyOf": [{"type": "string", "format": "date"}, {"type": "string", "format": "date-time"}]}


def json_schema() -> dict[str, Any]:
    """The JSON schema of a spec file, as users write it: aliases and short forms are allowed.

    Only ``table`` is required: all else may come from ``defaults.yml``.
    """
    schema = TableSpec.model_json_schema()
    options = schema["properties"]
    for name, info in TableSpec.model_fields.items():
        if _is_names(info):
            options[name]["anyOf"] = [{"type": "string"}, {"type": "array", "items": options[name].pop("items")}]
            del options[name]["type"]
    for name in ("start_date", "end_date"):
        kept = {key: value for key, value in options[name].items() if key in ("title", "description")}
        options[name] = {**kept, "anyOf": [*_DATE["anyOf"], *([{"type": "null"}] if name == "end_date" else [])]}
    strategy = options["strategy"]
    mapping = {word: strategy.pop(word) for word in ("oneOf", "discriminator")}
    strategy["anyOf"] = [{"enum": list(STRATEGIES)}, mapping]
    options["audit"]["anyOf"].append({"type": "string"})
    for alias, name in ALIASES.items():
        options[alias] = {**options[name], "description": f"The same as {name}."}
    first = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Table spec of airflow_idempotent"}
    return {**first, **{key: value for key, value in schema.items() if key != "title"}, "required": ["table"]}


def markdown() -> str:
    """Every option of a spec file as a page: docs/spec.md."""
    return "\n".join(_page()).rstrip() + "\n"


def _page() -> Iterator[str]:
    yield "# Table spec"
    yield ""
    yield "Every option of a spec file. One file is one table; options left out come from `defaults.yml` beside it,"
    yield "then from the defaults below. An unknown option is an error that names the word you may have meant."
    yield ""
    yield "This page is generated: `airflow-idempotent schema --markdown > docs/spec.md`. For completion in an editor"
    yield "begin a file with `# yaml-language-server: $schema=table.schema.json` (`airflow-idempotent schema`)."
    yield from ("", "## The table", "", *_table(TableSpec))
    for title, model in _NESTED:
        yield from ("", f"## {title}", "", _sentence(model.__doc__), "", *_table(model))
    yield from ("", "## strategy", "", "A name, or a mapping with `kind` and options.", "")
    for name, strategy in STRATEGIES.items():
        yield from (f"### {name}", "", _prose(strategy.__doc__), "", f"Needs: {_codes(strategy.needs)}.", "")
        yield from _strategy_table(strategy)
    yield from (
        "## checks",
        "",
        "A list; an entry is `- name: value` or `- name: {option: value, …}`. `severity: error`",
    )
    yield from ("(default) closes the gate, `severity: warn` is recorded only. Every check takes:", "")
    yield from ("| Option | Default | |", "| --- | --- | --- |")
    for item in fields(Check):
        yield f"| `{item.name}` | {_default(item.default)} | {_EVERY_CHECK[item.name]} |"
    yield ""
    for name, check in CHECKS.items():
        yield from (f"### {name}", "", _prose(check.__doc__), "", *_check_table(check), "")
        if others := [alias for alias, kind in CHECK_ALIASES.items() if kind == name]:
            yield from (f"Also written {_codes(others)}.", "")
    yield from ("## Other tools' words", "", "| Written | Means |", "| --- | --- |")
    yield from (f"| `{alias}` | `{name}` |" for alias, name in ALIASES.items())


def _table(model: type[BaseModel]) -> Iterator[str]:
    yield from ("| Option | Type | Default | |", "| --- | --- | --- | --- |")
    for name, info in model.model_fields.items():
        default = "**required**" if info.is_required() else _default(info.get_default(call_default_factory=True))
        kind = "string or list of strings" if _is_names(info) else _type(info.annotation)
        yield f"| `{name}` | {kind} | {default} | {_cell(info.description or '')} |"


def _strategy_table(strategy: type[Any]) -> Iterator[str]:
    """The options of a strategy beside its name; nothing where there are none."""
    if options := [item for item in fields(strategy) if item.name != "kind"]:
        types = get_type_hints(strategy)
        yield from ("| Option | Type | Default |", "| --- | --- | --- |")
        yield from (f"| `{item.name}` | {_type(types[item.name])} | {_default(item.default)} |" for item in options)
        yield ""


def _check_table(check: type[Any]) -> Iterator[str]:
    own = [item for item in fields(check) if item.name not in _EVERY_CHECK]
    yield from ("| Option | Default | |", "| --- | --- | --- |") if own else ()
    for item in own:
        short = f"what `- {check.kind}: …` fills" if item.name == check.shorthand else ""
        yield f"| `{item.name}` | {'**required**' if item.default is MISSING else _default(item.default)} | {short} |"


def _is_names(info: FieldInfo) -> bool:
    """Whether the option takes one name or a list of them."""
    return any(extra in info.metadata for extra in get_args(Names)[1:])


def _type(annotation: Any) -> str:
    """A type in words."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in arguments)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(item) for item in arguments))
    if origin is tuple:
        inner = _type(arguments[0])
        return f"list of {inner}{'s' if inner == 'string' else ''}"
    if origin is Mapping:
        return "mapping"
    if arguments:
        return _type(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return " or ".join(f"`{item.value}`" for item in annotation)
    if hasattr(annotation, "needs"):
        return "name or mapping, see below"
    words = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "NoneType": "null"}
    words |= {"datetime": "date or instant", "ColumnSpec": "columns", "Check": "checks"}
    return words.get(annotation.__name__, "mapping, see below")


def _default(value: Any) -> str:
    if value is MISSING:  # made anew for each spec; its options say more
        return ""
    if isinstance(value, BaseModel) or (hasattr(value, "kind") and not isinstance(value, Enum)):
        return f"`{value.kind}`" if hasattr(value, "kind") else ""
    plain = value.value if isinstance(value, Enum) else value
    if plain is None or plain == () or plain == "":
        return "" if plain is None or plain == () else '`""`'
    return f"`{str(plain).lower() if isinstance(plain, bool) else plain}`"


def _prose(text: str | None) -> str:
    """A docstring as Markdown, without what it raises."""
    kept = (text or "").split("Raises:")[0].replace("``", "`")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", kept) if paragraph.strip())


def _sentence(text: str | None) -> str:
    return _prose(text).split("\n\n")[0]


def _codes(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names) or "nothing"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
