"""The memory that reading takes does not grow with the file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

ROWS = 100_000

PROGRAM = """
import resource, sys
from functools import partial
from airflow_idempotent.formats.json_lines import json_lines_csv
from airflow_idempotent.formats.parquet import parquet_csv
with open(sys.argv[1], "rb") as file:
    if sys.argv[1].endswith(".parquet"):
        chunks = parquet_csv(file)
    else:
        chunks = json_lines_csv(iter(partial(file.read, 1 << 20), b""), ("id", "note", "doc"), {"doc": "jsonb"})
    print(sum(map(len, chunks)), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write(path: Path, rows: int) -> Path:
    if path.suffix == ".parquet":
        table = pa.table({"id": range(ROWS), "note": [f"some text, longer: {n}" for n in range(ROWS)]})
        with parquet.ParquetWriter(path, table.schema) as writer:
            for _ in range(rows // ROWS):
                writer.write_table(table)
    else:
        with path.open("wb") as file:
            for _ in range(rows // 1000):
                file.write(b'{"id": 12345678, "note": "some text", "doc": {"a": [1.50, 2]}}\n' * 1000)
    return path


def peak(path: Path) -> int:
    """Read a file in a process of its own and give the most memory it held, in kB."""
    run = [sys.executable, "-c", PROGRAM, str(path)]
    done = subprocess.run(run, check=True, capture_output=True, cwd=Path(__file__).parents[3])
    return int(done.stdout.split()[1])


@pytest.mark.parametrize(("name", "rows"), [("orders.jsonl", 50_000), ("orders.parquet", 2 * ROWS)])
def test_a_file_ten_times_as_long_takes_the_same_memory(tmp_path: Path, name: str, rows: int) -> None:
    small, big = write(tmp_path / f"small-{name}", rows), write(tmp_path / f"big-{name}", 10 * rows)

    assert peak(big) < 1.15 * peak(small)
