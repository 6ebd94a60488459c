"""What every error is: facts as attributes, what was not done, what to type next."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar


@dataclass(eq=False, kw_only=True)
class IdempotentError(Exception):
    """Base of all our errors; never raised itself.

    ``retryable`` says whether the same attempt may succeed later without anybody's help.
    ``anchor`` names the paragraph of docs/runbook.md that explains the error.
    """

    retryable: ClassVar[bool] = False
    anchor: ClassVar[str] = ""

    @property
    def headline(self) -> str:
        raise NotImplementedError

    @property
    def details(self) -> Sequence[str]:
        return ()

    @property
    def next_move(self) -> str:
        return ""

    def __str__(self) -> str:
        lines = [self.headline, *(f"  - {line}" for line in self.details), self.next_move]
        if self.anchor:
            lines.append(f"Runbook: {self.anchor}")
        return "\n".join(line for line in lines if line)

    def __reduce__(self) -> tuple[Any, ...]:
        facts = {field.name: getattr(self, field.name) for field in fields(self)}
        return functools.partial(type(self), **facts), ()


def facts(error: IdempotentError) -> Mapping[str, Any]:
    """The facts of an error as plain values, for ``--json`` output and the ledger."""
    return {field.name: getattr(error, field.name) for field in fields(error)}
