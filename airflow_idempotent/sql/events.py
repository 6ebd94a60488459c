"""A change stream read from staging: one row per event, then one per key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from airflow_idempotent.core.actions.changes import Events, InspectChanges, ResolveChanges
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.order import best_first
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table, temporary

IS_DELETE, HAS_ROW, BEYOND, KEPT = "idem_is_delete", "idem_has_row", "idem_beyond", "idem_kept"
"""Of an event: it deletes; of a key: a row of it is known; the event is no row of the batch; columns left out."""

_TEXT_LIKE = ("text", "character varying", "character", "citext", "json", "jsonb")


def deleted_version(number: int, events: Events) -> exp.Column:
    """Column ``number`` of the version at which a key of the winners was deleted."""
    return column(f"idem_deleted_{number}" if events.soft else events.version[number], "w")


def inspect_changes(action: InspectChanges) -> Statement:
    """Codes that are not understood, and how often: rows of (code, count)."""
    events = action.events
    code = as_text(column(events.op_column))
    unknown = exp.or_(code.is_(exp.null()), exp.not_(is_one_of(code, events.codes)))
    counted = exp.select(code, exp.Count(this=exp.Star())).from_(table(events.staging)).where(unknown)
    order = [exp.Ordered(this=exp.Literal.number(2), desc=True), exp.Ordered(this=code.copy(), nulls_first=False)]
    return statement(counted.group_by(code.copy()).order_by(*order))


def resolve_changes(action: ResolveChanges, target: TableShape) -> tuple[Statement, ...]:
    """The winners in a temporary table, and a view of the rows among them."""
    events = action.events
    has_row = column(HAS_ROW) if events.soft else exp.not_(column(IS_DELETE))
    rows = exp.select(*(column(name) for name in events.columns)).from_(table(action.winners)).where(has_row)
    properties = exp.Properties(expressions=[exp.TemporaryProperty()])
    view = exp.Create(kind="VIEW", this=exp.table_(action.rows, quoted=True), expression=rows, properties=properties)
    return statement(temporary(action.winners, winners_of(events, target))), statement(view)


def winners_of(events: Events, target: TableShape) -> exp.Select:
    """One row per key: the greatest event; softly the greatest row, and beside it the version of the last deletion."""
    if not events.soft:
        return _greatest(events, target, [*events.columns, IS_DELETE, *_flags(events)])
    rows = _greatest(events, target, [*events.columns, *_flags(events)], deletes=False).subquery(quoted("r"))
    names = [*events.unique_key, *events.version, *([BEYOND] if events.key_before else [])]
    deletes = _greatest(events, target, names, deletes=True).subquery(quoted("x"))
    both = [
        exp.alias_(exp.func("coalesce", column(name, "r"), column(name, "x")), name, quoted=True)
        if name in events.unique_key
        else column(name, "r")
        for name in events.columns
    ]
    both += [
        exp.alias_(column(name, "x"), f"idem_deleted_{number}", quoted=True)
        for number, name in enumerate(events.version)
    ]
    first = events.unique_key[0]
    for alias, name in (("r", HAS_ROW), ("x", IS_DELETE)):
        both.append(exp.alias_(exp.not_(column(first, alias).is_(exp.null())), name, quoted=True))
    if events.key_before:  # beyond is what nothing in the batch speaks of but a changed key
        beyond = exp.and_(column(first, "r").is_(exp.null()), column(BEYOND, "x"))
        both.append(exp.alias_(beyond, BEYOND, quoted=True))
    if events.are_partial:
        both.append(column(KEPT, "r"))
    same = exp.and_(*(exp.EQ(this=column(n, "r"), expression=column(n, "x")) for n in events.unique_key))
    return exp.select(*both).from_(rows).join(deletes, on=same, join_type="full")


def events_of(events: Events, target: TableShape) -> exp.Select:
    """Every event of the batch, and the deletion of every key that an update has changed."""
    is_delete = is_one_of(as_text(column(events.op_column, "s")), events.deletes)
    selected: list[exp.Expr] = [column(name, "s") for name in events.columns]
    selected += [column(name, "s") for name in events.sequence]
    selected.append(exp.alias_(is_delete, IS_DELETE, quoted=True))
    if events.key_before:
        selected.append(exp.alias_(exp.false(), BEYOND, quoted=True))
    if events.are_partial:
        selected.append(exp.alias_(_kept(events, target), KEPT, quoted=True))
    found = exp.select(*selected).from_(table(events.staging, "s"))
    if not events.key_before:
        return found
    union = exp.Union(this=found, expression=_old_keys(events, target), distinct=False)
    return exp.select(exp.Star()).from_(union.subquery(quoted("all")))


# --- one per key ------------------------------------------------------------------------------------------------------


def _greatest(events: Events, target: TableShape, names: Sequence[str], deletes: bool | None = None) -> exp.Select:
    """The greatest event of each key: by version, then a row before a deletion, then by content."""
    rows = exp.select(*(column(name, "s") for name in names))
    rows = rows.from_(events_of(events, target).subquery(quoted("s")))
    if deletes is not None:
        rows = rows.where(column(IS_DELETE, "s") if deletes else exp.not_(column(IS_DELETE, "s")))
    terms = best_first("s", key=events.unique_key, version=events.version, columns=events.columns, target=target)
    after: list[exp.Expr] = []
    if deletes is None:
        after.append(exp.Ordered(this=column(IS_DELETE, "s"), nulls_first=False))
    if events.key_before:
        after.append(exp.Ordered(this=column(BEYOND, "s"), nulls_first=False))
    if events.are_partial:
        fewest = exp.func("cardinality", column(KEPT, "s"))
        after.append(exp.Ordered(this=fewest, nulls_first=False))
    place = len(events.unique_key) + len(events.version)
    return rows.distinct(*(column(name, "s") for name in events.unique_key)).order_by(
        *terms[:place], *by_sequence(events), *after, *terms[place:]
    )


def by_sequence(events: Events, alias: str = "s") -> Iterable[exp.Expr]:
    """Columns whose type nobody has said: numbers as numbers, above everything else, which goes by its bytes."""
    for name in events.sequence:
        value = column(name, alias)
        is_number = exp.RegexpLike(this=value, expression=exp.Literal.string(r"^-?[0-9]+([.][0-9]+)?$"))
        number = exp.case().when(is_number, exp.cast(value.copy(), data_type("numeric")))
        text = exp.Collate(this=value.copy(), expression=exp.to_identifier("C", quoted=True))
        yield from (exp.Ordered(this=term, desc=True, nulls_first=False) for term in (number, text))


def _flags(events: Events) -> list[str]:
    return [*([BEYOND] if events.key_before else []), *([KEPT] if events.are_partial else [])]


def _old_keys(events: Events, target: TableShape) -> exp.Select:
    """An update whose key before it was another one deletes that, at its own version."""
    before = dict(events.key_before)
    selected: list[exp.Expr] = []
    changed = []
    for name in events.columns:
        kind = data_type(target[name].data_type)
        if name in before:
            old = exp.func("coalesce", exp.cast(column(before[name], "s"), kind), column(name, "s"))
            selected.append(exp.alias_(old, name, quoted=True))
            changed.append(exp.NEQ(this=exp.cast(column(before[name], "s"), kind), expression=column(name, "s")))
        elif name in events.unique_key or name in events.version:
            selected.append(column(name, "s"))
        else:
            selected.append(exp.alias_(exp.cast(exp.null(), kind), name, quoted=True))
    selected += [column(name, "s") for name in events.sequence]
    selected += [exp.alias_(exp.true(), name, quoted=True) for name in (IS_DELETE, BEYOND)]
    if events.are_partial:
        selected.append(exp.alias_(no_names(), KEPT, quoted=True))
    is_update = is_one_of(as_text(column(events.op_column, "s")), events.updates)
    return exp.select(*selected).from_(table(events.staging, "s")).where(is_update, exp.or_(*changed))


# --- values that are left out -----------------------------------------------------------------------------------------


def _kept(events: Events, target: TableShape) -> exp.Expr:
    """The names of the columns that a row leaves out; none where it deletes."""
    listed = [*_listed(events), *_marked(events, target)]
    names: exp.Expr = listed[0] if len(listed) == 1 else exp.func("array_cat", *listed)
    is_delete = is_one_of(as_text(column(events.op_column, "s")), events.deletes)
    return exp.case().when(is_delete, no_names()).else_(names)


def _listed(events: Events) -> Iterable[exp.Expr]:
    """The names in ``unchanged_column``: a JSON list, or separated by commas; those of the key go without saying."""
    if not events.unchanged_column:
        return
    marker = exp.func("btrim", as_text(column(events.unchanged_column, "s")))
    is_json = exp.EQ(this=exp.func("left", marker, exp.Literal.number(1)), expression=exp.Literal.string("["))
    json = exp.case().when(is_json, exp.cast(marker.copy(), data_type("jsonb")))
    commas = exp.func("string_to_array", marker.copy(), exp.Literal.string(","))
    plain = exp.case().when(exp.not_(is_json.copy()), commas)
    name = exp.func("btrim", column("name", "n"))
    always = (*events.unique_key, *events.version)
    wanted = exp.and_(exp.NEQ(this=name, expression=exp.Literal.string("")), exp.not_(is_one_of(name.copy(), always)))
    both = exp.Union(
        this=exp.select(exp.alias_(exp.func("jsonb_array_elements_text", json), "name")),
        expression=exp.select(exp.func("unnest", plain)),
        distinct=True,
    )
    yield exp.func("ARRAY", exp.select(name.copy()).from_(both.subquery(quoted("n"))).where(wanted))


def _marked(events: Events, target: TableShape) -> Iterable[exp.Expr]:
    """The columns in which ``unchanged_value`` stands, as it is or as a JSON string."""
    if events.unchanged_value is None:
        return
    values = (events.unchanged_value, '"' + events.unchanged_value + '"')
    names = [name for name in events.kept if target[name].base_type in _TEXT_LIKE]
    found = [exp.case().when(is_one_of(as_text(column(name, "s")), values), exp.Literal.string(name)) for name in names]
    listed = exp.cast(exp.Array(expressions=found), data_type("text[]"))
    yield exp.func("array_remove", listed, exp.null())


def no_names() -> exp.Expr:
    """No column at all."""
    return exp.cast(exp.Literal.string("{}"), data_type("text[]"))


def as_text(value: exp.Expr) -> exp.Expr:
    """A value as text, whatever its type."""
    return exp.cast(value, data_type("text"))


def is_one_of(value: exp.Expr, words: Sequence[str]) -> exp.Expr:
    """Whether a text is one of these words; never, where there are none."""
    if not words:
        return exp.false()
    return exp.In(this=value.copy(), expressions=[exp.Literal.string(word) for word in words])
