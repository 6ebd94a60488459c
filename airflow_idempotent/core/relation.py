"""Names of tables, quoted exactly once and compared as PostgreSQL stores them."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

MAX_IDENTIFIER_BYTES = 63
_PART = r'("(?:[^"]|"")+"|[^\s".;()\'\\]+)'
_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")
_NAME = re.compile(rf"{_PART}(?:\.{_PART})?")


def stored_name(name: str) -> str:
    """The identifier as PostgreSQL stores it: cut to 63 bytes, never inside a character."""
    raw = name.encode()
    return name if len(raw) <= MAX_IDENTIFIER_BYTES else raw[:MAX_IDENTIFIER_BYTES].decode(errors="ignore")


def short_name(prefix: str, *parts: str) -> str:
    """A name for a helper object: fixed prefix and a hash of everything it belongs to."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).hexdigest()
    return f"{prefix}_{digest[:16]}"


@dataclass(frozen=True, slots=True, order=True)
class Relation:
    """A table: schema and name, as stored in the catalogue (no folding of case).

    Raises:
        ValueError: a part is empty or holds a NUL character.
    """

    schema: str
    name: str

    def __post_init__(self) -> None:
        for part in (self.schema, self.name):
            if not part or "\0" in part:
                raise ValueError(f"{part!r} is not a name")
        object.__setattr__(self, "schema", stored_name(self.schema))
        object.__setattr__(self, "name", stored_name(self.name))

    @classmethod
    def parse(cls, text: str, *, default_schema: str = "public") -> Relation:
        """Read ``orders``, ``analytics.orders`` or ``"Sales-2024"."Order"``; case is kept as written.

        Raises:
            ValueError: the text is not one name or two names joined by a dot.
        """
        if not (found := _NAME.fullmatch(text)):
            raise ValueError(f"{text!r} is not a table name: write schema.table, with double quotes around odd names")
        parts = [part[1:-1].replace('""', '"') if part.startswith('"') else part for part in found.groups() if part]
        return cls(*parts) if len(parts) == 2 else cls(default_schema, parts[0])

    def __str__(self) -> str:
        return ".".join(
            part if _PLAIN.fullmatch(part) else '"' + part.replace('"', '""') + '"' for part in (self.schema, self.name)
        )
