"""audit: compare published partitions with the ledger and with their source. Only the ledger is written to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from airflow_idempotent.core.audit import (
    WHOLE_TABLE,
    Cause,
    Due,
    Finding,
    Look,
    Report,
    Sample,
    SourceVerdict,
    choose,
    is_stale,
)
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Attempt, Measure, Timeouts
from airflow_idempotent.engine.attempts import Connect, attempt_at
from airflow_idempotent.engine.baseline import (
    Baseline,
    baseline_of,
    changed_since,
    columns_of,
    comparable,
    differences,
    known_columns,
    measured,
    swapped_since,
)
from airflow_idempotent.engine.findings import open_findings, write_down
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql import audit as sql

log = logging.getLogger(__name__)

CompareSource = Callable[[Due, Partition], SourceVerdict]
"""Compares the batch of a partition with its source as that is now."""

Told = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an audit was asked for. ``run`` names the run, so that a retry of it looks at the same partitions."""

    run: str
    sample: Sample = field(default_factory=Sample)
    start: datetime | None = None
    end: datetime | None = None


def audit(
    spec: LoadSpec,
    asked: Asked,
    *,
    connect: Connect,
    compare_source: CompareSource,
    attempt: Attempt | None = None,
    told: Told | None = None,
) -> Report:
    """Look at a sample of the published partitions of a table, and write to the ledger what was found.

    Of the version that readers read, whichever that is.
    No row of the table is written, and none is locked. A second run finds the same, and opens nothing twice.

    Raises:
        DatabaseError: the table or the ledger cannot be read; what was audited before is kept.
    """

    def work(session: Session, ledger: Ledger) -> Report:
        return auditor(spec, asked, session, ledger, compare_source).run(told or _nobody)

    timeouts = Timeouts(spec.lock_timeout, spec.statement_timeout)
    return attempt_at(work, table=spec.table, partition="audit", connect=connect, timeouts=timeouts, attempt=attempt)


def auditor(spec: LoadSpec, asked: Asked, session: Session, ledger: Ledger, compare_source: CompareSource) -> Auditor:
    """What looks at the version that readers read; by the loads of the one before it where it was built elsewhere."""
    with session.transaction():
        live = addressed(spec, "live", session)
        [(known,)] = session.query(sql.known_version(spec.table, live.number))
    return Auditor(live.of_version(known, behind=live.relation), asked, session, ledger, compare_source, live.number)


def due_partitions(spec: LoadSpec, asked: Asked, session: Session) -> tuple[Due, ...]:
    """The published partitions in the range that was asked for."""
    with session.transaction():
        return tuple(Due(*row) for row in session.query(sql.due(*_named(spec), asked.run, asked.start, asked.end)))


