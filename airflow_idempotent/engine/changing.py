"""A change stream applied: what nobody explained is refused, what differs is written, deletions are remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from airflow_idempotent.core.actions import ApplyChanges, EnsureTombstones, InspectChanges, KeepUnchanged
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.staged import Numbered
from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.attempts import TargetChanged
from airflow_idempotent.engine.refusals import UNIQUE_VIOLATION, sqlstate
from airflow_idempotent.engine.upserting import all_lie
from airflow_idempotent.engine.work import Work
from airflow_idempotent.errors import SchemaDriftError, UnknownOpError, UnknownValueError
from airflow_idempotent.spec.words import meant
from airflow_idempotent.sql.change_merge import (
    AS_PLANNED,
    COUNTED,
    COUNTERS,
    bury,
    merge_changes,
    outlive,
    suits,
)
from airflow_idempotent.sql.changes import OUTLIVED, apply_changes, repeated_changes
from airflow_idempotent.sql.judging import BURIED, UNCHANGED
from airflow_idempotent.sql.merge import BACK_TO_SAVEPOINT, SAVEPOINT
from airflow_idempotent.sql.planning import ROW_BY_ROW
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.tombstones import forget_tombstones, retype_tombstones, take_over_tombstones
from airflow_idempotent.strategies.cdc import tombstones_of

Change = EnsureTombstones | InspectChanges | KeepUnchanged | ApplyChanges


def change(work: Work, action: Change, statements: Sequence[Statement]) -> None:
    """One action of a change stream."""
    match action:
        case EnsureTombstones():
            make_tombstones(work, action, statements)
        case InspectChanges():
            inspect_events(work, action, statements[0])
        case KeepUnchanged():
            keep_values(work, action, statements)
        case ApplyChanges():
            apply_events(work, action)


def inspect_events(work: Work, action: InspectChanges, statement: Statement) -> None:
    """Refuse codes that are not understood, with their counts."""
    events = action.events
    if unknown := tuple((code, count) for code, count in work.session.query(statement)):
        raise UnknownOpError(**work.where, column=events.op_column, codes=unknown, known=events.codes)


def keep_values(work: Work, action: KeepUnchanged, statements: Sequence[Statement]) -> None:
    """Fill in what rows left out; refuse what is known nowhere."""
    ask, *fills, again = statements
    left_out = dict(work.session.query(ask))
    if not left_out:
        return
    kept = action.events.kept
    if unknown := [name for name in left_out if name not in kept]:
        where = f"listed in {action.events.unchanged_column!r}, and the batch has no such column"
        problems = tuple(f"column {name!r} is {where}{meant(name, kept)}" for name in unknown)
        raise SchemaDriftError(table=work.step.table, problems=problems)
    for name, fill in zip(kept, fills, strict=True):
        if name in left_out:
            work.session.execute(fill)
    if missing := tuple((name, count) for name, count in work.session.query(again)):
        raise UnknownValueError(**work.where, columns=missing, unique_key=action.events.unique_key)


def apply_events(work: Work, action: ApplyChanges) -> None:
    """Write what the events say; a second run finds nothing and writes nothing, in the target and beside it."""
    target = work.step.target
    if action.within and not all_lie(work, *action.within):
        action = replace(action, within=None)
    if work.is_rerun or not suits(action, target) or not _merged(work, action):
        _write_difference(work, action)
    if action.ttl:
        work.session.execute(forget_tombstones(action.events.tombstones, action.ttl))


def _merged(work: Work, action: ApplyChanges) -> bool:
    """Write all of it by one MERGE; False, and nothing is written, when a value that must be unique is not yet free."""
    work.session.execute(SAVEPOINT)
    for statement in (*ROW_BY_ROW, *COUNTERS.start):
        work.session.execute(statement)
    try:
        written = work.session.execute(merge_changes(action, work.step.target))
    except Exception as error:
        if sqlstate(error) != UNIQUE_VIOLATION:
            raise
        work.session.execute(BACK_TO_SAVEPOINT)
        return False
    [counts] = work.session.query(COUNTERS.read)
    found = Effects(**dict(zip(COUNTED, counts, strict=True)))
    updated = written - found.inserted - found.deleted
    accounted = written + found.unchanged + found.stale
    work.count(found + Effects(updated=updated, duplicate=work.rows - accounted))
    for statement in (COUNTERS.drop, bury(action), AS_PLANNED, outlive(action)):
        work.session.execute(statement)
    return True


def _write_difference(work: Work, action: ApplyChanges) -> None:
    """Look first, then write, deletions before inserts."""
    target = work.step.target
    difference = apply_changes(action, target)
    for statement in difference.find:
        work.session.execute(statement)
    if not target.is_unique(action.events.unique_key):
        work.refuse_repeated(action.events.unique_key, repeated_changes(action))
    found: dict[str, int] = {}
    accounted = 0
    for verdict, keys, beyond in work.session.query(difference.count):
        found[verdict] = keys
        accounted += keys - beyond
        _count(work, verdict, keys, beyond)
    work.count(Effects(duplicate=work.rows - accounted))
    _write(work, difference.write, found)


def _count(work: Work, verdict: str, keys: int, beyond: int) -> None:
    """The effect of a verdict. A key that only a changed key speaks of counts where its row was deleted."""
    effect = UNCHANGED if verdict == BURIED else verdict
    touched = Effects(**{effect: keys}).touched
    work.count(Effects(**{effect: keys if touched else keys - beyond}), beyond=beyond if touched else 0)


def _write(work: Work, writes: Sequence[tuple[str, Statement]], found: dict[str, int]) -> None:
    """Write, and see that every row that was found was written: a trigger may drop it, somebody may have changed it."""
    left = dict(found)
    for verdict, statement in writes:
        if verdict in _BEHIND:
            if any(found.get(word) for word in _BEHIND[verdict]):
                work.session.execute(statement)
        elif found.get(verdict):
            left[verdict] -= work.session.execute(statement)
    for verdict in ("inserted", "updated", "deleted"):
        if not (missing := left.get(verdict, 0)):
            continue
        if not work.step.target.intercepted:
            raise TargetChanged(work.step.table)
        work.count(Effects(**{verdict: -missing}) + Effects(rejected=missing))


_BEHIND = {BURIED: ("inserted", "updated", "deleted", BURIED), OUTLIVED: ("inserted", "updated")}
"""The verdicts behind what is written among the tombstones."""


# --- the table of tombstones ------------------------------------------------------------------------------------------


def has_tombstones(work: Work, action: EnsureTombstones) -> bool:
    """Whether the table is there, typed as the target is."""
    shape = work.session.shape(action.tombstones)
    return shape is not None and not retype_tombstones(action, work.step.target, shape)


def make_tombstones(work: Work, action: EnsureTombstones, statements: Sequence[Statement]) -> None:
    """Make the table, or let the columns of the one that is there follow the types of the target.

    A live version whose table was built by hand goes on with what was deleted in the version before it.
    """
    shape = work.session.shape(action.tombstones)
    for statement in retype_tombstones(action, work.step.target, shape) if shape else statements:
        work.session.execute(statement)
    if shape is None and not work.step.beside and (before := _tombstones_before(work, action)):
        work.session.execute(take_over_tombstones(action, before))


def _tombstones_before(work: Work, action: EnsureTombstones) -> Relation | None:
    """Those of the newest version before this one that has any."""
    live = Relation.parse(work.step.table)
    for number in range(work.step.table_version - 1, 0, -1):
        found = tombstones_of(Numbered(live, number), action.unique_key, action.version)
        if work.session.shape(found):
            return found
    return None
