"""Duplicates of a table as SQL: counted in one look, then picked and deleted range of keys by range of keys."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.duplicates import KeyRange
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.dialects.postgres import LockTable
from airflow_idempotent.sql.order import best_first
from airflow_idempotent.sql.statement import (
    Statement,
    column,
    data_type,
    quoted,
    settings,
    statement,
    table,
    temporary,
)

REPEATED = "idem_repeated_keys"
"""Temporary table of the repeated keys of a range, ``k0 …``."""

DUPLICATES = "idem_duplicates"
"""Temporary table of the rows of a chunk: ``child`` and ``place``, their tableoid and ctid."""

READ_ONLY = Statement("SET TRANSACTION READ ONLY")
ANALYZE_REPEATED = Statement(f"ANALYZE pg_temp.{REPEATED}")
ANALYZE_DUPLICATES = Statement(f"ANALYZE pg_temp.{DUPLICATES}")
# Without an index on the key a nested loop would read the table once per key.
NO_NESTED_LOOPS, ANY_JOIN = (settings({"enable_nestloop": switch}) for switch in ("off", "on"))
# Rows of one table are fetched by their ctid, a hash join would read all of it.
BY_PLACE = settings({"enable_nestloop": "on", "enable_hashjoin": "off", "enable_mergejoin": "off"})

_LEADS_TO = """
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_index i ON i.indrelid = c.oid
    JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
    JOIN pg_catalog.pg_am m ON m.oid = x.relam
    JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
    WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND a.attname = %(column)s
      AND i.indisvalid AND i.indpred IS NULL AND m.amname = 'btree')
"""

# Foreign keys that would not refuse the deletion but change or delete rows elsewhere.
_FOLLOWING = """
SELECT k.conname, n.nspname, c.relname, CASE k.confdeltype
           WHEN 'c' THEN 'ON DELETE CASCADE' WHEN 'n' THEN 'ON DELETE SET NULL' ELSE 'ON DELETE SET DEFAULT' END,
       (SELECT array_agg(a.attname::text ORDER BY place)
        FROM unnest(k.conkey) WITH ORDINALITY AS u (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number),
       (SELECT array_agg(a.attname::text ORDER BY place)
        FROM unnest(k.confkey) WITH ORDINALITY AS u (number, place)
        JOIN pg_catalog.pg_attribute a ON a.attrelid = k.confrelid AND a.attnum = u.number)
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE k.contype = 'f' AND k.confdeltype IN ('c', 'n', 'd') AND k.confrelid IN (
    WITH RECURSIVE family AS (
        SELECT t.oid FROM pg_catalog.pg_class t JOIN pg_catalog.pg_namespace s ON s.oid = t.relnamespace
        WHERE s.nspname = %(schema)s AND t.relname = %(name)s
        UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN family f ON f.oid = i.inhparent
    ) SELECT oid FROM family)
  AND k.conparentid = 0
ORDER BY 1
"""


def leads_to(relation: Relation, name: str) -> Statement:
    """Whether an index finds the rows of a column's values."""
    return Statement(_LEADS_TO, {"schema": relation.schema, "name": relation.name, "column": name})


def count_rows(target: TableShape, key: Sequence[str]) -> Statement:
    """All rows, and those with NULL in the key."""
    missing = [column(name).is_(exp.null()) for name in key if target[name].nullable]
    null_keys = exp.Filter(
        this=exp.Count(this=exp.Star()), expression=exp.Where(this=exp.or_(*missing) if missing else exp.false())
    )
    return statement(exp.select(exp.Count(this=exp.Star()), null_keys).from_(table(target.relation)))


def survey(target: TableShape, key: Sequence[str], chunk_rows: int) -> Statement:
    """The repeated keys at which another ``chunk_rows`` duplicates are full, and the last one; none without any.

    Rows of (number of repeated keys, duplicates up to this key, the key's values as text).
    """
    names = _names(key)
    extra = exp.alias_(exp.Sub(this=_count(), expression=exp.Literal.number(1)), "extra", quoted=True)
    found = _repeated(target, key, KeyRange()).select(extra).subquery(quoted("repeated"))
    in_order = exp.Order(expressions=[exp.Ordered(this=column(name), nulls_first=False) for name in names])
    running = (
        exp.alias_(exp.Window(this=exp.RowNumber(), order=in_order), "place", quoted=True),
        exp.alias_(exp.Window(this=exp.Sum(this=column("extra")), order=in_order.copy()), "upto", quoted=True),
        exp.alias_(exp.Window(this=_count()), "repeated_keys", quoted=True),
    )
    numbered = exp.select(*map(column, names), column("extra"), *running).from_(found).subquery(quoted("numbered"))
    before = exp.Paren(this=exp.Sub(this=column("upto"), expression=column("extra")))
    chunks = [
        exp.func("div", value, exp.cast(exp.Placeholder(this="chunk_rows"), data_type("numeric")))
        for value in (column("upto"), before)
    ]
    is_full = exp.GT(this=chunks[0], expression=chunks[1])
    is_last = exp.EQ(this=column("place"), expression=column("repeated_keys"))
    answers = [column("repeated_keys"), exp.cast(column("upto"), data_type("bigint")), *map(_as_text, names)]
    tree = exp.select(*answers).from_(numbered).where(exp.or_(is_full, is_last)).order_by(column("place"))
    return statement(tree, chunk_rows=chunk_rows)


def keep_writers_out(relation: Relation) -> Statement:
    """Until the transaction ends nobody else writes the table; readers go on."""
    return statement(LockTable(this=table(relation), mode="SHARE ROW EXCLUSIVE"))


def find_repeated(target: TableShape, key: Sequence[str], span: KeyRange) -> Statement:
    """Put the repeated keys of a range into ``REPEATED``. Nobody has to wait for that."""
    return statement(temporary(REPEATED, _repeated(target, key, span)), **_binds(span))


def pick_duplicates(target: TableShape, key: Sequence[str], version: Sequence[str], *, most: int) -> Statement:
    """Put the rows that go, at most so many, into ``DUPLICATES``: all but the best of each key in ``REPEATED``.

    Of rows that are alike in every column the first as they lie stays.
    """
    pairs = zip(key, _names(key), strict=True)
    same_key = [exp.EQ(this=column(name, "t"), expression=column(ours, "r")) for name, ours in pairs]
    best = best_first("t", key=key, version=version, columns=target.names, target=target)[len(key) :]
    best += [exp.Ordered(this=column(name, "t"), nulls_first=False) for name in ("tableoid", "ctid")]
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[column(name, "t") for name in key],
        order=exp.Order(expressions=best),
    )
    places = [
        exp.alias_(column("tableoid", "t"), "child", quoted=True),
        exp.alias_(column("ctid", "t"), "place", quoted=True),
        exp.alias_(rank, "rank", quoted=True),
    ]
    ranked = exp.select(*places).from_(table(target.relation, "t")).join(table(REPEATED, "r"), on=exp.and_(*same_key))
    rows = exp.select(column("child"), column("place")).from_(ranked.subquery(quoted("ranked")))
    rows = rows.where(exp.GT(this=column("rank"), expression=exp.Literal.number(1))).limit(most)
    return statement(temporary(DUPLICATES, rows))


