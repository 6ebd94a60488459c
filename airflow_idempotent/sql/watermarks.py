"""What is asked of the watermarks, and how one is changed by hand. Fixed text."""

from __future__ import annotations

from typing import Any

from airflow_idempotent.sql.statement import Statement

WATERMARK_COLUMNS = (
    "table_name", "watermark", "loaded_until", "recorded_at", "cursor_name", "cursor_watermark", "cursor_number",
    "set_by", "gap_start",
)  # fmt: skip

_LIVE = """coalesce((SELECT v.table_version FROM airflow_idempotent.table_versions AS v
                      WHERE v.table_name = {table} AND v.state = 'SWAPPED'), 1)"""
# Of each table, or of the one that is named, the version that readers read.
_TABLES = f"""(SELECT table_name, table_version FROM (
        SELECT DISTINCT table_name, table_version FROM airflow_idempotent.partition_heads
        WHERE %(table)s::text IS NULL OR table_name = %(table)s::text) AS all_versions
    WHERE table_version = {_LIVE.format(table="all_versions.table_name")}) AS t"""

GAP_COLUMNS = ("table_name", "gap_start", "gap_end", "partition_key", "reason")
LATE_COLUMNS = ("table_name", "partition_key", "late_rows", "too_late_rows", "future_rows", "null_cursor_rows")
CHANGE_COLUMNS = (
    "table_name", "kind", "cursor_name", "old_watermark", "new_watermark", "old_number", "new_number", "changed_by",
    "database_role", "reason", "changed_at",
)  # fmt: skip
_CHANGES = (
    f"SELECT {', '.join(CHANGE_COLUMNS)} FROM airflow_idempotent.watermark_changes "
    "WHERE %(table)s::text IS NULL OR table_name = %(table)s::text ORDER BY change_id DESC"
)


def watermarks(table: str | None = None) -> Statement:
    """How far scheduled runs have published, of one table or of all; of the live version of each."""
    names = ", ".join(f"w.{name}" for name in WATERMARK_COLUMNS[1:])
    return Statement(
        f"SELECT t.table_name, {names} FROM {_TABLES}, "
        "airflow_idempotent.watermark_of(t.table_name, t.table_version) AS w ORDER BY 1",
        {"table": table},
    )


def gaps(table: str | None = None) -> Statement:
    """Scheduled partitions that keep watermarks from moving, oldest first, of one table or of all."""
    names = ", ".join(f"g.{name}" for name in GAP_COLUMNS[1:])
    return Statement(
        f"SELECT t.table_name, {names} FROM {_TABLES}, "
        "airflow_idempotent.gaps_of(t.table_name, t.table_version) AS g ORDER BY 1, 2",
        {"table": table},
    )


def late(table: str | None = None) -> Statement:
    """Of the newest load of each partition, the rows whose time was not the one expected; where there are some."""
    names = ", ".join(f"e.{name}" for name in LATE_COLUMNS)
    return Statement(
        f"""
SELECT {names}
FROM airflow_idempotent.events AS e JOIN airflow_idempotent.partition_heads AS h ON h.load_event_id = e.event_id
WHERE e.late_rows + e.too_late_rows + e.future_rows + e.null_cursor_rows > 0
  AND (%(table)s::text IS NULL OR e.table_name = %(table)s::text)
  AND e.table_version = {_LIVE.format(table="e.table_name")}
ORDER BY e.table_name, e.partition_start
""",
        {"table": table},
    )


def changes(table: str | None = None) -> Statement:
    """What people have changed about watermarks, newest first, of one table or of all."""
    return Statement(_CHANGES, {"table": table})


def watermark_of(table: str) -> Statement:
    """The version of a table that is live, the cursor of its incremental query, and how far it is."""
    return Statement(
        f"""
SELECT v.number, w.cursor_name, w.cursor_watermark, w.cursor_number
FROM (SELECT {_LIVE.format(table="%(table)s::text")} AS number) AS v,
     airflow_idempotent.watermark_of(%(table)s::text, v.number) AS w
""",
        {"table": table},
    )


def is_set(table: str, version: int = 1) -> Statement:
    """Whether the watermark was set by hand, and not recomputed since."""
    return Statement(
        "SELECT EXISTS (SELECT FROM airflow_idempotent.watermark_bases "
        "WHERE table_name = %(table)s AND table_version = %(version)s AND (value IS NOT NULL OR number IS NOT NULL))",
        {"table": table, "version": version},
    )


def is_numbered(table: str, cursor: str, version: int = 1) -> Statement:
    """Whether the newest load by that cursor has read by a number."""
    return Statement(
        """
SELECT coalesce((SELECT read_from_number IS NOT NULL FROM airflow_idempotent.events
                 WHERE table_name = %(table)s AND table_version = %(version)s AND cursor_name = %(cursor)s
                   AND step = 'stage_merge' AND state = 'published'
                 ORDER BY event_id DESC LIMIT 1), false)
""",
        {"table": table, "version": version, "cursor": cursor},
    )


def newest_event(table: str, version: int = 1) -> Statement:
    """The last event of a table."""
    return Statement(
        "SELECT coalesce(max(event_id), 0) FROM airflow_idempotent.events "
        "WHERE table_name = %(table)s AND table_version = %(version)s",
        {"table": table, "version": version},
    )


def record_change(values: dict[str, Any]) -> Statement:
    """Append a change of a watermark; the view reckons with it from then on."""
    return Statement(
        """
INSERT INTO airflow_idempotent.watermark_changes
    (table_name, table_version, kind, cursor_name, old_watermark, new_watermark, old_number, new_number, after_event,
     changed_by, reason)
VALUES (%(table)s, %(version)s, %(kind)s, %(cursor)s, %(old)s, %(new)s, %(old_number)s, %(new_number)s, %(after)s,
     %(by)s, %(reason)s)
""",
        values,
    )
