"""Statements that give a table what another one has, before, at and after the moment in which they exchange names.

Definitions that PostgreSQL writes name the live table. They are run word for word once the new table has that name;
where it never gets it, since readers go by a view, its own name is put in that place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from sqlglot import exp

from airflow_idempotent.core.inventory import Item, Kind
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.dialects.postgres import Phrase, Warehouse
from airflow_idempotent.sql.statement import Statement, quoted, statement, table


class When(StrEnum):
    """Before readers wait, on the shadow; while they wait, under the live name; when it is over."""

    BEFORE = "before"
    MOMENT = "moment"
    AFTER = "after"


Step = tuple[When, Statement]

Pieces = list[str | exp.Expr]

_CONTINUE = """
SELECT setval(own.sequence, numbers.last)
FROM (SELECT pg_get_serial_sequence(%(table)s, %(column)s)::regclass AS sequence) AS own,
     LATERAL (SELECT greatest(pg_sequence_last_value(%(oid)s::bigint::oid::regclass),
                              pg_sequence_last_value(own.sequence)) AS last) AS numbers
WHERE numbers.last IS NOT NULL
"""
_ENABLED = {"O": "ENABLE", "D": "DISABLE", "R": "ENABLE REPLICA", "A": "ENABLE ALWAYS"}
_COMMANDS = {"*": "ALL", "r": "SELECT", "a": "INSERT", "w": "UPDATE", "d": "DELETE"}
_IDENTITIES = {"d": "DEFAULT", "f": "FULL", "n": "NOTHING"}


def phrase(*pieces: str | exp.Expr) -> Statement:
    """A command of fixed words, of text that PostgreSQL has written, and of trees: names quoted, values literals."""
    return statement(Phrase(expressions=[exp.Var(this=item) if isinstance(item, str) else item for item in pieces]))


def text(value: str) -> exp.Literal:
    """A value in a command that takes no binds."""
    return exp.Literal.string(value)


def validate_constraint(relation: Relation, name: str) -> Statement:
    """Check the rows that were there before a constraint."""
    return phrase("ALTER TABLE", table(relation), "VALIDATE CONSTRAINT", quoted(name))


def carried(
    item: Item, live: Relation, shadow: Relation, instead_of: Item | None = None, becomes: Relation | None = None
) -> Iterator[Step]:
    """What gives the thing to the table ``shadow``, which becomes ``live``, in place of what it has under the name.

    ``becomes`` is what it is called from the moment on where that is another name. Nothing for kinds that cannot be
    given, or need not be.
    """
    if becomes is not None:
        item, live = _of_another_name(item, becomes), becomes
    match item.kind:
        case Kind.OWNER:
            yield When.BEFORE, phrase("ALTER TABLE", table(shadow), "OWNER TO", quoted(item.facts[0]))
        case Kind.GRANT:
            yield from _grant(item, shadow, instead_of)
        case Kind.ROW_SECURITY | Kind.COLUMN_OPTION | Kind.STORAGE_PARAMETER | Kind.DEFAULT:
            yield When.BEFORE, phrase("ALTER TABLE", table(shadow), *_option(item))
        case Kind.INDEX:
            unique, how = item.facts
            yield When.BEFORE, phrase(f"CREATE {unique} INDEX ON", table(shadow), how)
        case Kind.CONSTRAINT | Kind.FOREIGN_KEY:
            yield from _constraint(item, live, shadow)
        case Kind.SEQUENCE | Kind.IDENTITY:
            yield from _numbers(item, live, shadow, instead_of)
        case Kind.PUBLICATION:
            yield from _publication(item, live, shadow, instead_of)
        case _:
            yield from ((When.MOMENT, made) for made in _under_its_name(item, live, instead_of))
            if item.kind is Kind.REFERENCE and item.facts[4] == "true":
                yield When.AFTER, validate_constraint(Relation(*item.facts[:2]), item.facts[2])


def _of_another_name(item: Item, name: Relation) -> Item:
    """The thing with that name where the text of PostgreSQL has the live table's."""
    called = table(name).sql(dialect=Warehouse)
    match item.kind:
        case Kind.TRIGGER:
            definition, enabled, was = item.facts
            return replace(item, facts=(definition.replace(f" ON {was} ", f" ON {called} ", 1), enabled, was))
        case Kind.REFERENCE | Kind.CONSTRAINT | Kind.FOREIGN_KEY:
            place = 3 if item.kind is Kind.REFERENCE else 2
            definition, was = item.facts[place], item.facts[-1]
            given = definition.replace(f" REFERENCES {was}(", f" REFERENCES {called}(", 1)
            return replace(item, facts=(*item.facts[:place], given, *item.facts[place + 1 :]))
        case _:
            return item


