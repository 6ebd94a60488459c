"""Every strategy in its plainest form, for tests that say the same of all of them: a spec, a table, a batch."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.strategies import STRATEGIES
from tests.loading import DAY

KEYED = {"unique_key": ["id"], "version": ["ver"]}
BASE = "id int, ver int, d date"


@dataclass(frozen=True)
class Tried:
    """One strategy: the words of its spec, the key of its table, the columns it fills itself.

    Batches have the columns ``id ver d`` and what a test adds; ``row_key`` is what a unique index may hold.
    ``shares_keys`` when batches of two partitions may write the same row.
    """

    words: Mapping[str, Any]
    row_key: Sequence[str] = ("id",)
    own: str = ""
    op: bool = False
    shares_keys: bool = True

    def spec(self, table: str = "t", **words: Any) -> LoadSpec:
        return LoadSpec(table=table, **{"lock_timeout": 60, **self.words, **words})

    def ddl(self, columns: str = "v text", *, table: str = "t", base: str = BASE, key: str = "PRIMARY KEY") -> str:
        """CREATE TABLE with a unique index on the row key, where the strategy has one."""
        parts = [base, columns, self.own, f"{key} ({', '.join(self.row_key)})" if key and self.row_key else ""]
        return f"CREATE TABLE {table} ({', '.join(part for part in parts if part)})"

    def csv(self, header: str, rows: Iterable[Sequence[Any]]) -> str:
        """A batch of rows; those of a change stream are insertions or updates."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        names = next(csv.reader([header]))
        writer.writerow([*names, "op"] if self.op else names)
        writer.writerows([*row, "U"] if self.op else row for row in rows)
        return text.getvalue()

    def batch(self, *rows: Sequence[Any], day: str = DAY) -> str:
        """Rows of (id, ver, v) of that day."""
        return self.csv("id,ver,d,v", [(key, version, day, value) for key, version, value in rows])


TRIED: dict[str, Tried] = {
    "merge": Tried({"strategy": "merge", **KEYED}),
    "insert_only": Tried({"strategy": "insert_only", **KEYED}),
    "append": Tried({"strategy": "append"}, row_key=(), own="_idem_batch_id text", shares_keys=False),
    "delete_insert": Tried({"strategy": "delete_insert", **KEYED}),
    "insert_overwrite": Tried(
        {"strategy": "insert_overwrite", "partition_by": {"column": "d"}, **KEYED}, shares_keys=False
    ),
    "snapshot": Tried({"strategy": "snapshot", **KEYED}),
    "scd2": Tried({"strategy": "scd2", **KEYED}, row_key=("id", "ver"), own="valid_from int, valid_to int"),
    "cdc": Tried({"strategy": "cdc", **KEYED}, op=True),
}

every_strategy = pytest.mark.parametrize("name", [name for name in TRIED if name in STRATEGIES])
