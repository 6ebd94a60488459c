"""The audit trail as the ledger has it: every event of a table, chain by chain. Fixed text."""

from __future__ import annotations

from airflow_idempotent.sql.ledger import EVENT_COLUMNS
from airflow_idempotent.sql.statement import Statement

TABLES = Statement("SELECT DISTINCT table_name FROM airflow_idempotent.events ORDER BY 1")

TRAIL_COLUMNS = ("event_id", *EVENT_COLUMNS)


def trail_of(table: str) -> Statement:
    """Every event of a table in the order in which the chains were made; keys are ``TRAIL_COLUMNS``."""
    return Statement(
        f"""
SELECT {", ".join(TRAIL_COLUMNS)} FROM airflow_idempotent.events
WHERE table_name = %(table)s
ORDER BY table_version, partition_key, event_id
""",
        {"table": table},
    )


HISTORY_COLUMNS = (
    "event_id", "table_name", "table_version", "partition_key", "recorded_at", "step", "state", "batch_id", "lane",
    "attempt", "message", "inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected", "seconds",
)  # fmt: skip


def history_of(table: str, partition: str) -> Statement:
    """Every event of a partition, of all versions of its table, oldest first; keys are ``HISTORY_COLUMNS``."""
    return Statement(
        f"""
SELECT {", ".join(HISTORY_COLUMNS)} FROM airflow_idempotent.events
WHERE table_name = %(table)s AND partition_key = %(partition)s ORDER BY event_id
""",
        {"table": table, "partition": partition},
    )


FAILED_COLUMNS = ("check_name", "message", "query")


def failed_checks(table: str, partition: str) -> Statement:
    """What the newest event of a partition has found broken; keys are ``FAILED_COLUMNS``."""
    return Statement(
        """
SELECT r.check_name, r.message, r.query FROM airflow_idempotent.check_results AS r
WHERE r.verdict = 'failed' AND r.event_id = (
    SELECT max(event_id) FROM airflow_idempotent.events
    WHERE table_name = %(table)s AND partition_key = %(partition)s)
ORDER BY r.check_name
""",
        {"table": table, "partition": partition},
    )


def heads_of(table: str) -> Statement:
    """The newest event of each chain, as was written down when it was made: (version, partition, event)."""
    return Statement(
        """
SELECT table_version, partition_key, event_id FROM airflow_idempotent.partition_heads
WHERE table_name = %(table)s ORDER BY 1, 2
""",
        {"table": table},
    )
