"""The memory that landing takes does not grow with what it lands."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from backports import zstd

MB = 1 << 20
LINE = b"12345678,2025-05-01,some text,42.50,2025-05-01T00:00:00+00:00,foo,bar\n"

PROGRAM = """
import resource, sqlite3, sys
from pathlib import Path
from airflow_idempotent.landing.inputs import QueryInput, find_files
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import land_day
source = sys.argv[1]
if source.isdigit():
    numbers = "with recursive n(i) as (select 1 union all select i + 1 from n where i < :count)"
    rows = QueryInput(f"{numbers} select i, 'some text of forty bytes, some more' as t from n order by 1",
                      {"count": int(source)}, lambda: sqlite3.connect(":memory:"))
else:
    rows = find_files(source)
land_day(BatchStore(Path(sys.argv[2])), rows)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(source: object, root: Path) -> int:
    """Land in a process of its own and give the most memory it held, in kB."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(source), str(root)], check=True, capture_output=True, env=environment
    )
    return int(done.stdout)


def write_lines(path: Path, size: int) -> Path:
    openers = {".gz": partial(gzip.open, compresslevel=1), ".zst": zstd.open}
    with openers.get(path.suffix, open)(path, "wb") as file:
        file.write(b"id,day,text,amount,ts,a,b\n")
        for _ in range(size // MB):
            file.write(LINE * (MB // len(LINE)))
    return path


@pytest.mark.parametrize("name", ["orders.csv", "orders.csv.gz", "orders.csv.zst"])
def test_a_file_ten_times_as_long_takes_the_same_memory(tmp_path: Path, name: str) -> None:
    small = write_lines(tmp_path / f"small-{name}", 20 * MB)
    big = write_lines(tmp_path / f"big-{name}", 200 * MB)

    assert peak(big, tmp_path / "big") < 1.1 * peak(small, tmp_path / "small")


def test_a_query_with_ten_times_the_rows_takes_the_same_memory(tmp_path: Path) -> None:
    assert peak(500_000, tmp_path / "big") < 1.1 * peak(50_000, tmp_path / "small")
