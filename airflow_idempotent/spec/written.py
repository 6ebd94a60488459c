"""A spec as the ledger keeps it, so that a version of a table goes on to be loaded by its own."""

from __future__ import annotations

import json

from pydantic import ValidationError

from airflow_idempotent.errors import SpecError
from airflow_idempotent.spec.fingerprint import NOT_MEANING
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.loader import problems_of
from airflow_idempotent.spec.table import TableSpec


def as_text(spec: LoadSpec) -> str:
    """What a table's spec means, as JSON; empty for the words of an operator, which are no whole spec."""
    if not isinstance(spec, TableSpec):
        return ""
    said = spec.model_dump(mode="json", exclude=NOT_MEANING)
    said["partition_by"]["grain"] = str(spec.grain)  # which may follow from the schedule
    return json.dumps(said, ensure_ascii=False)


def from_text(text: str, now: TableSpec) -> TableSpec:
    """The spec that was kept; what no row depends on, like time-outs and pools, is as the spec of today says.

    Raises:
        SpecError: this release cannot read it.
    """
    try:
        found = TableSpec.model_validate({**json.loads(text), "start_date": now.start_date})
    except ValidationError as error:
        where = f"the spec of {now.table} in the ledger (airflow_idempotent.version_specs)"
        raise SpecError(file=where, problems=tuple(problems_of(error))) from None
    return found.model_copy(update={name: getattr(now, name) for name in NOT_MEANING})
