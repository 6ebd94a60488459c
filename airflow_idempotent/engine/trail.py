"""Verifying the audit trail: nobody has altered an event, and none is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import groupby
from typing import Any

from airflow_idempotent.core.trail import Break, Broken, Trail
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.event_values import event_hash
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.refusals import is_driver_error, refusal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql import trail as sql

Event = Mapping[str, Any]
Told = Callable[[str, int], None]
"""Told (table, events of it) after each table."""


def verify_trail(connect: Connect, table: str | None = None, told: Told | None = None) -> Trail:
    """Every chain of a table, or of all tables, verified link by link. Nothing is written.

    Each event holds a SHA-256 of what it says and of the event before it (a hash chain: Haber and Stornetta,
    1991), so one that was altered, taken out or put in between shows, whoever did it and with whatever rights. Who
    may write to the ledger could compute a whole chain anew: keep the newest hashes elsewhere to rule that out.

    Raises:
        DatabaseError: the ledger cannot be read.
    """
    with closing(connect()) as connection:
        session, found = Session(connection), Trail()
        try:
            with session.transaction(snapshot=True):
                if not Ledger(session).version():
                    return found
                for name in [table] if table else [name for (name,) in session.query(sql.TABLES)]:
                    of_table = _verified(name, session)
                    found += of_table
                    if told:
                        told(name, of_table.events)
        except Exception as error:
            if not is_driver_error(error):
                raise
            raise refusal(error, table or "all tables", "audit trail") from error
        return found


def _verified(table: str, session: Session) -> Trail:
    rows = session.query(sql.trail_of(table))
    events = [dict(zip(sql.TRAIL_COLUMNS, row, strict=True)) for row in rows]
    newest: dict[tuple[int, str], int] = {}
    broken: list[Broken] = []
    for chain, links in groupby(events, key=lambda event: (event["table_version"], event["partition_key"])):
        of_chain = list(links)
        newest[chain] = of_chain[-1]["event_id"]
        broken += _breaks(of_chain)
    for version, partition, event in session.query(sql.heads_of(table)):
        if newest.get((version, partition), 0) < event:
            message = f"event {event}, which was the newest of the partition, is gone"
            broken.append(Broken(table, version, partition, event, Break.MISSING, message))
    return Trail(len(events), len(newest), tuple(broken))


def _breaks(chain: Iterable[Event]) -> Iterator[Broken]:
    """What is wrong with the links of one chain."""
    before, at = "", 0
    for event in chain:
        where = (event["table_name"], event["table_version"], event["partition_key"], event["event_id"])
        said = {name: value for name, value in event.items() if name != "event_id"}
        if event_hash(said) != event["hash"]:
            yield Broken(*where, Break.ALTERED, f"event {where[-1]} does not say what was written")
        if event["previous_hash"] != before:
            place = f"between events {at} and {where[-1]}" if at else f"before event {where[-1]}"
            yield Broken(*where, Break.MISSING, f"{place} one is gone, or was altered together with its hash")
        before, at = event["hash"], event["event_id"]
