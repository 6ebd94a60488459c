"""reconcile: bring the ledger in line with the batches that have landed and with the table. No row is written."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from airflow_idempotent.core.audit import WHOLE_TABLE, Cause, Due, Look, SourceVerdict
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Attempt, State, Timeouts
from airflow_idempotent.engine.attempts import Connect, TargetChanged, attempt_at
from airflow_idempotent.engine.audit import Asked, Auditor, auditor, due_partitions
from airflow_idempotent.engine.baseline import as_text, columns_of, measured
from airflow_idempotent.engine.batches import PartOpener
from airflow_idempotent.engine.findings import Named, write_down
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.runner import RowsWouldChange, run_step
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed
from airflow_idempotent.engine.stage_merge import current_step
from airflow_idempotent.errors import IdempotentError
from airflow_idempotent.plan.build import Load, blank_step
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql import audit as sql

log = logging.getLogger(__name__)


class Kind(StrEnum):
    """What a repair writes to the ledger."""

    RECORD_LOAD = "record_load"
    RECORD_LANDING = "record_landing"
    ACCEPT_ROWS = "accept_rows"
    ACCEPT_COLUMNS = "accept_columns"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Repair:
    """One thing that the ledger does not say or says otherwise, and what is to be written about it.

    ``NONE`` is what nobody but a load can put right. ``made`` says that it is written.
    """

    partition: str
    kind: Kind
    message: str
    made: bool = False


@dataclass(frozen=True, slots=True)
class Reconciliation:
    """What to look at. ``batches`` are the newest that landed; only ``accept`` lets changed tables be right."""

    spec: LoadSpec
    batches: tuple[Manifest, ...]
    partitions: Collection[str] = ()
    accept: bool = False
    reason: str = ""
    by: str = ""

    def wants(self, partition: str) -> bool:
        """Whether a partition is among those asked for."""
        return not self.partitions or partition in self.partitions


def reconcile(
    wanted: Reconciliation, *, connect: Connect, opener: PartOpener, apply: bool = False
) -> tuple[Repair, ...]:
    """The repairs that the ledger needs; with ``apply`` they are made, each in a transaction of its own.

    The table is only read, by either. A second run finds nothing to repair.

    Raises:
        DatabaseError: table or ledger cannot be read; what was repaired before stays.
    """

    def work(session: Session, ledger: Ledger) -> tuple[Repair, ...]:
        with session.transaction():
            live = replace(wanted, spec=addressed(wanted.spec, "live", session))
        repairing = _Reconciling(live, session, ledger, opener, apply)
        batches = tuple(repairing.batches())
        recorded = {item.partition for item in batches if item.kind is Kind.RECORD_LOAD}
        return (*batches, *repairing.changes(recorded))

    spec = wanted.spec
    timeouts = Timeouts(spec.lock_timeout, spec.statement_timeout)
    attempt = Attempt(task_id="reconcile")
    return attempt_at(
        work, table=spec.table, partition="reconcile", connect=connect, timeouts=timeouts, attempt=attempt
    )


@dataclass(frozen=True, slots=True)
class _Reconciling:
    wanted: Reconciliation
    session: Session
    ledger: Ledger
    opener: PartOpener
    apply: bool

    # --- batches that the ledger does not know ------------------------------------------------------------------------

    def batches(self) -> Iterator[Repair]:
        """Batches that have landed and of which the ledger says nothing, as after a restore from a backup."""
        spec = self.wanted.spec
        for manifest in self.wanted.batches:
            if not self.wanted.wants(manifest.partition):
                continue
            where = (spec.table, spec.number, manifest.partition, manifest.batch_id, manifest.content_fingerprint)
            with self.session.transaction():
                said = self.session.query(sql.event_of_batch(*where))
            step, state = said[0] if said else ("", "")
            if not said or step == "land":
                yield self._batch(manifest, known=bool(said))
            elif state in (State.FAILED, State.REJECTED) and step == "stage_merge":
                yield Repair(manifest.partition, Kind.NONE, f"batch {manifest.batch_id} was refused, see status")

    def _batch(self, manifest: Manifest, *, known: bool) -> Repair:
        name, start, end = manifest.batch_id, *map(datetime.fromisoformat, (manifest.start, manifest.end))
        partition = Partition(start, end, key=manifest.partition, zone=self.wanted.spec.timezone)
        load = Load(self.wanted.spec, partition, manifest)
        try:
            step = current_step(load, self.session)
            run_step(
                step,
                session=self.session,
                ledger=self.ledger,
                batches=self.opener,
                dry_run=not self.apply,
                only_record=True,
            )
        except (RowsWouldChange, TargetChanged):
            if known:
                return Repair(manifest.partition, Kind.NONE, f"batch {name} has landed and is not loaded: run it")
            if self.apply:
                with self.session.transaction():
                    blank = replace(blank_step(load), spec_fingerprint="")
                    self.ledger.lock(blank)
                    self.ledger.record(blank, name="land", state=State.LANDED, message="found by reconcile")
            said = f"batch {name} has landed and is not in the table: the ledger will know it, run loads it"
            return Repair(manifest.partition, Kind.RECORD_LANDING, said, self.apply)
        except IdempotentError as error:
            said = f"batch {name}: {error.headline}"
            return Repair(manifest.partition, Kind.NONE, said)
        said = f"the table holds batch {name}, of which the ledger knows nothing"
        return Repair(manifest.partition, Kind.RECORD_LOAD, said, self.apply)

    # --- tables that somebody has changed -----------------------------------------------------------------------------

    def changes(self, recorded: Collection[str]) -> Iterator[Repair]:
        """Columns, then partitions, that are not as the ledger says; those whose load is ``recorded`` will be."""
        looking = auditor(
            self.wanted.spec, Asked(self.wanted.by), self.session, self.ledger, lambda due, partition: SourceVerdict()
        )
        if not self.wanted.partitions:
            yield from self._columns(looking.look_at_table(), looking.named)
        for due in due_partitions(looking.spec, looking.asked, self.session):
            if self.wanted.wants(due.key) and due.key not in recorded:
                yield from self._rows(due, looking)

    def _columns(self, look: Look, named: Named) -> Iterator[Repair]:
        for found in look.findings:
            shape = None
            if self.wanted.accept and self.apply:
                with self.session.transaction():
                    if shape := self.session.shape(self.wanted.spec.relation):
                        [(event,)] = self.session.query(sql.newest_event_id(*named))
                        self.session.execute(sql.record_shape(*named, event, as_text(columns_of(shape))))
                if shape:
                    self._close(replace(look, findings=()), named)
            yield self._accepted(WHOLE_TABLE, Kind.ACCEPT_COLUMNS, found.message, made=shape is not None)

    def _rows(self, due: Due, looking: Auditor) -> Iterator[Repair]:
        spec, partition = self.wanted.spec, Partition(due.start, due.end, key=due.key, zone=self.wanted.spec.timezone)
        with self.session.transaction(snapshot=True):
            look = looking.look_at_rows(due, partition)
            shape = self.session.shape(spec.relation)
            now = measured(spec, shape, partition, self.session) if shape and look.findings else None
        for found in look.findings:
            made = self.wanted.accept and self.apply and bool(shape and now)
            if made and shape and now:
                why = f"accepted{': ' if self.wanted.reason else ''}{self.wanted.reason}"
                right = replace(look, findings=(), row_count=now.row_count, digest=now.digest, baseline=why)
                self._close(replace(right, columns=columns_of(shape)), looking.named)
            yield self._accepted(due.key, Kind.ACCEPT_ROWS, found.message, made=made)

    def _close(self, look: Look, named: Named) -> None:
        write_down(named, look, self.wanted.by, self.session)

    def _accepted(self, partition: str, kind: Kind, message: str, *, made: bool) -> Repair:
        if self.wanted.accept:
            return Repair(partition, kind, message, made)
        cause = Cause.SCHEMA_CHANGED if kind is Kind.ACCEPT_COLUMNS else Cause.TARGET_CHANGED
        return Repair(partition, Kind.NONE, f"{cause}: {message}; --accept lets it be right")
