"""The params of a run: described for the trigger form, and read back with clear errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeVar
from zoneinfo import ZoneInfo

from airflow.providers.common.compat.sdk import Param

from airflow_idempotent.core.partition import Grain
from airflow_idempotent.errors import ParamsError
from airflow_idempotent.plan.resolve import Reprocess
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.words import meant

T = TypeVar("T")

NAMES = ("from_date", "to_date", "reprocess_behavior", "cutoff_ts", "target", "cutover", "dry_run", "force", "reason")
"""The params, in the order of the form."""

REPROCESS = {
    Reprocess.ALL: "all: every partition of the range",
    Reprocess.MISSING: "missing: those never loaded",
    Reprocess.FAILED: "failed: those whose last load or check failed",
    Reprocess.STALE: "stale: those loaded by another version of the spec",
    Reprocess.DRIFTED: "drifted: those in which an audit found something, loaded anew",
    Reprocess.CHANGED: "changed: all, rewritten only where the source changed",
}


@dataclass(frozen=True, slots=True)
class RunParams:
    """What a run was asked for; the defaults ask for nothing special."""

    from_date: datetime | None = None
    to_date: datetime | None = None
    reprocess: Reprocess = Reprocess.ALL
    cutoff_ts: datetime | None = None
    target: Literal["live", "shadow"] = "live"
    cutover: bool = False
    dry_run: bool = False
    force: bool = False
    reason: str = ""


def run_params(spec: LoadSpec) -> dict[str, Param]:
    """The params of a table's DAG, typed and described."""
    hourly = spec.grain is Grain.HOUR
    form, example = ("date-time", "2025-05-01T00:00:00Z") if hourly else ("date", "2025-05-01")
    return {
        "from_date": _text(None, form, "From", f"Begin of the range to load, e.g. {example}, in {spec.timezone}."),
        "to_date": _text(
            None,
            form,
            "To",
            "End of the range, **not included**. Both or neither: without them the run loads its own interval.",
        ),
        "reprocess_behavior": Param(
            Reprocess.ALL.value,
            type="string",
            enum=[item.value for item in REPROCESS],
            values_display={item.value: text for item, text in REPROCESS.items()},
            title="Which partitions of the range",
            description_md="Chosen by what the ledger says of each; only for a range.",
        ),
        "cutoff_ts": _text(
            None, "date-time", "Cutoff", "Instant that queries see as `:cutoff_ts`; default: when the run is planned."
        ),
        **_version_params(spec),
        "dry_run": Param(
            False, type="boolean", title="Dry run", description_md="Do everything, report exact effects, roll back."
        ),
        "force": Param(
            False,
            type="boolean",
            title="Force",
            description_md="Also load partitions of the range whose source did not change, and, by a strategy that "
            "deletes rows, batches that another version of the spec has published.",
        ),
        "reason": _text(None, None, "Reason", "Why this run; goes to its log."),
    }


def _version_params(spec: LoadSpec) -> dict[str, Param]:
    """What only a table that is swapped asks for."""
    publish = getattr(spec, "publish", None)
    if publish is None or publish.mode != "swap":
        return {}
    return {
        "target": Param(
            "live",
            type="string",
            enum=["live", "shadow"],
            title="Target",
            description_md="`live`: the table that readers read. `shadow`: version `table_version` of it, built "
            "beside it until it is swapped in.",
        ),
        "cutover": Param(
            False,
            type="boolean",
            title="Cutover",
            description_md="Swap version `table_version` in with this run, where `publish.cutover` is `manual`.",
        ),
    }


def _text(default: str | None, form: str | None, title: str, description: str) -> Param:
    schema: dict[str, Any] = {"format": form} if form else {}
    return Param(default, type=["null", "string"], title=title, description_md=description, **schema)


def read_params(spec: LoadSpec, conf: Mapping[str, Any] | None) -> RunParams:
    """What a run was triggered with; a name in it that we do not know is refused.

    Not read from the ``params`` of a task's context: Airflow keeps their values in the DAG object,
    so that one run's can be seen by the next of the same process.

    Raises:
        ParamsError: everything that is wrong with it.
    """
    given = conf or {}
    problems = [(name, f"unknown param{meant(name, NAMES)}") for name in given if name not in NAMES]

    def read(name: str, convert: Callable[[Any], T], default: T) -> T:
        value = given.get(name)
        if value is None or value == "":
            return default
        try:
            return convert(value)
        except (ValueError, TypeError) as error:
            problems.append((name, f"{value!r} {error}"))
            return default

    def instant(value: Any) -> datetime | None:
        return read_instant(value, spec.timezone)

    found = RunParams(
        from_date=read("from_date", instant, None),
        to_date=read("to_date", instant, None),
        reprocess=read("reprocess_behavior", _reprocess, Reprocess.ALL),
        cutoff_ts=read("cutoff_ts", instant, None),
        target=read("target", _target, "live"),
        cutover=read("cutover", read_flag, False),
        dry_run=read("dry_run", read_flag, False),
        force=read("force", read_flag, False),
        reason=read("reason", str, ""),
    )
    if problems:
        raise ParamsError(table=spec.table, problems=tuple(problems))
    return found


def read_instant(value: Any, zone: str) -> datetime:
    """A date or an instant, local to the zone where it says no other."""
    try:
        found = datetime.fromisoformat(str(value))
    except ValueError:
        raise ValueError("is not a date, write it like 2025-05-01 or 2025-05-01T06:00:00Z") from None
    return found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))


def _reprocess(value: Any) -> Reprocess:
    try:
        return Reprocess(value)
    except ValueError:
        words = [item.value for item in Reprocess]
        raise ValueError(f"is none of {', '.join(words)}{meant(str(value), words)}") from None


def _target(value: Any) -> Literal["live", "shadow"]:
    if value == "live":
        return "live"
    if value == "shadow":
        return "shadow"
    raise ValueError("is neither live nor shadow")


def read_flag(value: Any) -> bool:
    """True or false, and nothing that only looks like it."""
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false")
    return value
