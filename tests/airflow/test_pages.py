"""DAGs on pages of docs/how-to: built as they are written, and their tasks run night after night."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from tests.airflow.running import context

PAGE = Path(__file__).parents[2] / "docs/how-to/snapshot-by-swap.md"
TASKS = ("land", "load", "check", "swap")


@pytest.fixture
def dag(tmp_path: Path, warehouse: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give the DAG of the page, in a folder with the page's files, and the table that is to be replaced."""
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    for name, content in re.findall(r'```csv title="([^"]+)"\n(.*?)```', text, re.DOTALL):
        deliver(name, content)
    warehouse.execute("create table prices (product int primary key, price numeric(12,2))")
    [code] = re.findall(r"```python title=.*?\n(.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    return names["dag"]


def deliver(name: str, content: str) -> None:
    Path(name).parent.mkdir(exist_ok=True)
    Path(name).write_text(content)


def night(dag: Any, day: int, *, tasks: tuple[str, ...] = TASKS, try_number: int = 1) -> dict[str, Any]:
    """Run the tasks of that night in their order; what each of them returns."""
    found = {}
    for name in tasks:
        ti = SimpleNamespace(dag_id="prices", run_id=f"night {day}", task_id=name, map_index=-1, try_number=try_number)
        run = context(datetime(2025, 5, day, tzinfo=UTC), ti=ti)
        task = dag.get_task(name)
        task.render_template_fields(run)
        found[name] = task.execute(run)
    return found


def prices(warehouse: Any) -> list[tuple[int, float]]:
    warehouse.execute("select product, price::float8 from prices order by 1")
    return list(warehouse.fetchall())


FIRST, SECOND = [(1, 10.0), (2, 20.0)], [(1, 11.0), (2, 19.0), (3, 5.0)]


def test_each_night_replaces_the_table_and_a_second_try_finds_it_done(dag: Any, warehouse: Any) -> None:
    assert night(dag, 1)["swap"]["version"] == 2
    assert prices(warehouse) == FIRST

    done = night(dag, 2)["swap"]
    again = night(dag, 2, tasks=("swap",), try_number=2)["swap"]

    assert (done["version"], again["version"], again["replayed"]) == (3, 3, True)
    assert prices(warehouse) == SECOND


def test_a_run_that_is_cleared_the_same_day_builds_the_same_rows_again(dag: Any, warehouse: Any) -> None:
    night(dag, 1)

    assert night(dag, 1, try_number=2)["swap"]["version"] == 3
    assert prices(warehouse) == FIRST


def test_a_night_that_never_swapped_leaves_no_row_behind(dag: Any, warehouse: Any) -> None:
    night(dag, 1)
    deliver("inbox/2025-05-02.csv", "product,price\n8,1\n9,1\n")
    night(dag, 2, tasks=("land", "load"))
    deliver("inbox/2025-05-03.csv", "product,price\n1,12\n2,18\n")

    night(dag, 3)

    assert prices(warehouse) == [(1, 12.0), (2, 18.0)]


def test_an_old_run_that_is_cleared_changes_nothing(dag: Any, warehouse: Any) -> None:
    for day in (1, 2):
        night(dag, day)

    loaded = night(dag, 1, tasks=("land", "load"), try_number=2)["load"]
    assert (loaded["effects"]["stale"], loaded["effects"]["inserted"]) == (2, 0)
    for task, why in (("check", "row_count"), ("swap", "version 2 is RETIRED")):
        with pytest.raises(AirflowFailException, match=why):
            night(dag, 1, tasks=(task,), try_number=2)
    assert prices(warehouse) == SECOND
