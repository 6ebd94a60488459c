"""Functions that specs name: where they are looked for, and whether they are there, without running their code."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterator
from importlib.machinery import BuiltinImporter, FrozenImporter, ModuleSpec, PathFinder
from pathlib import Path

from airflow_idempotent.spec.words import meant


def folders_of(spec_file: Path) -> list[str]:
    """Where Airflow, or a person who types a command, would import from, beside what Python has anyway."""
    home = os.environ.get("AIRFLOW_HOME", "")
    found = [Path.cwd(), spec_file.absolute().parent, spec_file.absolute().parent.parent]
    return [str(folder) for folder in [*found, *([Path(home) / "dags", Path(home) / "plugins"] if home else [])]]


def make_importable(spec_file: Path) -> None:
    """Let functions of those folders be imported; what Python finds already is found first."""
    sys.path.extend(folder for folder in folders_of(spec_file) if folder not in sys.path)


def missing(name: str, spec_file: Path) -> str:
    """Why ``module:function`` will not be found, in words; empty when it will, or when nobody can tell."""
    module_name, _, path = name.partition(":")
    found = _module(module_name, [*sys.path, *folders_of(spec_file)])
    if found is None:
        return f"there is no module {module_name!r} (looked below {', '.join(folders_of(spec_file)[:3])} and sys.path)"
    if not found.origin or not found.origin.endswith(".py"):
        return ""
    try:
        tree = ast.parse(Path(found.origin).read_bytes())
    except (OSError, SyntaxError, ValueError) as error:
        return f"module {module_name!r} cannot be read: {error}"
    names = set(_names(tree))
    first = path.partition(".")[0]
    if first in names or names & {"*", "__getattr__"}:
        return ""
    return f"module {module_name!r} has no {first!r}{meant(first, names)}"


def _module(name: str, folders: list[str]) -> ModuleSpec | None:
    """Where a module lies; unlike importlib's own function it imports no package on the way."""
    places: list[str] | None = folders
    found: ModuleSpec | None = None
    for place, _ in enumerate(parts := name.split("."), start=1):
        so_far = ".".join(parts[:place])
        builtin = BuiltinImporter.find_spec(so_far) or FrozenImporter.find_spec(so_far)
        found = builtin or PathFinder.find_spec(so_far, places)
        if found is None:
            return None
        places = list(found.submodule_search_locations or [])
    return found


def _names(tree: ast.AST) -> Iterator[str]:
    """The names that a module defines, also inside its ``if`` and ``try``; ``*`` when it takes over all of another."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Import() | ast.ImportFrom():
                yield from ((item.asname or item.name).partition(".")[0] for item in node.names)
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case _:
                yield from _names(node)
