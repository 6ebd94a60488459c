"""What the journal of versions is asked, and what is written to it. Fixed text: no value is ever pasted into it."""

from __future__ import annotations

import json

from airflow_idempotent.core.version import Version
from airflow_idempotent.sql.statement import Statement

_COLUMNS = (
    "table_name, table_version, relation, relation_oid, state, source, spec_fingerprint, names, pinned, run, attempt, "
    "message, since"
)

_PRESENT = f"""
SELECT {_COLUMNS} FROM airflow_idempotent.table_versions
WHERE %(table)s::text IS NULL OR table_name = %(table)s::text
ORDER BY table_name, table_version
"""  # noqa: S608, the columns of this file

_OF_RUN = f"""
SELECT {_COLUMNS} FROM airflow_idempotent.versions
WHERE table_name = %(table)s AND run = %(run)s AND state = %(state)s
ORDER BY entry_id DESC LIMIT 1
"""  # noqa: S608

_RECORD = """
INSERT INTO airflow_idempotent.versions (table_name, table_version, relation, relation_oid, state, source,
    spec_fingerprint, names, pinned, run, attempt, message, since)
VALUES (%(table)s, %(number)s, %(relation)s, %(oid)s, %(state)s, %(source)s,
    %(spec_fingerprint)s, %(names)s::jsonb, %(pinned)s, %(run)s, %(attempt)s, %(message)s,
    coalesce(%(since)s::timestamptz, clock_timestamp()))
RETURNING since
"""

_LIVE = """
SELECT table_version, relation FROM airflow_idempotent.table_versions WHERE table_name = %(table)s AND state = 'SWAPPED'
"""

_RECORD_SPEC = """
INSERT INTO airflow_idempotent.version_specs (table_name, table_version, spec_fingerprint, spec)
SELECT %(table)s, %(number)s, %(fingerprint)s, %(spec)s::jsonb
WHERE %(fingerprint)s IS DISTINCT FROM (
    SELECT spec_fingerprint FROM airflow_idempotent.version_specs
    WHERE table_name = %(table)s AND table_version = %(number)s ORDER BY spec_id DESC LIMIT 1)
"""

_SPEC = """
SELECT spec::text, spec_fingerprint FROM airflow_idempotent.version_specs
WHERE table_name = %(table)s AND table_version = %(number)s ORDER BY spec_id DESC LIMIT 1
"""


def record_spec(table: str, number: int, fingerprint: str, spec: str) -> Statement:
    """Keep by which spec a version is loaded, where the newest one kept means something else."""
    return Statement(_RECORD_SPEC, {"table": table, "number": number, "fingerprint": fingerprint, "spec": spec})


def spec_of(table: str, number: int) -> Statement:
    """The spec by which a version was loaded last, as text, and its fingerprint; no row when none was kept."""
    return Statement(_SPEC, {"table": table, "number": number})


def present(table: str | None) -> Statement:
    """The newest entry of each version; of all tables when ``table`` is None."""
    return Statement(_PRESENT, {"table": table})


def of_run(table: str, run: str, state: str) -> Statement:
    """The newest entry of that state that a run has made."""
    return Statement(_OF_RUN, {"table": table, "run": run, "state": state})


def live(table: str) -> Statement:
    """The number of the live version, and which table that is; no row when the journal has none."""
    return Statement(_LIVE, {"table": table})


def record(version: Version) -> Statement:
    """Append an entry; returns the database's clock."""
    return Statement(
        _RECORD,
        {
            "table": version.table,
            "number": version.number,
            "relation": str(version.relation),
            "oid": version.oid,
            "state": str(version.state),
            "source": version.source,
            "spec_fingerprint": version.spec_fingerprint,
            "names": json.dumps(version.names),
            "pinned": version.pinned,
            "run": version.run,
            "attempt": version.attempt,
            "message": version.message,
            "since": version.since,
        },
    )
