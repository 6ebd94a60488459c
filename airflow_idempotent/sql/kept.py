"""What a publication leaves in the ledger for later comparisons: profiles, digests of buckets, values of checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_idempotent.sql.statement import Statement


def record_profile(event_id: int, profile: str) -> Statement:
    """Keep the profile of the partition, as JSON, with the event that published it."""
    return Statement(
        "INSERT INTO airflow_idempotent.profiles (event_id, profile) VALUES (%(event_id)s, %(profile)s::jsonb)",
        {"event_id": event_id, "profile": profile},
    )


def profile_of(event_id: int) -> Statement:
    """The profile that was kept with an event, as text."""
    return Statement(
        "SELECT profile::text FROM airflow_idempotent.profiles WHERE event_id = %(event_id)s", {"event_id": event_id}
    )


def record_buckets(event_id: int, buckets: Mapping[str, Any]) -> Statement:
    """Keep the digests of the buckets of the partition with the event that published it."""
    return Statement(
        """
INSERT INTO airflow_idempotent.bucket_digests (event_id, key_columns, rows, digests)
VALUES (%(event_id)s, %(key)s::text[], %(rows)s::bigint[], %(digests)s::text[])
""",
        {"event_id": event_id, **buckets},
    )


def buckets_of(event_id: int) -> Statement:
    """The digests that were kept with an event."""
    return Statement(
        "SELECT key_columns, rows, digests FROM airflow_idempotent.bucket_digests WHERE event_id = %(event_id)s",
        {"event_id": event_id},
    )


def publication_of(table: str, partition: str, version: int = 1) -> Statement:
    """The last publication of a partition, backfills left out."""
    return Statement(
        """
SELECT event_id, partition_key, batch_id, row_count, digest FROM airflow_idempotent.events
WHERE table_name = %(table)s AND table_version = %(version)s AND partition_key = %(partition)s
  AND step = 'stage_merge' AND state = 'published' AND lane <> 'backfill'
ORDER BY event_id DESC LIMIT 1
""",
        {"table": table, "version": version, "partition": partition},
    )


def expected_of(event_id: int) -> Statement:
    """What the checks of an event compared with: rows of (name, value)."""
    return Statement(
        """
SELECT check_name, expected FROM airflow_idempotent.check_results
WHERE event_id = %(event_id)s AND expected IS NOT NULL
""",
        {"event_id": event_id},
    )
