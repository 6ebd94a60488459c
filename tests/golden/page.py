"""A golden file: a sentence, what goes in (YAML), and the SQL that comes out, on one page.

The header names one of ``action``, ``strategy`` or ``check``, and gives its fields by their own names.
``shape`` is the target: columns with their types, and the keys that are unique in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import TypeAdapter
from sqlglot import exp

from airflow_idempotent.checks.facts import Baseline, Facts, Seen
from airflow_idempotent.core.actions import Action, AddColumns, CreateTarget, EnsureChild, RunChecks, WidenColumns
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.drift import Retyped
from airflow_idempotent.core.manifest import FORMATS, Part
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.profile import ColumnProfile, Profile, Sampling
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.staged import Numbered, Staged
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.checks import (
    Place,
    counted_keys,
    distinct_keys,
    question,
    repeated_keys,
    shared_scan,
    violations,
)
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.statement import Statement, table
from airflow_idempotent.strategies import STRATEGIES, Cdc, Strategy
from airflow_idempotent.strategies.cdc import tombstones_of

FOLDER = Path(__file__).parent
STAGING, WINNERS = "idem_staging", "idem_winners"


def questions(check: Any, shape: TableShape) -> Iterator[Statement]:
    """What a check asks besides, when nothing is wrong: other tables look like this one, and so does the past."""
    names = getattr(check, "columns", ())
    bins = ColumnProfile(True, 2, 0, ("1", "2"), (1, 1))
    past = Baseline("2025-04-24", "20250424_01", 2, profile=Profile(dict.fromkeys(names, bins)))
    facts = Facts(
        Grain.DAY.parse("2025-05-01"),
        shape,
        batch_id="20250501_01",
        previous=past,
        columns=shape.names,
        unique_key=shape.names[:1],
        partition_column="day" if "day" in shape else None,
        source=table(STAGING),
        others=dict.fromkeys(check.tables_used, shape),
    )
    inquiry = check.inquire(table(WINNERS), Seen(1000, (None,), facts))
    answer: list[Any] | None = None
    with suppress(StopIteration):
        while inquiry:
            asked = inquiry.send(answer)
            yield question(asked, Place(table(WINNERS)), facts)
            is_one_row = isinstance(asked.query, exp.Select) and not asked.query.args.get("group")
            answer = [(0,) * len(asked.query.selects)] if is_one_row else []


def snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


ACTIONS = {snake(kind.__name__): kind for kind in get_args(Action)}


@dataclass(frozen=True)
class Page:
    """One golden file."""

    path: Path

    @cached_property
    def _halves(self) -> tuple[str, str]:
        header, _, body = self.path.read_text(encoding="utf-8").partition("\n\n")
        return header.rstrip("\n"), body

    @property
    def header(self) -> str:
        return self._halves[0]

    @property
    def body(self) -> str:
        return self._halves[1]

    @cached_property
    def _lines(self) -> list[str]:
        return [line.removeprefix("--").removeprefix(" ") for line in self.header.splitlines()]

    @property
    def sentence(self) -> str:
        return " ".join(self._lines[: self._lines.index("")])

    @cached_property
    def given(self) -> Mapping[str, Any]:
        return yaml.safe_load("\n".join(self._lines[self._lines.index("") :]))

    @cached_property
    def shape(self) -> TableShape:
        given = self.given["shape"]
        columns = tuple(_column(name, text) for name, text in given["columns"].items())
        keys = tuple(frozenset(key) for key in given.get("unique_keys", ()))
        return TableShape(self.relation, columns, keys, partitioned=given.get("partitioned", False))

    @property
    def relation(self) -> Relation:
        return Relation.parse(self.given.get("target", "public.orders"))

    @cached_property
    def actions(self) -> Sequence[Action]:
        if kind := self.given.get("action"):
            return [self._action(ACTIONS[kind], self.given)]
        if "check" in self.given:
            return [RunChecks(WINNERS, (self.check,), self.shape.names)]
        assert self.strategy
        prepared = self.strategy.prepare(self.staged) if self.staged.deduplicated else ()
        made = self.strategy.made(self.relation, self.staged.unique_key, self.staged.version)
        return [*made, *prepared, *self.strategy.write(self.staged)]

    @cached_property
    def strategy(self) -> Strategy | None:
        """The strategy of the page, by its name or with options."""
        if "events" in self.given:
            return TypeAdapter(Cdc).validate_python(self.given["events"])
        if not (given := self.given.get("strategy")):
            return None
        options = {"kind": given} if isinstance(given, str) else given
        return TypeAdapter(STRATEGIES[options["kind"]]).validate_python(options)

    @property
    def staged(self) -> Staged:
        """The batch of a strategy's page."""
        words = {name: tuple(self.given.get(name, ())) for name in ("unique_key", "version")}
        columns = {item.name: item for item in self.shape.columns}
        own = self.strategy.own_columns(columns, words["version"]) if self.strategy else ()
        batch = [name for name in self.shape.names if name not in {item.name for item in own}]
        return Staged(
            target=self.relation,
            staging=STAGING,
            winners=WINNERS,
            columns=tuple(self.given.get("columns", batch)),
            batch_id="20250501_01",
            partition=Grain.DAY.parse("2025-05-01"),
            partition_column=self.given.get("partition_column"),
            deduplicated=bool(words["unique_key"]),
            **words,
        )

    @property
    def check(self) -> Any:
        return self._load_spec(checks=[self.given["check"]]).checks[0]

    @property
    def statements(self) -> list[Statement]:
        if "check" not in self.given:
            return [statement for action in self.actions for statement in compile_action(action, self.shape)]
        facts = Facts(Grain.DAY.parse("2025-05-01"), self.shape)
        place, checks = Place(table(WINNERS), shape=self.shape), (self.check,)
        keys = counted_keys(checks, place)
        found = (
            shared_scan(checks, place, facts),
            distinct_keys(keys, place),
            repeated_keys(keys, place),
            *questions(self.check, self.shape),
            violations(self.check, place, facts, 5),
        )
        return [statement for statement in found if statement]

    def expected(self) -> str:
        """The whole file as it should be."""
        texts = [self.header]
        for statement in self.statements:
            binds = ", ".join(f"{name} = {value}" for name, value in statement.binds.items())
            texts.append((f"-- binds: {binds}\n" if binds else "") + statement.pretty + ";")
        return "\n\n".join(texts) + "\n"

    def _load_spec(self, **words: Any) -> LoadSpec:
        return LoadSpec(table=str(self.relation), unique_key=[self.shape.names[0]], **words)

    def _action(self, kind: type[Any], given: Mapping[str, Any]) -> Action:
        values = {}
        for item in fields(kind):
            if item.name == "upsert":
                values[item.name] = self._action(ACTIONS["upsert_rows"], given[item.name])
            elif item.name in given:
                values[item.name] = self._value(item.name, given[item.name], kind)
            elif item.name in ("target", "columns") or item.default is MISSING:
                values[item.name] = self._value(item.name, None, kind)
        return kind(**values)

    def _value(self, name: str, value: Any, kind: type[Any]) -> Any:  # noqa: C901, one case per field
        """A field as the action takes it; None when the page leaves it to the shape."""
        match name:
            case "target":
                return self.relation
            case "like":
                return Relation.parse(value)
            case "columns" if kind is CreateTarget:
                return self.shape.columns
            case "columns" if kind is AddColumns:
                return tuple(_column(name, text) for name, text in value.items())
            case "columns" if kind is WidenColumns:
                return tuple(Retyped(name, *types) for name, types in value.items())
            case "defaults":
                return tuple(value.items())
            case "columns":
                return tuple(value or self.shape.names)
            case "column" if kind is EnsureChild:
                return self.shape[value]
            case "ttl":
                return TypeAdapter(Cdc).validate_python({"tombstone_ttl": value}).tombstone_ttl
            case "events":
                assert isinstance(self.strategy, Cdc)
                return self.strategy.events_of(self.staged)
            case "tombstones":
                return tombstones_of(Numbered(self.relation), self.staged.unique_key, self.staged.version)
            case "partition":
                return Grain.DAY.parse(value)
            case "within":
                return value[0], Grain.DAY.parse(value[1])
            case "sampling":
                return Sampling(tuple(value["key"]), value["size"], value["seed"])
            case "checks":
                return self._load_spec(checks=value).checks
            case "binds":
                return tuple((bind, bound) for bind, bound in value)
            case "part":
                return Part(value["name"], 0, 0, "", tuple(value["columns"]))
            case "format":
                options = dict(value or {})
                return FORMATS[options.pop("kind", "csv")](**options)
            case _:
                return tuple(value) if isinstance(value, list) else value


def _column(name: str, text: str) -> Column:
    return Column(name, text.removesuffix(" not null"), nullable=not text.endswith(" not null"))


PAGES = [Page(path) for path in sorted(FOLDER.rglob("*.sql"))]
