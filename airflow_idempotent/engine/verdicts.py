"""Verdicts that still hold: what an earlier run found of a partition that nobody has written to since."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.step import Attempt, Measure, Receipt, State
from airflow_idempotent.engine.baseline import reached_since
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.build import Load, blank_step
from airflow_idempotent.sql.verdicts import HELD_COLUMNS
from airflow_idempotent.sql.verdicts import held as held_statement


@dataclass(frozen=True, slots=True)
class Held:
    """The last verdict that another run gave: its event, and what was published for the partition since.

    ``newest`` says that nothing has happened to the partition since, ``touched`` how many rows its loads wrote.
    ``began`` is no later than the moment of the table that was judged.
    """

    event_id: int
    state: str
    batch_id: str
    spec_fingerprint: str
    row_count: int | None
    digest: str | None
    recorded_at: datetime
    began: datetime
    newest: bool
    touched: int

    @property
    def passed(self) -> bool:
        """Whether downstream DAGs were told of what was there then."""
        return self.state == State.VALIDATED

    def is_of(self, now: Measure) -> bool:
        """Whether what is there now was told already; without a digest, whether no load has written since."""
        if not self.passed:
            return False
        if self.digest is None or now.digest is None:
            return self.touched == 0
        return (self.row_count, self.digest) == (now.row_count, now.digest)


def held_verdict(load: Load, session: Session, attempt: Attempt) -> Held | None:
    """What another run has said of the partition last; this run's own verdict may not have been told yet."""
    run = f"{attempt.dag_id}/{attempt.run_id}/"
    rows = session.query(held_statement(load.spec.table, load.spec.number, load.partition.key, run))
    return Held(**dict(zip(HELD_COLUMNS, rows[0], strict=True))) if rows else None


def still_holds(load: Load, held: Held, shape: TableShape, session: Session, ledger: Ledger) -> Receipt | None:
    """The verdict as a receipt, where it speaks of the batch and the spec of now and nobody has written since."""
    step = blank_step(load)
    if not (held.passed and held.newest and held.spec_fingerprint == step.spec_fingerprint):
        return None
    published = ledger.receipt(step)
    if published is None:
        return None
    measure = Measure(row_count=held.row_count, digest=held.digest)
    receipt = Receipt(
        load.spec.table,
        load.partition.key,
        held.batch_id,
        State.VALIDATED,
        effects=published.effects,
        measure=measure,
        event_id=held.event_id,
        recorded_at=held.recorded_at,
        content_fingerprint=published.content_fingerprint,
        table_version=load.spec.number,
        relation=str(load.spec.relation),
        replayed=True,
        changed=False,
    )
    by, spec = load.spec.partition_column, load.spec
    stays = by in spec.unique_key or spec.strategy.stays_inside
    reached = reached_since(spec, load.partition, receipt, held.began, shape, session, moved=not stays)
    return None if reached else receipt
