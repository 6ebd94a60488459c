"""Loading a version of a table that is kept beside the live one: built until a swap, or kept after it."""

from __future__ import annotations

from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.version import SHADOW, Target, Version, VersionState
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.standing import facts_of
from airflow_idempotent.errors import ShadowError
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.written import from_text


def addressed(spec: LoadSpec, target: Target, session: Session) -> LoadSpec:
    """The spec for the table that is meant now: which version is live, only the journal knows.

    A shadow that has been swapped in meanwhile is the live table. A version that is not the one of the spec is loaded
    by the spec that it was loaded by before: a table keeps its meaning until it is swapped.

    Raises:
        ShadowError: the version was live before: rows must not get into what is kept to go back to. Or it is live, and
            was loaded by another spec: what was meant for a shadow must not get into what readers read.
    """
    journal = Journal(session)
    number, relation = journal.live(spec.table)
    if target == "live":
        return spec_of(spec, number, journal).of_version(number, behind=relation)
    versions = {version.number: version for version in journal.versions(spec.table)}
    if target == "retired":
        return _retired(spec, versions, journal, session)
    if spec.table_version == number:
        if _means_something_else(spec, journal):
            raise _needs_a_number(spec, journal)
        return spec.of_version(number, behind=relation)
    known = versions.get(spec.table_version)
    if known and known.state not in SHADOW:
        raise _was_live(spec, known)
    return spec.of_version(spec.table_version, beside=True, lands_apart=_has_own_source(spec, number, journal))


def told_of_change(spec: LoadSpec, session: Session) -> tuple[str, ...]:
    """For people, of a table that is published by swaps: the live version is loaded by a changed spec from now on."""
    if not isinstance(spec, TableSpec) or spec.publish.mode != "swap" or spec.is_beside:
        return ()
    journal = Journal(session)
    if spec.number != spec.table_version or not _means_something_else(spec, journal):
        return ()
    return (
        f"the spec has changed and table_version {spec.number} is live: what was loaded before keeps its meaning. To "
        f"rebuild all of it beside what readers read, set table_version: {_next_number(spec, journal)}",
    )


def _means_something_else(spec: LoadSpec, journal: Journal) -> bool:
    """Whether a version was loaded last by a spec that means something else than this one."""
    known = isinstance(spec, TableSpec) and journal.fingerprint_of(spec.table, spec.table_version)
    return bool(known) and known != fingerprint(spec)


def _next_number(spec: LoadSpec, journal: Journal) -> int:
    """A number that no version has had."""
    return max([spec.table_version, *(version.number for version in journal.versions(spec.table))]) + 1


def _needs_a_number(spec: LoadSpec, journal: Journal) -> ShadowError:
    number = spec.table_version
    return ShadowError(
        table=spec.table,
        shadow="",
        reasons=(f"version {number} is live and was loaded by another spec: nothing was loaded into it",),
        hint=f"Set table_version: {_next_number(spec, journal)}, then load target: shadow; readers notice nothing.",
    )


def spec_of(spec: LoadSpec, number: int, journal: Journal) -> LoadSpec:
    """The spec by which a version is loaded: this one if it is of that version, else the one that was kept for it.

    Where none was kept, because the version is older than its spec file, it is this one, too.
    """
    if number == spec.table_version or not isinstance(spec, TableSpec):
        return spec
    text = journal.spec_of(spec.table, number)
    return from_text(text, spec) if text else spec


def newest_retired(versions: dict[int, Version]) -> Version | None:
    """The version that was live before the present one; None when none is kept."""
    retired = [version for version in versions.values() if version.state is VersionState.RETIRED]
    return max(retired, key=lambda version: version.number, default=None)


def _retired(spec: LoadSpec, versions: dict[int, Version], journal: Journal, session: Session) -> LoadSpec:
    """The spec of the version that was live before, as it is kept beside the live one.

    Raises:
        ShadowError: there is none, or nobody knows by which spec it was loaded.
    """
    kept = newest_retired(versions)
    if kept is None:
        raise _cannot_be_kept_up(spec, "", "no version before it is kept")
    text = journal.spec_of(spec.table, kept.number)
    if not text or not isinstance(spec, TableSpec):
        why = f"by which spec version {kept.number} was loaded is not known"
        raise _cannot_be_kept_up(spec, str(kept.relation), why)
    facts = facts_of(kept.relation, session)
    if facts is None or facts.oid != kept.oid:
        raise _cannot_be_kept_up(spec, str(kept.relation), "it is not there any more, or another table")
    found, (live, _) = from_text(text, spec), journal.live(spec.table)
    apart = found.source != getattr(spec_of(spec, live, journal), "source", None)
    return found.of_version(kept.number, beside=True, lands_apart=apart)


def _has_own_source(spec: LoadSpec, live: int, journal: Journal) -> bool:
    """Whether the rows of a version come from elsewhere than those of the live one."""
    return getattr(spec, "source", None) != getattr(spec_of(spec, live, journal), "source", None)


def write_down_shadow(spec: LoadSpec, session: Session, attempt: Attempt | None) -> None:
    """Say in the journal that this version is being built, unless it says so already; in a transaction of its own.

    A table that was made anew, or is built by another spec, is built from now on: what was loaded before does not
    count for a swap.
    """
    with session.transaction():
        journal = Journal(session, attempt)
        journal.lock_shared(spec.table)
        there = spec.of_version(spec.table_version, beside=True)
        known = {version.number: version for version in journal.versions(spec.table)}.get(there.number)
        facts = facts_of(there.relation, session)
        if facts is None or (known and known.state not in SHADOW):
            return  # swapped in between; the load finds that out under its lock
        said = fingerprint(spec)
        if known is None or (known.oid, known.spec_fingerprint) != (facts.oid, said):
            version = Version(spec.table, there.number, there.relation, facts.oid, VersionState.BUILT)
            journal.record(version, VersionState.BUILT, spec_fingerprint=said)


def _cannot_be_kept_up(spec: LoadSpec, retired: str, reason: str) -> ShadowError:
    hint = f"A rollback goes back to its rows as they are; airflow-idempotent versions {spec.table} lists what is kept."
    return ShadowError(table=spec.table, shadow=retired, reasons=(reason,), hint=hint)


def _was_live(spec: LoadSpec, version: Version) -> ShadowError:
    numbered = f"version {version.number} is {version.state} since {version.at}"
    return ShadowError(
        table=spec.table,
        shadow=str(version.relation),
        reasons=(numbered, "what was live before is not loaded any more"),
        hint=f"Raise table_version to a number that no version has had; "
        f"airflow-idempotent versions {spec.table} lists them.",
    )
