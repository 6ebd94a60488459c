"""Rows that a Python function yields. The function is only named here: no code of a user runs when a DAG is parsed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, field_validator

from airflow_idempotent.spec.model import Model

OFFERED = ("partition", "start", "end", "cutoff_ts", "key", "params")
"""Arguments that a function gets when it asks for them by name."""

_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


class Python(Model):
    """A function that yields rows: dicts, Arrow tables or batches, or CSV as bytes.

    It is called by keyword, with those of ``partition start end cutoff_ts key params`` that it names.
    """

    kind: Literal["python"] = "python"
    callable: str = Field(description="module:function, importable by the workers.")
    kwargs: Mapping[str, Any] = Field(default_factory=dict, description="More arguments for it, the same in each run.")

    def __init__(self, callable: str | None = None, /, **values: Any) -> None:  # noqa: A002, the option's name
        super().__init__(**({"callable": callable} | values if callable is not None else values))

    @field_validator("callable")
    @classmethod
    def _a_name(cls, value: str) -> str:
        if not _NAME.fullmatch(value):
            raise ValueError(f"{value!r} names no function, write it like 'feeds.orders:rows'")
        return value

    @field_validator("kwargs")
    @classmethod
    def _not_ours(cls, value: Mapping[str, Any]) -> Mapping[str, Any]:
        if taken := sorted(set(value) & set(OFFERED)):
            raise ValueError(f"{', '.join(map(repr, taken))} is given by the run, choose another name")
        return value