@dataclass(frozen=True, slots=True)
class Auditor:
    """One audit on one connection: looks, and writes down what it saw.

    ``spec`` is of the version whose loads are known, ``live`` the number of the one that is read.
    """

    spec: LoadSpec
    asked: Asked
    session: Session
    ledger: Ledger
    compare_source: CompareSource
    live: int = 1

    @property
    def named(self) -> tuple[str, int]:
        """The table and its version, as the ledger has them."""
        return _named(self.spec)

    def run(self, told: Told) -> Report:
        due = due_partitions(self.spec, self.asked, self.session)
        chosen = choose(due, self.asked.sample, seed=self.spec.table)
        looks = [self.look_at_table()] if chosen else []
        closed = sum(write_down(self.named, look, self.asked.run, self.session) for look in looks)
        for number, item in enumerate(chosen):
            told(number, len(chosen))
            look = self._of_partition(item)
            closed += write_down(self.named, look, self.asked.run, self.session)
            self._tell(look)
            looks.append(look)
        told(len(chosen), len(chosen))
        findings = open_findings(self.session, self.named, self.asked.run)
        if self.asked.start or self.asked.end:
            within = {look.partition for look in looks}
            findings = tuple(item for item in findings if item.partition in within)
        return Report(self.spec.table, len(due), tuple(looks[1:]), findings, closed)

    def look_at_table(self) -> Look:
        """The columns of the table against those that the newest load has seen."""
        with self.session.transaction():
            known = known_columns(self.spec.table, self.session, version=self.spec.number)
            shape = self.session.shape(self.spec.relation)
            event, began = (known.event_id, known.recorded_at) if known else (0, None)
            swapped = swapped_since(self.spec.table, self.session, event, began, version=self.spec.number)
        if known is None:
            return Look(WHOLE_TABLE, None)
        changes = tuple(differences(known.columns, columns_of(shape))) if shape else ("the table is gone",)
        found = Finding(self.spec.table, WHOLE_TABLE, Cause.SCHEMA_CHANGED, "; ".join(changes), known.event_id)
        judged = frozenset({Cause.SCHEMA_CHANGED})
        if changes and shape and swapped:
            return Look(WHOLE_TABLE, known.event_id, unjudged=(f"columns: {swapped} has taken its place",))
        return Look(WHOLE_TABLE, known.event_id, judged, (found,) if changes else ())

    def _of_partition(self, due: Due) -> Look:
        partition = Partition(due.start, due.end, key=due.key, zone=self.spec.timezone)
        with self.session.transaction(snapshot=True):
            look = self.look_at_rows(due, partition)
        source = self.compare_source(due, partition)
        findings, judged = [*look.findings], look.judged | {Cause.SPEC_CHANGED}
        if is_stale(due.spec_fingerprint, fingerprint(self.spec)):
            said = f"loaded by spec {due.spec_fingerprint[:12]}, which is {fingerprint(self.spec)[:12]} now"
            findings.append(self._finding(due, Cause.SPEC_CHANGED, said))
        if source.cause:
            findings.append(self._finding(due, source.cause, source.message))
        judged |= frozenset() if source.unjudged else source.judged
        unjudged = (*look.unjudged, *([source.unjudged] if source.unjudged else []))
        return replace(look, judged=judged, findings=tuple(findings), unjudged=unjudged)

    def look_at_rows(self, due: Due, partition: Partition) -> Look:
        """The rows of a partition against those that its load has measured, in one snapshot of table and ledger."""
        [(began,)] = self.session.query(sql.BEGAN)
        blank = Look(due.key, due.event_id, began=began)
        published = self.ledger.latest(self.spec.table, due.key, self.spec.number)
        shape = self.session.shape(self.spec.relation)
        if published is None or published.event_id != due.event_id:
            return replace(blank, unjudged=("target: it was loaded again meanwhile",))
        if Journal(self.session).live(self.spec.table)[0] != self.live:
            return replace(blank, unjudged=("target: another version has taken its place meanwhile",))
        if shape is None:
            return replace(blank, unjudged=("target: there is no such table",))
        baseline, by = baseline_of(published, self.session), self.spec.partition_column
        if baseline.digest is None or (by and by not in shape):
            return replace(blank, unjudged=("target: no partition column says which rows are its own",))
        usual = comparable(baseline, shape, by)
        if usual is None:
            return self._anew(blank, partition, shape, "columns were dropped or retyped since it was loaded")
        now = measured(self.spec, usual, partition, self.session)
        judged = replace(blank, judged=frozenset({Cause.TARGET_CHANGED}), row_count=now.row_count, digest=now.digest)
        if (now.row_count, now.digest) == (baseline.row_count, baseline.digest):
            if usual.columns == shape.columns:
                return judged
            return replace(self._anew(judged, partition, shape, "columns were added since it was loaded"), unjudged=())
        if since := changed_since(self.spec, partition, published, baseline, shape, now, self.session):
            return self._anew(blank, partition, shape, f"batch {since} has written to it since")
        if baseline.columns is None:
            return self._anew(blank, partition, shape, "an older release has loaded it")
        return replace(judged, findings=(self._finding(due, Cause.TARGET_CHANGED, _said(baseline, now)),))

    def _anew(self, look: Look, partition: Partition, shape: TableShape, why: str) -> Look:
        """Measure the partition anew: from now on it is compared with this, as long as nobody loads it.

        Not where the columns themselves are under suspicion, nor for a table that each batch replaces whole.
        """
        look = replace(look, unjudged=(f"target: {why}",))
        columns = columns_of(shape)
        known = known_columns(self.spec.table, self.session, version=self.spec.number)
        if not self.spec.partition_column or (known and any(differences(known.columns, columns))):
            return look
        now = measured(self.spec, shape, partition, self.session)
        return replace(look, row_count=now.row_count, digest=now.digest, baseline=why, columns=columns)

    def _finding(self, due: Due, cause: Cause, message: str) -> Finding:
        return Finding(self.spec.table, due.key, cause, message, due.event_id)

    def _tell(self, look: Look) -> None:
        for found in look.findings:
            log.info("audit table=%s partition=%s %s: %s", found.table, found.partition, found.cause, found.message)
        for text in look.unjudged:
            log.info("audit table=%s partition=%s not judged: %s", self.spec.table, look.partition, text)


def _named(spec: LoadSpec) -> tuple[str, int]:
    return spec.table, spec.number


def _said(baseline: Baseline, now: Measure) -> str:
    if baseline.row_count == now.row_count:
        return f"the ledger and the table have {now.row_count or 0:,} rows, with other content"
    return f"the ledger has {baseline.row_count or 0:,} rows, the table {now.row_count or 0:,}"


def _nobody(done: int, of: int) -> None:
    """Nobody asked for progress."""
