"""The ledger: append-only events in the target database, written in the transaction of the data they speak of."""

from __future__ import annotations

from dataclasses import asdict, fields
from datetime import UTC, datetime
from typing import Any

from airflow_idempotent.core.locks import lock_key, locks_beside, locks_of
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.core.step import Attempt, Effects, Measure, Receipt, State, Step
from airflow_idempotent.core.verdict import CheckResult
from airflow_idempotent.engine.event_values import check_values, event_hash, window_values
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import ledger as sql
from airflow_idempotent.sql import ledger_schema
from airflow_idempotent.sql.create import sql_name
from airflow_idempotent.sql.statement import Statement

_INSTALL_LOCK = "airflow_idempotent/ledger"
WHOLE_TABLE = {
    "partition_key": "*",
    "partition_start": datetime(1, 1, 2, tzinfo=UTC),
    "partition_end": datetime(9999, 12, 30, tzinfo=UTC),
}
"""Where an event of the whole table stands."""

_MEASURED = tuple(item.name for item in fields(Measure))
_PREPARE_LOCK = "airflow_idempotent/prepare"
SHOWN_HOLDERS = 10


class Ledger:
    """The ledger as one attempt sees it. Everything it writes belongs to the session's transaction."""

    def __init__(self, session: Session, attempt: Attempt | None = None) -> None:
        self._session = session
        self._attempt = attempt or Attempt()

    def install(self) -> None:
        """Create the ledger or bring it to this version, under a lock, in a transaction of its own.

        An up-to-date ledger is left alone, so every step may call this.
        """
        with self._session.transaction():
            if self.version() >= ledger_schema.SCHEMA_VERSION:
                return
            with self._session.waiting():
                self._session.query(Statement(sql.LOCK, {"key": lock_key(_INSTALL_LOCK)}))
            for version, upgrade in enumerate(ledger_schema.UPGRADES, start=1):
                if self.version() < version:
                    self._session.execute(Statement(upgrade))
                    self._session.execute(ledger_schema.installed(version))

    def version(self) -> int:
        """Which ledger is installed; 0 when there is none."""
        [(is_installed,)] = self._session.query(ledger_schema.INSTALLED)
        return int(self._session.query(ledger_schema.VERSION)[0][0]) if is_installed else 0

    def lock(self, step: Step) -> None:
        """Keep other runs out until the transaction ends: of the partition always, of the table when the step asks.

        Table before partition, in every step, so that two runs cannot wait for each other. A version beside the live
        table has locks of its own: who loads the live table never waits for it, only a swap does.
        """
        table, partition = locks_of(step.table, step.partition.key)
        with self._session.waiting():
            if step.beside:
                beside, table, partition = locks_beside(step.table, step.table_version, step.partition.key)
                self._session.query(Statement(sql.LOCK_SHARED, {"key": beside}))
            self._session.query(Statement(sql.LOCK if step.exclusive else sql.LOCK_SHARED, {"key": table}))
            self._session.query(Statement(sql.LOCK, {"key": partition}))

    def lock_table(self, table: str) -> None:
        """Keep all loads of the live table out until the transaction ends."""
        with self._session.waiting():
            self._session.query(Statement(sql.LOCK, {"key": locks_of(table, "")[0]}))

    def lock_versions(self, table: str) -> None:
        """Keep all loads out until the transaction ends: of the live table and of every version beside it."""
        self.lock_table(table)
        with self._session.waiting():
            self._session.query(Statement(sql.LOCK, {"key": locks_beside(table, 0, "")[0]}))

    def lock_preparation(self, step: Step) -> None:
        """Keep others from making the table's tables until the transaction ends; loads of it go on."""
        table = locks_of(step.table, step.partition.key)[0]
        made = f"{step.table}/v{step.table_version}" if step.beside else step.table
        with self._session.waiting():
            if step.beside:
                beside, table, _ = locks_beside(step.table, step.table_version, step.partition.key)
                self._session.query(Statement(sql.LOCK_SHARED, {"key": beside}))
            self._session.query(Statement(sql.LOCK_SHARED, {"key": table}))
            self._session.query(Statement(sql.LOCK, {"key": lock_key(f"{_PREPARE_LOCK}/{made}")}))

    def holders(self, table: str, partition: str, *, readers: bool = False) -> tuple[str, ...]:
        """Who holds the table or the partition now, one line per session; with ``readers`` who only reads it, too."""
        with self._session.transaction():
            return self.holders_now(table, partition, readers=readers)

    def holders_now(self, table: str, partition: str, *, readers: bool = False) -> tuple[str, ...]:
        """The same from inside a transaction, the longest first; of many only some."""
        self._session.query(sql.AS_OF_NOW)
        name = sql_name(Relation.parse(table))
        keys = [*locks_of(table, partition), locks_beside(table, 0, partition)[0]]
        binds = {"keys": keys, "table": name, "readers": readers}
        rows = self._session.query(Statement(sql.HOLDERS, binds))
        found = [f"pid {pid} ({name}), {state}, for {seconds} s" for seconds, pid, name, state in rows]
        return (*found[:SHOWN_HOLDERS], *([f"and {len(found) - SHOWN_HOLDERS} more"] * (len(found) > SHOWN_HOLDERS)))

    def has_newer_batch(self, step: Step) -> bool:
        """Whether a later revision of the partition has been published since this batch was landed.

        One published before that belongs to a landing folder that has been begun anew since. A batch that
        speaks for the whole table is older, too, when one of a later partition has been published.
        """
        where = (step.table, step.table_version, step.partition.key)
        [(found,)] = self._session.query(
            sql.newer_batch(*where, step.manifest.revision, step.manifest.created_at or "-infinity")
        )
        if not found and step.scope is Scope.TABLE:
            later = sql.newer_snapshot(step.table, step.table_version, step.partition.start)
            [(found,)] = self._session.query(later)
        return bool(found)

    def receipt(self, step: Step) -> Receipt | None:
        """Proof that exactly this work was the last thing published for the partition."""
        content = step.manifest.content_fingerprint
        found = sql.receipt(step.table, step.table_version, step.partition.key, step.spec_fingerprint, content)
        return self._receipt(step.table, step.partition.key, found, step.table_version)

    def latest(self, table: str, partition: str, version: int = 1) -> Receipt | None:
        """Proof of what was published last for a partition."""
        return self._receipt(table, partition, sql.latest_published(table, version, partition), version)

    def _receipt(self, table: str, partition: str, statement: Statement, version: int) -> Receipt | None:
        rows = self._session.query(statement)
        if not rows:
            return None
        found = dict(zip(sql.RECEIPT_COLUMNS, rows[0], strict=True))
        effects = Effects(**{name: found[name] for name in Effects().as_dict()})
        measured = {name: found[name] for name in _MEASURED}
        return Receipt(
            table=table,
            partition=partition,
            batch_id=found["batch_id"],
            state=State(found["state"]),
            effects=effects,
            measure=Measure(**measured),
            event_id=found["event_id"],
            recorded_at=found["recorded_at"],
            content_fingerprint=found["content_fingerprint"],
            table_version=version,
        )

    def record(
        self,
        step: Step,
        *,
        name: str = "stage_merge",
        state: State = State.PUBLISHED,
        effects: Effects | None = None,
        measure: Measure | None = None,
        checks: tuple[CheckResult, ...] = (),
        message: str = "",
        seconds: float | None = None,
    ) -> Receipt:
        """Append one event, linked to the one before it of the same partition, and the results of its checks."""
        effects, measure = effects or Effects(), measure or Measure()
        values = self._values(step, name, state, effects, measure, message, seconds)
        event_id, recorded_at = self._append(values)
        for check in checks:
            self._session.execute(Statement(sql.RECORD_CHECK, {"event_id": event_id, **check_values(check)}))
            if check.failures:
                kept = {"event_id": event_id, "check": check.check, "failures": list(check.failures)}
                self._session.execute(Statement(sql.RECORD_FAILURES, kept))
        return Receipt(
            table=step.table,
            partition=step.partition.key,
            batch_id=step.manifest.batch_id,
            state=state,
            effects=effects,
            measure=measure,
            checks=checks,
            event_id=event_id,
            recorded_at=recorded_at,
            content_fingerprint=step.manifest.content_fingerprint,
            table_version=step.table_version,
            relation=str(step.target.relation),
            notes=step.notes,
        )

    def record_dedupe(self, table: str, removed: int, message: str) -> None:
        """Append the event of a table that lost duplicates; it belongs to no partition, and to each."""
        measure = asdict(Measure(beyond_batch=removed))
        names = ("spec_fingerprint", "content_fingerprint")
        values = dict.fromkeys(names, "") | measure | Effects(deleted=removed).as_dict() | WHOLE_TABLE
        values |= {"table_name": table, "table_version": 1, "batch_id": "dedupe", "step": "dedupe"}
        values |= {"state": str(State.PUBLISHED), "cutoff_ts": None, "seconds": None, "message": message}
        values |= {"consecutive_since": None, **window_values(None)}
        self._append(values | {"lane": self._attempt.lane, "attempt": str(self._attempt)})

    def _append(self, values: dict[str, Any]) -> tuple[int, datetime]:
        """Link an event to the one before it of the same partition, and write it; its id and the database's clock."""
        where = (values["table_name"], values["table_version"], values["partition_key"])
        rows = self._session.query(sql.previous_hash(*where))
        values["previous_hash"] = rows[0][0] if rows else ""
        values["hash"] = event_hash(values)
        [(event_id, recorded_at)] = self._session.query(sql.record_event(values))
        return event_id, recorded_at

    def _values(
        self,
        step: Step,
        name: str,
        state: State,
        effects: Effects,
        measure: Measure,
        message: str,
        seconds: float | None,
    ) -> dict[str, Any]:
        return {
            "table_name": step.table,
            "table_version": step.table_version,
            "partition_key": step.partition.key,
            "partition_start": step.partition.start,
            "partition_end": step.partition.end,
            "batch_id": step.manifest.batch_id,
            "step": name,
            "state": str(state),
            "spec_fingerprint": step.spec_fingerprint,
            "content_fingerprint": step.manifest.content_fingerprint,
            **effects.as_dict(),
            **{name: getattr(measure, name) for name in _MEASURED},
            "cutoff_ts": step.manifest.cutoff_ts or None,
            **window_values(step.manifest.window if (name, state) == ("stage_merge", State.PUBLISHED) else None),
            "consecutive_since": step.consecutive_since if self._attempt.lane == "scheduled" else None,
            "lane": self._attempt.lane,
            "attempt": str(self._attempt),
            "message": message,
            "seconds": seconds,
        }
