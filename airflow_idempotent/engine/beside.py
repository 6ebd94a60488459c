"""Which versions of a table are loaded beside the live one, and by which spec each of them is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import SHADOW, Target, Version, VersionState
from airflow_idempotent.engine.attempts import Connect, look_at
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.ledger import Ledger
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.shadow import addressed, newest_retired
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.sql.ledger_schema import SCHEMA_VERSION
from airflow_idempotent.sql.swap import NOW

SpecT = TypeVar("SpecT", bound=LoadSpec)


@dataclass(frozen=True, slots=True)
class Beside:
    """A version that loads of the live table write too: the one that is built, or the one to go back to."""

    target: Target
    version: Version


def meant(spec: SpecT, target: Target, *, connect: Connect) -> SpecT:
    """The spec by which a partition of that table is landed and loaded now. Nothing is written.

    Only a table that is swapped has versions with specs of their own; for others it is the one given.

    Raises:
        ShadowError: the version was live before, or is not kept.
    """
    if not isinstance(spec, TableSpec) or spec.publish.mode == "direct":
        return spec

    def work(session: Session, ledger: Ledger) -> Any:
        if not _is_there(session, ledger):
            return spec.of_version(spec.table_version, beside=target == "shadow" and spec.table_version > 1)
        with session.transaction():
            return addressed(spec, target, session)

    found: SpecT = look_at(work, table=spec.table, partition="versions", connect=connect, timeouts=Timeouts())
    return found


def kept_up(spec: TableSpec, *, connect: Connect) -> tuple[Beside, ...]:
    """The versions that a load of the live table writes, too. Nothing is written here.

    The one that is being built, as long as it is not swapped in (``dual_write``), and the one that was live before,
    for ``rollback_window`` after the swap.
    """

    def work(session: Session, ledger: Ledger) -> tuple[Beside, ...]:
        if not _is_there(session, ledger):
            return ()
        with session.transaction():
            return tuple(_kept_up(spec, session))

    return look_at(work, table=spec.table, partition="versions", connect=connect, timeouts=Timeouts())


def _kept_up(spec: TableSpec, session: Session) -> Iterator[Beside]:
    journal = Journal(session)
    versions = {version.number: version for version in journal.versions(spec.table)}
    built = versions.get(spec.table_version)
    if spec.publish.dual_write and built and built.state in SHADOW and built.state is not VersionState.PLANNED:
        yield Beside("shadow", built)
    [(now,)] = session.query(NOW)
    retired = newest_retired(versions)
    is_due = retired and retired.since and now - retired.since < spec.publish.rollback_window
    if retired and is_due and journal.spec_of(spec.table, retired.number):
        yield Beside("retired", retired)


def _is_there(session: Session, ledger: Ledger) -> bool:
    """Whether there is a ledger, brought to this version if there is."""
    with session.transaction():
        version = ledger.version()
    if version and version < SCHEMA_VERSION:
        ledger.install()
    return bool(version)
