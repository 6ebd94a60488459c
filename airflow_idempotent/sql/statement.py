"""A statement: text for the driver and the values bound to it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.dialects.postgres import OnCommitDrop, Warehouse

_MISREAD = re.compile(r"bit varying|interval.*\(", re.IGNORECASE)
"""Types that sqlglot takes for others: a bit, an interval of all digits."""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with ``%(name)s`` placeholders, and the values for them.

    Without ``binds`` the text goes to the driver as it is, so that ``%`` needs no doubling. ``tree``
    is what the text was made from, kept for ``pretty``.
    """

    sql: str
    binds: Mapping[str, Any] = field(default_factory=dict)
    tree: exp.Expr | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return self.sql

    def bound(self, values: Mapping[str, Any]) -> Statement:
        """With these values in the place of those of the same names."""
        return replace(self, binds={name: values.get(name, value) for name, value in self.binds.items()})

    @property
    def pretty(self) -> str:
        """The same words over several lines, for people."""
        return self.tree.sql(dialect=Warehouse, pretty=True, comments=False) if self.tree else self.sql.strip()


def statement(tree: exp.Expr, **binds: Any) -> Statement:
    """The statement a tree stands for. A percent sign in a name is doubled where the driver looks for placeholders."""
    bound = tree.transform(_doubled) if tree.find(exp.Placeholder) else tree
    return Statement(bound.sql(dialect=Warehouse, comments=False), binds, bound)


def doubled(text: str) -> str:
    """Percent signs doubled, for a driver that looks for placeholders."""
    return text.replace("%", "%%")


def _doubled(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Identifier | exp.Literal) and "%" in node.name:
        node.set("this", doubled(node.name))
    return node


def table(relation: Relation | str, alias: str | None = None) -> exp.Table:
    """A quoted table: a target with its schema, or a temporary table by its name."""
    if isinstance(relation, Relation):
        return exp.table_(relation.name, db=relation.schema, quoted=True, alias=alias and quoted(alias))
    return exp.table_(relation, db="pg_temp", quoted=True, alias=alias and quoted(alias))


def quoted(name: str) -> exp.Identifier:
    """A name in double quotes, as written."""
    return exp.to_identifier(name, quoted=True)


def column(name: str, of: str | None = None) -> exp.Column:
    """A quoted column, of the table with that alias."""
    return exp.column(name, table=of, quoted=True)


def data_type(text: str) -> exp.DataType:
    """A type by its name, unknown ones as they are."""
    if _MISREAD.match(text):
        return exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=text)
    return exp.DataType.build(text, dialect=Warehouse, udt=True)


def setting(name: str, value: str) -> Statement:
    """Set a configuration option until the transaction ends, in the form that poolers and both drivers allow."""
    return Statement("SELECT set_config(%(name)s, %(value)s, true)", {"name": name, "value": value})


def settings(values: Mapping[str, str]) -> Statement:
    """Several of them in one round trip."""
    names = {f"name{number}": name for number, name in enumerate(values)}
    texts = {f"value{number}": text for number, text in enumerate(values.values())}
    calls = ", ".join(f"set_config(%({name})s, %({text})s, true)" for name, text in zip(names, texts, strict=True))
    return Statement(f"SELECT {calls}", names | texts)


def temporary(name: str, rows: exp.Expr, *, no_data: bool = False) -> exp.Create:
    """CREATE TEMPORARY TABLE … AS, gone at the end of the transaction."""
    properties: list[exp.Expr] = [exp.TemporaryProperty(), OnCommitDrop()]
    if no_data:
        properties.append(exp.WithDataProperty(no=True))
    this = exp.table_(name, quoted=True)
    return exp.Create(kind="TABLE", this=this, expression=rows, properties=exp.Properties(expressions=properties))
