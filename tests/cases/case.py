"""A case as its file describes it. cases.yaml begins with how to read one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FORMAT = 1
FOLDER = Path(__file__).parent
OWN = (FOLDER / "cases.yaml", FOLDER / "extra.yaml")
"""Our copy of the acceptance cases, and those that say the same of what exists already."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Row = tuple[str | None, ...]
Step = Mapping[str, Any]


@dataclass(frozen=True)
class Case:
    """One case. ``files`` are exact bytes by name; ``checks`` are SQL and the rows it must give, as text.

    ``outcome`` is ``ok``, ``fail`` or ``skip``. ``setup_note`` describes in words what ``sql`` and
    ``files`` do not say.
    """

    id: str
    title: str
    steps: tuple[Step, ...]
    outcome: str
    checks: tuple[tuple[str, tuple[Row, ...]], ...] = ()
    sql: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)
    setup_note: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.id} {self.title}"


def load_cases(path: Path) -> list[Case]:
    """The cases of a file.

    Raises:
        ValueError: the file has another format, or two cases of one id.
    """
    values = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if not isinstance(values, Mapping) or values.get("format") != FORMAT:
        raise ValueError(f"{path}: no cases of format {FORMAT}")
    cases = [_case(entry) for entry in values["cases"]]
    ids = [case.id for case in cases]
    if twice := sorted({name for name in ids if ids.count(name) > 1}):
        raise ValueError(f"{path}: more than one case {', '.join(twice)}")
    return cases


@cache
def own_cases() -> dict[str, Case]:
    """The cases of this folder by their ids."""
    return {case.id: case for path in OWN for case in load_cases(path)}


def _case(entry: Mapping[str, Any]) -> Case:
    setup, expect = entry.get("setup") or {}, entry.get("expect") or {}
    checks = [(item["sql"], tuple(_row(row) for row in item["rows"])) for item in expect.get("checks") or ()]
    return Case(
        id=str(entry["id"]),
        title=str(entry.get("title", "")),
        steps=tuple(entry.get("operation") or ()),
        outcome=str(expect.get("outcome", "ok")),
        checks=tuple(checks),
        sql=setup.get("sql", ""),
        files=dict(_content(name, text) for name, text in (setup.get("files") or {}).items()),
        setup_note=setup.get("note", ""),
        notes=tuple(expect.get("notes") or ()),
    )


def _row(values: list[Any]) -> Row:
    return tuple(None if value is None else str(value) for value in values)


def _content(name: str, text: str) -> tuple[str, bytes]:
    if name.endswith(".b64"):
        return name.removesuffix(".b64"), base64.b64decode(text)
    return name, text.encode()