def _under_its_name(item: Item, live: Relation, instead_of: Item | None) -> Iterator[Statement]:
    """What is done once the new table is called as the live one was: definitions fit it word for word."""
    match item.kind:
        case Kind.POLICY | Kind.TRIGGER | Kind.RULE:
            if instead_of is not None:
                yield phrase(f"DROP {item.kind.upper()}", quoted(item.name), "ON", table(live))
            yield from _acting(item, live)
        case Kind.REFERENCE:
            _, _, constraint, definition, *_ = item.facts
            called, given = quoted(constraint), definition.removesuffix(" NOT VALID")
            yield phrase("ALTER TABLE", _child(item), "DROP CONSTRAINT", called)
            yield phrase("ALTER TABLE", _child(item), "ADD CONSTRAINT", called, given, "NOT VALID")
        case Kind.VIEW:
            schema, name, definition, options, *_ = item.facts
            with_options = f"WITH ({options}) AS" if options else "AS"
            view = table(Relation(schema, name))
            yield phrase("CREATE OR REPLACE VIEW", view, with_options, definition.strip("; "))
        case Kind.REPLICA_IDENTITY:
            how, index = item.facts
            named: Pieces = ["USING INDEX", quoted(index)] if how == "i" else [_IDENTITIES[how]]
            yield phrase("ALTER TABLE", table(live), "REPLICA IDENTITY", *named)
        case Kind.STATISTICS:
            yield Statement(item.facts[0])
        case Kind.COMMENT:
            yield _comment(item, live)
        case _:
            return


def _child(item: Item) -> exp.Table:
    """The table that a foreign key belongs to."""
    return table(Relation(*item.facts[:2]))


def _grant(item: Item, shadow: Relation, instead_of: Item | None) -> Iterator[Step]:
    privilege, column, role, grantable = item.facts
    columns: Pieces = [exp.Paren(this=quoted(column))] if column else []
    what: Pieces = [privilege, *columns, "ON TABLE", table(shadow)]
    who = quoted(role) if role else "PUBLIC"
    if instead_of is not None:
        yield When.BEFORE, phrase("REVOKE", *what, "FROM", who)
    option = ["WITH GRANT OPTION"] if grantable == "true" else []
    yield When.BEFORE, phrase("GRANT", *what, "TO", who, *option)


def _option(item: Item) -> Pieces:
    if item.kind is Kind.ROW_SECURITY:
        word, is_on = item.facts
        words = {"enabled": ("ENABLE", "DISABLE"), "forced": ("FORCE", "NO FORCE")}[word]
        return [words[is_on != "true"], "ROW LEVEL SECURITY"]
    if item.kind is Kind.STORAGE_PARAMETER:
        name, value = item.facts
        return ["SET (", quoted(name), "=", text(value), ")"]
    if item.kind is Kind.DEFAULT:
        column, default = item.facts
        return ["ALTER COLUMN", quoted(column), "SET DEFAULT", default]
    word, column, value, *options = item.facts
    if options:
        return ["ALTER COLUMN", quoted(column), "SET (", quoted(options[0]), "=", text(value), ")"]
    return ["ALTER COLUMN", quoted(column), "SET", word, value]


