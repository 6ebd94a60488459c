"""The words a user may have meant, and the words other tools use for ours."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

# What dlt, dbt and SQLMesh call our options.
ALIASES = {
    "primary_key": "unique_key",
    "incremental_strategy": "strategy",
    "cron": "schedule",
    "start": "start_date",
    "end": "end_date",
    "audits": "checks",
    "data_tests": "checks",
    "tests": "checks",
    "time_column": "event_time",
    "keys": "unique_key",
    "commit_version": "version",
}


def meant(word: str, known: Iterable[str]) -> str:
    """``, did you mean 'version'?``, or nothing when no known word is near."""
    words = {name.casefold(): name for name in sorted(set(known), reverse=True)}
    near = difflib.get_close_matches(word.casefold(), words, n=1, cutoff=0.6)
    return f", did you mean {words[near[0]]!r}?" if near else ""


def said(problem: Mapping[str, Any]) -> str:
    """What pydantic found wrong, in the words of YAML."""
    yaml_words = {
        "tuple_type": "must be a list",
        "model_type": "must be a mapping of options",
        "model_attributes_type": "must be a mapping of options",
    }
    return yaml_words.get(problem["type"]) or str(problem["msg"]).removeprefix("Value error, ")


def ours(values: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping with other tools' words replaced by ours.

    Raises:
        ValueError: one option is given under two names.
    """
    renamed: dict[str, Any] = {}
    for word, value in values.items():
        name = ALIASES.get(word, word)
        if name in renamed:
            raise ValueError(f"{word!r} and {name!r} are the same option, keep {name!r}")
        renamed[name] = value
    return renamed
