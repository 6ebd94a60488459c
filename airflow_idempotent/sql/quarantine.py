"""Rows that are kept out of a table: found in staging, set aside, and written to the ledger's quarantine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlglot import exp

from airflow_idempotent.core.actions import CopyBatch, RejectRows
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.sql.measure import bounds, does_not_fit, within, would_be_rounded
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table, temporary

PART, RECORD = "_idem_part", "_idem_record"
REJECTED, TEXTS, TRIAL = "idem_rejected", "idem_staging_texts", "idem_trial"
SAVEPOINT, BACK = Statement("SAVEPOINT idem_reading"), Statement("ROLLBACK TO SAVEPOINT idem_reading")
_MISFITS = ("character varying", "character", "bit", "bit varying")

CREATE_REJECTED = Statement("""
CREATE TEMPORARY TABLE idem_rejected
    (part int, record bigint, line bigint, column_name text, reason text, content jsonb) ON COMMIT DROP
""")
COUNT = Statement("SELECT count(*) FROM pg_temp.idem_rejected")
RECORDS = Statement(
    "SELECT part, array_agg(record ORDER BY record) FROM pg_temp.idem_rejected GROUP BY part ORDER BY part"
)

SAMPLES = Statement("SELECT part, record, column_name, reason FROM pg_temp.idem_rejected ORDER BY part, record LIMIT 5")


def add_places(staging: str) -> Statement:
    """Two more columns of an empty staging table: the part, and the number of the record in it."""
    part = exp.ColumnDef(this=quoted(PART), kind=data_type("int"))
    return statement(exp.Alter(this=table(staging), kind="TABLE", actions=[part, _numbered(always=False)]))


def _numbered(*, always: bool) -> exp.ColumnDef:
    """A column that counts the rows as they come."""
    identity = exp.ColumnConstraint(kind=exp.GeneratedAsIdentityColumnConstraint(this=always))
    return exp.ColumnDef(this=quoted(RECORD), kind=data_type("bigint"), constraints=[identity])


def begin_part(staging: str, number: int) -> tuple[Statement, ...]:
    """Count the records of the next part from 1."""
    change = exp.AlterColumn(this=column(PART), default=exp.Literal.number(number))
    return (
        statement(exp.Alter(this=table(staging), kind="TABLE", actions=[change])),
        Statement(
            "SELECT setval(pg_get_serial_sequence(%(staging)s, %(record)s), 1, false)",
            {"staging": f"pg_temp.{staging}", "record": RECORD},
        ),
    )


def create_texts(columns: Sequence[str]) -> tuple[Statement, ...]:
    """A table that takes every value as it is written, and numbers the records."""
    null = exp.cast(exp.null(), data_type("text"))
    rows = exp.select(*(exp.alias_(null.copy(), name, quoted=True) for name in columns))
    return (
        statement(temporary(TEXTS, rows, no_data=True)),
        statement(exp.Alter(this=table(TEXTS), kind="TABLE", actions=[_numbered(always=True)])),
        Statement("CREATE INDEX ON pg_temp.idem_staging_texts (_idem_record)"),
    )


def move_texts(action: CopyBatch, types: Mapping[str, Column], first: int, last: int) -> Statement:
    """Read the texts of a range of records, half-open, as staging's types: all of them, or the server refuses."""
    names = action.part.columns
    values = [_read(name, types.get(name)) for name in names]
    rows = exp.select(*values, exp.Literal.number(action.number), column(RECORD)).from_(table(TEXTS))
    rows = rows.where(exp.GTE(this=column(RECORD), expression=exp.Placeholder(this="first")))
    rows = rows.where(exp.LT(this=column(RECORD), expression=exp.Placeholder(this="last")))
    into = exp.Schema(this=table(action.staging), expressions=[quoted(name) for name in (*names, PART, RECORD)])
    return statement(exp.Insert(this=into, expression=rows.order_by(column(RECORD))), first=first, last=last)


def _read(name: str, item: Column | None) -> exp.Expr:
    """A text as the column's type reads it. Those with a length are assigned: a cast would cut the text."""
    if item is None or item.base_type in _MISFITS:
        return column(name)
    return exp.cast(column(name), data_type(item.staged_type))


def try_column(name: str, item: Column | None, record: int) -> Statement:
    """Read one value, into a table that takes it as staging would."""
    rows = exp.select(_read(name, item)).from_(table(TEXTS))
    rows = rows.where(exp.EQ(this=column(RECORD), expression=exp.Placeholder(this="record")))
    into = exp.Schema(this=table(TRIAL), expressions=[quoted(name)])
    return statement(exp.Insert(this=into, expression=rows), record=record)


