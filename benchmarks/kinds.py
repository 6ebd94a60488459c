"""The strategies that are measured: what each is given, how its table is filled, and what it must end in.

The expected rows are computed by DuckDB from the CSV files alone: ``seed`` and ``rest`` make up the table
before, ``batch`` is loaded, ``older`` is what that batch replaces.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import deliveries
import yaml
from deliveries import Maker
from rows import EXTRAS
from workload import COLUMNS

HERE = Path(__file__).parent
DAY = "date '2024-03-01'"
"""Of the batch."""
SPAN = "timestamptz"
EXTRA_TYPES = {"line_no": "integer", "op": "varchar", "commit_version": "bigint"}
EVERYTHING = "(from seed union all by name from rest union all by name from batch)"


@dataclass(frozen=True, slots=True)
class Kind:
    """One strategy under one workload. ``expected`` gives the rows after the batch, in any order."""

    name: str
    make: Maker
    expected: str
    key: str = "order_id"
    extras: tuple[str, ...] = ()
    """Of the batch, beside the columns of orders."""
    kept: dict[str, str] | None = None
    """What the table has beside the columns of orders, with types; None: what the batch has."""
    fill: str = "*"
    """How rows of the rest come into the table: an item of a SELECT for each of its columns."""
    hidden: str = ""
    """A column that our product keeps, and nobody delivers."""
    create: str = ""
    """What the script needs beside the table, made once; ``delivered`` holds the seed."""

    @property
    def script(self) -> Path:
        return HERE / "limits" / f"{self.name}.sql"

    @property
    def delivered(self) -> dict[str, str]:
        """Columns of a delivery, as DuckDB calls their types."""
        return COLUMNS | {name: EXTRA_TYPES[name] for name in self.extras}

    @property
    def columns(self) -> dict[str, str]:
        """Columns of the table that are compared."""
        kept = {name: EXTRA_TYPES[name] for name in self.extras} if self.kept is None else self.kept
        return COLUMNS | kept

    def spec(self) -> str:
        """The spec, as a file's text."""
        return yaml.safe_dump(merged(self.name), sort_keys=False)


@cache
def merged(name: str) -> dict[str, Any]:
    base: dict[str, Any] = yaml.safe_load((HERE / "orders.yaml").read_text())
    own: dict[str, Any] = yaml.safe_load((HERE / "strategies.yaml").read_text())[name]
    more = own.get("columns+", [])
    changed = base | {key: value for key, value in own.items() if key != "columns+"}
    changed["columns"] = base["columns"] + more
    return {key: value for key, value in changed.items() if value != []}


def by_key(function: str, version: str) -> str:
    """Of each key the first or the last row."""
    return f"select unnest(r) from (select {function}(e, {version}) as r from {EVERYTHING} e group by order_id)"


OVERWRITTEN = f"from batch union all by name (from rest where order_date <> {DAY}) union all by name from seed"
HISTORY = f"""
select *, updated_at as valid_from, lead(updated_at) over (partition by order_id order by updated_at) as valid_to
from (select distinct * from {EVERYTHING})
"""
INTERVALS = "*, updated_at, lead(updated_at) over (partition by order_id order by updated_at)"
TOMBSTONES = """
create table tombstones (order_id bigint primary key, commit_version bigint not null);
insert into tombstones select order_id, commit_version from delivered where op = 'D';
"""

# So that rows can be copied straight into the table, with the id of their batch, and no lock on it.
BATCH_BY_SETTING = "alter table orders alter column _idem_batch_id set default current_setting('bench.batch', true)"

KINDS = {
    kind.name: kind
    for kind in (
        Kind("merge", deliveries.upserts, by_key("arg_max", "updated_at")),
        Kind("insert_only", deliveries.upserts, by_key("arg_min", "updated_at")),
        Kind(
            "append",
            deliveries.arrivals,
            f"from {EVERYTHING}",
            key="",
            fill="*, '20240101_01'",
            hidden="_idem_batch_id",
            create=BATCH_BY_SETTING,
        ),
        Kind(
            "append_revision",
            deliveries.revision,
            f"from {EVERYTHING}",
            key="",
            fill="*, '20240101_01'",
            hidden="_idem_batch_id",
            create=BATCH_BY_SETTING,
        ),
        Kind(
            "delete_insert",
            deliveries.lines,
            """from batch union all by name (from (from seed union all by name from rest)
               where order_id not in (select order_id from batch))""",
            key="order_id, line_no",
            extras=("line_no",),
        ),
        Kind("insert_overwrite", deliveries.partition, OVERWRITTEN),
        Kind("insert_overwrite_no_key", deliveries.partition, OVERWRITTEN, key=""),
        Kind("insert_overwrite_attach", deliveries.partition, OVERWRITTEN, key="order_id, order_date"),
        Kind("snapshot", deliveries.full, "from batch"),
        Kind(
            "cdc",
            deliveries.events,
            f"""select * exclude (op) from ({by_key("arg_max", "commit_version")}) where op is distinct from 'D'""",
            extras=("op", "commit_version"),
            kept={"commit_version": "bigint"},
            create=TOMBSTONES,
        ),
        Kind(
            "scd2",
            deliveries.versions,
            HISTORY,
            key="order_id, valid_from",
            kept={"valid_from": SPAN, "valid_to": SPAN},
            fill=INTERVALS,
        ),
    )
}
assert set(EXTRA_TYPES) == set(EXTRAS)
