"""The step that loads a batch, as data: what is in it, in which order, and what refuses it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_idempotent.checks import Unique
from airflow_idempotent.core.actions import (
    CopyBatch,
    CreateStaging,
    CreateTarget,
    Deduplicate,
    EnsureChild,
    InspectBatch,
    MeasurePartition,
    RunChecks,
    UpsertRows,
)
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.manifest import CsvFormat, JsonlFormat, Manifest, Part
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Step, Timeouts
from airflow_idempotent.errors import SchemaDriftError, TargetMissingError
from airflow_idempotent.plan.build import Load, blank_step, build_step, created_shape
from airflow_idempotent.spec.fingerprint import fingerprint
from airflow_idempotent.spec.load import LoadSpec
from tests.unit.spec.orders import COLUMNS

ORDERS = Relation("analytics", "orders")
NAMES = ("order_id", "order_date", "amount", "updated_at")
COLUMNS_AS_THEY_ARE = (
    Column("order_id", "bigint", nullable=False),
    Column("order_date", "date"),
    Column("amount", "numeric(12,2)"),
    Column("updated_at", "timestamp with time zone"),
)
SHAPE = TableShape(ORDERS, COLUMNS_AS_THEY_ARE, (frozenset({"order_id"}),))


def spec(**changes: Any) -> LoadSpec:
    words = {"table": "analytics.orders", "unique_key": ["order_id"], "version": ["updated_at"]}
    return LoadSpec(**{**words, **changes})


def part(*columns: str, name: str = "part-00000.csv") -> Part:
    return Part(name, bytes=10, rows=1, sha256="ab" * 32, columns=columns or NAMES, source="in.csv")


def load(spec: LoadSpec, *parts: Part, **changes: Any) -> Load:
    day = spec.partition(changes.pop("partition", "2025-05-01"))
    bounds = (day.start.isoformat(), day.end.isoformat())
    form = changes.pop("form", CsvFormat(delimiter=";"))
    manifest = Manifest(spec.table, day.key, f"{day.compact}_01", *bounds, format=form, parts=parts or (part(),))
    return Load(spec, day, manifest, **changes)


def step(shape: TableShape | None = SHAPE, *parts: Part, **changes: Any) -> Step:
    return build_step(load(spec(**changes), *parts), shape)


def only(step: Step, kind: type) -> Any:
    """The one action of that kind."""
    (found,) = [action for action in (*step.prepare, *step.actions) if isinstance(action, kind)]
    return found


def kinds(actions: tuple[Any, ...]) -> list[type]:
    return [type(action) for action in actions]


def drift(shape: TableShape | None = SHAPE, *parts: Part, **changes: Any) -> list[str]:
    """What is told of columns that do not fit; the columns of the target come last."""
    with pytest.raises(SchemaDriftError) as refused:
        step(shape, *parts, **changes)
    *problems, last = refused.value.problems
    assert last.startswith("the target has: ")
    return problems


# --- which actions ---------------------------------------------------------------------------------


def test_a_batch_is_staged_inspected_and_written() -> None:
    assert kinds(step().actions) == [CreateStaging, CopyBatch, InspectBatch, UpsertRows]
    assert step().prepare == ()


def test_checks_look_at_the_winners_before_they_are_written() -> None:
    found = step(checks=[{"unique": "order_id"}])

    assert kinds(found.actions) == [CreateStaging, CopyBatch, InspectBatch, Deduplicate, RunChecks, UpsertRows]
    winners = only(found, Deduplicate).winners
    assert only(found, RunChecks).rows == only(found, UpsertRows).source == winners
    assert only(found, RunChecks) == RunChecks(
        winners,
        (Unique(columns=("order_id",)),),
        NAMES,
        unique=("order_id",),
        source=only(found, CreateStaging).staging,
        key=("order_id",),
    )
    assert only(found, UpsertRows).deduplicated


def test_without_checks_the_batch_is_written_straight_from_staging() -> None:
    found = step()

    assert only(found, UpsertRows).source == only(found, CreateStaging).staging == only(found, CopyBatch).staging
    assert not only(found, UpsertRows).deduplicated


def test_every_part_is_copied_in_order_with_the_format_of_the_batch() -> None:
    parts = (part(), part(*reversed(NAMES), name="part-00001.csv.gz"))
    copies = [action for action in step(SHAPE, *parts).actions if isinstance(action, CopyBatch)]

    assert [copy.part for copy in copies] == list(parts)
    assert {copy.format for copy in copies} == {CsvFormat(delimiter=";")}


@pytest.mark.parametrize(
    ("parts", "words", "columns"),
    [
        ([("updated_at", "order_id"), ("order_id", "amount")], {}, ("order_id", "amount", "updated_at")),
        ([("order_id", "updated_at")], {"columns": COLUMNS}, NAMES),  # all that the spec knows: NULL is left out
        ([()], {}, NAMES),
        ([(), ("order_id", "updated_at")], {}, ("order_id", "updated_at")),
    ],
)
def test_the_columns_of_json_lines_are_those_of_all_parts(
    parts: list[tuple[str, ...]], words: dict[str, Any], columns: tuple[str, ...]
) -> None:
    found = [replace(part(), columns=names) for names in parts]
    step = build_step(load(spec(**words), *found, form=JsonlFormat()), SHAPE)

    assert only(step, CreateStaging).columns == columns
    assert [action.part for action in step.actions if isinstance(action, CopyBatch)] == found


def test_a_key_column_that_no_line_has_is_refused() -> None:
    with pytest.raises(SchemaDriftError, match="column 'updated_at' is missing in the batch"):
        build_step(load(spec(), part("order_id"), part("amount"), form=JsonlFormat()), SHAPE)


@pytest.mark.parametrize(
    ("changes", "column"),
    [
        ({}, None),
        ({"event_time": "order_date"}, "order_date"),
        ({"partition_by": {"column": "updated_at"}}, "updated_at"),
        ({"event_time": "order_date", "partition_by": {"column": "updated_at"}}, "updated_at"),
    ],
)
def test_a_partition_is_measured_when_a_column_says_what_is_in_it(changes: dict[str, Any], column: str | None) -> None:
    found = step(**changes)
    measured = [action for action in found.actions if isinstance(action, MeasurePartition)]

    assert measured == ([MeasurePartition(ORDERS, column, found.partition)] if column else [])
    assert only(found, InspectBatch).event_time == column


def test_a_batch_without_files_writes_nothing_but_is_measured() -> None:
    manifest = replace(load(spec()).manifest, parts=())
    found = build_step(Load(spec(event_time="order_date"), load(spec()).partition, manifest), SHAPE)

    assert kinds(found.actions) == [CreateStaging, InspectBatch, UpsertRows, MeasurePartition]
    assert only(found, UpsertRows).columns == NAMES


# --- columns ---------------------------------------------------------------------------------------


def test_columns_are_matched_by_name_in_the_order_of_the_target() -> None:
    found = step(SHAPE, part("updated_at", "amount", "order_id", "order_date"))

    assert only(found, CreateStaging).columns == only(found, UpsertRows).columns == NAMES
    assert only(found, CopyBatch).part.columns == ("updated_at", "amount", "order_id", "order_date")


def test_columns_that_the_batch_does_not_bring_are_left_alone() -> None:
    found = step(SHAPE, part("order_id", "updated_at"))

    assert only(found, UpsertRows).columns == ("order_id", "updated_at")


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        (("order_id", "updated_a"), "column 'updated_at' is missing in the batch, did you mean 'updated_a'?"),
        (("orderid", "updated_at"), "column 'order_id' is missing in the batch, did you mean 'orderid'?"),
        (("Order_ID", "updated_at"), "column 'order_id' is missing in the batch, did you mean 'Order_ID'?"),
    ],
)
def test_a_key_or_version_that_the_batch_lacks_is_told(columns: tuple[str, ...], problem: str) -> None:
    assert problem in drift(SHAPE, part(*columns))


def test_a_column_of_the_spec_that_the_batch_lacks_is_told() -> None:
    assert drift(SHAPE, part("order_id", "updated_at", "amount"), columns=COLUMNS) == [
        "column 'order_date' is missing in the batch, did you mean 'order_id'?"
    ]


def test_a_column_that_the_target_lacks_is_told_with_the_nearest_one() -> None:
    assert drift(SHAPE, part(*NAMES, "amounts", "xyzzy")) == [
        "column 'amounts' of the batch is not in the target, did you mean 'amount'?",
        "column 'xyzzy' of the batch is not in the target",
    ]


def test_a_column_that_the_target_lacks_can_be_left_out() -> None:
    found = step(SHAPE, part("note", *NAMES), on_schema_change="ignore")

    assert only(found, CreateStaging).ignored == ("note",)
    assert only(found, CreateStaging).columns == only(found, UpsertRows).columns == NAMES


def test_leaving_out_does_not_cover_a_missing_key() -> None:
    assert drift(SHAPE, part("orderid", "updated_at"), on_schema_change="ignore") == [
        "column 'order_id' is missing in the batch, did you mean 'orderid'?"
    ]


def test_a_generated_column_is_loaded_by_nobody() -> None:
    generated = replace(SHAPE, columns=(*COLUMNS_AS_THEY_ARE, Column("total", "numeric", writable=False)))

    assert only(step(generated), UpsertRows).columns == NAMES
    assert drift(generated, part(*NAMES, "total")) == ["column 'total' is generated by the target and cannot be loaded"]


def test_files_of_one_batch_must_have_the_same_columns_in_any_order() -> None:
    other = replace(part("order_id", "updated_at", name="part-00001.csv"), source="in2.csv")

    assert drift(SHAPE, part("updated_at", "order_id", "amount"), other) == [
        "file 'in2.csv' has columns order_id, updated_at, the first file updated_at, order_id, amount"
    ]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"unique_key": ["id"]}, "column 'id' is missing in the target"),
        ({"event_time": "orderdate"}, "column 'orderdate' is missing in the target, did you mean 'order_date'?"),
        ({"checks": [{"unique": "amout"}]}, "column 'amout' is missing in the target, did you mean 'amount'?"),
        (
            {"event_time": "amount"},
            "column 'amount' is numeric(12,2): partitions need a date, timestamp or timestamptz",
        ),
        (
            {"partition_by": {"column": "order_date", "grain": "hour"}, "partition": "2025-05-01T07"},
            "column 'order_date' is date: it cannot tell the hours of a day apart",
        ),
    ],
)
def test_what_the_spec_says_of_columns_must_be_true_of_the_target(changes: dict[str, Any], problem: str) -> None:
    key = changes.pop("partition", "2025-05-01")

    with pytest.raises(SchemaDriftError) as refused:
        build_step(load(spec(**changes), partition=key), SHAPE)

    assert problem in refused.value.problems


def test_all_that_does_not_fit_is_told_at_once_with_the_columns_there_are() -> None:
    with pytest.raises(SchemaDriftError) as refused:
        step(SHAPE, part("order_id", "note"), event_time="day")

    assert refused.value.problems == (
        "column 'updated_at' is missing in the batch",
        "column 'day' is missing in the target",
        "column 'note' of the batch is not in the target",
        "the target has: order_id, order_date, amount, updated_at",
    )


# --- the target ------------------------------------------------------------------------------------


def test_a_target_that_does_not_exist_is_created_from_the_spec() -> None:
    found = step(None, columns=COLUMNS, fillfactor=70)

    assert found.prepare == (CreateTarget(ORDERS, COLUMNS_AS_THEY_ARE, ("order_id",), fillfactor=70),)
    assert found.target == created_shape(spec(columns=COLUMNS)) == SHAPE


@pytest.mark.parametrize(
    ("changes", "percent"),
    [
        ({}, 85),
        ({"strategy": "append", "unique_key": [], "version": []}, 100),
        ({"strategy": "append"}, 85),
        ({"strategy": "insert_only", "version": []}, 100),
        ({"strategy": "insert_overwrite", "partition_by": {"column": "order_date"}}, 85),
        ({"strategy": {"kind": "insert_overwrite", "method": "attach"}, "partition_by": {"column": "order_date"}}, 100),
    ],
)
def test_pages_have_room_where_rows_are_updated_in_place(changes: dict[str, Any], percent: int) -> None:
    [created, *_] = step(None, columns=COLUMNS, **changes).prepare

    assert isinstance(created, CreateTarget)
    assert created.fillfactor == percent


def test_a_target_that_does_not_exist_needs_columns() -> None:
    with pytest.raises(TargetMissingError) as refused:
        step(None)

    assert refused.value.table == "analytics.orders"


def test_a_target_that_exists_is_taken_as_it_is() -> None:
    other = replace(SHAPE, columns=(*COLUMNS_AS_THEY_ARE, Column("note", "text")))

    assert step(other, columns=COLUMNS).prepare == ()
    assert step(other, columns=COLUMNS).target == other


@pytest.mark.parametrize(
    ("keys", "exclusive"),
    [
        ((frozenset({"order_id"}),), False),
        ((frozenset({"order_id"}), frozenset({"amount"})), False),
        ((), True),
        ((frozenset({"order_id", "order_date"}),), True),
    ],
)
def test_without_a_unique_index_on_the_key_other_writers_are_kept_out(
    keys: tuple[frozenset[str], ...], exclusive: bool
) -> None:
    assert step(replace(SHAPE, unique_keys=keys)).exclusive is exclusive


PARTITIONED = {
    "unique_key": ["order_id", "order_date"],
    "partition_by": {"column": "order_date", "declarative": True},
}


def test_a_partitioned_target_gets_a_child_for_its_partition() -> None:
    found = step(None, columns=COLUMNS, fillfactor=70, **PARTITIONED)
    table, child = found.prepare

    assert (table.partition_column, table.fillfactor) == ("order_date", 70)
    assert child == EnsureChild(ORDERS, Column("order_date", "date", nullable=False), found.partition, fillfactor=70)
    assert child.child == Relation("analytics", "orders_p20250501")
    assert found.target.partitioned
    assert only(found, UpsertRows).within == ("order_date", found.partition)


def test_a_partitioned_target_that_exists_gets_the_child_only() -> None:
    assert kinds(step(replace(SHAPE, partitioned=True), **PARTITIONED).prepare) == [EnsureChild]


def test_a_plain_target_gets_no_child_whatever_the_spec_says() -> None:
    found = step(SHAPE, **PARTITIONED)

    assert found.prepare == ()
    assert only(found, UpsertRows).within is None


def test_only_a_partition_column_in_the_key_bounds_the_search() -> None:
    partitioned = replace(SHAPE, partitioned=True)

    assert only(step(partitioned, event_time="order_date"), UpsertRows).within is None


# --- identity --------------------------------------------------------------------------------------


def test_a_step_carries_what_the_ledger_needs_to_know_it_again() -> None:
    found = build_step(load(spec(lock_timeout=5, statement_timeout=60), skip_unchanged=True), SHAPE)

    assert (found.table, found.partition.key) == ("analytics.orders", "2025-05-01")
    assert found.manifest.batch_id == "20250501_01"
    assert found.spec_fingerprint == fingerprint(spec())
    assert found.may_replay
    assert found.timeouts == Timeouts(5, 60)


def test_the_same_batch_makes_the_same_step_and_another_one_the_same_staging_so_that_its_sql_is_built_once() -> None:
    one = load(spec())
    other = replace(one, manifest=replace(one.manifest, batch_id="20250501_02"))

    assert build_step(one, SHAPE) == build_step(one, SHAPE)
    assert only(build_step(one, SHAPE), CreateStaging) == only(build_step(other, SHAPE), CreateStaging)


def test_a_step_that_could_not_be_built_still_has_an_identity() -> None:
    blank, built = blank_step(load(spec())), step()

    assert blank.actions == blank.prepare == ()
    assert (blank.table, blank.partition, blank.manifest) == (built.table, built.partition, built.manifest)
    assert blank.spec_fingerprint == built.spec_fingerprint
