"""The neutral words of a case as the operators' own parameters, and what there is no word for yet.

``…_words`` translate, ``lacking_…`` say why that cannot be done: (reason, whether the rest makes sense alone).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from airflow_idempotent.checks import ALIASES, CHECKS
from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.strategies import STRATEGIES
from tests.cases.case import Step

DAY = "2025-05-01"
"""The partition of a step that names none."""

CHECKS_LATER = "issue 4"
MODES = {"snapshot_replace": "snapshot"}
"""What cases call a strategy, where that is not its name."""
ON_DRIFT = {
    "fail": "fail",
    "ignore": "ignore",
    "add": "append_new_columns",
    "widen": "sync_all_columns",
}
_COMPARISONS = {"ge": "geq_to", "le": "leq_to", "gt": "greater_than", "lt": "less_than", "eq": "equal_to"}
"""Words for bounds of a number."""
_BOUNDS = {"min_rows": "min", "max_rows": "max"}
"""Words for bounds of the number of rows."""


# --- what there is no word for yet ----------------------------------------------------------------


def lacking_load_words(step: Step) -> Iterator[tuple[str, bool]]:
    """What a step asks of a load that no operator can do yet."""
    mode, drift = MODES.get(step.get("mode"), step.get("mode", "merge")), step.get("on_drift", "fail")
    if mode not in STRATEGIES:
        yield f"strategy {mode}", True
    if drift not in ON_DRIFT:
        yield f"on_drift {drift}", True
    yield from lacking_partition(step)


def lacking_check_words(step: Step) -> Iterator[tuple[str, bool]]:
    """The checks that do not exist yet; where others do, the step makes sense with those."""
    missing = [kind for kind in map(_kind, step.get("checks") or ()) if kind not in {*CHECKS, *ALIASES}]
    if missing:
        kinds = ", ".join(dict.fromkeys(missing))
        yield f"check {kinds}: {CHECKS_LATER}", len(missing) == len(step["checks"])
    yield from lacking_partition(step)


def lacking_partition(step: Step) -> Iterator[tuple[str, bool]]:
    """Partitions that are none of ours."""
    if (given := step.get("partition")) is not None:
        try:
            partition_words(given)
        except (ValueError, KeyError) as error:
            yield f"partition {error}", True


# --- words of ours --------------------------------------------------------------------------------


def partition_words(given: Any) -> dict[str, Any]:
    """``partition``, ``partition_by`` and ``timezone`` of an operator.

    Raises:
        ValueError: it is not one partition.
        KeyError: it has a word that we do not know.
    """
    if given is None:
        return {"partition": DAY}
    if not isinstance(given, Mapping):
        return {"partition": str(given)}
    if unknown := given.keys() - {"column", "start", "end", "local_day", "month", "timezone"}:
        raise KeyError(f"word {', '.join(sorted(unknown))}")
    zone = given.get("timezone", "UTC")
    found, grain = _partition(given, zone)
    by = {"column": given["column"]} if "column" in given else {}
    return {"partition": found.key, "partition_by": {**by, "grain": str(grain)}, "timezone": zone}


def _partition(given: Mapping[str, Any], zone: str) -> tuple[Partition, Grain]:
    if "local_day" in given:
        return Grain.DAY.parse(str(given["local_day"]), zone), Grain.DAY
    if "month" in given:
        return Grain.MONTH.parse(str(given["month"]), zone), Grain.MONTH
    start, end = (instant(given[bound], zone) for bound in ("start", "end"))
    for grain in Grain:
        found = grain.partition(start, zone)
        if (found.start, found.end) == (start, end):
            return found, grain
    raise ValueError(f"from {start.isoformat()} to {end.isoformat()} is not one hour, day, week, month or year")


def instant(value: Any, zone: str = "UTC") -> datetime:
    """A date or time of a case as an instant."""
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day, tzinfo=ZoneInfo(zone))
    found = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    return (found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)


def check_words(checks: Any) -> list[Any]:
    """``checks`` of an operator, without those that do not exist yet."""
    return [_check(entry) for entry in checks or () if _kind(entry) in {*CHECKS, *ALIASES}]


def _kind(entry: Any) -> str:
    """The first word of a check says which it is; further ones are its options."""
    word = str(next(iter(entry)) if isinstance(entry, Mapping) else entry)
    return "row_count" if word in _BOUNDS else word


def _check(entry: Any) -> Any:
    if isinstance(entry, Mapping) and next(iter(entry)) in _BOUNDS:
        return {"row_count": {_BOUNDS.get(name, name): value for name, value in entry.items()}}
    if isinstance(entry, Mapping) and list(entry) == ["max"]:  # of times: whatever it is, it must be read and compared
        entry = {**entry, "le": "infinity"}
    if not isinstance(entry, Mapping) or len(entry) == 1:
        return entry
    kind = _kind(entry)
    check = CHECKS[ALIASES.get(kind, kind)]
    options = {_COMPARISONS.get(name, name): entry[name] for name in entry if name != kind}
    return {kind: {check.shorthand: entry[kind], **options}}


def load_words(step: Step) -> dict[str, Any]:
    """The words of StageMergeOperator; those that need the table or a connection are left to the caller."""
    words = {
        "unique_key": _listed(step.get("keys")),
        "version": _listed(step.get("version")),
        "strategy": _strategy(step),
        "on_schema_change": ON_DRIFT.get(step["on_drift"]) if "on_drift" in step else None,
        "statement_timeout": seconds(step.get("statement_timeout")),
        "lock_timeout": seconds(step.get("lock_timeout")),
        "checks": check_words(step["checks"]) if "checks" in step else None,
        "on_empty": step.get("on_empty"),
        **partition_words(step.get("partition")),
    }
    return {name: value for name, value in words.items() if value is not None}


def _strategy(step: Step) -> Any:
    """The mode, with its options where a step gives some."""
    if "unchanged_columns_field" in step:
        return {"kind": step["mode"], "unchanged_column": step["unchanged_columns_field"]}
    mode = step.get("mode")
    return MODES.get(mode, mode)


def csv_words(step: Step) -> dict[str, str]:
    """Options of a CSV file."""
    names = {"encoding": "encoding", "delimiter": "delimiter", "quote": "quote", "null": "null", "null_marker": "null"}
    return {ours: str(step[theirs]) for theirs, ours in names.items() if theirs in step}


def seconds(value: Any) -> float | None:
    """A duration: ``60s``, ``200ms``, ``1m``, or a number of seconds."""
    if value is None or isinstance(value, (int, float)):
        return value
    units = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600}
    text = str(value).strip()
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    return timedelta(seconds=float(number) * units[text[len(number) :] or "s"]).total_seconds()


def _listed(value: Any) -> list[str] | None:
    return None if value is None else [value] if isinstance(value, str) else list(value)
