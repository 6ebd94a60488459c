"""Loading a version of a table that is built beside the live one."""

from __future__ import annotations

from typing import Literal

from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import SHADOW, Version, VersionState
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import facts_of
from airflow_idempotent.errors import ShadowError
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec


def addressed(spec: LoadSpec, target: Literal["live", "shadow"], session: Session) -> LoadSpec:
    """The spec for the table that is meant now: which version is live, only the journal knows.

    A shadow that has been swapped in meanwhile is the live table.

    Raises:
        ShadowError: the version was live before: rows must not get into what is kept to go back to.
    """
    journal = Journal(session)
    live, relation = journal.live(spec.table)
    if target == "live" or spec.table_version == live:
        return spec.of_version(live, behind=relation)
    known = {version.number: version for version in journal.versions(spec.table)}.get(spec.table_version)
    if known and known.state not in SHADOW:
        raise _was_live(spec, known)
    return spec.of_version(spec.table_version, shadow=True)


def write_down_shadow(spec: LoadSpec, session: Session, attempt: Attempt | None) -> None:
    """Say in the journal that this version is being built, unless it says so already; in a transaction of its own.

    A table that was made anew, or is built by another spec, is built from now on: what was loaded before does not
    count for a swap.
    """
    with session.transaction():
        journal = Journal(session, attempt)
        journal.lock_shared(spec.table)
        there = spec.of_version(spec.table_version, shadow=True)
        known = {version.number: version for version in journal.versions(spec.table)}.get(there.number)
        facts = facts_of(there.relation, session)
        if facts is None or (known and known.state not in SHADOW):
            return  # swapped in between; the load finds that out under its lock
        said = fingerprint(spec)
        if known is None or (known.oid, known.spec_fingerprint) != (facts.oid, said):
            version = Version(spec.table, there.number, there.relation, facts.oid, VersionState.BUILT)
            journal.record(version, VersionState.BUILT, spec_fingerprint=said)


def _was_live(spec: LoadSpec, version: Version) -> ShadowError:
    numbered = f"version {version.number} is {version.state} since {version.at}"
    return ShadowError(
        table=spec.table,
        shadow=str(version.relation),
        reasons=(numbered, "what was live before is not loaded any more"),
        hint=f"Raise table_version to a number that no version has had; "
        f"airflow-idempotent versions {spec.table} lists them.",
    )
