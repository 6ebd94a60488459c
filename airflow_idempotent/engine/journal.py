"""The journal of versions: append-only, written in the transaction of the exchange that it speaks of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from airflow_idempotent.core.locks import locks_of
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import Version, VersionState
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import version_journal as sql
from airflow_idempotent.sql.ledger import LOCK_SHARED
from airflow_idempotent.sql.statement import Statement

FOUND_LIVE = "found live, nothing was done"


class Journal:
    """The journal as one attempt sees it. Everything it writes belongs to the session's transaction."""

    def __init__(self, session: Session, attempt: Attempt | None = None) -> None:
        self._session = session
        self._attempt = attempt or Attempt()

    @property
    def run(self) -> str:
        """Who this is, whatever try of it; empty outside Airflow."""
        return run_of(self._attempt)

    def versions(self, table: str | None) -> tuple[Version, ...]:
        """Every version that was ever written down, as its newest entry has it, in order of their numbers."""
        return tuple(map(_version, self._session.query(sql.present(table))))

    def live(self, table: str) -> tuple[int, Relation]:
        """The number of the version that is live, and the table that it is: 1 and itself where it was never swapped."""
        rows = self._session.query(sql.live(table))
        return (int(rows[0][0]), Relation.parse(rows[0][1])) if rows else (1, Relation.parse(table))

    def made_by_this_run(self, table: str, state: VersionState) -> Version | None:
        """The last version that this run, in an earlier try, brought into that state."""
        if not self.run:
            return None
        rows = self._session.query(sql.of_run(table, self.run, str(state)))
        return _version(rows[0]) if rows else None

    def record(self, version: Version, state: VersionState, **changes: Any) -> Version:
        """Append an entry: this version, in this state, by this run."""
        entry = replace(version, state=state, run=self.run, attempt=str(self._attempt), since=None, **changes)
        return self._append(entry)

    def note(self, version: Version, **changes: Any) -> Version:
        """Append an entry that leaves a version in the state in which it is, by whom and since when it is in it."""
        return self._append(replace(version, **changes))

    def note_found(self, live: Version) -> None:
        """Append that this run has found a version live and had nothing to do; the version stays as it is known.

        So a run that is cleared weeks later, after another swap, is known to be an old one.
        """
        if self.run:
            self._append(replace(live, run=self.run, attempt=str(self._attempt), message=FOUND_LIVE))
            self._append(live)

    def _append(self, entry: Version) -> Version:
        [(since,)] = self._session.query(sql.record(entry))
        return replace(entry, since=since)

    def keep_spec(self, table: str, number: int, fingerprint: str, spec: str) -> None:
        """Write down by which spec a version is loaded, unless that is known."""
        self._session.execute(sql.record_spec(table, number, fingerprint, spec))

    def fingerprint_of(self, table: str, number: int) -> str:
        """What the spec by which a version was loaded last meant; empty when it was not kept."""
        rows = self._session.query(sql.spec_of(table, number))
        return str(rows[0][1]) if rows else ""

    def spec_of(self, table: str, number: int) -> str:
        """The spec by which a version was loaded last, as it was kept; empty when it was not."""
        rows = self._session.query(sql.spec_of(table, number))
        return str(rows[0][0]) if rows else ""

    def lock_shared(self, table: str) -> None:
        """Keep swaps of the table out until the transaction ends; loads of it go on."""
        with self._session.waiting():
            self._session.query(Statement(LOCK_SHARED, {"key": locks_of(table, "")[0]}))


def run_of(attempt: Attempt) -> str:
    """One task of one run, whatever try of it; empty outside Airflow."""
    mapped = f"[{attempt.map_index}]" if attempt.map_index >= 0 else ""
    return f"{attempt.dag_id}/{attempt.run_id}/{attempt.task_id}{mapped}" if attempt.dag_id else ""


def _version(row: Sequence[Any]) -> Version:
    table, number, relation, oid, state, source, fingerprint, names, pinned, run, attempt, message, since = row
    pairs = json.loads(names) if isinstance(names, str) else names
    return Version(
        table=table,
        number=number,
        relation=Relation.parse(relation),
        oid=oid,
        state=VersionState(state),
        source=source,
        spec_fingerprint=fingerprint,
        names=tuple((new, old) for new, old in pairs),
        pinned=pinned,
        run=run,
        attempt=attempt,
        message=message,
        since=since,
    )
