"""Where the columns of a query come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from airflow_idempotent.core.relation import Relation


class Use(StrEnum):
    """What a query does with a column, in OpenLineage's words, the direct ones in order of strength.

    Values of a column used directly become values of the result; one that is used indirectly decides which
    rows or values those are.
    """

    IDENTITY = "IDENTITY"
    TRANSFORMATION = "TRANSFORMATION"
    AGGREGATION = "AGGREGATION"
    CONDITIONAL = "CONDITIONAL"
    WINDOW = "WINDOW"
    JOIN = "JOIN"
    FILTER = "FILTER"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"

    @property
    def is_direct(self) -> bool:
        """Whether values themselves come through."""
        return self in _DIRECT

    def of(self, inner: Use) -> Use:
        """What is done on the whole where ``inner`` was done before: an indirect use stays one, else the stronger."""
        if not self.is_direct or not inner.is_direct:
            return inner if self.is_direct else self
        return max(self, inner, key=_DIRECT.index)


_DIRECT = (Use.IDENTITY, Use.TRANSFORMATION, Use.AGGREGATION)


@dataclass(frozen=True, slots=True, order=True)
class Origin:
    """A column of a table that is read, and what for."""

    relation: Relation
    column: str
    use: Use


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Where each column of a result comes from, and what decides over its rows as a whole.

    A column that comes from no table has no origins; what cannot be told for certain is left out.
    """

    columns: Mapping[str, tuple[Origin, ...]] = field(default_factory=dict)
    rows: tuple[Origin, ...] = ()


def located(address: str) -> tuple[str, str]:
    """Namespace and name of a file or folder, as OpenLineage names datasets in its place.

    An Airflow connection in front of the host is no part of the place.
    """
    scheme, marked, rest = address.partition("://")
    if not marked or scheme in ("file", "local"):
        return "file", rest if marked else address
    host, _, path = rest.partition("/")
    _, at, place = host.rpartition("@")
    if at and not (scheme in _CONTAINER_BEFORE_HOST and "." in place):
        host = place
    return f"{scheme}://{host}", path.strip("/") or "/"


def standing_part(*patterns: str) -> str:
    """The folder that is the same for every partition, by the first pattern that has one; else the last one whole.

    Dates, wildcards and templates end it. Were each day's folder a dataset, a year would have 365.
    """
    for pattern in patterns:
        scheme, marked, rest = pattern.rpartition("://")
        pieces = rest.split("/")
        changing = next((place for place, piece in enumerate(pieces) if _CHANGING.search(piece)), len(pieces))
        if any(pieces[:changing]) or changing == len(pieces):
            return scheme + marked + "/".join(pieces[:changing])
    return patterns[-1]


_CONTAINER_BEFORE_HOST = ("abfs", "abfss", "wasb", "wasbs")
_CHANGING = re.compile(r"\{\{|\{%|[*?\[]|\d{4}-?\d\d|=\d")
