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


class LockTable(exp.Expression):
    """``LOCK TABLE this IN mode MODE``."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "mode": True}


def _attach(self: Any, node: AttachPartition) -> str:
    parent, child, start, end = (self.sql(node, part) for part in ("this", "child", "start", "end"))
    return f"ALTER TABLE {parent} ATTACH PARTITION {child} FOR VALUES FROM ({start}) TO ({end})"


class Warehouse(Postgres):
    """The dialect every statement of ours is written in."""

    class Generator(Postgres.Generator):  # type: ignore[misc, valid-type]
        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Postgres.Generator.TRANSFORMS,
            AttachPartition: _attach,
            LockTable: lambda self, node: f"LOCK TABLE {self.sql(node, 'this')} IN {node.args['mode']} MODE",
            OnCommitDrop: lambda self, node: "ON COMMIT DROP",
        }
        PROPERTIES_LOCATION: ClassVar[dict[Any, Any]] = {
            **Postgres.Generator.PROPERTIES_LOCATION,
            OnCommitDrop: exp.Properties.Location.POST_SCHEMA,
        }
