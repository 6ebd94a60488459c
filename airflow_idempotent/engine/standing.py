"""Which versions of a table there are: the journal's word, held against the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, replace

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.version import SHADOW, Version, VersionState
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import JournalError, TargetMissingError
from airflow_idempotent.sql import pointing
from airflow_idempotent.sql import swap as sql


@dataclass(frozen=True, slots=True)
class Facts:
    """A relation as the catalogue has it."""

    oid: int
    kind: str
    is_child: bool


@dataclass(frozen=True, slots=True)
class Standing:
    """The live version of a table, and all that the journal names."""

    live: Version
    versions: tuple[Version, ...]

    def number(self, number: int) -> Version | None:
        """The version of that number; the live one also when the journal does not know it yet."""
        if number == self.live.number:
            return self.live
        return next((version for version in self.versions if version.number == number), None)

    def of_oid(self, oid: int) -> Version | None:
        """The version that this table is; one that was dropped is none."""
        there = (item for item in self.versions if item.state is not VersionState.DROPPED)
        return next((item for item in there if item.oid == oid), None)

    @property
    def shadows(self) -> tuple[Version, ...]:
        """Versions that were never live."""
        return tuple(version for version in self.versions if version.state in SHADOW)

    @property
    def next_number(self) -> int:
        """A number that no version has had."""
        return max([self.live.number, *(version.number for version in self.versions)]) + 1


def facts_of(relation: Relation, session: Session) -> Facts | None:
    """What is called so now; None when nothing is."""
    rows = session.query(sql.facts_of(relation))
    return Facts(*rows[0]) if rows else None


def standing(live: Relation, session: Session, journal: Journal) -> Standing:
    """The versions of a table as they are.

    A live table that somebody has dropped and made anew is still the same version. Where readers read a view, the
    live version is the table below it.

    Raises:
        TargetMissingError: there is no table of that name.
        JournalError: the live version has another name now, and its place is taken; or the view shows something else.
    """
    table = str(live)
    versions = journal.versions(table)
    swapped = next((version for version in versions if version.state is VersionState.SWAPPED), None)
    if swapped and swapped.relation != live:
        _refuse_other_view(live, swapped, session)
        return Standing(swapped, versions)
    facts = facts_of(live, session)
    if facts is None:
        raise TargetMissingError(table=table, similar=session.similar(live))
    if swapped is None:
        return Standing(Version(table, 1, live, facts.oid, VersionState.SWAPPED), versions)
    if swapped.oid != facts.oid:
        _refuse_exchanged(swapped, facts, session)
        swapped = replace(swapped, oid=facts.oid, message="made anew outside")
    return Standing(swapped, versions)


def _refuse_exchanged(live: Version, found: Facts, session: Session) -> None:
    rows = session.query(sql.called_now(live.oid))
    if rows:
        now = Relation(*rows[0])
        raise JournalError(
            table=live.table,
            problems=(f"version {live.number} is called {now} now", f"{live.table} is another table (oid {found.oid})"),
        )


def _refuse_other_view(live: Relation, swapped: Version, session: Session) -> None:
    """The name that readers know must be a plain view of the version that is live."""
    rows = session.query(pointing.view_of(live))
    shape, facts = session.shape(swapped.relation), facts_of(swapped.relation, session)
    if not shape or not facts or facts.oid != swapped.oid:
        problem = f"version {swapped.number}, {swapped.relation}, is not there any more"
        raise JournalError(table=str(live), problems=(problem,))
    if not rows:
        problem = "it is no view"
    elif rows[0][3] != [swapped.oid]:
        problem = f"the view does not read {swapped.relation} alone, which is version {swapped.number}"
    elif not pointing.is_plain(rows[0][1]):
        problem = "the view was made anew by hand; a swap would undo what it does beyond showing all rows"
    else:
        return
    again = pointing.make_view(live, swapped.relation, shape.names, rows[0][2] if rows else ())
    raise JournalError(table=str(live), problems=(problem,), hint=f"Make it as it was, then run it again: {again}")
