"""Two versions of a partition side by side, and what the ledger keeps of that."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from airflow_idempotent.checks.check import Rows
from airflow_idempotent.checks.hashing import hashable
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.divergence import Comparison
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted


def totals(rows: Rows, columns: Sequence[Column]) -> exp.Select:
    """One row: the sum of each of these columns, as text; NULL of none."""
    sums = [exp.cast(exp.Sum(this=column(item.name)), data_type("text")) for item in columns]
    return exp.select(*sums).from_(rows.copy())


def without_counterpart(here: Rows, there: Rows, columns: Sequence[str], ours: TableShape, theirs: TableShape) -> Any:
    """Rows of one side that the other one lacks, as often as it lacks them; compared as both can be."""
    names = [name for name in columns if ours[name].base_type == theirs[name].base_type]
    texts = [name for name in columns if name not in names]

    def side(rows: Rows, shape: TableShape) -> exp.Select:
        values = [*hashable(names, shape), *(exp.cast(column(name), data_type("text")) for name in texts)]
        aliased = [exp.alias_(value, name, quoted=True) for value, name in zip(values, [*names, *texts], strict=True)]
        return exp.select(*aliased).from_(rows.copy())

    return exp.Except(this=side(here, ours), expression=side(there, theirs), distinct=False)


def count_of(rows: exp.Query | Rows) -> exp.Select:
    """How many rows there are."""
    is_query = isinstance(rows, exp.Except)
    found = exp.Subquery(this=rows, alias=exp.TableAlias(this=quoted("r"))) if is_query else rows.copy()
    return exp.select(exp.Count(this=exp.Star())).from_(found)


_RECORD = """
INSERT INTO airflow_idempotent.comparisons (table_name, table_version, live_version, partition_key, likeness,
    row_count, live_row_count, digest, live_digest, message, report, lane, event_id)
SELECT %(table)s, %(version)s, %(live)s, %(partition)s, %(likeness)s, %(rows)s, %(live_rows)s, %(digest)s,
    %(live_digest)s, %(message)s, %(report)s::jsonb, %(lane)s, max(e.event_id)
FROM airflow_idempotent.events AS e
WHERE e.table_name = %(table)s AND e.table_version = %(version)s AND e.partition_key = %(partition)s
  AND e.step = 'stage_merge' AND e.state = 'published'
HAVING max(e.event_id) IS NOT NULL
"""

_NEWEST = """
SELECT table_name, table_version, live_version, partition_key, likeness, row_count, live_row_count, digest,
       live_digest, report::text, message, compared_at
FROM airflow_idempotent.divergence
WHERE (%(table)s::text IS NULL OR table_name = %(table)s::text)
  AND (%(version)s::int IS NULL OR table_version = %(version)s::int)
  AND (%(all)s OR likeness <> 'clean')
ORDER BY table_name, table_version, partition_key
"""


def record(where: Mapping[str, Any], found: Comparison, lane: str) -> Statement:
    """Keep what a comparison found, with the load of the version that it looked at."""
    values = {
        "likeness": str(found.likeness),
        "rows": found.rows,
        "live_rows": found.live_rows,
        "digest": found.digest,
        "live_digest": found.live_digest,
        "message": found.message,
        "report": json.dumps([item.as_dict() for item in found.unlike], ensure_ascii=False),
        "lane": lane,
    }
    return Statement(_RECORD, {**where, **values})


def newest(table: str | None, version: int | None, *, everything: bool) -> Statement:
    """The newest comparison of each partition that is not clean, or of each."""
    return Statement(_NEWEST, {"table": table, "version": version, "all": everything})
