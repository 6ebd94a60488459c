"""What a proof found: a law that does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.errors.base import IdempotentError

LAWS = {
    "commute": "batches in any order, repeated, end in the same rows",
    "rerun": "loading a batch again writes nothing",
    "isolate": "loading a partition again leaves the others alone",
    "crash": "cut off anywhere and tried again, a load equals a clean one",
}


@dataclass(eq=False, kw_only=True)
class LawBrokenError(IdempotentError, AssertionError):
    """A table, as it is specified and built, breaks one of the laws; found in scratch databases only.

    ``law`` is one of ``commute rerun isolate crash``, ``trial`` and ``step`` say where it broke, and
    ``tried`` what had been tried until then.
    """

    anchor: ClassVar[str] = "law-broken"
    table: str
    law: str
    trial: str
    step: str
    differences: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    promise: str = ""
    tried: tuple[tuple[str, int], ...] = ()

    @property
    def headline(self) -> str:
        said = f" ({LAWS[self.law]})" if self.law in LAWS else ""
        return f"{self.table}: the law {self.law!r} does not hold{said}; nothing but scratch databases was written."

    @property
    def details(self) -> Sequence[str]:
        return [self.trial, self.step, *self.differences, *(f"look at: {hint}" for hint in self.hints)]

    @property
    def next_move(self) -> str:
        return self.promise or "Correct the spec or the table, then prove it again."
