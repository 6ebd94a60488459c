"""What a MERGE does not tell: temporary sequences, advanced inside its conditions, count it in the same pass.

A call costs some 50 ns and logs nothing; docs/adr/0002 has the measurements.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from airflow_idempotent.sql.statement import Statement, statement

TOO_MANY = "2200H"


@dataclass(frozen=True, slots=True)
class Counters:
    """Sequences of these names, which live until the transaction drops them or is undone.

    To count more than ``most`` is an error, ``TOO_MANY``: what would go on without an end does not.
    """

    names: tuple[str, ...]
    most: int | None = None

    @property
    def start(self) -> tuple[Statement, ...]:
        """Make them, each at 0."""
        limit = "" if self.most is None else f" MAXVALUE {max(1, self.most):d}"
        made = (Statement(f"CREATE TEMPORARY SEQUENCE {name} MINVALUE 0{limit} CACHE 10000") for name in self.names)
        return (*made, statement(exp.select(*(_called("nextval", name) for name in self.names))))

    @property
    def read(self) -> Statement:
        """What they have counted, in their order."""
        return statement(exp.select(*(_called("currval", name) for name in self.names)))

    @property
    def drop(self) -> Statement:
        """Be rid of them, or the next load of the session would find them."""
        return Statement(f"DROP SEQUENCE {', '.join(f'pg_temp.{name}' for name in self.names)}")


def take(name: str) -> exp.Expr:
    """True, and counted: values begin at 1."""
    return exp.GT(this=_called("nextval", name), expression=exp.Literal.number(0))


def skip(name: str) -> exp.Expr:
    """False, and counted."""
    return exp.LT(this=_called("nextval", name), expression=exp.Literal.number(0))


def _called(function: str, name: str) -> exp.Expr:
    return exp.func(function, exp.Literal.string(f"pg_temp.{name}"))
