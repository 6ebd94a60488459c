"""A table that is loaded day by day by `run`, and gets a second version: one file, edited as a user edits it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from airflow_idempotent.spec.loader import load_file
from airflow_idempotent.spec.table import TableSpec
from tests.cli_fixtures import Answer, Command

DAYS = ("2025-05-01", "2025-05-02", "2025-05-03")
COLUMNS = {"id": "int", "amount": "numeric(12,2)", "note": "text", "d": "date"}


@dataclass
class Table:
    """The table ``public.orders``, its spec file, and the files it is loaded from."""

    folder: Path
    command: Command
    sql: Callable[..., list[tuple[Any, ...]]]
    columns: tuple[str, ...] = ("id", "amount", "d")

    def write(self, version: int = 1, columns: tuple[str, ...] = (), kinds: Any = None, **options: Any) -> None:
        """Write the spec of a version; what is not said stays as it was."""
        types = COLUMNS | (kinds or {})
        self.columns = columns or self.columns
        words = {
            "table": "orders",
            "table_version": version,
            "start_date": "2025-05-01",
            "source": {"kind": "files", "path": "inbox/{{ partition.key }}/*.csv"},
            "landing": {"root": "lake"},
            "columns": [{"name": name, "data_type": types[name]} for name in self.columns],
            "unique_key": "id",
            "partition_by": {"column": "d"},
            "on_schema_change": "ignore",
            "publish": {"mode": "swap"},
        }
        (self.folder / "orders.yaml").write_text(yaml.safe_dump(words | options))

    @property
    def spec(self) -> TableSpec:
        """The spec as the file has it."""
        return load_file(self.folder / "orders.yaml")

    def deliver(self, day: str, *rows: tuple[Any, ...]) -> None:
        """Put a file of (id, amount, note) where the spec looks for it, in place of the one that was there."""
        place = self.folder / "inbox" / day
        place.mkdir(parents=True, exist_ok=True)
        lines = [",".join(map(str, (*row, day))) + "\n" for row in rows]
        (place / "orders.csv").write_text("id,amount,note,d\n" + "".join(lines))

    def run(self, day: str, *words: str) -> Answer:
        """Load a day: the live table, unless ``--target shadow`` is among the words."""
        return self.command("run", "orders.yaml", "--partition", day, *words)

    def build(self, *days: str) -> None:
        """Load days into the new version."""
        for day in days:
            answer = self.run(day, "--target", "shadow")
            assert answer.code == 0, answer.err

    def rows(self, relation: str = "orders", columns: str = "id, amount::text") -> list[tuple[Any, ...]]:
        """What is in a table."""
        return self.sql(f"SELECT {columns} FROM {relation} ORDER BY id")

    def states(self, version: int) -> dict[str, str]:
        """Where the partitions of a version stand."""
        found = self.sql(
            "SELECT partition_key, state FROM airflow_idempotent.partitions WHERE table_version = %s ORDER BY 1",
            [version],
        )
        return dict(found)
