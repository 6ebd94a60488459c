"""A partition of a new version held against the live table: counts, digests, rows, totals, distributions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_idempotent.checks.against import rows_of
from airflow_idempotent.checks.check import Rows
from airflow_idempotent.checks.distribution import distance
from airflow_idempotent.checks.facts import Facts
from airflow_idempotent.checks.histograms import count_in_bins, profile_rows
from airflow_idempotent.checks.pairing import Pairing, repeated, shown_key
from airflow_idempotent.core.actions import MeasurePartition
from airflow_idempotent.core.columns import BATCH_ID, TableShape
from airflow_idempotent.core.divergence import Bounds, Comparison, Expected, Likeness, Unlike
from airflow_idempotent.core.profile import Profile, Sampling, is_measured, is_number
from airflow_idempotent.engine.baseline import hash_alike
from airflow_idempotent.engine.journal import Journal
from airflow_idempotent.engine.measuring import digest
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql import divergence as sql
from airflow_idempotent.sql.asked import asked, shown
from airflow_idempotent.sql.checks import target_place
from airflow_idempotent.sql.measure import measure_partition

SHOWN = 5
LISTED = 100
SAMPLE = 10_000
FEWEST = 100
"""Rows on either side below which a distribution tells nothing."""


def compare(load: Load, session: Session) -> Comparison:
    """Hold the partition of a version against the live table. Both are only read, in the caller's snapshot.

    Equal digests end it; else rows are paired by the key, or compared as sets where there is none.
    """
    spec = load.spec
    ours, theirs = session.shape(spec.relation), session.shape(Journal(session).live(spec.table)[1])
    by = spec.partition_column
    if ours is None or theirs is None:
        return Comparison(Likeness.NOT_COMPARED, reason="there is no live table")
    if by and (by not in theirs or by not in ours):
        return Comparison(Likeness.NOT_COMPARED, reason=f"the live table has no column {by!r}, which cuts partitions")
    expected = expected_of(spec)
    sides = _Sides(load, ours, theirs, expected, session)
    columns = tuple(_columns(ours, theirs, expected))
    (rows, mine), (live_rows, others) = sides.measured()
    facts = {"rows": rows, "live_rows": live_rows, "digest": mine, "live_digest": others}
    if mine == others and not sides.loose:
        return Comparison.of(columns, **facts)
    return Comparison.of((*columns, *sides.row_differences(live_rows)), **facts)


def expected_of(spec: LoadSpec) -> Expected:
    """The differences that the spec declares; none for the words of an operator."""
    publish = getattr(spec, "publish", None)
    return publish.expect.expected if publish is not None else Expected()


def is_compared(spec: LoadSpec) -> bool:
    """Whether partitions of the version are to be held against the live table."""
    publish = getattr(spec, "publish", None)
    return publish.compare if publish is not None else True


def _columns(ours: TableShape, theirs: TableShape, expected: Expected) -> Iterator[Unlike]:
    """Columns that only one has. Other types of the same column are told by its values."""
    for what, names, mine in (("new version", ours, True), ("live table", theirs, False)):
        other = theirs if mine else ours
        meant = expected.new_columns if mine else expected.dropped_columns
        for name in names.names:
            if name not in other and name != BATCH_ID:
                yield Unlike("columns", f"column {name} is only in the {what}", name in meant, name)


@dataclass
class _Sides:
    """The two partitions, and what is asked of both."""

    load: Load
    ours: TableShape
    theirs: TableShape
    expected: Expected
    session: Session

    def __post_init__(self) -> None:
        spec, partition = self.load.spec, self.load.partition
        self.by = spec.partition_column
        self.common = tuple(name for name in self.ours.names if name in self.theirs and name != BATCH_ID)
        self.facts = Facts(partition, self.ours, partition_column=self.by)
        place = target_place(self.ours, self.by, partition)
        self.here: Rows = place.rows
        self.there, binds = rows_of(self.theirs, self.facts, None)
        self.binds: Mapping[str, Any] = {**place.binds, **binds}

    @property
    def digested(self) -> tuple[str, ...]:
        """Columns whose equal values hash alike on both sides, and that must be equal."""
        kinds = ((name, self.ours[name].data_type, self.theirs[name].data_type) for name in self.common)
        alike = [name for name, mine, others in kinds if hash_alike(mine, others)]
        return tuple(name for name in alike if name not in self.expected.changed)

    @property
    def loose(self) -> bool:
        """Whether there are columns that the digests say nothing of."""
        return len(self.digested) < len(self.common)

    def measured(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """Rows and digest, over the columns that both can hash: of the version, and of the live table."""
        found = []
        for shape in (self.ours, self.theirs):
            columns = shape.select(self.digested)
            by = [shape[self.by]] if self.by and self.by not in self.digested else []
            action = MeasurePartition(shape.relation, self.by, self.load.partition)
            [(rows, total)] = self.session.query(measure_partition(action, replace(shape, columns=(*columns, *by))))
            found.append((rows, digest(rows, total)))
        return found[0], found[1]

    def row_differences(self, live_rows: int) -> Iterator[Unlike]:
        """What differs between the rows, with a few keys; then the totals and distributions of what differs."""
        key, reason = self._key()
        found = tuple(self._by_key(self._pairing(key), live_rows) if key else self._as_sets(live_rows, reason))
        yield from found
        differing = [item.column for item in found if item.column] if key else self.common
        yield from self._spread(differing if any(not item.expected for item in found) else ())

    # --- by key ---------------------------------------------------------------------------------------

    def _key(self) -> tuple[tuple[str, ...], str]:
        """The columns that tell rows apart on both sides; none, and why, where there are no such."""
        spec = self.load.spec
        key = spec.created_key or spec.unique_key
        if not key:
            return (), "without a unique_key rows are compared as they are"
        for side, shape, where in ((self.here, self.ours, "new version"), (self.there, self.theirs, "live table")):
            if missing := [name for name in key if name not in shape]:
                return (), f"the {where} has no column {missing[0]!r} of the key"
            if shape.is_unique(key) and not any(item.nullable for item in shape.select(key)):
                continue
            if self._ask(repeated(side, key)):
                return (), f"key ({', '.join(key)}) is not unique in the {where}: rows are compared as they are"
        return key, ""

    def _pairing(self, key: tuple[str, ...]) -> Pairing:
        columns = tuple(name for name in self.common if name not in key)
        bounds = {name: item for name, item in self.expected.changed.items() if name in columns}
        return Pairing(
            self.here,
            self.there,
            key,
            columns,
            self.ours,
            self.theirs,
            tolerance={name: item.absolute for name, item in bounds.items() if item.absolute is not None},
            share={name: item.share for name, item in bounds.items() if item.share is not None},
        )

    def _by_key(self, pairing: Pairing, live_rows: int) -> Iterator[Unlike]:
        """Rows that only one side has, then column by column how many differ."""
        [counts] = self._ask(pairing.counts())
        only_here, only_there, both, _ = counts[:4]
        yield from self._one_sided(only_here, only_there, live_rows, replace(pairing, columns=()))
        for name, count in zip(pairing.columns, counts[4:], strict=True):
            if count:
                yield self._values(name, count, both, replace(pairing, columns=(name,)))

    def _one_sided(self, added: int, removed: int, live_rows: int, pairing: Pairing) -> Iterator[Unlike]:
        most = {"new version": self.expected.added_rows, "live table": self.expected.removed_rows}
        for (where, share), count in zip(most.items(), (added, removed), strict=True):
            if count:
                found = self._keys(pairing, only_here=where == "new version")
                message = f"{count:,} rows are only in the {where}, which has {live_rows:,}"
                if where == "new version":
                    message = f"{count:,} rows are only in the {where}; the live table has {live_rows:,}"
                yield Unlike("rows", message, count <= share * live_rows, "", found, self._shown(pairing))

    def _values(self, name: str, count: int, both: int, pairing: Pairing) -> Unlike:
        bounds = self.expected.changed.get(name)
        beyond = " by more than expected" if bounds and bounds.binds_rows else ""
        message = f"{name} differs{beyond} in {count:,} of {both:,} rows"
        is_expected = bounds is not None and not bounds.binds_rows
        found = self._keys(pairing, only_both=True)
        return Unlike("values", message, is_expected, name, found, self._shown(pairing))

    def _keys(self, pairing: Pairing, *, only_here: bool = False, only_both: bool = False) -> tuple[str, ...]:
        """A few keys that differ so."""
        size, found = len(pairing.key), []
        for row in self._ask(pairing.examples(LISTED)):
            here, there = row[size : size + 2]
            wanted = (here and there) if only_both else (here if only_here else there) and not (here and there)
            if wanted:
                found.append(shown_key(row[:size]))
        return tuple(found[:SHOWN])

    def _shown(self, pairing: Pairing) -> str:
        return shown(pairing.examples(LISTED), self.binds, self.facts)

    # --- as sets --------------------------------------------------------------------------------------

    def _as_sets(self, live_rows: int, reason: str) -> Iterator[Unlike]:
        """Rows that the other side lacks, as often as it does; columns that may differ freely are left out."""
        free = self.expected.changed
        names = [name for name in self.common if name not in free]
        sides = (
            ("new version", self.expected.added_rows, self.here, self.there, self.ours, self.theirs),
            ("live table", self.expected.removed_rows, self.there, self.here, self.theirs, self.ours),
        )
        for where, share, mine, others, shape, other in sides:
            lacking = sql.without_counterpart(mine, others, names, shape, other)
            [(count,)] = self._ask(sql.count_of(lacking))
            if count:
                query = shown(lacking.copy().limit(LISTED), self.binds, self.facts)
                message = f"{count:,} rows are only in the {where} ({reason})"
                yield Unlike("rows", message, count <= share * live_rows, query=query)

    # --- totals and distributions ---------------------------------------------------------------------

    def _spread(self, names: Sequence[str]) -> Iterator[Unlike]:
        """The sums of columns that differ, and how their values are spread; bounds of the spec are kept here."""
        wanted = dict.fromkeys([*names, *(name for name in self.expected.changed if name in self.common)])
        numbers = [name for name in wanted if is_number(self.ours[name]) and is_number(self.theirs[name])]
        yield from self._totals(numbers)
        yield from self._distributions([name for name in wanted if self._is_spread_alike(name)])

    def _totals(self, names: Sequence[str]) -> Iterator[Unlike]:
        if not names:
            return
        [mine] = self._ask(sql.totals(self.here, self.ours.select(names)))
        [others] = self._ask(sql.totals(self.there, self.theirs.select(names)))
        for name, here, there in zip(names, mine, others, strict=True):
            if here == there or (here and there and float(here) == float(there)):
                continue
            share = _share(here, there)
            bounds = self.expected.changed.get(name)
            is_expected = bounds is not None and (bounds.total is None or share <= bounds.total)
            apart = f"{share:.3%} apart" if share < float("inf") else "apart"
            yield Unlike("total", f"sum({name}) is {here}, in the live table {there}: {apart}", is_expected, name)

    def _is_spread_alike(self, name: str) -> bool:
        return is_measured(self.ours[name]) == is_measured(self.theirs[name])

    def _distributions(self, names: Sequence[str]) -> Iterator[Unlike]:
        if not names:
            return
        key = [name for name in self.load.spec.unique_key if name in self.common]
        sampling = Sampling.of(key or self.common, SAMPLE, self.load.spec.table, self.load.partition.key)
        measured = {name: is_measured(self.ours[name]) for name in names}
        live = (self.there, self.theirs.select(names), self.theirs, sampling, self._count(self.there))
        mine = (self.here, self.ours.select(names), self.ours, sampling, self._count(self.here))
        if min(live[-1], mine[-1]) < FEWEST:
            return
        tree, binds = profile_rows(*live)
        before = Profile.read(self._ask(tree, binds), measured)
        tree, binds = count_in_bins(*mine, before)
        now = Profile.read(self._ask(tree, binds), measured, before)
        for name in names:
            if any(before.columns[name].spread) and any(now.columns[name].spread):
                yield self._distribution(name, distance(before.columns[name], now.columns[name]))

    def _distribution(self, name: str, psi: float) -> Unlike:
        bounds = self.expected.changed.get(name) or Bounds(distribution=0.25)
        most = bounds.distribution
        is_expected = most is None or psi <= most
        bound = "" if is_expected else f", more than {most:g}"
        return Unlike("distribution", f"{name} is spread otherwise: psi {psi:.3f}{bound}", is_expected, name)

    def _count(self, rows: Rows) -> int:
        [(count,)] = self._ask(sql.count_of(rows))
        return int(count)

    def _ask(self, tree: Any, binds: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        return self.session.query(asked(tree, {**self.binds, **(binds or {})}))


def not_comparable(reason: str) -> Comparison:
    """What stands for a comparison that the database refused."""
    return Comparison(Likeness.NOT_COMPARED, reason=reason)


def _share(here: str | None, there: str | None) -> float:
    """How far two sums are apart, as a part of the live one."""
    if here is None or there is None or not float(there):
        return float("inf")
    return abs(float(here) - float(there)) / abs(float(there))
