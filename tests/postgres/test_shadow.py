"""A version built beside the live table: by the same loads, resumable, until it is swapped in."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from airflow_idempotent.core.audit import Cause, Report, SourceVerdict
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.core.version import Cutover, Keeping, RollbackOrder, SwapOrder, Swapped
from airflow_idempotent.engine.audit import Asked, audit
from airflow_idempotent.engine.reconcile import Reconciliation, reconcile
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.states import known_partitions, open_drift, partition_states
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import CutoverError, GateClosedError, ShadowError
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.publish import Publish
from airflow_idempotent.spec.table import TableSpec
from tests.faults import Watched
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

COLUMNS = [
    {"name": "id", "data_type": "int"},
    {"name": "v", "data_type": "text"},
    {"name": "d", "data_type": "date"},
]
ORDERS = LoadSpec(table="orders", unique_key="id", columns=COLUMNS, partition_by={"column": "d"})
NEXT = ORDERS.model_copy(update={"table_version": 2})
NEXT_DAY = "2025-05-02"


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    """Two days are loaded into the live table."""
    found = Warehouse(connect_once)
    for day in (DAY, NEXT_DAY):
        load(found, day, "old", spec=ORDERS)
    return found


def batch(warehouse: Warehouse, day: str, value: str, spec: LoadSpec) -> Manifest:
    revision = 1 + sum(spec.partition(day).compact in name for name, _ in warehouse.batches.content)
    return warehouse.batches.land(spec, f"id,v,d\n{day[-1]},{value},{day}\n", partition=day, revision=revision)


def load(
    warehouse: Warehouse, day: str, value: str, *, spec: LoadSpec = NEXT, target: Any = "live", connect: Any = None
) -> Receipt:
    wanted = Load(spec, spec.partition(day), batch(warehouse, day, value, spec), target=target)
    return stage_merge(wanted, connect=connect or warehouse.connect, batches=warehouse.batches)


def swapped(warehouse: Warehouse, gates: Cutover | None = None) -> Swapped:
    return swap(SwapOrder(ORDERS.live, version=2, gates=gates), connect=warehouse.connect)


def checked(warehouse: Warehouse, day: str) -> None:
    wanted = Load(NEXT, NEXT.partition(day), batch(warehouse, day, "new", NEXT), target="shadow")
    validate(wanted, connect=warehouse.connect)


def rows(warehouse: Warehouse, table: str = "orders") -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in warehouse.sql(f"SELECT id, v FROM {table} ORDER BY 1")]


def states(warehouse: Warehouse, version: int | None = None) -> list[tuple[str, str]]:
    found = partition_states(warehouse.connect, "public.orders", version=version)
    return [(row["partition_key"], row["state"]) for row in found]


def test_a_shadow_is_built_partition_by_partition_and_readers_notice_nothing(warehouse: Warehouse) -> None:
    before = warehouse.physical("orders")

    receipt = load(warehouse, DAY, "new", target="shadow")

    assert (receipt.table, receipt.effects.inserted) == ("public.orders", 1)
    assert rows(warehouse, "orders__v2") == [(1, "new")]
    assert warehouse.physical("orders") == before
    assert states(warehouse) == [(DAY, "published"), (NEXT_DAY, "published")]
    assert states(warehouse, 2) == [(DAY, "published")]
    assert load(warehouse, DAY, "new", target="shadow").effects.touched == 0


def test_what_is_checked_is_the_shadow(warehouse: Warehouse) -> None:
    load(warehouse, DAY, "new", target="shadow")
    manifest = batch(warehouse, DAY, "new", NEXT)

    validate(Load(NEXT, NEXT.partition(DAY), manifest, target="shadow"), connect=warehouse.connect)

    assert states(warehouse, 2) == [(DAY, "validated")]
    assert states(warehouse)[0] == (DAY, "published")


def test_once_swapped_in_it_is_the_live_table_for_all_that_asks(warehouse: Warehouse) -> None:
    for day in (DAY, NEXT_DAY):
        load(warehouse, day, "new", target="shadow")
    done = swapped(warehouse)

    assert done.version == 2
    assert load(warehouse, DAY, "newer").effects.updated == 1
    assert load(warehouse, NEXT_DAY, "newer", target="shadow").effects.updated == 1
    assert rows(warehouse) == [(1, "newer"), (2, "newer")]
    assert rows(warehouse, "orders__v1") == [(1, "old"), (2, "old")]
    bounds = (NEXT.partition(DAY).start, NEXT.partition(NEXT_DAY).end)
    assert set(known_partitions(warehouse.connect, "public.orders", *bounds)) == {DAY, NEXT_DAY}
    [(versions,)] = warehouse.sql("SELECT array_agg(table_version ORDER BY event_id) FROM airflow_idempotent.events")
    assert versions == [1, 1, 2, 2, 2, 2]


def test_after_a_rollback_loads_go_to_the_old_version_and_never_into_what_is_kept(warehouse: Warehouse) -> None:
    load(warehouse, DAY, "new", target="shadow")
    swapped(warehouse)
    rollback(RollbackOrder(ORDERS.live), connect=warehouse.connect)

    load(warehouse, DAY, "newest")
    with pytest.raises(ShadowError, match=r"version 2 is ROLLED_BACK(.|\n)*Raise table_version"):
        load(warehouse, DAY, "newest", target="shadow")

    assert rows(warehouse) == [(1, "newest"), (2, "old")]
    assert rows(warehouse, "orders__v2") == [(1, "new")]


@pytest.mark.parametrize("moment", range(0, 60, 7))
def test_a_shadow_whose_load_was_killed_is_gone_on_with(warehouse: Warehouse, moment: int) -> None:
    left = [moment]

    def watch(event: str) -> None:
        left[0] -= event.startswith("before ")
        if left[0] == -1:
            raise Crash

    with suppress(Crash):
        load(warehouse, DAY, "new", target="shadow", connect=lambda: Watched(warehouse.connect(), watch))
    load(warehouse, DAY, "new", target="shadow")

    swapped(warehouse)
    assert rows(warehouse) == [(1, "new")]


def test_a_swap_between_the_look_and_the_lock_of_a_load_is_noticed(warehouse: Warehouse) -> None:
    load(warehouse, DAY, "new", target="shadow")
    seen: list[str] = []

    def watch(event: str) -> None:
        seen.append(event)
        if event.startswith("after COMMIT") and seen.count("after COMMIT") == 2:
            swapped(warehouse)

    load(warehouse, NEXT_DAY, "late", connect=lambda: Watched(warehouse.connect(), watch))

    assert (2, "late") in rows(warehouse)
    [(version,)] = warehouse.sql("SELECT table_version FROM airflow_idempotent.events ORDER BY event_id DESC LIMIT 1")
    assert version == 2
    assert warehouse.sql("SELECT to_regclass('orders__v2')") == [(None,)]


def test_it_is_not_swapped_in_before_all_that_readers_have_is_in_it_and_validated(warehouse: Warehouse) -> None:
    gates = Cutover()
    said = []
    acts = [
        lambda: None,
        lambda: load(warehouse, DAY, "new", target="shadow"),
        lambda: checked(warehouse, DAY),
        lambda: load(warehouse, NEXT_DAY, "new", target="shadow"),
    ]
    for act in acts:
        act()
        with pytest.raises(CutoverError) as refused:
            swapped(warehouse, gates)
        assert refused.value.waiting
        said.append(refused.value.reasons[0])
    checked(warehouse, NEXT_DAY)

    assert said == [
        "it is not built yet",
        f"partition {DAY} is published",
        f"partition {NEXT_DAY} is missing",
        f"partition {NEXT_DAY} is published",
    ]
    assert swapped(warehouse, gates).version == 2


def test_what_was_loaded_into_a_shadow_that_is_gone_does_not_count(warehouse: Warehouse) -> None:
    for day in (DAY, NEXT_DAY):
        load(warehouse, day, "new", target="shadow")
        checked(warehouse, day)
    warehouse.sql("DROP TABLE orders__v2")
    load(warehouse, DAY, "new", target="shadow")
    checked(warehouse, DAY)

    with pytest.raises(CutoverError, match=f"partition {NEXT_DAY} is missing"):
        swapped(warehouse, Cutover())


@pytest.mark.parametrize(("gates", "reason"), [(Cutover(3), "2 of its partitions"), (Cutover(0, 0.4), "1 rows, the")])
def test_other_gates_are_closed_too(warehouse: Warehouse, gates: Cutover, reason: str) -> None:
    for day in (DAY, NEXT_DAY):
        load(warehouse, day, "new", target="shadow")
        checked(warehouse, day)
    warehouse.sql("DELETE FROM orders__v2 WHERE id = 1")

    with pytest.raises(CutoverError, match=reason):
        swapped(warehouse, gates)


# --- what looks at versions ------------------------------------------------------------------------


def audited(warehouse: Warehouse, spec: LoadSpec, run: str = "r") -> Report:
    return audit(spec, Asked(run), connect=warehouse.connect, compare_source=lambda due, partition: SourceVerdict())


def test_an_audit_looks_at_the_live_version_while_a_shadow_is_built_and_after_it_was_swapped_in(
    warehouse: Warehouse,
) -> None:
    for day in (DAY, NEXT_DAY):
        load(warehouse, day, "new", target="shadow")
    warehouse.sql("DELETE FROM orders__v2 WHERE id = 2")
    beside = audited(warehouse, NEXT)
    swapped(warehouse)
    after = audited(warehouse, NEXT)
    again = audited(warehouse, NEXT, "another")

    causes = [(item.partition, str(item.cause)) for item in beside.findings if item.cause is not Cause.SPEC_CHANGED]
    assert (len(beside.looks), causes) == (2, [])
    assert [(item.partition, str(item.cause)) for item in after.findings] == [(NEXT_DAY, "target_changed")]
    assert [item.is_new for item in again.findings] == [False]
    found = warehouse.sql("SELECT table_version FROM airflow_idempotent.drift WHERE cause = 'target_changed'")
    assert found == [(2,)]
    assert {row["partition_key"]: row["drift"] for row in partition_states(warehouse.connect, "public.orders")} == {
        DAY: [],
        NEXT_DAY: ["target_changed"],
    }
    assert [item.partition for item in open_drift(warehouse.connect, "public.orders")] == [NEXT_DAY]


def test_what_is_accepted_is_accepted_of_the_live_version(warehouse: Warehouse) -> None:
    manifests = [batch(warehouse, day, "new", NEXT) for day in (DAY, NEXT_DAY)]
    for manifest in manifests:
        wanted = Load(NEXT, NEXT.partition(manifest.partition), manifest, target="shadow")
        stage_merge(wanted, connect=warehouse.connect, batches=warehouse.batches)
    swapped(warehouse)
    warehouse.sql("UPDATE orders SET v = 'edited' WHERE id = 2; ALTER TABLE orders ADD COLUMN more int")

    def repaired(**words: Any) -> list[tuple[str, str, bool]]:
        wanted = Reconciliation(NEXT, tuple(manifests), accept=True, by="ann", reason="4711")
        found = reconcile(wanted, connect=warehouse.connect, opener=warehouse.batches, **words)
        return [(item.partition, str(item.kind), item.made) for item in found]

    shown, made, left = repaired(), repaired(apply=True), repaired()

    assert shown == [("*", "accept_columns", False), (NEXT_DAY, "accept_rows", False)]
    assert made == [(*repair[:2], True) for repair in shown]
    assert left == []
    assert audited(warehouse, NEXT).findings == ()
    assert warehouse.sql("SELECT DISTINCT table_version FROM airflow_idempotent.audits WHERE baseline <> ''") == [(2,)]


def test_a_batch_of_the_live_version_that_is_known_is_nothing_to_repair(warehouse: Warehouse) -> None:
    manifest = batch(warehouse, DAY, "new", NEXT)
    stage_merge(
        Load(NEXT, NEXT.partition(DAY), manifest, target="shadow"), connect=warehouse.connect, batches=warehouse.batches
    )
    swapped(warehouse)

    wanted = Reconciliation(NEXT, (manifest,), partitions=(DAY,))

    assert reconcile(wanted, connect=warehouse.connect, opener=warehouse.batches) == ()


def test_checks_of_a_shadow_compare_with_its_own_history(warehouse: Warehouse) -> None:
    checks = [{"row_count": {"against": "previous", "tolerance": 0.1}}]
    spec = LoadSpec(**(NEXT.model_dump(exclude_unset=True) | {"checks": checks, "strategy": "insert_overwrite"}))
    found = []
    for revision, values in enumerate((["a"], ["a", "b", "c"]), start=1):
        lines = "".join(f"{number},{value},{DAY}\n" for number, value in enumerate(values))
        manifest = warehouse.batches.land(spec, f"id,v,d\n{lines}", revision=10 + revision)
        wanted = Load(spec, spec.partition(DAY), manifest, target="shadow", force=True)
        try:
            receipt = stage_merge(wanted, connect=warehouse.connect, batches=warehouse.batches)
            found.append(str(receipt.checks[0].verdict))
        except GateClosedError as closed:
            found.append(closed.failures[0])

    assert found[0] == "not_evaluated"
    assert "3 rows" in found[1]
    assert "1" in found[1]


# --- a changed spec under the same number -----------------------------------------------------------------------------

FILE = TableSpec(
    table="orders",
    unique_key="id",
    columns=COLUMNS,
    partition_by={"column": "d"},
    source={"kind": "files", "path": "/inbox/*.csv"},
    start_date="2025-01-01",
    publish="swap",
)
CHANGED = FILE.model_copy(update={"version": ("v",)})


def test_a_changed_spec_whose_number_was_not_raised_does_not_get_into_the_live_table_as_a_shadow(
    warehouse: Warehouse,
) -> None:
    assert load(warehouse, DAY, "of the file", spec=FILE).notes == ()
    assert load(warehouse, DAY, "of the file", spec=FILE, target="shadow").effects.touched == 0

    with pytest.raises(ShadowError, match=r"version 1 is live and was loaded by another spec(.|\n)*table_version: 2"):
        load(warehouse, DAY, "changed", spec=CHANGED, target="shadow")

    assert (1, "of the file") in rows(warehouse)
    raised = CHANGED.model_copy(update={"table_version": 2})
    load(warehouse, DAY, "changed", spec=raised, target="shadow")
    assert rows(warehouse, "orders__v2") == [(1, "changed")]


def test_a_load_of_the_live_table_by_a_changed_spec_says_how_to_rebuild_it(warehouse: Warehouse) -> None:
    load(warehouse, DAY, "of the file", spec=FILE)

    [note] = load(warehouse, DAY, "z", spec=CHANGED).notes

    assert "set table_version: 2" in note
    assert load(warehouse, DAY, "z", spec=CHANGED).notes == ()
    direct = FILE.model_copy(update={"publish": Publish()})
    assert load(warehouse, DAY, "zz", spec=direct).notes == ()


# --- how it is made ---------------------------------------------------------------------------------------------------


@pytest.fixture
def bare(connect_once: Connect) -> Warehouse:
    """A live table that no spec has made: with defaults, generated and identity columns, CHECKs, and indexes."""
    found = Warehouse(connect_once)
    found.sql(
        "CREATE TABLE orders (id int CONSTRAINT orders_pk PRIMARY KEY, v text CHECK (v <> ''), d date,"
        " twice int GENERATED ALWAYS AS (id * 2) STORED, n int GENERATED BY DEFAULT AS IDENTITY, at date DEFAULT now())"
    )
    found.sql("CREATE INDEX orders_by_v ON orders (v); CREATE INDEX orders_by_d ON orders (d) WHERE d IS NOT NULL")
    return found


BARE = LoadSpec(table="orders", unique_key="id", partition_by={"column": "d"})
NEXT_BARE = BARE.model_copy(update={"table_version": 2})


def indexes(warehouse: Warehouse, table: str) -> list[str]:
    found = "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %s::regclass ORDER BY 1"
    return [name for (name,) in warehouse.sql(found, [table])]


def test_a_spec_without_columns_makes_its_shadow_as_the_live_table_is(bare: Warehouse) -> None:
    load(bare, DAY, "old", spec=BARE)
    load(bare, DAY, "new", spec=NEXT_BARE, target="shadow")

    columns = (
        "SELECT attname, atttypid, attnotnull, attgenerated, attidentity, atthasdef FROM pg_attribute "
        "WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum"
    )
    assert bare.sql(columns, ["orders__v2"]) == bare.sql(columns, ["orders"])
    assert bare.sql("SELECT id, v, twice, n, at = now()::date FROM orders__v2") == [(1, "new", 2, 1, True)]
    assert indexes(bare, "orders__v2") == ["orders__v2_pkey"]
    assert bare.sql("SELECT contype::text FROM pg_constraint WHERE conrelid = 'orders__v2'::regclass AND contype = 'c'")
    assert load(bare, DAY, "new", spec=NEXT_BARE, target="shadow").effects.touched == 0


def test_the_other_indexes_are_built_before_the_swap_and_numbers_go_on_behind_the_greater_one(bare: Warehouse) -> None:
    load(bare, DAY, "old", spec=BARE)
    before = indexes(bare, "orders")
    for day in (DAY, NEXT_DAY):
        load(bare, day, "new", spec=NEXT_BARE, target="shadow")
    seen: list[str] = []

    swap(
        SwapOrder(ORDERS.live, version=2, gates=None, allow_changes=False),
        connect=lambda: Watched(bare.connect(), seen.append),
    )

    built, locked = (min(n for n, sent in enumerate(seen) if text in sent) for text in ("CREATE INDEX", "LOCK TABLE"))
    assert built < locked
    assert indexes(bare, "orders") == before
    assert bare.sql("INSERT INTO orders (id, v) VALUES (9, 'x') RETURNING n") == [(3,)]
    assert bare.sql("SELECT count(*) > 0 FROM pg_stats WHERE tablename = 'orders' AND attname = 'v'") == [(True,)]


def test_a_version_that_loads_have_built_gets_the_indexes_that_its_columns_allow(bare: Warehouse) -> None:
    for day in (DAY, NEXT_DAY):
        load(bare, day, "old", spec=BARE)
    bare.sql("CREATE INDEX orders_by_n ON orders (n)")
    for day in (DAY, NEXT_DAY):
        load(bare, day, "new", target="shadow")
        checked(bare, day)
    order = SwapOrder(ORDERS.live, version=2, gates=Cutover(), allow_changes=True)

    swap(order, connect=bare.connect)

    assert indexes(bare, "orders") == ["orders_by_d", "orders_by_v", "orders_pk"]


@pytest.mark.parametrize("moment", range(0, 80, 11))
def test_killed_while_indexes_are_built_it_goes_on_with_those_that_are_missing(bare: Warehouse, moment: int) -> None:
    load(bare, DAY, "old", spec=BARE)
    load(bare, DAY, "new", spec=NEXT_BARE, target="shadow")
    before, left = indexes(bare, "orders"), [moment]

    def watch(event: str) -> None:
        left[0] -= event.startswith("before ")
        if left[0] == -1:
            raise Crash

    with suppress(Crash):
        swap(SwapOrder(ORDERS.live, version=2), connect=lambda: Watched(bare.connect(), watch))
    swap(SwapOrder(ORDERS.live, version=2), connect=bare.connect)

    assert (indexes(bare, "orders"), rows(bare)) == (before, [(1, "new")])


def test_a_partitioned_shadow_is_cut_as_the_live_table_is(connect_once: Connect) -> None:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int, v text, d date, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    found.sql("CREATE INDEX orders_by_v ON orders (v)")
    by = {"column": "d", "declarative": True}
    spec = LoadSpec(table="orders", unique_key=["id", "d"], partition_by=by)
    load(found, DAY, "old", spec=spec)
    load(found, DAY, "new", spec=spec.model_copy(update={"table_version": 2}), target="shadow")

    swap(SwapOrder(ORDERS.live, version=2), connect=found.connect)

    assert rows(found) == [(1, "new")]
    assert indexes(found, "orders") == ["orders_by_v", "orders_pkey"]
    assert len(indexes(found, "orders_p20250501")) == 2


# --- change streams ---------------------------------------------------------------------------------------------------

STREAM = LoadSpec(
    table="people",
    unique_key="id",
    version="ver",
    columns=[
        {"name": "id", "data_type": "int"},
        {"name": "v", "data_type": "text"},
        {"name": "ver", "data_type": "int"},
    ],
    strategy={"kind": "cdc"},
)
NEXT_STREAM = STREAM.model_copy(update={"table_version": 2})


def stream(warehouse: Warehouse, events: str, revision: int, target: Any = "live") -> Receipt:
    spec = NEXT_STREAM if target == "shadow" else STREAM
    manifest = warehouse.batches.land(spec, f"op,id,v,ver\n{events}\n", revision=revision)
    wanted = Load(spec, spec.partition(DAY), manifest, target=target)
    return stage_merge(wanted, connect=warehouse.connect, batches=warehouse.batches)


def people(warehouse: Warehouse, table: str = "people") -> list[tuple[int, str]]:
    return [(row[0], row[1]) for row in warehouse.sql(f"SELECT id, v FROM {table} ORDER BY 1")]


def tombstones(warehouse: Warehouse) -> int:
    [(found,)] = warehouse.sql("SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relname LIKE 'tombstones%'")
    return int(found)


def test_each_version_of_a_change_stream_remembers_its_own_deletions(connect: Connect) -> None:
    warehouse = Warehouse(connect)
    stream(warehouse, "I,1,a,1\nI,2,a,1", 1)
    stream(warehouse, "D,2,,5", 2)
    stream(warehouse, "I,1,rebuilt,1\nI,2,rebuilt,1", 3, target="shadow")

    assert (people(warehouse), people(warehouse, "people__v2")) == ([(1, "a")], [(1, "rebuilt"), (2, "rebuilt")])
    stream(warehouse, "D,1,,7", 4, target="shadow")
    swap(SwapOrder(STREAM.live, version=2), connect=warehouse.connect)
    late = stream(warehouse, "U,1,late,6\nU,2,newer,3", 5)

    assert (late.effects.stale, late.effects.updated, people(warehouse)) == (1, 1, [(2, "newer")])
    rollback(RollbackOrder(STREAM.live, accept_loss=True), connect=warehouse.connect)
    again = stream(warehouse, "U,1,b,6\nU,2,newer,3", 6)
    assert (again.effects.stale, again.effects.updated, people(warehouse)) == (1, 1, [(1, "b")])


def test_a_version_built_by_hand_goes_on_with_the_deletions_before_it_and_they_are_cleaned_up(
    warehouse: Warehouse,
) -> None:
    stream(warehouse, "I,1,a,1\nI,2,a,1", 1)
    stream(warehouse, "D,2,,5", 2)
    for number in (3, 4):
        warehouse.sql("CREATE TABLE aside (LIKE people INCLUDING ALL); INSERT INTO aside SELECT * FROM people")
        swap(SwapOrder(STREAM.live, Relation.parse("aside")), connect=warehouse.connect)
        clean_up(STREAM.live, Keeping(timedelta(0), 0), connect=warehouse.connect)

        assert stream(warehouse, "U,2,late,4", number).effects.stale == 1
        assert people(warehouse) == [(1, "a")]
        assert tombstones(warehouse) == 2
    clean_up(STREAM.live, Keeping(timedelta(0), 0), connect=warehouse.connect)
