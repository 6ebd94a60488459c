"""Replacing a partition by a new child table: compare, refuse what would lose something, build, exchange."""

from __future__ import annotations

from airflow_idempotent.core.actions import ReplacePartition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.altering import alter_in_turns
from airflow_idempotent.engine.differing import count_found, found_by
from airflow_idempotent.engine.replacing import is_filled
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import AttachError, NoChildTableError
from airflow_idempotent.sql.attach import build_aside, child_for, exchange, fill_aside, index_aside, losses
from airflow_idempotent.sql.comparing import count_differing


def replace_partition(work: Work, action: ReplacePartition) -> None:
    """Exchange the child when it differs from the batch; an older batch than the newest says nothing.

    Raises:
        AttachError: something of the table or the child would be lost, or not heard of.
        LockTimeoutError: somebody read the table all the time.
        NoChildTableError: no child is of exactly this partition.
    """
    work.count(Effects(duplicate=work.repeated))
    if action.superseded:
        work.count(Effects(stale=work.publishable))
        return
    child, options = _child(work, action)
    if not _differs(work, action):
        return
    target = work.step.target
    for statement in build_aside(action, target, child, options):
        work.session.execute(statement)
    lost = work.session.query(losses(action, child, action.aside(child)))
    if lost:
        raise _refused(work, child, *(str(line) for (line,) in lost))
    for statement in (fill_aside(action, child), *index_aside(action, target, child)):
        work.session.execute(statement)
    alter_in_turns(work, exchange(action, target, child))


def _child(work: Work, action: ReplacePartition) -> tuple[Relation, list[str]]:
    """The child of exactly this partition, and its storage options."""
    target, partition = work.step.target, action.partition
    if not target.partitioned:
        raise _refused(work, action.target, "the table is not PARTITION BY RANGE")
    lacking = [item.name for item in target.columns if item.writable and item.name not in action.columns]
    found = work.session.query(child_for(action, target))
    if not found:
        bounds = {"start": partition.start.isoformat(), "end": partition.end.isoformat()}
        raise NoChildTableError(**work.where, column=action.column, **bounds)
    [(schema, name, kind, options)] = found
    child = Relation(schema, name)
    if kind != "r":
        raise _refused(work, child, "the child is no plain table")
    if lacking:
        raise _refused(work, child, f"the batch lacks {', '.join(lacking)}: their values would be lost")
    return child, options


def _refused(work: Work, child: Relation, *reasons: str) -> AttachError:
    return AttachError(**work.where, child=str(child), reasons=reasons)


def _differs(work: Work, action: ReplacePartition) -> bool:
    """Whether the child and the batch are different; rows are counted as if only those that differ were written."""
    rows, of_rows = work.publishable, action.difference
    if is_filled(work, of_rows):
        found = found_by(work, count_differing(of_rows, work.step.target), rows=rows)
    else:
        found = {"inserted": (rows, 0)}
    count_found(work, found)
    return any(count for effect, (count, _) in found.items() if effect != "unchanged")
