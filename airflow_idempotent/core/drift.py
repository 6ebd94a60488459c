"""How the columns of a table differ from what its spec and its batch say, and which changes of type lose nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass

from airflow_idempotent.core.columns import Column

_INTEGERS = ("smallint", "integer", "bigint")
_DIGITS = {"smallint": 5, "integer": 10, "bigint": 19}
_PRECISE = re.compile(
    r"(?P<base>character varying|numeric|timestamp|time|interval|bit varying)"
    r"(?:\((?P<first>\d+)(?:,(?P<second>-?\d+))?\))?(?P<rest>.*)"
)


@dataclass(frozen=True, slots=True)
class Retyped:
    """A column whose type differs from the spec's, both as the catalogue spells them."""

    name: str
    old: str
    new: str

    @property
    def widens(self) -> bool:
        """Whether every value of the old type is the same value in the new one."""
        return widens(self.old, self.new)

    def __str__(self) -> str:
        return f"{self.name}: {self.old} → {self.new} ({'wider' if self.widens else 'not wider'})"


@dataclass(frozen=True, slots=True)
class SchemaChange:
    """What is to be done to a table before a batch is loaded; falsy when nothing is.

    ``kept`` columns keep their type although the spec has another one: their values are read as the table's type.
    """

    added: tuple[Column, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[Retyped, ...] = ()
    kept: tuple[Retyped, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.dropped or self.retyped)

    @property
    def notes(self) -> tuple[str, ...]:
        """One sentence per change, for logs and the ledger."""
        return (
            *(f"column added: {item.name} {item.data_type}" for item in self.added),
            *(f"column dropped: {name}" for name in self.dropped),
            *(f"column widened: {item.name} {item.old} → {item.new}" for item in self.retyped),
            *(f"column {item.name} stays {item.old}, the spec says {item.new}" for item in self.kept),
        )


def widens(old: str, new: str) -> bool:
    """Whether a change of type keeps every value as it is: ``integer`` to ``bigint``, ``varchar(3)`` to ``text``."""
    if old in _INTEGERS and new in _INTEGERS:
        return _INTEGERS.index(old) < _INTEGERS.index(new)
    if (old, new) == ("real", "double precision"):
        return True
    before, after = _PRECISE.fullmatch(old), _PRECISE.fullmatch(new)
    if old in _INTEGERS and after and after["base"] == "numeric":
        return not after["first"] or int(after["first"]) - int(after["second"] or 0) >= _DIGITS[old]
    if before and before["base"] == "character varying" and new == "text":
        return True
    if not before or not after or (before["base"], before["rest"]) != (after["base"], after["rest"]):
        return False
    if not after["first"]:
        return bool(before["first"])
    if not before["first"]:
        return False
    scale = int(after["second"] or 0) - int(before["second"] or 0)
    return scale >= 0 and int(after["first"]) - scale >= int(before["first"])
