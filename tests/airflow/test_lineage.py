"""What OpenLineage gets to know: its provider asks the operators, and is told what they read, wrote and checked."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_idempotent import (
    AtomicLandOperator,
    DeduplicateTableOperator,
    Files,
    Query,
    RollbackOperator,
    StageMergeOperator,
    SwapTableOperator,
    Transform,
    ValidatePartitionOperator,
)
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.spec.loader import load_mapping
from tests.airflow.listening import event, events, listening
from tests.airflow.orders import deliver
from tests.airflow.running import DAY, context, run

pytest.importorskip("airflow.providers.openlineage")
facet_v2 = pytest.importorskip("openlineage.client.facet_v2")

CLASSES = {
    "columnLineage": facet_v2.column_lineage_dataset.ColumnLineageDatasetFacet,
    "dataQualityAssertions": facet_v2.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet,
    "inputStatistics": facet_v2.input_statistics_input_dataset.InputStatisticsInputDatasetFacet,
    "outputStatistics": facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
    "schema": facet_v2.schema_dataset.SchemaDatasetFacet,
    "storage": facet_v2.storage_dataset.StorageDatasetFacet,
    "version": facet_v2.dataset_version_dataset.DatasetVersionDatasetFacet,
}
NESTED = {"dataQualityAssertions": ("assertions", facet_v2.data_quality_assertions_dataset.Assertion)}
COLUMNS = [
    {"name": "order_id", "data_type": "bigint"},
    {"name": "amount", "data_type": "numeric(12,2)"},
    {"name": "note", "data_type": "text"},
    {"name": "order_date", "data_type": "date"},
]


@pytest.fixture
def table(warehouse: Any) -> str:
    """Name the table of orders as OpenLineage does: database, schema, table."""
    warehouse.execute("select current_database()")
    return f"{warehouse.fetchone()[0]}.public.orders"


def land(inbox: Path, **words: Any) -> AtomicLandOperator:
    given = {"source": Files(f"{inbox}/{{{{ partition.key }}}}/*.csv"), "root": str(inbox.parent / "lake")}
    return AtomicLandOperator(task_id="land", table="orders", **(given | words))


def merge(inbox: Path, **words: Any) -> StageMergeOperator:
    given = {"unique_key": "order_id", "columns": COLUMNS, "partition_by": {"column": "order_date"}} | words
    root = str(inbox.parent / "lake")
    return StageMergeOperator(task_id="stage_merge", conn_id="warehouse", table="orders", root=root, **given)


def told(operator: Any, run_context: Any = None, *, fails: bool = False) -> Any:
    """Run an operator, and ask it as the provider does."""
    if not fails:
        operator.execute(run_context or context())
        return operator.get_openlineage_facets_on_complete(None)
    with pytest.raises(AirflowFailException):
        operator.execute(run_context or context())
    return operator.get_openlineage_facets_on_failure(None)


# --- through the provider ----------------------------------------------------------------------------


def test_a_run_is_told_from_the_files_to_the_verdict_in_openlineages_own_classes(
    words: dict[str, Any], table: str, metadata: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "events.jsonl"
    with listening(file, monkeypatch):
        assert run(build_dag(load_mapping(words, name="orders.yaml")), DAY).state == "success"

    landing, staging, validating = (event(file, name, "COMPLETE") for name in ("land", "stage_merge", "validate"))
    lake, inbox = str(tmp_path / "lake" / "public.orders"), str(tmp_path / "inbox")
    assert [item["name"] for item in landing["inputs"]] == [inbox]
    assert [item["name"] for item in landing["outputs"]] == [item["name"] for item in staging["inputs"]] == [lake]
    assert [item["name"] for item in staging["outputs"]] == [item["name"] for item in validating["inputs"]] == [table]
    assert staging["outputs"][0]["namespace"].startswith("postgres://127.0.0.1:")
    assert validating["outputs"] == []
    assert event(file, "stage_merge", "START")["outputs"][0]["name"] == table
    [loaded] = staging["outputs"]
    assert loaded["outputFacets"]["idempotentEffects"]["inserted"] == 2
    assert loaded["facets"]["version"] == landing["outputs"][0]["facets"]["version"] != {}
    assert {
        item["assertion"] for item in validating["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    } == {
        "row_count",
        "reconcile",
    }
    seen = {name for item in events(file) for name, facet in facets_of(item) if is_of_its_class(name, facet)}
    assert seen == {*CLASSES, "idempotentEffects", "subset"}


def test_a_closed_gate_is_told_with_the_checks_that_closed_it(
    words: dict[str, Any], table: str, metadata: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "events.jsonl"
    checks = [{"not_null": "note"}, {"row_count": {"min": 3, "severity": "warn"}}, {"unique": ["order_id", "note"]}]
    deliver(tmp_path / "inbox", "2025-05-01", "1,10,a\n2,20,\n")
    with listening(file, monkeypatch):
        run(build_dag(load_mapping(words | {"checks": checks}, name="orders.yaml")), DAY)

    failed = event(file, "stage_merge", "FAIL")
    found = failed["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert [(item["assertion"], item.get("column"), item["severity"], item["success"]) for item in found] == [
        ("not_null", "note", "error", False),
        ("row_count", None, "warn", False),
        ("unique", None, "error", True),
    ]
    assert failed["outputs"][0]["name"] == table
    assert failed["outputs"][0]["outputFacets"] == {}, "nothing was written"


def facets_of(item: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for dataset in (*item["inputs"], *item["outputs"]):
        for kind in ("facets", "inputFacets", "outputFacets"):
            yield from dataset.get(kind, {}).items()


def is_of_its_class(name: str, facet: dict[str, Any]) -> bool:
    """Whether the class takes all its fields, and says the same schema. Ours are plain extensions."""
    fields = {key: value for key, value in facet.items() if not key.startswith("_")}
    if name not in CLASSES:
        return facet["_schemaURL"].startswith("https://openlineage.io/spec/")
    if name in NESTED:
        key, inner = NESTED[name]
        fields[key] = [inner(**value) for value in fields[key]]
    return CLASSES[name](**fields)._get_schema() == facet["_schemaURL"]


# --- what is told ------------------------------------------------------------------------------------


def test_a_re_run_is_the_same_version_and_writes_no_row(inbox: Path, warehouse: Any) -> None:
    landings = [told(land(inbox)) for _ in range(2)]
    [first, again] = [told(merge(inbox)) for _ in range(2)]

    versions = {item.outputs[0].facets["version"].datasetVersion for item in (*landings, first, again)}
    assert len(versions) == 1
    assert versions.pop().startswith("20250501_01:")
    assert [item.outputs[0].outputFacets["outputStatistics"].rowCount for item in landings] == [2, 0]
    assert [item.outputs[0].outputFacets["outputStatistics"].rowCount for item in (first, again)] == [2, 0]
    effects = again.outputs[0].outputFacets["idempotentEffects"]
    assert (effects.inserted, effects.unchanged) == (0, 2)
    [page] = effects.partitions
    assert (page["partition"], page["batchId"], page["unchanged"], page["rowCount"]) == (
        "2025-05-01",
        "20250501_01",
        2,
        2,
    )


def test_several_partitions_of_one_task_are_told_together(inbox: Path, warehouse: Any) -> None:
    planned = [{"partition": "2025-05-01"}, {"partition": "2025-05-02"}]

    landing = told(land(inbox, planned=planned))
    loading = told(merge(inbox, planned=planned))

    subset = landing.inputs[0].inputFacets["subset"].inputCondition.locations
    assert [place.removeprefix(str(inbox)) for place in subset] == ["/2025-05-01/orders.csv", "/2025-05-02/orders.csv"]
    effects = loading.outputs[0].outputFacets["idempotentEffects"]
    assert (effects.inserted, [page["inserted"] for page in effects.partitions]) == (3, [2, 1])
    [first, second] = loading.outputs[0].outputFacets["subset"].outputCondition.partitions
    assert (first.dimensions, second.identifier) == ({"order_date": "2025-05-01"}, "2025-05-02")
    assert loading.outputs[0].facets["version"].datasetVersion.startswith("20250501_01..20250502_01:")


def test_a_transform_is_told_column_by_column(inbox: Path, warehouse: Any, table: str) -> None:
    warehouse.execute("create table raw_orders (order_id bigint, day date, euros numeric)")
    warehouse.execute("create table notes (about bigint, body text)")
    warehouse.execute("insert into raw_orders values (1, '2025-05-01', 10)")
    sql = """
        select order_id, sum(euros) as amount, max(body) as note, day as order_date
        from raw_orders left join notes on about = order_id
        where day >= :start and day < :end group by order_id, day
    """
    told(land(inbox, source=Transform(sql)))

    found = told(merge(inbox))

    batches, notes, raw = found.inputs
    database = table.removesuffix(".public.orders")
    assert (batches.namespace, notes.name, raw.name) == (
        "file",
        f"{database}.public.notes",
        f"{database}.public.raw_orders",
    )
    assert [field.name for field in raw.facets["schema"].fields] == ["order_id", "day", "euros"]
    lineage = found.outputs[0].facets["columnLineage"]
    origins = {
        name: [
            (item.name.rpartition(".")[2], item.field, item.transformations[0].subtype) for item in field.inputFields
        ]
        for name, field in lineage.fields.items()
    }
    assert origins == {
        "amount": [("raw_orders", "euros", "AGGREGATION")],
        "note": [("notes", "body", "AGGREGATION")],
        "order_date": [("raw_orders", "day", "IDENTITY")],
        "order_id": [("raw_orders", "order_id", "IDENTITY")],
    }
    assert {(item.field, use.type, use.subtype) for item in lineage.dataset for use in item.transformations} == {
        ("about", "INDIRECT", "JOIN"),
        ("order_id", "INDIRECT", "JOIN"),
        ("order_id", "INDIRECT", "GROUP_BY"),
        ("day", "INDIRECT", "FILTER"),
        ("day", "INDIRECT", "GROUP_BY"),
    }
    assert found.job_facets["sql"].query == sql


def test_other_rows_of_the_same_query_are_another_version(inbox: Path, warehouse: Any) -> None:
    warehouse.execute("create table counted as select 1 as n")
    sql = "select n as order_id, :start::date as order_date from counted"

    def load() -> str:
        told(land(inbox, source=Transform(sql)))
        return str(told(merge(inbox, columns=[COLUMNS[0], COLUMNS[3]])).outputs[0].facets["version"].datasetVersion)

    first, again = load(), load()
    warehouse.execute("insert into counted values (2)")
    other = load()

    assert first == again != other
    assert {version.partition(":")[0] for version in (first, other)} == {"20250501_01"}


def test_a_query_is_told_by_the_tables_it_reads(inbox: Path, warehouse: Any, table: str) -> None:
    warehouse.execute("create table crm_orders as select 1 as id")
    sql = "select o.id from crm_orders o where :key = '{{ partition.key }}'"

    found = told(land(inbox, source=Query(sql, conn_id="warehouse")))

    assert [item.name for item in found.inputs] == [table.replace("orders", "crm_orders")]
    assert found.job_facets["sql"].query.endswith("'2025-05-01'")


def test_deduplication_is_told_by_the_rows_that_went(warehouse: Any, table: str) -> None:
    warehouse.execute("create table orders as select g % 3 as order_id from generate_series(1, 9) g")

    [output] = told(
        DeduplicateTableOperator(task_id="d", conn_id="warehouse", table="orders", unique_key="order_id")
    ).outputs

    assert (output.name, output.outputFacets["idempotentEffects"].deleted) == (table, 6)
    assert output.outputFacets["outputStatistics"].rowCount == 0


def test_a_load_of_a_shadow_is_told_as_of_the_shadow(inbox: Path, warehouse: Any, table: str) -> None:
    land(inbox).execute(context())
    merge(inbox).execute(context())
    load = merge(inbox, target="shadow", table_version=2)
    check = ValidatePartitionOperator(
        task_id="validate", conn_id="warehouse", table="orders", root=str(inbox.parent / "lake"),
        partition_by={"column": "order_date"}, target="shadow", table_version=2,
    )  # fmt: skip

    starting = load.get_openlineage_facets_on_start(), check.get_openlineage_facets_on_start()
    before = (starting[0].outputs[0].name, starting[1].inputs[0].name)
    written, read = told(load).outputs[0], told(check).inputs[0]

    assert before == (f"{table}__v2", f"{table}__v2")
    assert (written.name, read.name) == (f"{table}__v2", f"{table}__v2")
    assert [item.name for item in written.facets["schema"].fields] == [item["name"] for item in COLUMNS]


def test_a_swap_is_told_as_the_shadow_that_became_the_table(warehouse: Any, table: str) -> None:
    warehouse.execute("create table orders as select 1 as order_id; create table orders__v2 as select 2 as order_id")

    there = told(SwapTableOperator(task_id="swap", conn_id="warehouse", table="orders", shadow="orders__v2"))
    back = told(RollbackOperator(task_id="rollback", conn_id="warehouse", table="orders"), context(run_type="manual"))

    assert [item.name for item in (*there.inputs, *there.outputs)] == [f"{table}__v2", table]
    assert [item.outputs[0].facets["version"].datasetVersion for item in (there, back)] == ["v2", "v1"]


def test_a_verdict_on_what_is_published_is_told_of_the_table(inbox: Path, warehouse: Any, table: str) -> None:
    told(land(inbox))
    told(merge(inbox))
    warehouse.execute("update orders set note = null where order_id = 1")
    check = ValidatePartitionOperator(
        task_id="validate", conn_id="warehouse", table="orders", root=str(inbox.parent / "lake"),
        partition_by={"column": "order_date"}, checks=[{"not_null": "note"}],
    )  # fmt: skip

    found = told(check, fails=True)

    assert (found.inputs[0].name, found.outputs) == (table, [])
    checks = found.inputs[0].inputFacets["dataQualityAssertions"].assertions
    assert {(item.assertion, item.success) for item in checks} == {("not_null", False), ("reconcile", False)}


# --- what never happens ------------------------------------------------------------------------------


def test_an_answer_that_fails_is_logged_and_no_more(
    inbox: Path, warehouse: Any, caplog: pytest.LogCaptureFixture
) -> None:
    operator = merge(inbox)
    told(land(inbox))
    operator.execute(context())
    operator.conn_id = "nowhere"

    with caplog.at_level(logging.WARNING):
        assert operator.get_openlineage_facets_on_complete(None) is None

    assert "no lineage told" in caplog.text
    assert "nowhere" in caplog.text


def test_a_database_that_is_gone_costs_only_the_columns(
    inbox: Path, warehouse: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(land(inbox))
    operator = merge(inbox)
    operator.execute(context())
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", "postgres://postgres@127.0.0.1:1/elsewhere")

    [output] = operator.get_openlineage_facets_on_complete(None).outputs

    assert (output.namespace, output.name) == ("postgres://127.0.0.1:1", "elsewhere.public.orders")
    assert [field.name for field in output.facets["schema"].fields] == [column["name"] for column in COLUMNS]


def test_without_the_provider_nothing_of_it_is_needed(
    inbox: Path, warehouse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.endswith((".operators.openlineage", ".operators.facets"))]:
        monkeypatch.delitem(sys.modules, name)
    for name in ("openlineage", "openlineage.client", "airflow.providers.openlineage.extractors"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed

    land(inbox).execute(context())
    operator = merge(inbox)

    assert operator.execute(context())["effects"]["inserted"] == 2
    assert operator.get_openlineage_facets_on_complete(None) is None
