"""One partition goes back to an earlier batch: landed again as the newest, gated and written down as any load."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_idempotent.cli.main import main
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

SPEC = """
table: orders
start_date: 2025-05-01
source: {{kind: files, path: "inbox/{{{{ partition.key }}}}/*.csv"}}
columns: [{{name: id, data_type: int}}, {{name: v, data_type: text}}, {{name: d, data_type: date}}]
unique_key: [id]
partition_by: {{column: d}}
strategy: {strategy}
landing: {{root: lake}}
"""


@pytest.fixture
def warehouse(connect_once: Connect, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Warehouse:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AIRFLOW_IDEMPOTENT_DSN", database)
    return Warehouse(connect_once)


def delivered(*values: str, strategy: str = "insert_overwrite") -> None:
    """Each value is a delivery of its own: a row, and one more than before."""
    Path("orders.yaml").write_text(SPEC.format(strategy=strategy))
    inbox = Path("inbox/2025-05-01")
    inbox.mkdir(parents=True)
    for number, value in enumerate(values, start=1):
        rows = [f"{key},{value},2025-05-01" for key in range(number)]
        (inbox / "a.csv").write_text("\n".join(["id,v,d", *rows]) + "\n")
        assert main(["run", "orders.yaml", "--partition", "2025-05-01"]) == 0


def back(batch: str) -> int:
    return main(["rollback", "orders.yaml", "--partition", "2025-05-01", "--to-batch", batch])


def test_the_partition_is_what_the_batch_made_of_it_and_a_second_time_changes_nothing(warehouse: Warehouse) -> None:
    delivered("good", "bad")
    warehouse.sql("INSERT INTO orders VALUES (7, 'other day', '2025-05-02')")

    assert back("20250501_01") == 0
    physical = warehouse.physical("orders")
    assert back("20250501_01") == 0

    assert warehouse.sql("SELECT id, v FROM orders ORDER BY 1") == [(0, "good"), (7, "other day")]
    assert warehouse.physical("orders") == physical
    assert sorted(path.name for path in Path("lake").rglob("batch=*")) == [
        "batch=20250501_01", "batch=20250501_02", "batch=20250501_03",
    ]  # fmt: skip
    assert [event[1:] for event in warehouse.events("public.orders")][-2:] == [
        ("20250501_03", "stage_merge", "published"),
        ("20250501_03", "validate", "validated"),
    ]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--to-batch", "20250501_09"], 1, "there is no such batch (landed: 20250501_01)"),
        ([], 2, "--partition and --to-batch belong together"),
        (["--to-batch", "20250501_01", "--to", "1"], 2, "belong together"),
    ],
)
def test_what_makes_no_sense_is_refused(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str], words: list[str], code: int, said: str
) -> None:
    delivered("good")

    assert main(["rollback", "orders.yaml", "--partition", "2025-05-01", *words]) == code
    assert said in capsys.readouterr().err


def test_where_older_rows_do_not_win_it_says_so_instead_of_doing_nothing(
    warehouse: Warehouse, capsys: pytest.CaptureFixture[str]
) -> None:
    delivered("good", "bad", strategy="merge")

    assert back("20250501_01") == 1

    assert "strategy 'merge' leaves rows alone" in capsys.readouterr().err
    assert warehouse.sql("SELECT DISTINCT v FROM orders") == [("bad",)]
