"""The checks in the words of Airflow's SQL check operators, dbt and SQLMesh."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ALIASES: Mapping[str, str] = {
    # Airflow: SQLColumnCheckOperator
    "null_check": "not_null",
    "unique_check": "unique",
    "distinct_check": "statistic",
    "min": "statistic",
    "max": "statistic",
    "sum": "statistic",
    "avg": "statistic",
    # dbt, dbt_utils and dbt_expectations' common ones
    "unique_combination_of_columns": "unique",
    "accepted_range": "range",
    "not_null_proportion": "null_rate",
    "recency": "freshness",
    "relationships_where": "relationships",
    "foreign_key": "relationships",
    # SQLMesh audits
    "not_null_values": "not_null",
    "unique_values": "unique",
    "number_of_rows": "row_count",
    # short ones
    "count": "row_count",
    "fresh": "freshness",
}
"""Other names of checks."""

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "accepted_values": {"is_in": "values", "column": "columns"},
    "freshness": {"field": "column", "interval": "max_age"},
    "not_null": {"column": "columns"},
    "null_rate": {"column": "columns"},
    "range": {
        "column": "columns",
        "min_value": "min",
        "max_value": "max",
        "min_v": "min",
        "max_v": "max",
        "geq_to": "min",
        "leq_to": "max",
    },
    "relationships": {
        "column_name": "column",
        "to_table": "to",
        "to_column": "field",
        "from_condition": "where",
        "to_condition": "to_where",
    },
    "row_count": {"equal_to": "equals", "geq_to": "min", "leq_to": "max"},
    "unique": {"column": "columns", "combination_of_columns": "columns"},
}
"""Other names of options, by check."""

_ONLY_ALIASES: Mapping[str, tuple[str, ...]] = {
    "number_of_rows": ("threshold",),
    "not_null_proportion": ("at_least", "threshold"),
    "recency": ("datepart",),
    "range": ("inclusive",),
    "accepted_range": ("inclusive",),
}
"""Options that are turned into others."""
_STATISTICS = {"min": "min", "max": "max", "sum": "sum", "avg": "avg", "distinct_check": "distinct"}
_EXCEEDED = {"equal_to": "!=", "leq_to": ">", "less_than": ">=", "geq_to": "<", "greater_than": "<="}
"""When the number of violations is not what Airflow's word asks for."""


def other_words(name: str) -> tuple[str, ...]:
    """The options that a check takes under other names than ours."""
    kind = ALIASES.get(name, name)
    compared = tuple(_EXCEEDED) if kind in ("not_null", "unique") else ()
    return (*_OPTIONS.get(kind, {}), *_ONLY_ALIASES.get(name, ()), *compared)


def in_our_words(name: str, options: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A check and its options under our names; what nobody knows stays as it is, to be refused by name.

    Raises:
        ValueError: an option means something that we cannot say.
    """
    kind = ALIASES.get(name, name)
    words = {_OPTIONS.get(kind, {}).get(option, option): value for option, value in options.items()}
    if len(words) != len(options):
        raise ValueError("an option is given twice, under two of its names")
    if name in _STATISTICS:
        words = {"of": _STATISTICS[name], **words}
    if name == "number_of_rows" and "threshold" in words:
        words["min"] = words.pop("threshold") + 1
    if name == "not_null_proportion":
        for least in ("at_least", "threshold"):
            if least in words:
                words["max"] = round(1 - words.pop(least), 12)
    if name == "recency" and "datepart" in words:
        words["max_age"] = f"{words.get('max_age', 1)} {words.pop('datepart')}"
    _values_of(kind, words)
    if isinstance(listed := words.get("columns"), str):
        words["columns"] = [listed]
    return kind, words


def _values_of(kind: str, words: dict[str, Any]) -> None:
    """Values that others write in another form."""
    if kind == "freshness" and isinstance(age := words.get("max_age"), Mapping):
        words["max_age"] = f"{age.get('count')} {age.get('period')}"
    if kind == "range" and "inclusive" in words:
        words["exclusive"] = not words.pop("inclusive")
    if kind == "relationships" and isinstance(to := words.get("to"), str):
        words["to"] = _table_of(to)
    if kind in ("not_null", "unique"):
        _counted(words)


def _table_of(name: str) -> str:
    """A table by its name, or as dbt refers to one: ``ref('customers')``, ``source('shop', 'customers')``."""
    found = re.fullmatch(r"\s*(?:ref|source)\(\s*(['\"])([\w.]+)\1(?:\s*,\s*(['\"])(\w+)\3)?\s*\)\s*", name)
    return ".".join(filter(None, (found[2], found[4]))) if found else name


def _counted(words: dict[str, Any]) -> None:
    """Airflow's comparison with the number of NULLs or duplicates, as a threshold; with 0 it is what we ask anyway."""
    given = [word for word in _EXCEEDED if word in words]
    if len(given) > 1 or (given and "error_if" in words):
        raise ValueError(f"{' and '.join(given)}: give one threshold")
    for word in given:
        threshold = f"{_EXCEEDED[word]}{words.pop(word)}"
        if threshold != "!=0":
            words["error_if"] = threshold


def column_checks(mapping: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Airflow's ``column_mapping``, one entry for each check of each column.

    Raises:
        ValueError: it is not laid out like ``{column: {check: {option: value}}}``.
    """
    entries = []
    for name, checks in mapping.items():
        if not isinstance(checks, Mapping):
            raise ValueError(f"column_mapping.{name}: write {{column: {{check: {{equal_to: 0}}}}}}")
        for check, options in checks.items():
            kind = ALIASES.get(check, check)
            takes_one = kind in ("statistic", "freshness", "relationships")
            own = {"column": name} if takes_one else {"columns": [name]}
            entries.append({check: {**own, **(options if isinstance(options, Mapping) else {})}})
    return entries
