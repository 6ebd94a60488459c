"""What is asked of the watermarks, and how one is changed by hand. Fixed text."""

from __future__ import annotations

from typing import Any

from airflow_idempotent.sql.statement import Statement

WATERMARK_COLUMNS = (
    "table_name", "watermark", "loaded_until", "recorded_at", "cursor_name", "cursor_watermark", "cursor_number",
    "set_by", "gap_start",
)  # fmt: skip
WATERMARKS = Statement(f"SELECT {', '.join(WATERMARK_COLUMNS)} FROM airflow_idempotent.watermarks ORDER BY 1")

GAP_COLUMNS = ("table_name", "gap_start", "gap_end", "partition_key", "reason")
GAPS = Statement(f"SELECT {', '.join(GAP_COLUMNS)} FROM airflow_idempotent.gaps ORDER BY 1, 2")

LATE_COLUMNS = ("table_name", "partition_key", "late_rows", "too_late_rows", "future_rows", "null_cursor_rows")
LATE = Statement(
    f"""
SELECT {", ".join(f"e.{name}" for name in LATE_COLUMNS)}
FROM airflow_idempotent.events AS e JOIN airflow_idempotent.partition_heads AS h ON h.load_event_id = e.event_id
WHERE e.late_rows + e.too_late_rows + e.future_rows + e.null_cursor_rows > 0 ORDER BY e.table_name, e.partition_start
"""
)
"""Of the newest load of each partition, the rows whose time was not the one expected; where there are some."""

CHANGE_COLUMNS = (
    "table_name", "kind", "cursor_name", "old_watermark", "new_watermark", "old_number", "new_number", "changed_by",
    "database_role", "reason", "changed_at",
)  # fmt: skip
CHANGES = Statement(
    f"SELECT {', '.join(CHANGE_COLUMNS)} FROM airflow_idempotent.watermark_changes ORDER BY change_id DESC"
)


def watermark_of(table: str, version: int = 1) -> Statement:
    """The cursor of a table's incremental query, and how far it is."""
    return Statement(
        "SELECT cursor_name, cursor_watermark, cursor_number "
        "FROM airflow_idempotent.watermark_of(%(table)s, %(version)s)",
        {"table": table, "version": version},
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
    (table_name, kind, cursor_name, old_watermark, new_watermark, old_number, new_number, after_event, changed_by,
     reason)
VALUES (%(table)s, %(kind)s, %(cursor)s, %(old)s, %(new)s, %(old_number)s, %(new_number)s, %(after)s, %(by)s,
     %(reason)s)
""",
        values,
    )
