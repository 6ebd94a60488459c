"""A change stream read from staging: one row per event, then one per key, then the values that rows left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp

from airflow_idempotent.core.actions.changes import Events, InspectChanges, KeepUnchanged, ResolveChanges
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.sql.order import best_first, content_of
from airflow_idempotent.sql.statement import Statement, column, data_type, quoted, statement, table, temporary

_SETTLED = "idem_settled"
IS_DELETE, HAS_ROW, BEYOND, KEPT = "idem_is_delete", "idem_has_row", "idem_beyond", "idem_kept"
"""Of an event: it deletes; of a key: a row of it is known; the event is no row of the batch; columns left out."""

_TEXT_LIKE = ("text", "character varying", "character", "citext", "json", "jsonb")


def deleted_version(number: int, events: Events) -> exp.Column:
    """Column ``number`` of the version at which a key of the winners was deleted."""
    return column(f"idem_deleted_{number}" if events.soft else events.version[number], "w")


def inspect_changes(action: InspectChanges) -> Statement:
    """Codes that are not understood, and how often: rows of (code, count)."""
    events = action.events
    code = _as_text(column(events.op_column))
    unknown = exp.or_(code.is_(exp.null()), exp.not_(_is_one_of(code, events.codes)))
    counted = exp.select(code, exp.Count(this=exp.Star())).from_(table(events.staging)).where(unknown)
    return statement(counted.group_by(code.copy()).order_by(exp.Ordered(this=exp.Literal.number(2), desc=True), "1"))


def resolve_changes(action: ResolveChanges, target: TableShape) -> tuple[Statement, ...]:
    """The winners in a temporary table, and a view of the rows among them."""
    events = action.events
    has_row = column(HAS_ROW) if events.soft else exp.not_(column(IS_DELETE))
    rows = exp.select(*(column(name) for name in events.columns)).from_(table(action.winners)).where(has_row)
    properties = exp.Properties(expressions=[exp.TemporaryProperty()])
    view = exp.Create(kind="VIEW", this=exp.table_(action.rows, quoted=True), expression=rows, properties=properties)
    return statement(temporary(action.winners, winners_of(events, target))), statement(view)


def winners_of(events: Events, target: TableShape) -> exp.Select:
    """One row per key: the greatest event; softly the greatest row, and beside it the greatest version of a deletion."""
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
    is_delete = _is_one_of(_as_text(column(events.op_column, "s")), events.deletes)
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


def keep_unchanged(action: KeepUnchanged, target: TableShape) -> tuple[Statement, ...]:
    """Which columns are left out and how often; per column the statement that fills it in; and the first one again."""
    events = action.events
    names = exp.func("unnest", column(KEPT, "w"))
    missing = exp.select(exp.alias_(names, "name")).from_(table(action.winners, "w")).subquery(quoted("missing"))
    counted = exp.select("name", exp.Count(this=exp.Star())).from_(missing).group_by("name").order_by("name")
    ask = statement(counted)
    return (ask, *(_fill(action, name, target) for name in events.kept), ask)


# --- one per key ------------------------------------------------------------------------------------------------------


def _greatest(
    events: Events, target: TableShape, names: Sequence[str], deletes: bool | None = None
) -> exp.Select:
    """The greatest event of each key: by version, then a row before a deletion, then by content."""
    rows = exp.select(*(column(name, "s") for name in names))
    rows = rows.from_(events_of(events, target).subquery(quoted("s")))
    if deletes is not None:
        rows = rows.where(column(IS_DELETE, "s") if deletes else exp.not_(column(IS_DELETE, "s")))
    words = {"key": events.unique_key, "version": events.version, "columns": events.columns, "target": target}
    terms = best_first("s", **words)
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
        *terms[:place], *_by_sequence(events), *after, *terms[place:]
    )


def _by_sequence(events: Events, alias: str = "s") -> Iterable[exp.Expr]:
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
        selected.append(exp.alias_(_no_names(), KEPT, quoted=True))
    is_update = _is_one_of(_as_text(column(events.op_column, "s")), events.updates)
    return exp.select(*selected).from_(table(events.staging, "s")).where(is_update, exp.or_(*changed))


# --- values that are left out -----------------------------------------------------------------------------------------


def _kept(events: Events, target: TableShape) -> exp.Expr:
    """The names of the columns that a row leaves out; none where it deletes."""
    listed = [*_listed(events), *_marked(events, target)]
    names: exp.Expr = listed[0] if len(listed) == 1 else exp.func("array_cat", *listed)
    is_delete = _is_one_of(_as_text(column(events.op_column, "s")), events.deletes)
    return exp.case().when(is_delete, _no_names()).else_(names)


def _listed(events: Events) -> Iterable[exp.Expr]:
    """The names in ``unchanged_column``: a JSON list, or separated by commas; those of the key go without saying."""
    if not events.unchanged_column:
        return
    marker = exp.func("btrim", _as_text(column(events.unchanged_column, "s")))
    is_json = exp.EQ(this=exp.func("left", marker, exp.Literal.number(1)), expression=exp.Literal.string("["))
    json = exp.case().when(is_json, exp.cast(marker.copy(), data_type("jsonb")))
    commas = exp.func("string_to_array", marker.copy(), exp.Literal.string(","))
    plain = exp.case().when(exp.not_(is_json.copy()), commas)
    name = exp.func("btrim", column("name", "n"))
    always = (*events.unique_key, *events.version)
    wanted = exp.and_(
        exp.NEQ(this=name, expression=exp.Literal.string("")), exp.not_(_is_one_of(name.copy(), always))
    )
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
    found = [
        exp.case().when(_is_one_of(_as_text(column(name, "s")), values), exp.Literal.string(name)) for name in names
    ]
    listed = exp.cast(exp.Array(expressions=found), data_type("text[]"))
    yield exp.func("array_remove", listed, exp.null())


def _fill(action: KeepUnchanged, name: str, target: TableShape) -> Statement:
    """Give a column the value of the newest row that is not newer, unless the key was deleted in between."""
    events = action.events
    found = _known(action, name, target)
    terms = [exp.Ordered(this=column(key, "c"), nulls_first=False) for key in events.unique_key]
    terms += [exp.Ordered(this=column(item, "c"), desc=True, nulls_first=False) for item in events.version]
    terms += _by_sequence(events, "c")
    terms.append(exp.Ordered(this=column(IS_DELETE, "c"), nulls_first=False))
    terms.append(exp.Ordered(this=content_of(target[name], "c"), desc=True, nulls_first=True))
    best = exp.select(*(column(item, "c") for item in (*events.unique_key, name, _SETTLED)))
    best = best.distinct(*(column(key, "c") for key in events.unique_key)).from_(found.subquery(quoted("c")))
    same = (exp.EQ(this=column(key, "w"), expression=column(key, "f")) for key in events.unique_key)
    rest = exp.func("array_remove", column(KEPT, "w"), exp.Literal.string(name))
    changes = [
        exp.EQ(this=column(name), expression=column(name, "f")),
        exp.EQ(this=column(KEPT), expression=rest),
    ]
    update = exp.Update(this=table(action.winners, "w"), expressions=changes)
    update.set("from_", exp.From(this=best.order_by(*terms).subquery(quoted("f"))))
    return statement(update.where(*same, column(_SETTLED, "f"), _leaves_out("w", name)))


def _known(action: KeepUnchanged, name: str, target: TableShape) -> exp.Union:
    """What is known of a column of the keys that leave it out: in the batch, in the target, among the tombstones."""
    events = action.events
    names = tuple(dict.fromkeys((*events.unique_key, *events.version)))
    none = exp.alias_(exp.cast(exp.null(), data_type(target[name].data_type)), name, quoted=True)
    later = newer([column(n, "k") for n in events.version], [column(n, "w") for n in events.version])

    def known(rows: exp.Expr, value: exp.Expr, is_delete: exp.Expr, settled: exp.Expr, *, staged: bool) -> exp.Select:
        nothing = exp.cast(exp.null(), data_type("text"))
        sequence = (column(n, "k") if staged else exp.alias_(nothing, n, quoted=True) for n in events.sequence)
        flags = [exp.alias_(value, n, quoted=True) for n, value in ((IS_DELETE, is_delete), (_SETTLED, settled))]
        return _of_winners(action, name, rows, [*(column(n, "k") for n in names), value, *sequence, *flags])

    in_batch = events_of(events, target).subquery(quoted("k"))
    is_row = exp.not_(column(IS_DELETE, "k"))
    batch = known(in_batch, column(name, "k"), column(IS_DELETE, "k"), is_row, staged=True)
    batch = batch.where(exp.not_(_leaves_out("k", name)), exp.not_(later))
    there = known(table(action.target, "k"), column(name, "k"), exp.false(), exp.true(), staged=False)
    # A row below a tombstone is stale: no value is needed, unless it is kept softly.
    settled = exp.false() if events.soft else later.copy()
    buried = known(table(events.tombstones, "k"), none, exp.true(), settled, staged=False)
    if events.soft:
        buried = buried.where(exp.not_(later.copy()))
    both = exp.Union(this=batch, expression=there, distinct=False)
    return exp.Union(this=both, expression=buried, distinct=False)


def _of_winners(action: KeepUnchanged, name: str, rows: exp.Expr, selected: Sequence[exp.Expr]) -> exp.Select:
    key = action.events.unique_key
    same = exp.and_(*(exp.EQ(this=column(item, "k"), expression=column(item, "w")) for item in key))
    found = exp.select(*selected).from_(table(action.winners, "w")).join(rows, on=same)
    return found.where(_leaves_out("w", name))


def _leaves_out(alias: str, name: str) -> exp.Expr:
    return exp.EQ(this=exp.Literal.string(name), expression=exp.Any(this=exp.Paren(this=column(KEPT, alias))))


def _no_names() -> exp.Expr:
    return exp.cast(exp.Literal.string("{}"), data_type("text[]"))


# --- comparing --------------------------------------------------------------------------------------------------------


def by_version(
    ours: Sequence[exp.Expr],
    theirs: Sequence[exp.Expr],
    *,
    newer: exp.Expr,
    older: exp.Expr,
    equal: exp.Expr | None = None,
) -> exp.Case:
    """One of three expressions, by how two versions stand to each other, NULL lowest; without ``equal`` left open."""
    case = exp.case()
    for mine, other in zip(ours, theirs, strict=True):
        case = case.when(exp.GT(this=mine.copy(), expression=other.copy()), newer.copy())
        case = case.when(exp.LT(this=mine.copy(), expression=other.copy()), older.copy())
        missing = (mine.copy().is_(exp.null()), other.copy().is_(exp.null()))
        case = case.when(exp.and_(missing[1], exp.not_(missing[0])), newer.copy())
        case = case.when(exp.and_(missing[0].copy(), exp.not_(missing[1].copy())), older.copy())
    return case.else_(equal) if equal is not None else case


def newer(ours: Sequence[exp.Expr], theirs: Sequence[exp.Expr]) -> exp.Case:
    """Whether one version is greater than another; never NULL."""
    return by_version(ours, theirs, newer=exp.true(), older=exp.false(), equal=exp.false())


def _as_text(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, data_type("text"))


def _is_one_of(value: exp.Expr, words: Sequence[str]) -> exp.Expr:
    if not words:
        return exp.false()
    return exp.In(this=value.copy(), expressions=[exp.Literal.string(word) for word in words])
