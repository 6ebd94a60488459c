"""PostgreSQL as we write it: sqlglot's dialect and the few forms it lacks."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres


class OnCommitDrop(exp.Property):
    """``ON COMMIT DROP`` of a temporary table."""

    arg_types: ClassVar[dict[str, bool]] = {}


class AttachPartition(exp.Expression):
    """``ALTER TABLE this ATTACH PARTITION child FOR VALUES FROM (start) TO (end)``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "child": True, "start": True, "end": True}


class DetachPartition(exp.Expression):
    """``ALTER TABLE this DETACH PARTITION child``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "child": True}


class RenameThing(exp.Expression):
    """``ALTER kind this RENAME TO new``, of whatever has a name."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "kind": True, "new": True}


class RenameConstraint(exp.Expression):
    """``ALTER TABLE this RENAME CONSTRAINT old TO new``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "old": True, "new": True}


class Phrase(exp.Expression):
    """Words and names, one after the other: for the many commands that sqlglot has no tree for."""

    arg_types: ClassVar[dict[str, bool]] = {"expressions": True}


class LockTable(exp.Expression):
    """``LOCK TABLE this IN mode MODE``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "mode": True}


def _attach(self: Any, node: AttachPartition) -> str:
    parent, child, start, end = (self.sql(node, part) for part in ("this", "child", "start", "end"))
    return f"ALTER TABLE {parent} ATTACH PARTITION {child} FOR VALUES FROM ({start}) TO ({end})"


def _rename_thing(self: Any, node: RenameThing) -> str:
    return f"ALTER {node.args['kind']} {self.sql(node, 'this')} RENAME TO {self.sql(node, 'new')}"


def _rename_constraint(self: Any, node: RenameConstraint) -> str:
    old, new = self.sql(node, "old"), self.sql(node, "new")
    return f"ALTER TABLE {self.sql(node, 'this')} RENAME CONSTRAINT {old} TO {new}"


class Verbatim(exp.Expression):
    """A query as somebody else wrote it, word for word."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


def _verbatim(self: Any, node: Verbatim) -> str:
    """On lines of its own, and without indentation, which might end up inside a string that goes over several lines."""
    text: str = node.this
    return text.replace("\n", self.SENTINEL_LINE_BREAK) if self.pretty else f"\n{text}"


def _detach(self: Any, node: DetachPartition) -> str:
    return f"ALTER TABLE {self.sql(node, 'this')} DETACH PARTITION {self.sql(node, 'child')}"


class Warehouse(Postgres):
    """The dialect every statement of ours is written in."""

    class Generator(Postgres.Generator):  # type: ignore[misc, valid-type]
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Postgres.Generator.TRANSFORMS,
            AttachPartition: _attach,
            DetachPartition: _detach,
            LockTable: lambda self, node: f"LOCK TABLE {self.sql(node, 'this')} IN {node.args['mode']} MODE",
            OnCommitDrop: lambda self, node: "ON COMMIT DROP",
            Phrase: lambda self, node: " ".join(self.sql(item) for item in node.expressions),
            RenameConstraint: _rename_constraint,
            RenameThing: _rename_thing,
            Verbatim: _verbatim,
        }
        PROPERTIES_LOCATION: ClassVar[dict[Any, Any]] = {
            **Postgres.Generator.PROPERTIES_LOCATION,
            OnCommitDrop: exp.Properties.Location.POST_SCHEMA,
        }