def create_trial(staging: str, columns: Sequence[str]) -> Statement:
    """A table for single values, typed as staging."""
    rows = exp.select(*(column(name) for name in columns)).from_(table(staging))
    return statement(temporary(TRIAL, rows, no_data=True))


def reject_text(part: int, record: int, name: str | None, reason: str) -> Statement:
    """Set one record aside that could not be read."""
    return Statement(
        "INSERT INTO pg_temp.idem_rejected SELECT %(part)s, _idem_record, NULL, %(name)s, %(reason)s, "
        "to_jsonb(t) - '_idem_record' FROM pg_temp.idem_staging_texts t WHERE _idem_record = %(record)s",
        {"part": part, "record": record, "name": name, "reason": reason},
    )


def reject_rows(action: RejectRows, target: TableShape) -> tuple[Statement, ...]:
    """Delete what is not wanted from staging; with quarantine, set it aside first."""
    found = list(_reasons(action, target))
    if not found:
        return ()
    inside = bounds(action.partition, target[action.event_time]) if action.partition and action.event_time else {}
    inside = inside if action.outside else {}
    delete = exp.delete(table(action.staging)).where(exp.or_(*(condition for condition, *_ in found)))
    if not action.quarantine:
        return (statement(delete, **inside),)
    which, why = exp.case(), exp.case()
    for condition, name, reason in found:
        which = which.when(condition.copy(), exp.Literal.string(name))
        why = why.when(condition.copy(), exp.Literal.string(reason))
    pairs: list[exp.Expr] = []
    for name in action.columns:
        pairs += [exp.Literal.string(name), exp.cast(column(name), data_type("text"))]
    content: exp.Expr = exp.func("jsonb_build_object", *pairs[:100])
    for at in range(100, len(pairs), 100):  # a function takes a hundred arguments
        content = exp.DPipe(this=content, expression=exp.func("jsonb_build_object", *pairs[at : at + 100]))
    gone = delete.returning(exp.alias_(column(PART), "part"), dialect="postgres")
    gone.args["returning"].set(
        "expressions",
        [
            column(PART),
            column(RECORD),
            exp.alias_(which, "column_name"),
            exp.alias_(why, "reason"),
            exp.alias_(content, "content"),
        ],
    )
    names = (PART, RECORD, "column_name", "reason", "content")
    into = exp.Schema(
        this=table(REJECTED),
        expressions=[quoted(name) for name in ("part", "record", "column_name", "reason", "content")],
    )
    rows = exp.select(*(column(name) for name in names)).from_(exp.table_("gone", quoted=True))
    insert = exp.Insert(this=into, expression=rows)
    insert.set("with_", exp.With(expressions=[exp.CTE(this=gone, alias=exp.TableAlias(this=quoted("gone")))]))
    return (statement(insert, **inside),)


def _reasons(action: RejectRows, target: TableShape) -> Iterator[tuple[exp.Expr, str, str]]:
    """Why a row is rejected: condition, column, reason; the first that holds is told."""
    time = action.event_time
    if action.quarantine:
        for name in action.required:
            yield column(name).is_(exp.null()), name, "NULL where a value is required"
        for item in target.select(action.columns):
            if item.rounds:
                yield would_be_rounded(item), item.name, f"digits would be rounded away by {item.data_type}"
            if item.scale is not None:
                yield does_not_fit(item), item.name, f"does not fit {item.data_type}"
    if time and action.missing:
        yield column(time).is_(exp.null()), time, "no time says which partition the row belongs to"
    if time and action.partition and action.outside:
        inside = exp.Paren(this=exp.and_(*within(time)))
        yield exp.not_(inside), time, f"outside partition {action.partition.key}"


def set_lines(part: int, lines: Mapping[int, int]) -> Statement:
    """Note the lines of records of one part."""
    return Statement(
        "UPDATE pg_temp.idem_rejected r SET line = l.line FROM unnest(%(records)s::bigint[], %(lines)s::bigint[]) "
        "AS l (record, line) WHERE r.part = %(part)s AND r.record = l.record",
        {"part": part, "records": list(lines), "lines": list(lines.values())},
    )


def keep_rejected(values: Mapping[str, Any], files: Sequence[str]) -> Statement:
    """Write what was set aside to the ledger's quarantine; what is there already stays as it is."""
    return Statement(
        """
INSERT INTO airflow_idempotent.quarantine
    (table_name, table_version, partition_key, batch_id, file, record, line, column_name, reason, content)
SELECT %(table)s, %(version)s, %(partition)s, %(batch)s, (%(files)s::text[])[part + 1], record, line,
       column_name, reason, content
FROM pg_temp.idem_rejected ORDER BY part, record
ON CONFLICT DO NOTHING
""",
        {**values, "files": list(files)},
    )
