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


def heads_of(table: str) -> Statement:
    """The newest event of each chain, as was written down when it was made: (version, partition, event)."""
    return Statement(
        """
SELECT table_version, partition_key, event_id FROM airflow_idempotent.partition_heads
WHERE table_name = %(table)s ORDER BY 1, 2
""",
        {"table": table},
    )
