"""Where the columns of a query come from: its tree followed down to the tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.normalize_identifiers import normalize_identifiers
from sqlglot.optimizer.qualify_tables import qualify_tables
from sqlglot.optimizer.scope import Scope, build_scope

from airflow_idempotent.core.lineage import ColumnLineage, Origin, Use
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.sql.user_query import QueryTextError, parsed
from airflow_idempotent.sql.uses import deciding, parts

Source = exp.Table | Scope
"""What a name in FROM stands for: a table, or a query with a scope of its own."""


def column_lineage(sql: str, known: Mapping[Relation, Collection[str]] | None = None) -> ColumnLineage:
    """Follow each column of the result to the tables' columns that it is made of.

    ``known`` are columns of tables, in their order: they tell what a star means, and whose a column is that is
    written without its table. Where that stays open, the column is left out.

    Raises:
        QueryTextError: the text is not one query that only reads, or it cannot be followed.
    """
    tree = normalize_identifiers(parsed(sql).copy(), dialect=Postgres)
    for found in tree.find_all(exp.Table):
        if isinstance(found.this, exp.Identifier) and not found.args.get("alias"):  # as it is written, case and all
            found.set("alias", exp.TableAlias(this=found.this.copy()))
    try:
        root = build_scope(qualify_tables(tree, db="public", dialect=Postgres))
    except SqlglotError as error:
        raise QueryTextError(f"its columns cannot be followed: {str(error).splitlines()[0]}") from None
    if root is None:
        return ColumnLineage()
    trail = _Trail(known or {})
    columns = {name: tuple(sorted(trail.of_output(root, name))) for name in trail.names(root) if name}
    return ColumnLineage(columns, tuple(sorted(set(trail.of_rows(root)))))


@dataclass
class _Trail:
    """A walk down the scopes of a query. It remembers where it is: WITH RECURSIVE leads in circles."""

    known: Mapping[Relation, Collection[str]]
    _below: set[tuple[int, str]] = field(default_factory=set)
    _found: dict[tuple[int, str], frozenset[Origin]] = field(default_factory=dict)
    _names: dict[int, list[str]] = field(default_factory=dict)
    _circled: bool = False

    def names(self, scope: Scope) -> list[str]:
        """The columns that a scope gives, in order; empty text for those that nobody can name."""
        if id(scope) not in self._names:
            self._names[id(scope)] = self._outputs(scope)
        return self._names[id(scope)]

    def of_output(self, scope: Scope, name: str) -> frozenset[Origin]:
        """The origins of a column that a scope gives."""
        step = (id(scope), name)
        if step in self._below:
            self._circled = True
            return frozenset()
        if step not in self._found:
            self._below.add(step)
            found = frozenset(self._of_output(scope, name))
            self._below.discard(step)
            if self._circled and self._below:
                return found  # perhaps only half of it: what lies above is still being followed
            self._found[step], self._circled = found, False
        return self._found[step]

    def of_rows(self, root: Scope) -> Iterator[Origin]:
        """What decides which rows there are, anywhere in the query."""
        for scope in root.traverse():
            for item, use in deciding(scope.expression):
                yield from self._within(_meant(scope, item), scope, use)

    def _outputs(self, scope: Scope) -> list[str]:
        tree = scope.expression
        if (lateral := _lateral(scope)) is not None:
            given = self.names(lateral)
        elif isinstance(tree, exp.SetOperation):
            given = self.names(scope.set_operation_scopes[0])
        elif isinstance(tree, exp.Select):
            given = [name for item in tree.selects for name in self._named(scope, item)]
        else:
            given = []
        return [*scope.outer_columns, *given[len(scope.outer_columns) :]]

    def _of_output(self, scope: Scope, name: str) -> Iterator[Origin]:
        tree: Any = scope.expression
        if (lateral := _lateral(scope)) is not None:
            yield from self._of_place(scope, lateral, name)
        elif isinstance(tree, exp.SetOperation):
            for side in scope.set_operation_scopes:
                yield from self._of_place(scope, side, name)
        elif isinstance(tree, exp.Select):
            yield from self._of_select(scope, name)
        else:  # a function of rows, like unnest: whatever goes in may come out
            yield from self._within(tree, scope, Use.TRANSFORMATION)

    def _of_place(self, scope: Scope, inner: Scope, name: str) -> Iterator[Origin]:
        """Both sides of UNION and the like give their columns by place, whatever they are called."""
        names, given = self.names(scope), self.names(inner)
        if name in names and names.index(name) < len(given):
            yield from self.of_output(inner, given[names.index(name)])

    def _of_select(self, scope: Scope, name: str) -> Iterator[Origin]:
        tree: Any = scope.expression
        selects: list[exp.Expr] = tree.selects
        if name in scope.outer_columns:
            place = scope.outer_columns.index(name)
            found = selects[place : place + 1]
        else:
            found = [item for item in selects if not item.is_star and _called(item) == name][:1]
        if not found:  # then a star gives it, if one does
            stars = [item for item in selects if item.is_star]
            tables = [item.table if isinstance(item, exp.Column) else None for item in stars]
            found = [exp.column(name, table=table) for table in tables]
        for item in found:
            yield from self._within(item, scope, Use.IDENTITY)

    def _within(self, node: exp.Expr, scope: Scope, use: Use) -> Iterator[Origin]:
        """The origins of all columns in an expression that is used so."""
        for found, how in parts(node, use):
            if isinstance(found, exp.Column):
                for source, at in self._sources_of(scope, found):
                    yield from self._of_source(source, at, found.name, how)
                continue
            for below in scope.subquery_scopes:
                if below.expression is found:
                    for name in filter(None, self.names(below)):
                        yield from _used(how, self.of_output(below, name))

    def _of_source(self, source: Source, at: Scope, name: str, use: Use) -> Iterator[Origin]:
        if isinstance(source, Scope):
            yield from _used(use, self.of_output(source, name))
        elif _is_table(source):
            yield Origin(_relation(source), name, use)
        else:
            yield from self._within(source.this, at, use.of(Use.TRANSFORMATION))

    def _sources_of(self, scope: Scope, column: exp.Column) -> list[tuple[Source, Scope]]:
        """The source that a column is of, and the scope it stands in; none where it may be of several.

        USING makes one column of two.
        """
        asked: Scope | None = scope
        while asked is not None:  # a subquery may ask for columns of the query around it
            sources = {name: source for name, (_, source) in asked.selected_sources.items()} | asked.lateral_sources
            if column.table in sources:
                return [(sources[column.table], asked)]
            if not column.table:
                given = [(source, self._given(source)) for source in sources.values()]
                # Were it in two of them, PostgreSQL would refuse the query.
                for sure in (column.name, ""):
                    if found := [(source, asked) for source, names in given if sure in names]:
                        return found if len(found) == 1 or column.name in _merged(asked) else []
            asked = asked.parent
        return []

    def _named(self, scope: Scope, item: exp.Expr) -> list[str]:
        if not item.is_star:
            return [_called(item)]
        of = item.table if isinstance(item, exp.Column) else ""
        sources = [source for name, (_, source) in scope.selected_sources.items() if of in ("", name)]
        return [name for source in sources for name in self._given(source)]

    def _given(self, source: Source) -> Collection[str]:
        """The columns of a source; empty text among them stands for any."""
        if isinstance(source, Scope):
            return self.names(source) or [""]
        return self.known.get(_relation(source), [""]) if _is_table(source) else source.alias_column_names or [""]


def _called(item: exp.Expr) -> str:
    """What PostgreSQL calls a column of a result; without a name of its own it has that of its function."""
    if isinstance(item, exp.Func) and not item.output_name:
        return str(item.name if isinstance(item, exp.Anonymous) else item.sql_name()).lower()
    return item.alias_or_name or item.output_name or "?column?"


def _lateral(scope: Scope) -> Scope | None:
    """The query that stands behind LATERAL."""
    if not isinstance(scope.expression, exp.Lateral):
        return None
    inner = scope.expression.this.unnest()
    return next((below for below in scope.traverse() if below.expression is inner), None)


def _is_table(source: exp.Table) -> bool:
    return isinstance(source.this, exp.Identifier)


def _used(use: Use, origins: Iterable[Origin]) -> Iterator[Origin]:
    """Origins of what is used so in its turn."""
    return (replace(origin, use=use.of(origin.use)) for origin in origins)


def _meant(scope: Scope, item: exp.Expr) -> exp.Expr:
    """What GROUP BY 1, or ORDER BY the name of a column of the result, stand for."""
    selects = scope.expression.selects if isinstance(scope.expression, exp.Select) else []
    inner = item.this if isinstance(item, exp.Ordered) else item
    if isinstance(inner, exp.Literal) and inner.is_int and 0 < int(inner.name) <= len(selects):
        return selects[int(inner.name) - 1]
    if isinstance(inner, exp.Column) and not inner.table:
        named = [found for found in selects if isinstance(found, exp.Alias) and found.alias == inner.name]
        return named[0].this if named else item
    return item


def _merged(scope: Scope) -> set[str]:
    """The columns that USING names."""
    joins = scope.expression.args.get("joins") or ()
    return {name.name for join in joins for name in join.args.get("using") or ()}


def _relation(source: exp.Table) -> Relation:
    return Relation(source.db or "public", source.name)
