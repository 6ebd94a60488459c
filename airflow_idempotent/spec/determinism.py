"""What makes a query give another result when it is run again on the same tables, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from airflow_idempotent.sql.user_query import line_of, parsed, tokens_of


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing found on a line of the SQL (0: no line is to blame). A ``warning`` is allowed, but rarely meant."""

    line: int
    text: str
    warning: bool = False

    def __str__(self) -> str:
        return f"line {self.line}: {self.text}" if self.line else self.text


_CLOCK = "gives another value in every run, write :cutoff_ts (the instant that retries keep)"
_DATE = "gives another value in every run, write :start, or :cutoff_ts::date"
_TIME = "gives another value in every run, write :cutoff_ts::time"
_CHANCE = "gives another value in every run, derive the value from the key, e.g. md5(id::text)"
_SEQUENCE = "advances or reads a sequence, so a second run gives other numbers: number rows by an order of their own"
_TRANSACTION = "gives another value in every transaction, write :run_id"
_SESSION = "depends on who asks, write :run_id or a literal"
_ACTS = "does something instead of reading, and would do it again in every run"

CALLS = (
    dict.fromkeys(("now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday"), _CLOCK)
    | dict.fromkeys(("random", "random_normal", "gen_random_uuid", "gen_random_bytes", "uuidv4", "uuidv7"), _CHANCE)
    | dict.fromkeys(("uuid_generate_v1", "uuid_generate_v1mc", "uuid_generate_v4"), _CHANCE)
    | dict.fromkeys(("nextval", "currval", "lastval", "setval"), _SEQUENCE)
    | dict.fromkeys(("txid_current", "txid_current_if_assigned", "txid_current_snapshot"), _TRANSACTION)
    | dict.fromkeys(("pg_current_xact_id", "pg_current_xact_id_if_assigned", "pg_current_snapshot"), _TRANSACTION)
    | dict.fromkeys(("pg_current_wal_lsn", "pg_current_wal_insert_lsn", "pg_backend_pid"), _TRANSACTION)
    | dict.fromkeys(("current_setting", "inet_client_addr", "current_schemas"), _SESSION)
    | dict.fromkeys(("set_config", "setseed", "pg_notify", "pg_sleep", "dblink_exec", "query_to_xml"), _ACTS)
    | dict.fromkeys(("pg_advisory_lock", "pg_advisory_xact_lock", "pg_terminate_backend", "pg_cancel_backend"), _ACTS)
)
"""Functions, by their name before an opening bracket."""

WORDS = (
    {"current_timestamp": _CLOCK, "localtimestamp": _CLOCK, "current_date": _DATE}
    | {"current_time": _TIME, "localtime": _TIME}
    | dict.fromkeys(("current_user", "session_user", "current_role", "user", "current_schema"), _SESSION)
)
"""Functions that are called without brackets."""

_SPECIAL_DATES = {"now", "today", "tomorrow", "yesterday"}
_HIDDEN = {"ctid", "xmin", "xmax", "cmin", "cmax"}
_BY_PLACE = (exp.RowNumber, exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue, exp.NthValue, exp.Ntile)
_GATHERED = (exp.ArrayAgg, exp.GroupConcat)
_GATHERING = {
    "array_agg", "string_agg", "json_agg", "jsonb_agg", "xmlagg", "json_object_agg", "jsonb_object_agg",
}  # fmt: skip


def findings(sql: str) -> tuple[Finding, ...]:
    """Everything that keeps a query from giving the same result again, by line.

    Raises:
        QueryTextError: it is no query.
    """
    tree = parsed(sql)
    found = [*_called(tokens_of(sql))]
    for node in tree.walk():
        found += _of_node(node)
    return tuple(sorted(set(found)))


def _called(tokens: tuple[Token, ...]) -> Iterator[Finding]:
    """Functions by name: the words say more than the tree, which has one node for several of them."""
    for place, token in enumerate(tokens):
        name = token.text.lower()
        before = tokens[place - 1] if place else None
        after = tokens[place + 1] if place + 1 < len(tokens) else None
        if token.token_type is TokenType.STRING or (before and before.token_type is TokenType.ALIAS):
            continue
        qualified = before is not None and before.token_type is TokenType.DOT
        if qualified and not (place > 1 and tokens[place - 2].text.lower() in ("pg_catalog", "public")):
            continue
        if name in CALLS and after and after.token_type is TokenType.L_PAREN:
            yield Finding(token.line, f"{name}() {CALLS[name]}")
        elif name in WORDS and token.token_type is not TokenType.IDENTIFIER and not qualified:
            yield Finding(token.line, f"{name} {WORDS[name]}")


