"""A spec in words: what will happen to its table, and what will not. Pure: no clock, no database, no files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from airflow_idempotent.core.manifest import batch_folder, batch_id
from airflow_idempotent.core.staged import Numbered
from airflow_idempotent.plan.rules import EMPTY, SCHEMA, bad, conflict, late, misplaced, null_key, rerun
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.python_source import OFFERED, Python
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import PRESETS, TableSpec
from airflow_idempotent.spec.transform import Transform
from airflow_idempotent.sql.user_query import one_line

DEFAULT_ROOT = "<landing_root>"


@dataclass(frozen=True, slots=True)
class Topic:
    """One thing a user may ask. ``inherited`` are the options behind the answer that ``defaults.yml`` gave."""

    name: str
    text: str
    inherited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Explanation:
    """What a spec means, topic by topic."""

    table: str
    fingerprint: str
    topics: tuple[Topic, ...]

    def __getitem__(self, name: str) -> str:
        return next(topic.text for topic in self.topics if topic.name == name)


# Topic, the options it speaks of.
_OPTIONS = {
    "description": ("description",),
    "dag": ("dag_id", "owner", "tags", "pool", "retries", "retry_delay", "max_active_runs"),
    "schedule": ("schedule", "timezone", "catchup"),
    "partitions": ("partition_by", "event_time", "start_date", "end_date", "timezone"),
    "source": ("source",),
    "landing": ("landing",),
    "target": (
        "table",
        "table_version",
        "publish",
        "conn_id",
        "columns",
        "fillfactor",
        "lock_timeout",
        "statement_timeout",
    ),
    "key": ("unique_key",),
    "conflict": ("version",),
    "strategy": ("strategy",),
    "late data": ("late_data",),
    "other days": ("on_outside_partition", "on_event_time_missing"),
    "bad data": ("checks", "reject"),
    "empty partition": ("on_empty",),
    "schema change": ("on_schema_change",),
    "backfill": ("backfill",),
    "audit": ("audit",),
}


def explain(spec: TableSpec, inherited: Collection[str] = ()) -> Explanation:
    """The spec in words. ``inherited`` are the dotted names of the options that ``defaults.yml`` gave."""
    topics = []
    own = spec.strategy.says(Numbered(spec.live, spec.table_version), spec.unique_key, spec.version)
    for name, general in _topics(spec):
        text = own.get(name, general)
        options = _OPTIONS.get(name, ())
        given = tuple(option for option in inherited if option.split(".")[0] in options)
        topics.append(Topic(name, text, given))
    return Explanation(spec.table, fingerprint(spec), tuple(topics))


def inherited_options(defaults: Mapping[str, Any], own: Mapping[str, Any], above: str = "") -> tuple[str, ...]:
    """The dotted names of options that the file leaves to ``defaults.yml``."""
    found: list[str] = []
    for name, value in defaults.items():
        if name not in own:
            found.append(above + name)
        elif isinstance(value, Mapping) and isinstance(own[name], Mapping):
            found += inherited_options(value, own[name], f"{above}{name}.")
    return tuple(found)


def _topics(spec: TableSpec) -> Iterator[tuple[str, str]]:
    if spec.description:
        yield "description", spec.description
    yield "dag", _dag(spec)
    yield "schedule", _schedule(spec)
    yield "partitions", _partitions(spec)
    yield "source", _source(spec)
    yield "landing", _landing(spec)
    yield "target", _target(spec)
    yield "key", f"{_listed(spec.unique_key)}: what tells which row is which." if spec.unique_key else "None."
    yield "conflict", conflict(spec)
    yield "strategy", f"{spec.strategy.kind}: {_first_paragraph(spec.strategy)}"
    yield "re-run", rerun(spec)
    yield "late data", late(spec)
    yield "other days", misplaced(spec)
    yield "bad data", bad(spec)
    yield "NULL key", null_key(spec)
    yield "empty partition", EMPTY[spec.on_empty]
    yield "schema change", SCHEMA[spec.on_schema_change]
    yield "backfill", _backfill(spec)
    yield "audit", _audit(spec)


def _dag(spec: TableSpec) -> str:
    tags = f", tags {', '.join(spec.tags)}" if spec.tags else ""
    pool = f", pool {spec.pool}" if spec.pool else ""
    retries = f"{spec.retries} retries, each after {_seconds(spec.retry_delay)}" if spec.retries else "no retries"
    return f"{spec.id}, owner {spec.owner}{tags}{pool}; {retries}; scheduled runs at once: {spec.max_active_runs}."


def _schedule(spec: TableSpec) -> str:
    if not spec.schedule:
        return "None: runs are triggered by hand or by a backfill."
    if spec.schedule.upper().startswith("P"):
        timetable = f"DeltaDataIntervalTimetable({spec.schedule})"
    else:
        cron = PRESETS[spec.schedule][0] if spec.schedule in PRESETS else spec.schedule
        timetable = f'CronDataIntervalTimetable("{cron}", timezone="{spec.timezone}")'
    missed = "are run" if spec.catchup else "are left out"
    return f"{spec.schedule} as {timetable}; a run starts when its interval has ended; missed intervals {missed}."


def _partitions(spec: TableSpec) -> str:
    first = spec.grain.partition(spec.begin, spec.timezone)
    last = spec.grain.partition(spec.end - timedelta(microseconds=1), spec.timezone) if spec.end else None
    until = f"the last is {last.key}" if last else "no end"
    column = spec.partition_column
    belongs = f"a row belongs where its {column} lies" if column else "no column says where a row belongs"
    declared = (
        "; the table is PARTITION BY RANGE, with one child table per partition" if spec.partition_by.declarative else ""
    )
    bounds = f"half-open: {first.start.isoformat()} <= t < {first.end.isoformat()}"
    return (
        f"One per {spec.grain} in {spec.timezone}, the first is {first.key} ({bounds}), {until}; {belongs}{declared}."
    )


def _source(spec: TableSpec) -> str:
    source = spec.source
    if isinstance(source, Files):
        return f"Files {source.path} ({_format(source)})."
    if isinstance(source, Python):
        given = ", ".join([*OFFERED, *(f"{name}={value!r}" for name, value in source.kwargs.items())])
        return f"The rows that {source.callable} yields; it gets those of {given} that it names."
    if isinstance(source, Transform):
        reads = _listed([str(table) for table in source.tables]) or "no table"
        binds = _listed([f":{name}" for name in source.binds]) or "none"
        return f"SQL inside the warehouse. Reads: {reads}. Binds: {binds}. {one_line(source.sql)}"
    cursor = f", incremental by {source.cursor}" if source.cursor else ""
    return f"A query over connection {source.conn_id}{cursor}: {' '.join(source.sql.split())}"


def _format(source: Files) -> str:
    csv = source.csv
    match source.format:
        case "csv":
            header = "" if csv.header else ", no header"
            return f"csv, {csv.encoding}, delimiter {csv.delimiter!r}, NULL is unquoted {csv.null!r}{header}"
        case "jsonl":
            return "jsonl, one JSON object a line; a key that is missing or null is NULL"
        case "parquet":
            return "parquet, nothing is rounded; nested values become JSON, or arrays where the column is one"


def _landing(spec: TableSpec) -> str:
    first = spec.grain.partition(spec.begin, spec.timezone)
    root = (spec.landing.root or DEFAULT_ROOT).rstrip("/")
    folder = batch_folder(spec.table, first.key, batch_id(first.compact, 1))
    if isinstance(spec.source, Transform):
        pinned = "the query and the values of its binds, no rows"
        return f"{root}/{folder}/_manifest.json pins {pinned}. The same again is the same batch."
    changed = {"new_batch": "lands as the next batch", "fail": "is refused"}[spec.landing.on_source_change]
    kept = f"the newest {spec.landing.keep_batches} stay"
    kind = spec.source.format if isinstance(spec.source, Files) else "csv"
    return (
        f"{root}/{folder}/part-00000.{kind}, and _manifest.json as the commit point. Other content {changed}; {kept}."
    )


def _target(spec: TableSpec) -> str:
    made = "must exist, since the spec has no columns"
    if spec.columns:
        made = f"created with {len(spec.columns)} columns when it does not exist"
    waits = f"it waits {_seconds(spec.lock_timeout)} for a lock"
    said = f"{spec.table} over connection {spec.conn_id}; {made}. One transaction per partition; {waits}."
    return f"{said} {_versions(spec)}".rstrip()


def _versions(spec: TableSpec) -> str:
    """How readers come to read it; nothing where loads write what they read."""
    shadow = spec.of_version(spec.table_version, beside=True).relation
    built = f"Loads with target shadow build version {spec.table_version} as {shadow}"
    if spec.publish.mode != "swap":
        return f"{built}; it is swapped in by hand." if spec.table_version > 1 else ""
    publish = spec.publish
    when = "after somebody said yes, " if publish.cutover == "manual" else ""
    when += f"between {spec.cutover_window}, " if spec.cutover_window else ""
    both = ", and so do loads of the live table as soon as it is begun" if publish.dual_write else ""
    alike = " and are as there, but for what publish.expect says" if publish.compare else ""
    ready = f"once all partitions of the live table are in it, are validated{alike}"
    return f"{built}{both}; it is swapped in, {when}{ready}."


def _audit(spec: TableSpec) -> str:
    if not spec.audit:
        return "None. By hand: airflow-idempotent audit."
    when = spec.audit.schedule or "when it is triggered"
    sample = spec.audit.sample
    many = {"all": "every published partition"}.get(str(sample), f"{sample} of the published partitions")
    ending = "fails the task 'alarm'" if spec.audit.on_drift == "fail" else "is logged"
    again = "; queries and functions of the source are run again" if spec.audit.requery else ""
    return f"{spec.audit_id}, {when}: {many}, longest waiting first; what is found first {ending}{again}."


def _backfill(spec: TableSpec) -> str:
    per_task, at_once = spec.backfill.partitions_per_task, spec.backfill.max_active_tasks
    return f"{per_task} partition(s) per task, at most {at_once} tasks of this table at once."


def _first_paragraph(value: object) -> str:
    return " ".join((type(value).__doc__ or "").split("\n\n")[0].split())


def _listed(names: Collection[str]) -> str:
    return ", ".join(names)


def _seconds(value: float) -> str:
    return f"{value:g} s"
