"""How a broken law is told: which keys differ in what, and what to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.testing.trial import Texts, Trial

SAMPLES = 5
VALUES = 3
SHOWN = 40

Keyed = Mapping[Texts, list[dict[str, "str | None"]]]


def named(manifest: Manifest) -> str:
    """A batch as stories call it."""
    return f"{manifest.partition} #{manifest.revision}"


def differences(broken: Trial, clean: Trial) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What differs between two tables, and in which columns; a few samples, keys first."""
    names, found = broken.listing()
    _, expected = clean.listing()
    key = [name for name in broken.spec.unique_key if name in names] or list(names)
    there, wanted = _keyed(names, key, found), _keyed(names, key, expected)
    differing = sorted((one for one in there.keys() | wanted.keys() if there.get(one) != wanted.get(one)), key=str)
    lines = [f"{len(found)} rows instead of {len(expected)}; {_count(len(differing), 'key')} differ"]
    columns: dict[str, None] = {}
    for one in differing:
        columns |= dict.fromkeys(_columns(there.get(one, []), wanted.get(one, [])))
    lines += [f"{_key(key, one)}: {_told(there.get(one, []), wanted.get(one, []))}" for one in differing[:SAMPLES]]
    if len(differing) > SAMPLES:
        lines.append(f"and {len(differing) - SAMPLES} more")
    return tuple(lines), tuple(columns)


def rewritten(trial: Trial, rows: Sequence[Texts]) -> tuple[str, ...]:
    """Which rows were written although nothing was new."""
    key = trial.spec.unique_key or ("row",)
    lines = [_key(key, row) + " was written" for row in sorted(rows, key=str)[:SAMPLES]]
    more = [f"and {len(rows) - SAMPLES} more"] if len(rows) > SAMPLES else []
    return (*lines, *more) or ("rows vanished, or moved to another place",)


def hints(trial: Trial, columns: Iterable[str] = ()) -> tuple[str, ...]:
    """What is worth a look: columns that no batch fills, triggers, batches that nothing orders."""
    spec, found = trial.spec, []
    filled = {name for manifest in trial.manifests for part in manifest.parts for name in part.columns}
    if unfilled := [name for name in columns if name not in filled]:
        what = ", ".join(map(repr, unfilled))
        found.append(
            f"no batch fills {what}: a default or a trigger does. If it may differ, ignore it: ignore={unfilled!r}"
        )
    if triggers := trial.triggers():
        found.append(
            f"triggers of the table: {', '.join(triggers)}; what they write must not depend on how often they fire"
        )
    if spec.unique_key and not _ordered(spec) and len({manifest.partition for manifest in trial.manifests}) > 1:
        found.append("without 'version' nothing orders the rows of one key in two partitions: the last one loaded wins")
    return tuple(found)


def promise(spec: LoadSpec) -> str:
    """What the strategy promises, in its own words."""
    said = (spec.strategy.__doc__ or "").strip().splitlines()[0]
    version = f" The greatest {', '.join(spec.version)} of a key wins." if spec.version else ""
    return f"What {spec.strategy.kind} promises: {said}{version} Correct the spec or the table, then prove it again."


def _ordered(spec: LoadSpec) -> bool:
    """Whether a column says which of two rows is newer."""
    return bool(spec.version)


def _keyed(names: Sequence[str], key: Sequence[str], rows: Iterable[Texts]) -> Keyed:
    """Rows by their key. A key may have several: the versions of a history, or rows without any key."""
    found: dict[Texts, list[dict[str, str | None]]] = defaultdict(list)
    for row in sorted(rows, key=str):
        record = dict(zip(names, row, strict=True))
        found[tuple(record[name] for name in key)].append(record)
    return found


def _columns(there: Sequence[Mapping[str, str | None]], wanted: Sequence[Mapping[str, str | None]]) -> list[str]:
    """The columns in which the rows of a key differ, when it has as many here as there."""
    pairs = list(zip(there, wanted, strict=False)) if len(there) == len(wanted) else []
    return list(dict.fromkeys(name for ours, theirs in pairs for name in ours if ours[name] != theirs[name]))


def _told(there: Sequence[Mapping[str, str | None]], wanted: Sequence[Mapping[str, str | None]]) -> str:
    if len(there) != len(wanted):
        counts = f"{_count(len(there), 'row')} instead of {_count(len(wanted), 'row')}"
        return "is missing" if not there else "should not be there" if not wanted else counts
    ours, theirs = next((ours, theirs) for ours, theirs in zip(there, wanted, strict=True) if ours != theirs)
    different = [name for name in ours if ours[name] != theirs[name]]
    values = [f"{name} is {_value(ours[name])} instead of {_value(theirs[name])}" for name in different[:VALUES]]
    return ", ".join(values) + (f", and {len(different) - VALUES} columns more" if len(different) > VALUES else "")


def _key(names: Sequence[str], values: Texts) -> str:
    return ", ".join(f"{name}={_value(value)}" for name, value in list(zip(names, values, strict=False))[:VALUES])


def _value(value: str | None) -> str:
    if value is None:
        return "NULL"
    return repr(value if len(value) <= SHOWN else value[:SHOWN] + "…")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")
