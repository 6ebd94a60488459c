"""What becomes of rows, in words: conflicts, re-runs, late and bad data."""

from __future__ import annotations

from datetime import timedelta

from airflow_idempotent.core.verdict import Severity
from airflow_idempotent.spec.source import Query
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform


def conflict(spec: TableSpec) -> str:
    """What decides between two rows of one key."""
    if winner := spec.strategy.winner(spec.version):
        return winner
    if not spec.version:
        return "No version: the newest batch of a partition wins; inside a batch, the row's content decides."
    equal = "equal ones are decided by the row's content, so that the order of loading never matters"
    return f"{', '.join(spec.version)}: the greatest wins, NULL is lowest; {equal}."


def rerun(spec: TableSpec) -> str:
    """What loading the same again does."""
    if isinstance(spec.source, Transform):
        again = "The query always runs again, and only rows that differ are written: none when its inputs are the same"
        return f"{again} (0 inserted, updated, deleted). Other partitions and keys are left alone."
    again = "The same source gives the same batch, and loading it again writes nothing (0 inserted, updated, deleted)"
    return f"{again}. {spec.strategy.said_of_older}"


def misplaced(spec: TableSpec) -> str:
    """What becomes of rows of other days, and of those without a time."""
    if not spec.partition_column:
        return "No column says when a row happened: all rows of the batch are loaded."
    names = {"include": "are loaded", "exclude": "are left out and counted as rejected", "raise": "refuse the batch"}
    outside, missing = (names[spec.policy_for(name)] for name in ("on_outside_partition", "on_event_time_missing"))
    return f"Rows whose time lies outside the partition {outside}; rows without a time {missing}."


def late(spec: TableSpec) -> str:
    """What becomes of rows that come after their partition was loaded."""
    if isinstance(spec.source, Query) and spec.source.cursor:
        return _incremental(spec, spec.source)
    reads = "Scheduled runs do not look back (late_data.lookback is 0)"
    if count := spec.late_data.lookback:
        reads = f"Each scheduled run also reads the {count} partition(s) before its own again"
        reads += ", and rewrites those whose content changed"
    if spec.late_data.cutoff is not None:
        reads += f"; :cutoff_ts is {_span(spec.late_data.cutoff)} after the end of the interval"
    corrected = "a corrected file becomes a new batch"
    if isinstance(spec.source, Transform):
        corrected = "rows that have come into its inputs since are seen"
    return f"{reads}; {spec.strategy.late or f'{corrected} when its partition is run again'}."


def _incremental(spec: TableSpec, source: Query) -> str:
    """From where an incremental query is read."""
    lag, back = spec.late_data.watermark_lag, spec.late_data.lookback
    below = f"{_span(lag)} below the watermark" if lag else "the watermark"
    own = f"its own partition, by {spec.partition_column}" if source.initial_value is not None else "its own partition"
    further = f", or {back} partition(s) before its own" if back else ""
    null = {"raise": "refuse the batch", "include": "are landed with each batch", "exclude": "are left out and counted"}
    return (
        f"A scheduled run reads from {below} on (the greatest {source.cursor} published without a gap){further}, ties "
        f"included; any other run reads {own}. Rows without {source.cursor} {null[source.on_cursor_null]}."
    )


def _span(value: timedelta | int) -> str:
    if isinstance(value, int):
        return str(value)
    seconds = int(value.total_seconds())
    units = ((86_400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    return next((f"{seconds // size} {unit}" for size, unit in units if seconds and seconds % size == 0), "0 s")


def bad(spec: TableSpec) -> str:
    """What keeps rows out."""
    gates = [check.label for check in spec.checks if check.severity is Severity.ERROR]
    warns = [check.label for check in spec.checks if check.severity is Severity.WARN]
    lines = [f"Nothing is published unless all hold: {'; '.join(gates)}."] if gates else ["No check closes the gate."]
    if warns:
        lines.append(f"Recorded only: {'; '.join(warns)}.")
    lines.append(_rejecting(spec))
    return " ".join(lines)


def _rejecting(spec: TableSpec) -> str:
    reject = spec.reject
    if reject.mode == "fail":
        return "A value that PostgreSQL cannot read refuses the batch, naming file, line and column."
    most = f"{reject.max_rows:,} rows or " if reject.max_rows is not None else ""
    kept = "Rows that cannot be loaded go to airflow_idempotent.quarantine, with line, column and reason"
    return f"{kept}; more than {most}{reject.max_share:.0%} of a batch refuse it."


def null_key(spec: TableSpec) -> str:
    """What becomes of rows with NULL in the key."""
    if spec.quarantines:
        return "Rows with NULL in a column of the key go to the quarantine."
    return "A batch with NULL in a column of the key is refused whole, naming column and count; nothing is loaded."


EMPTY = {
    "fail": "No input fails at landing; a partition that is left without rows fails its validation.",
    "skip": "Without input the partition is skipped, the table stays as it is; checks of no rows are not evaluated.",
    "publish_empty": "No file, or one without rows, is a batch without rows; its checks are not evaluated.",
}
SCHEMA = {
    "fail": "Columns that the target lacks, or has with another type, refuse the batch, with the columns there are.",
    "ignore": "Columns of the batch that the target lacks are left out. Types stay the table's.",
    "append_new_columns": "Columns that the target lacks are added as 'columns' say, else as text. Types stay.",
    "sync_all_columns": "The target gets the spec's columns: new ones are added, others dropped, types only widened.",
}