def _constraint(item: Item, live: Relation, shadow: Relation) -> Iterator[Step]:
    name, kind, definition, of_itself, *_ = item.facts
    if of_itself == "true":  # it names the live table: once that is the new one
        given = definition.removesuffix(" NOT VALID")
        yield When.MOMENT, phrase("ALTER TABLE", table(live), "ADD CONSTRAINT", quoted(name), given, "NOT VALID")
        if given == definition:
            yield When.AFTER, validate_constraint(live, name)
        return
    # Keys are named as their indexes, and those get the live names when names are exchanged.
    called: Pieces = ["CONSTRAINT", quoted(name)] if kind in ("c", "f") else []
    yield When.BEFORE, phrase("ALTER TABLE", table(shadow), "ADD", *called, definition)


def _numbers(item: Item, live: Relation, shadow: Relation, instead_of: Item | None) -> Iterator[Step]:
    column, oid, schema, name, identity = item.facts
    if item.kind is Kind.SEQUENCE and instead_of is None:  # the new table goes on with the sequence itself
        owned = exp.Dot(this=table(shadow), expression=quoted(column))
        yield When.BEFORE, phrase("ALTER SEQUENCE", table(Relation(schema, name)), "OWNED BY", owned)
        return
    if item.kind is Kind.IDENTITY and instead_of is None:
        how = "ALWAYS" if identity == "a" else "BY DEFAULT"
        alter: Pieces = ["ALTER COLUMN", quoted(column), f"ADD GENERATED {how} AS IDENTITY"]
        yield When.BEFORE, phrase("ALTER TABLE", table(shadow), *alter)
    called = table(live).sql(dialect=Warehouse)
    yield When.MOMENT, Statement(_CONTINUE, {"table": called, "column": column, "oid": int(oid)})


def _acting(item: Item, live: Relation) -> Iterator[Statement]:
    if item.kind is Kind.POLICY:
        yield _policy(item, live)
        return
    definition, enabled, *_ = item.facts
    yield Statement(definition)
    if enabled != "O":
        what = f"{_ENABLED[enabled]} {item.kind.upper()}"
        yield phrase("ALTER TABLE", table(live), what, quoted(item.name))


def _policy(item: Item, live: Relation) -> Statement:
    permissive, command, using, check, *roles = item.facts
    kind = "PERMISSIVE" if permissive == "true" else "RESTRICTIVE"
    conditions = [f"USING ({using})"] * bool(using) + [f"WITH CHECK ({check})"] * bool(check)
    to = exp.Var(this=", ".join(quoted(role).sql(dialect=Warehouse) for role in roles) or "PUBLIC")
    words: Pieces = [
        "CREATE POLICY",
        quoted(item.name),
        "ON",
        table(live),
        f"AS {kind} FOR {_COMMANDS[command]} TO",
        to,
    ]
    return phrase(*words, *conditions)


def _publication(item: Item, live: Relation, shadow: Relation, instead_of: Item | None) -> Iterator[Step]:
    condition, *columns = item.facts
    publication = phrase("ALTER PUBLICATION", quoted(item.name)).sql
    if instead_of is not None:
        yield When.BEFORE, phrase(publication, "DROP TABLE", table(shadow))
    listed: Pieces = [exp.Tuple(expressions=[quoted(name) for name in columns])] if columns else []
    rows = [f"WHERE ({condition})"] if condition else []
    yield When.BEFORE, phrase(publication, "DROP TABLE", table(live))
    yield When.MOMENT, phrase(publication, "ADD TABLE", table(live), *listed, *rows)


def _comment(item: Item, live: Relation) -> Statement:
    kind, name, said = item.facts
    if kind == "TABLE":
        what: Pieces = [table(live)]
    elif kind == "COLUMN":
        what = [exp.Dot(this=table(live), expression=quoted(name))]
    elif kind in ("INDEX", "STATISTICS"):
        what = [table(Relation(live.schema, name))]
    else:
        what = [quoted(name), "ON", table(live)]
    return phrase("COMMENT ON", kind, *what, "IS", text(said))
