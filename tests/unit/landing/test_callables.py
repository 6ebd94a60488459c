"""Functions by their name, and the arguments they are called with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.partition import Grain
from airflow_idempotent.errors import PythonSourceError, PythonSourceFailedError
from airflow_idempotent.landing.code import pinned, python_input
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.python_source import OFFERED, Python
from airflow_idempotent.spec.transform import Transform

DAY = Grain.DAY.parse("2025-05-01")
CUTOFF = datetime(2025, 5, 2, 6, tzinfo=UTC)
SPEC = LoadSpec(table="orders", unique_key=["id"], columns=[{"name": "id", "data_type": "int"}])

MODULE = """
import datetime

CONSTANT = 7

class Feed:
    @staticmethod
    def rows(key):
        return [{"key": key}]

def rows(key, start, end, partition, cutoff_ts, params, region="eu"):
    return [{"key": key, "start": start, "end": end, "grain": partition.key, "cutoff": cutoff_ts,
             "params": params, "region": region}]

def only_key(key):
    return [{"key": key}]

def everything(**given):
    return [given]

def nothing():
    return []

def wants_more(key, shop):
    return []

def by_place(key, /):
    return []

async def later():
    return []

async def streaming():
    yield {}

def fails():
    raise ConnectionError("the shop is closed")
"""


@pytest.fixture(autouse=True)
def importable_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "feeds_of_a_test.py").write_text(MODULE)
    (tmp_path / "broken_of_a_test.py").write_text("import no_such_module_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)


def called(function: str, *, module: str = "feeds_of_a_test", **kwargs: Any) -> Any:
    source = Python(f"{module}:{function}", kwargs=kwargs)
    return python_input(SPEC, source, DAY, cutoff_ts=CUTOFF, params={"a": 1}).call()


def test_a_function_gets_what_it_asks_for_by_name() -> None:
    [row] = called("rows", region="us")

    assert row == {
        "key": "2025-05-01",
        "start": DAY.start,
        "end": DAY.end,
        "grain": "2025-05-01",
        "cutoff": CUTOFF,
        "params": {"a": 1},
        "region": "us",
    }
    assert called("rows")[0]["region"] == "eu"
    assert called("only_key") == [{"key": "2025-05-01"}]
    assert called("nothing") == []
    assert called("Feed.rows") == [{"key": "2025-05-01"}]
    assert set(called("everything", region="us")[0]) == {*OFFERED, "region"}


@pytest.mark.parametrize(
    ("function", "kwargs", "text"),
    [
        ("rows", {"regoin": "us"}, "takes no argument 'regoin', did you mean 'region'?"),
        ("nothing", {"region": "us"}, "takes no argument 'region'"),
        ("wants_more", {}, "wants an argument 'shop' (there are partition, start, end, cutoff_ts, key, params)"),
        ("by_place", {}, "wants an argument 'key'"),
        ("rowz", {}, "does not exist: feeds_of_a_test has no 'rowz', did you mean 'rows'?"),
        ("Feed.all", {}, "does not exist: feeds_of_a_test has no 'Feed.all'"),
        ("CONSTANT", {}, "is no function but int"),
        ("later", {}, "is async: write a function that yields rows"),
        ("streaming", {}, "is async: write a function that yields rows"),
    ],
)
def test_a_call_that_cannot_be_made_is_refused(function: str, kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(PythonSourceError) as refused:
        called(function, **kwargs)

    assert text in str(refused.value)
    assert refused.value.headline.startswith(f"public.orders 2025-05-01: source 'feeds_of_a_test:{function}' ")
    assert not isinstance(refused.value, PythonSourceFailedError)


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("no_feeds_of_a_test", "cannot be imported (ModuleNotFoundError: No module named 'no_feeds_of_a_test')"),
        ("broken_of_a_test", "cannot be imported (ModuleNotFoundError: No module named 'no_such_module_at_all')"),
    ],
)
def test_a_module_that_cannot_be_imported_is_told(module: str, text: str) -> None:
    with pytest.raises(PythonSourceError) as refused:
        called("rows", module=module)

    assert text in str(refused.value)


def test_an_error_of_a_function_may_be_tried_again() -> None:
    with pytest.raises(PythonSourceFailedError, match="raised ConnectionError: the shop is closed") as failed:
        called("fails")

    assert failed.value.retryable


def test_the_spec_says_the_header_of_no_rows_and_which_columns_are_json() -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "tags", "data_type": "JSONB"}]
    spec = LoadSpec(table="orders", unique_key=["id"], columns=columns)

    made = python_input(spec, Python("feeds:rows"), DAY, cutoff_ts=CUTOFF, params={})

    assert (made.columns, made.json_columns) == (("id", "tags"), frozenset({"tags"}))


# --- a query that is pinned ----------------------------------------------------------------------------------


def test_a_query_is_pinned_with_the_binds_that_it_uses_and_no_others() -> None:
    sql = "SELECT :start AS a, :key AS b, :run_id AS c, :cutoff_ts AS d, id FROM t WHERE e < :end"

    everything = pinned(Transform(sql), DAY, cutoff_ts=CUTOFF, run_id="manual__1").query
    one = pinned(Transform("select id from t where d = :key"), DAY, cutoff_ts=CUTOFF, run_id="manual__1").query

    assert everything.columns == ("a", "b", "c", "d", "id")
    assert everything.binds == {
        "start": "2025-05-01T00:00:00+00:00",
        "end": "2025-05-02T00:00:00+00:00",
        "cutoff_ts": "2025-05-02T06:00:00+00:00",
        "key": "2025-05-01",
        "run_id": "manual__1",
    }
    assert one.binds == {"key": "2025-05-01"}
    assert one.sql == "select id from t where d = :key"
