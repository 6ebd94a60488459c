"""How often a table is compared with its source and its ledger, and what becomes of a difference."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, field_validator

from airflow_idempotent.core.audit import Sample
from airflow_idempotent.spec.model import Model


class Audit(Model):
    """A DAG of its own, ``<dag_id>__audit``, that looks for drift and writes no data."""

    schedule: str | None = Field("@weekly", description="Preset, cron or ISO 8601 duration; null: by hand only.")
    sample: int | str = Field(
        "10%", description="Published partitions per audit, longest waiting first: a share like 10%, a number, or all."
    )
    on_drift: Literal["fail", "warn"] = Field(
        "fail", description="Whether something found first fails the task 'alarm'; a changed spec never does."
    )
    requery: bool = Field(
        False, description="Run queries and functions of the source again to compare; files always are compared."
    )

    @field_validator("sample")
    @classmethod
    def _a_sample(cls, value: Any) -> Any:
        Sample.parse(value)
        return value
