"""From files to specs: every problem at once, with its path and the word that was meant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import yaml
from pydantic import BaseModel, ValidationError

from airflow_idempotent.errors import DuplicateTableError, IdempotentError, SpecError
from airflow_idempotent.spec.source import KINDS
from airflow_idempotent.spec.table import TableSpec, inherit
from airflow_idempotent.spec.words import ALIASES, meant, ours, said
from airflow_idempotent.strategies import STRATEGIES

DEFAULTS = "defaults.yml"
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _UniqueKeys(_Loader):  # type: ignore[misc, valid-type]
    """YAML whose keys are texts, each given once: a second one is an error instead of a silent overwrite."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen = set()
        for key_node, _ in node.value:
            if key_node.tag == "tag:yaml.org,2002:merge":
                continue
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in seen:
                wrong = "is given twice" if isinstance(key, str) else "is not the name of an option"
                raise yaml.constructor.ConstructorError(None, None, f"{key!r} {wrong}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_yaml_timestamp(self, node: Any) -> Any:
        """A date; the text as it is when no calendar has it, for the option to refuse."""
        try:
            return super().construct_yaml_timestamp(node)
        except ValueError:
            return node.value


_UniqueKeys.add_constructor("tag:yaml.org,2002:timestamp", _UniqueKeys.construct_yaml_timestamp)


def load_file(path: Path, *, name: str = "") -> TableSpec:
    """The spec in a YAML file, with the ``defaults.yml`` beside it inherited.

    Raises:
        SpecError: everything that is wrong with it.
    """
    below, own = layers(path, name=name)
    return load_mapping(inherit(below, own), name=name or str(path))


def layers(path: Path, *, name: str = "") -> tuple[dict[str, Any], dict[str, Any]]:
    """What ``defaults.yml`` says and what the file itself says, in our words, neither of them validated.

    Raises:
        SpecError: one of them cannot be read.
    """
    shown = name or str(path)
    defaults = path.with_name(DEFAULTS)
    below = _read(defaults, str(defaults)) if defaults.exists() and defaults != path else {}
    return _renamed(below, str(defaults)), _renamed(_read(path, shown), shown)


def load_mapping(values: Mapping[str, Any], *, name: str) -> TableSpec:
    """The spec in a mapping. ``name`` is how errors call it.

    Raises:
        SpecError: everything that is wrong with it.
    """
    try:
        return TableSpec.model_validate(values)
    except ValidationError as error:
        raise SpecError(file=name, problems=_all_problems(values, error)) from None


def load_folder(folder: Path) -> tuple[dict[Path, TableSpec], dict[Path, IdempotentError]]:
    """Every spec below a folder, and what is wrong with the files that hold none.

    Two files that claim one table or one dag_id are both refused.
    """
    specs: dict[Path, TableSpec] = {}
    broken: dict[Path, IdempotentError] = {}
    for path in spec_files(folder):
        try:
            specs[path] = load_file(path)
        except SpecError as error:
            broken[path] = error
    claims: dict[str, list[Path]] = defaultdict(list)
    for path, spec in specs.items():
        # A public that is not written is no difference: sales_orders and sales.orders pass for one another.
        cleaned = spec.id.removeprefix("public.").replace(".", "_").lower()
        for claim in dict.fromkeys((spec.table, spec.id, cleaned, *([spec.audit_id] if spec.audit_id else []))):
            claims[claim].append(path)
    for claim, paths in claims.items():
        if len(paths) > 1:
            twice = DuplicateTableError(name=claim, files=tuple(map(str, paths)))
            broken |= {path: twice for path in paths if path not in broken}
    return {path: spec for path, spec in specs.items() if path not in broken}, broken


def spec_files(folder: Path) -> list[Path]:
    """The spec files below a folder, sorted; ``defaults.yml`` and hidden files are none."""
    found = [*folder.rglob("*.yaml"), *folder.rglob("*.yml")]
    return sorted(path for path in found if path.name != DEFAULTS and not path.name.startswith((".", "_")))


def _read(path: Path, name: str) -> dict[str, Any]:
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeys)
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(file=name, problems=(("", f"cannot be read: {error}"),)) from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else ""
        raise SpecError(file=name, problems=((where, f"not YAML: {error.problem}"),)) from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError) as error:  # what PyYAML lets slip
        raise SpecError(file=name, problems=(("", f"not YAML: {' '.join(str(error).split())}"),)) from None
    if values is None and path.name == DEFAULTS:
        return {}
    if not isinstance(values, Mapping):
        what = "empty" if values is None else "not a mapping"
        raise SpecError(file=name, problems=(("", f"{what}: a spec begins with 'table: schema.table'"),))
    return dict(values)