def delete_duplicates(target: TableShape) -> Statement:
    """Delete what ``DUPLICATES`` names."""
    return statement(
        exp.Delete(
            this=table(target.relation, "t"), using=[table(DUPLICATES, "d")], where=exp.Where(this=_is_duplicate())
        )
    )


def following_keys(relation: Relation) -> Statement:
    """Foreign keys that delete or empty rows of other tables when a row of this one goes.

    Rows of (name, schema, table, what it does, its columns, the columns it refers to).
    """
    return Statement(_FOLLOWING, {"schema": relation.schema, "name": relation.name})


def count_references(
    target: TableShape, referring: Relation, columns: Sequence[str], referred: Sequence[str]
) -> Statement:
    """How many rows of another table refer to what ``DUPLICATES`` names."""
    rows = exp.select(exp.Literal.number(1)).from_(table(target.relation, "t"))
    rows = rows.join(table(DUPLICATES, "d"), on=_is_duplicate())
    pairs = zip(columns, referred, strict=True)
    rows = rows.where(*(exp.EQ(this=column(ours, "o"), expression=column(theirs, "t")) for ours, theirs in pairs))
    return statement(exp.select(_count()).from_(table(referring, "o")).where(exp.Exists(this=rows)))


def unique_index(relation: Relation, key: Sequence[str]) -> Statement:
    """CREATE UNIQUE INDEX CONCURRENTLY on the key."""
    columns = exp.IndexParameters(columns=[column(name) for name in key])
    index = exp.Index(table=table(relation), params=columns)
    return statement(exp.Create(kind="INDEX", this=index, unique=True, concurrently=True))


def _repeated(target: TableShape, key: Sequence[str], span: KeyRange) -> exp.Select:
    """The keys of a range that more than one row has, as ``k0 …``; never one with NULL in it."""
    filled = [exp.not_(column(name).is_(exp.null())) for name in key if target[name].nullable]
    keys = [exp.alias_(column(name), ours, quoted=True) for name, ours in zip(key, _names(key), strict=True)]
    rows = exp.select(*keys).from_(table(target.relation)).where(*filled, *_within(key, span))
    return rows.group_by(*map(column, key)).having(exp.GT(this=_count(), expression=exp.Literal.number(1)))


def _names(key: Sequence[str]) -> list[str]:
    """What a key's columns are called in a subquery, where their own names could be taken for ours."""
    return [f"k{number}" for number in range(len(key))]


def _within(key: Sequence[str], span: KeyRange) -> list[exp.Expr]:
    """The range as comparisons that an index answers: of one column, or of a row of several."""
    sides = [("after", exp.GT, span.after), ("upto", exp.LTE, span.upto)]
    return [
        kind(
            this=_row([column(name) for name in key]),
            expression=_row([exp.Placeholder(this=f"{side}{number}") for number in range(len(key))]),
        )
        for side, kind, values in sides
        if values is not None
    ]


def _binds(span: KeyRange) -> dict[str, str]:
    sides = (("after", span.after), ("upto", span.upto))
    return {f"{side}{number}": value for side, values in sides for number, value in enumerate(values or ())}


def _row(values: Sequence[exp.Expr]) -> exp.Expr:
    return exp.Tuple(expressions=list(values)) if len(values) > 1 else values[0]


def _is_duplicate() -> exp.Expr:
    """A ctid is a row's place within one child of a partitioned table."""
    return exp.and_(
        exp.EQ(this=column("ctid", "t"), expression=column("place", "d")),
        exp.EQ(this=column("tableoid", "t"), expression=column("child", "d")),
    )


def _count() -> exp.Expr:
    return exp.Count(this=exp.Star())


def _as_text(name: str) -> exp.Expr:
    return exp.cast(column(name), data_type("text"))
