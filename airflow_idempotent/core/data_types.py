"""Types: the many names PostgreSQL understands, and the one its catalogue uses."""

from __future__ import annotations

import re

_SPELLINGS = {
    "bool": "boolean",
    "char": "character",
    "char varying": "character varying",
    "decimal": "numeric",
    "float": "double precision",
    "float4": "real",
    "float8": "double precision",
    "int": "integer",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "time": "time without time zone",
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "timetz": "time with time zone",
    "varbit": "bit varying",
    "varchar": "character varying",
}
_SINGLE = {"bit", "char", "character"}
"""Types that have one character when no length is given."""
_TYPE = re.compile(
    r"(?P<name>[a-zA-Z][\w ]*?)\s*(?:\((?P<digits>[\d\s,]*)\))?"
    r"\s*(?P<zone>(?:with|without) time zone)?(?P<array>(?:\[\])*)",
    re.IGNORECASE,
)


def catalogue_spelling(data_type: str) -> str:
    """A type as ``format_type`` writes it: ``timestamp(3) with time zone`` for ``TIMESTAMPTZ(3)``. Odd ones stay."""
    text = " ".join(data_type.split())
    if not (found := _TYPE.fullmatch(text)):
        return text
    name, digits = found["name"].lower(), re.sub(r"\s", "", found["digits"] or "")
    spelled = f"{name} {found['zone'].lower()}" if found["zone"] else _SPELLINGS.get(name, name)
    if name == "float" and digits:
        spelled, digits = ("real" if int(digits) <= 24 else "double precision"), ""
    if name in _SINGLE and not digits:
        digits = "1"
    if spelled == "numeric" and digits and "," not in digits:
        digits += ",0"
    first, space, rest = spelled.partition(" ") if spelled.startswith("time") else (spelled, "", "")
    return f"{first}{f'({digits})' if digits else ''}{space}{rest}{'[]' if found['array'] else ''}"
