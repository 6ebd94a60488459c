"""Templates outside Airflow: what they may use, and what they are told when they want more."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from airflow_idempotent.cli.sources import landing_root, rendered, source_of
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.errors import UsageError
from airflow_idempotent.landing.inputs import QueryInput
from airflow_idempotent.spec.loader import load_file
from airflow_idempotent.spec.table import TableSpec
from tests.orders_folder import edit

DAY = Grain.DAY.parse("2025-05-01")
NAMES = {"partition": DAY, "params": {"region": "eu"}}


def fill(text: str) -> str:
    return rendered(text, NAMES, option="source.path")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("/in/orders.csv", "/in/orders.csv"),
        ("/in/{{ partition.key }}/*.csv", "/in/2025-05-01/*.csv"),
        ("/in/{{ partition.start.strftime('%Y/%m') }}/{{ partition.compact }}", "/in/2025/05/20250501"),
        ("/in/{{ params.region }}", "/in/eu"),
        ("/in/{% if params.region == 'eu' %}europe{% endif %}", "/in/europe"),
    ],
)
def test_a_template_sees_partition_and_params(template: str, text: str) -> None:
    assert fill(template) == text


@pytest.mark.parametrize("name", ["ds", "var", "conn", "macros", "logical_date"])
def test_a_name_that_only_airflow_knows_is_said(name: str) -> None:
    with pytest.raises(UsageError, match=f"source.path needs '{name}', which only Airflow knows"):
        fill(f"/in/{{{{ {name} }}}}/x.csv")


def test_all_names_are_said_at_once() -> None:
    with pytest.raises(UsageError, match="needs 'conn', 'ds'"):
        fill("{{ ds }}/{{ conn.x.host }}")


@pytest.mark.parametrize("template", ["{{ params.reigon }}", "{{ partition.kye }}", "{{ partition.key", "{% end %}"])
def test_what_cannot_be_filled_is_refused(template: str) -> None:
    with pytest.raises(UsageError, match=r"source\.path"):
        fill(template)


@pytest.mark.parametrize(
    "attack", ["{{ partition.__class__.__mro__ }}", "{{ ''.__class__.__base__.__subclasses__() }}"]
)
def test_a_template_cannot_leave_its_sandbox(attack: str) -> None:
    with pytest.raises(UsageError, match="unsafe"):
        fill(attack)


@pytest.fixture
def spec(folder: Path) -> TableSpec:
    return load_file(folder / "tables/orders.yaml")


def test_the_files_of_a_partition_are_found(spec: TableSpec) -> None:
    source = source_of(spec, DAY, cutoff_ts=datetime.now(UTC), params={}, connect=None)

    assert [str(path) for path in source.paths] == ["inbox/orders/2025-05-01/orders.csv"]


def test_a_query_gets_its_values_as_binds(folder: Path) -> None:
    sql = "select * from {{ params.source }} where at >= :start and at < :end"
    edit(
        folder,
        '  kind: files\n  path: "inbox/orders/{{ partition.key }}/*.csv"',
        f'  {{kind: query, conn_id: shop, sql: "{sql}"}}',
    )
    cutoff = datetime(2025, 5, 3, tzinfo=UTC)

    source = source_of(
        load_file(folder / "tables/orders.yaml"), DAY, cutoff_ts=cutoff, params={"source": "shop.orders"}, connect=None
    )

    assert isinstance(source, QueryInput)
    assert source.sql == "select * from shop.orders where at >= :start and at < :end"
    assert source.binds == {"start": DAY.start, "end": DAY.end, "cutoff_ts": cutoff, "key": "2025-05-01"}


def test_the_root_is_the_one_given_else_that_of_the_spec(spec: TableSpec) -> None:
    assert landing_root(spec, "/elsewhere") == Path("/elsewhere")
    assert landing_root(spec, None) == Path("lake")


def test_without_a_root_in_the_spec_it_is_the_one_airflow_would_use(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "tables/defaults.yml").unlink()
    spec = load_file(folder / "tables/orders.yaml")

    with pytest.raises(UsageError, match="there is no folder to land batches in"):
        landing_root(spec, None)
    monkeypatch.setenv("AIRFLOW_HOME", "/airflow")
    assert landing_root(spec, None) == Path("/airflow/idempotent")
    monkeypatch.setenv("AIRFLOW__IDEMPOTENT__LANDING_ROOT", "/lake")
    assert landing_root(spec, None) == Path("/lake")