def _renamed(values: Mapping[str, Any], name: str) -> dict[str, Any]:
    try:
        return ours(values)
    except ValueError as error:
        raise SpecError(file=name, problems=(("", str(error)),)) from None


def _all_problems(values: Mapping[str, Any], error: ValidationError) -> tuple[tuple[str, str], ...]:
    """The problems of single options, and those between the options that are right."""
    problems = problems_of(error)
    wrong = {str(item["loc"][0]) for item in error.errors() if item["loc"]}
    stand_in = {"table": "t", "start_date": "2025-01-01", "source": {"kind": "files", "path": "x"}}
    rest = {
        name: value
        for name, value in (stand_in | {ALIASES.get(word, word): value for word, value in values.items()}).items()
        if name not in wrong or (name in stand_in and name not in values)
    }
    rest = {**rest, **{name: value for name, value in stand_in.items() if name in wrong}}
    if wrong:
        try:
            TableSpec.model_validate(rest)
        except ValidationError as between:
            known = {path for path, _ in problems}
            problems += [
                problem
                for problem in problems_of(between)
                if problem[0] not in known and problem[0].split(".")[0] not in wrong
            ]
    return tuple(problems)


def problems_of(error: ValidationError) -> list[tuple[str, str]]:
    """What pydantic found, as (path, text), with the words that were meant."""
    found: list[tuple[str, str]] = []
    for item in error.errors():
        path = ".".join(_as_written(item["loc"]))
        if item["type"] == "problems":
            found += item["ctx"]["problems"]
        elif item["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            found.append((path, f"unknown option{meant(str(item['loc'][-1]), _options(item['loc']))}"))
        elif item["type"] == "missing":
            found.append((path, f"required{_description(path)}"))
        elif item["type"] == "union_tag_not_found":
            found.append((f"{path}.kind", f"required: {_either(_kinds(path))}"))
        elif item["type"] == "union_tag_invalid":
            kind = item["ctx"]["tag"]
            near = meant(kind, _kinds(path)) or f", write {_either(_kinds(path))}"
            found.append((f"{path}.kind", f"unknown kind {kind!r}{near}"))
        else:
            found.append((path, said(item)))
    return found


def _as_written(loc: tuple[int | str, ...]) -> list[str]:
    """Where in the user's file a problem is: pydantic puts the kind of a strategy between it and its option."""
    parts = [str(part) for part in loc]
    return [*parts[:1], *parts[2:]] if parts[:1] == ["strategy"] and parts[1:2] != ["kind"] else parts


def _kinds(path: str) -> Iterable[str]:
    """The kinds there are of what a path names."""
    return STRATEGIES if path == "strategy" else KINDS


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(repr, names))


def _options(loc: tuple[int | str, ...]) -> list[str]:
    """The options that exist where an unknown one was found."""
    models: list[Any] = [TableSpec]
    for part in loc[:-1]:
        models = [inner for model in models for inner in _inner(model, str(part))] or _of_kind(models, str(part))
    options = [
        name
        for model in models
        for name in (getattr(model, "model_fields", None) or getattr(model, "__dataclass_fields__", {}))
    ]
    return [*options, *ALIASES] if models == [TableSpec] else options


def _of_kind(models: list[Any], kind: str) -> list[Any]:
    """Of several models that are told apart by their kind the one that is meant; all when that is no kind."""
    return [model for model in models if _kind(model) == kind] or models


def _kind(model: Any) -> Any:
    known = getattr(model, "model_fields", None) or getattr(model, "__dataclass_fields__", {})
    return known["kind"].default if "kind" in known else None


def _inner(model: Any, name: str) -> list[Any]:
    if field := getattr(model, "model_fields", {}).get(name):
        return _classes(field.annotation)
    hints = get_type_hints(model) if name in getattr(model, "__dataclass_fields__", {}) else {}
    return _classes(hints[name]) if name in hints else []


def _classes(annotation: Any) -> list[Any]:
    if get_origin(annotation) in (Union, UnionType, tuple) or get_args(annotation):
        return [found for argument in get_args(annotation) for found in _classes(argument)]
    is_model = isinstance(annotation, type) and (
        issubclass(annotation, BaseModel) or hasattr(annotation, "__dataclass_fields__")
    )
    return [annotation] if is_model else []


def _description(path: str) -> str:
    field = TableSpec.model_fields.get(path)
    return f": {field.description[0].lower()}{field.description[1:]}" if field and field.description else ""