def _of_node(node: exp.Expr) -> Iterator[Finding]:
    """What only the tree can tell."""
    line = line_of(node) if isinstance(node, _LOOKED_AT) else 0
    match node:
        case exp.TableSample() if not node.args.get("seed"):
            yield Finding(line, "TABLESAMPLE takes other rows in every run, add REPEATABLE (a seed)")
        case exp.Limit() | exp.Fetch() | exp.Offset() if _is_arbitrary(node):
            yield Finding(line, "LIMIT without ORDER BY takes arbitrary rows, add ORDER BY down to a unique column")
        case exp.Distinct() if (on := node.args.get("on")) and not _decides(node.parent, len(on.expressions)):
            text = "DISTINCT ON keeps an arbitrary row, add ORDER BY with more columns than it is distinct on"
            yield Finding(line, text)
        case exp.Window() if isinstance(_function(node), _BY_PLACE) and not _is_ordered(node):
            name = type(_function(node)).__name__
            yield Finding(line, f"{_spelled(name)}() over rows without ORDER BY takes them as they come, add ORDER BY")
        case exp.Cast(this=exp.Literal(is_string=True) as text) if text.name.strip().lower() in _SPECIAL_DATES:
            yield Finding(line, f"{text.name!r} as a date {_CLOCK}")
        case exp.AnyValue():
            yield Finding(line, "any_value() takes any row's value, write min() or max()")
        case exp.Anonymous(this=str() as name) if name.lower() == "age" and len(node.expressions) == 1:
            yield Finding(line, "age(x) counts from today, write age(:cutoff_ts, x)")
        case exp.Column() if node.name.lower() in _HIDDEN:
            yield Finding(line, f"{node.name} says where a row lies now, not what it is: use the row's key")
        case exp.ArrayAgg() | exp.GroupConcat() | exp.Anonymous() if _is_gathered(node):
            yield Finding(line, "an aggregate that keeps its input's order has no ORDER BY inside it", warning=True)


_LOOKED_AT = (
    exp.TableSample, exp.Limit, exp.Fetch, exp.Offset, exp.Distinct, exp.Window, exp.Cast, exp.AnyValue,
    exp.Anonymous, exp.Column, *_GATHERED,
)  # fmt: skip


def _is_arbitrary(node: exp.Expr) -> bool:
    """Whether rows are cut off in no order; whether there is any row at all does not depend on which."""
    query = node.parent
    if query is None or query.args.get("order"):
        return False
    bound = node.args.get("expression") or node.args.get("count")
    if isinstance(bound, exp.Null) or (isinstance(bound, exp.Column) and bound.name.lower() == "all"):
        return False
    return not isinstance(query.parent, exp.Exists) and not (isinstance(query, exp.Select) and _is_one_row(query))


def _is_one_row(query: exp.Select) -> bool:
    """Whether a query has one row by its form: aggregates of everything."""
    items = [item.unalias() for item in query.expressions]
    return not query.args.get("group") and bool(items) and all(isinstance(item, exp.AggFunc) for item in items)


def _decides(query: exp.Expr | None, count: int) -> bool:
    """Whether the ORDER BY goes on after the columns that are distinct."""
    order = query.args.get("order") if query is not None else None
    return order is not None and len(order.expressions) > count


def _function(window: exp.Window) -> exp.Expr:
    """The function of a window, without IGNORE NULLS, FILTER and the like around it."""
    found: exp.Expr = window.this
    while isinstance(found, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
        found = found.this
    return found


def _is_ordered(window: exp.Window) -> bool:
    if window.args.get("order"):
        return True
    name, query = window.args.get("alias"), window.parent_select
    if name is None or query is None:
        return False
    return any(item.name.lower() == name.name.lower() and _is_ordered(item) for item in query.args.get("windows") or ())


def _is_gathered(node: exp.Expr) -> bool:
    """Whether it is an aggregate whose result shows the order of its rows, which nobody gave."""
    name = node.this if isinstance(node, exp.Anonymous) else ""
    if not isinstance(node, _GATHERED) and (not isinstance(name, str) or name.lower() not in _GATHERING):
        return False
    return node.find(exp.Order) is None and not isinstance(node.parent, exp.WithinGroup)


def _spelled(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
