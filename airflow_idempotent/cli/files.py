"""Reading what the command line names: the spec file, partitions, instants."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.errors import OutOfRangeError, UsageError

if TYPE_CHECKING:
    from airflow_idempotent.spec.table import TableSpec


def load_spec(path: str) -> TableSpec:
    """The spec in a file.

    Raises:
        SpecError: everything that is wrong with it.
    """
    from airflow_idempotent.spec.loader import load_file

    return load_file(Path(path))


def partition_of(spec: TableSpec, key: str, *, command: str) -> Partition:
    """The partition of that key.

    Raises:
        UsageError: the key is not one of the table's grain.
        OutOfRangeError: the table does not hold it.
    """
    try:
        partition = spec.partition(key)
    except ValueError as error:
        raise UsageError(command=command, reason=str(error), hint="A partition is named by its key.") from None
    if not spec.holds(partition):
        end = spec.end.isoformat() if spec.end else ""
        raise OutOfRangeError(table=spec.table, partitions=(key,), start_date=spec.begin.isoformat(), end_date=end)
    return partition


def table_name(name: str, *, command: str) -> str:
    """A table's name as the ledger has it, schema and all.

    Raises:
        UsageError: it is no name of a table.
    """
    try:
        return str(Relation.parse(name))
    except ValueError as error:
        raise UsageError(command=command, reason=str(error), hint="Write it like analytics.orders.") from None


def instant(text: str, zone: str, *, option: str, command: str) -> datetime:
    """A date or instant as ISO 8601 writes it; without an offset it is local to the zone.

    Raises:
        UsageError: it is neither.
    """
    try:
        value = datetime.fromisoformat(text)
    except ValueError:
        hint = "Write it like 2025-05-01 or 2025-05-01T06:00:00+02:00."
        raise UsageError(command=command, reason=f"{option} {text!r} is not a date", hint=hint) from None
    return value if value.tzinfo else value.replace(tzinfo=ZoneInfo(zone))
