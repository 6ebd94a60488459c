"""insert_overwrite with method attach: the child of a partition is exchanged, or nothing is touched."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects
from airflow_idempotent.errors import AttachError, GateClosedError, LockTimeoutError, NoChildTableError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

NEXT = "2025-05-02"
FIRST = "id,d,v\n1,2025-05-01,a\n2,2025-05-01,b\n3,2025-05-01,c\n"
SECOND = "id,d,v\n1,2025-05-01,a\n2,2025-05-01,B\n4,2025-05-01,d\n4,2025-05-01,d\n"


@pytest.fixture
def days(connect_once: Connect) -> Warehouse:
    warehouse = Warehouse(connect_once)
    warehouse.sql("CREATE TABLE days (id int, d date, v text, PRIMARY KEY (id, d)) PARTITION BY RANGE (d)")
    warehouse.sql("CREATE INDEX ON days (v)")
    for number, (start, end) in enumerate([(DAY, NEXT), (NEXT, "2025-05-03")], start=1):
        warehouse.sql(f"CREATE TABLE days_{number} PARTITION OF days FOR VALUES FROM ('{start}') TO ('{end}')")
    return warehouse


def spec(**words: Any) -> LoadSpec:
    given: dict[str, Any] = {
        "table": "days",
        "unique_key": ["id", "d"],
        "partition_by": {"column": "d"},
        "strategy": {"kind": "insert_overwrite", "method": "attach"},
    }
    return LoadSpec(**given | words)


def children(warehouse: Warehouse) -> dict[str, int]:
    """The children by name, with the number that each has as long as it is the same table."""
    found = warehouse.sql(
        "SELECT inhrelid::regclass::text, inhrelid FROM pg_inherits WHERE inhparent = 'days'::regclass"
    )
    return {name: int(number) for name, number in found}


def rows(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.sql("SELECT id, d::text, v FROM days ORDER BY 1, 2")


def test_a_child_that_differs_is_exchanged_and_all_is_counted(days: Warehouse) -> None:
    days.sql("INSERT INTO days VALUES (1, '2025-05-02', 'other day')")
    days.sql("ALTER TABLE days_1 SET (fillfactor = 85, autovacuum_enabled = false)")
    before, others = children(days), days.physical("days_2")

    first = days.load(spec(), FIRST)
    second = days.load(spec(), SECOND, revision=2)

    assert first.effects == Effects(inserted=3)
    assert second.effects == Effects(inserted=1, updated=1, deleted=1, unchanged=1, duplicate=1)
    assert second.measure.beyond_batch == 1
    assert rows(days) == [
        (1, "2025-05-01", "a"),
        (1, "2025-05-02", "other day"),
        (2, "2025-05-01", "B"),
        (4, "2025-05-01", "d"),
    ]
    after = children(days)
    assert after.keys() == before.keys()
    assert after["days_1"] != before["days_1"]
    assert after["days_2"] == before["days_2"]
    assert days.physical("days_2") == others
    assert days.sql("SELECT reloptions FROM pg_class WHERE relname = 'days_1'") == [
        (["fillfactor=85", "autovacuum_enabled=false"],)
    ]
    assert days.sql("SELECT count(*) FROM pg_index WHERE indrelid = 'days_1'::regclass") == [(2,)]
    assert days.sql("SELECT count(*) FROM pg_constraint WHERE conname = 'idem_bounds'") == [(0,)]


def test_the_new_child_has_all_indexes_of_the_table(days: Warehouse) -> None:
    days.sql("CREATE INDEX ON days (lower(v)) WITH (fillfactor = 70) WHERE id > 1")
    days.sql("CREATE UNIQUE INDEX ON days (v DESC, id, d) INCLUDE (id) NULLS NOT DISTINCT")
    days.sql("ALTER TABLE days ADD UNIQUE (v, d, id)")
    before = indexes(days)

    days.load(spec(), FIRST)

    assert len(before) == 5
    assert indexes(days) == before
    assert days.sql("SELECT relname FROM pg_class WHERE relname LIKE 'idem_parent%'") == []


def indexes(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    """Those of the first child, without their names."""
    return warehouse.sql(
        "SELECT regexp_replace(pg_get_indexdef(indexrelid), 'INDEX .* ON', ''), indisprimary, indisvalid, "
        "(SELECT contype FROM pg_constraint WHERE conindid = indexrelid), "
        "EXISTS (SELECT FROM pg_inherits WHERE inhrelid = indexrelid) "
        "FROM pg_index WHERE indrelid = 'days_1'::regclass ORDER BY 1"
    )


def test_a_second_run_builds_nothing(days: Warehouse) -> None:
    days.load(spec(), FIRST)
    before = children(days), days.physical("days")

    assert days.load(spec(), FIRST).effects == Effects(unchanged=3)
    assert (children(days), days.physical("days")) == before


def test_an_older_batch_writes_nothing_and_an_empty_one_empties(days: Warehouse) -> None:
    older = days.batches.land(spec(), FIRST)
    days.load(spec(), "id,d,v\n", revision=2)
    days.load(spec(), SECOND, revision=3)
    before = children(days)

    assert days.load_again(spec(), older).effects == Effects(stale=3)
    assert children(days) == before
    assert days.load(spec(), "id,d,v\n", revision=4).effects == Effects(deleted=3)
    assert rows(days) == []


def test_a_dry_run_and_a_closed_gate_leave_the_child(days: Warehouse) -> None:
    days.load(spec(), FIRST)
    before = children(days)

    assert days.load(spec(), SECOND, revision=2, dry_run=True).effects.inserted == 1
    with pytest.raises(GateClosedError):
        days.load(spec(checks=[{"count": 9}]), SECOND, revision=2)

    assert children(days) == before
    assert len(rows(days)) == 3


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            "CREATE TABLE r (id int, d date, FOREIGN KEY (id, d) REFERENCES days)",
            "foreign key .* of r refers to its rows",
        ),
        ("CREATE TABLE r (id int, d date, FOREIGN KEY (id, d) REFERENCES days_1)", "foreign key .* of r refers"),
        ("CREATE INDEX mine ON days_1 (d)", "index mine of the child"),
        ("ALTER TABLE days_1 ADD CONSTRAINT small CHECK (id < 100)", "constraint small of the child"),
        ("GRANT SELECT ON days_1 TO PUBLIC", "grants on the child: "),
        ("GRANT SELECT (id) ON days_1 TO PUBLIC", "grants on column id of the child"),
        ("ALTER TABLE days_1 ENABLE ROW LEVEL SECURITY", "row level security of the child"),
        ("CREATE POLICY mine ON days_1 USING (true)", "policy mine of the child"),
        ("CREATE VIEW seen AS SELECT id FROM days_1", "view seen reads the child"),
        ("COMMENT ON TABLE days_1 IS 'the first'", "the comment on the child"),
        ("CREATE STATISTICS mine ON id, v FROM days_1", "extended statistics of the child"),
        ("ALTER TABLE days_1 SET UNLOGGED", "the child is unlogged"),
        ("ALTER TABLE days_1 REPLICA IDENTITY FULL", "replica identity of the child"),
        ("CREATE PUBLICATION named FOR TABLE days_1", "publication named names the child"),
        ("CREATE TRIGGER one AFTER INSERT ON days_1 EXECUTE FUNCTION noted()", "trigger one of the child"),
        (
            "CREATE TRIGGER all_ AFTER INSERT ON days FOR EACH ROW EXECUTE FUNCTION noted()",
            "trigger all_ would not fire",
        ),
        ("ALTER TABLE days ADD extra int", "the batch lacks extra: their values would be lost"),
    ],
)
def test_what_would_be_lost_refuses_the_exchange_by_name(days: Warehouse, made: str, reason: str) -> None:
    days.load(spec(), FIRST)
    days.sql("CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$")
    days.sql(made)
    before = children(days)

    with pytest.raises(AttachError, match=reason) as refused:
        days.load(spec(), SECOND, revision=2)

    assert refused.value.child == "public.days_1"
    assert children(days) == before
    assert len(rows(days)) == 3


def test_nothing_is_refused_where_nothing_would_be_exchanged(days: Warehouse) -> None:
    days.load(spec(), FIRST)
    days.sql("CREATE INDEX mine ON days_1 (d)")

    assert days.load(spec(), FIRST).effects == Effects(unchanged=3)


def test_what_the_table_has_is_handed_on_to_the_new_child(days: Warehouse) -> None:
    days.sql("CREATE TABLE kinds (v text PRIMARY KEY)")
    days.sql("INSERT INTO kinds VALUES ('a'), ('b'), ('c'), ('B'), ('d')")
    days.sql("ALTER TABLE days ADD FOREIGN KEY (v) REFERENCES kinds, ADD CHECK (id > 0)")
    days.sql("ALTER TABLE days ADD twice int GENERATED ALWAYS AS (id * 2) STORED")

    days.load(spec(), FIRST)
    days.load(spec(), SECOND, revision=2)

    assert days.sql("SELECT sum(twice) FROM days") == [(14,)]
    kinds = "SELECT contype::text FROM pg_constraint WHERE conrelid = 'days_1'::regclass AND contype <> 'n' ORDER BY 1"
    assert days.sql(kinds) == [("c",), ("f",), ("p",)]


def test_a_table_that_has_no_children_is_refused(connect_once: Connect) -> None:
    warehouse = Warehouse(connect_once)
    warehouse.sql("CREATE TABLE days (id int, d date, v text)")

    with pytest.raises(AttachError, match="the table is not PARTITION BY RANGE"):
        warehouse.load(spec(), FIRST)


def test_a_partition_without_a_child_is_refused_unless_we_make_them(days: Warehouse) -> None:
    text = "id,d,v\n1,2025-06-01,a\n"
    with pytest.raises(NoChildTableError):
        days.load(spec(), text, partition="2025-06-01")

    columns = [{"name": name, "data_type": kind} for name, kind in (("id", "int"), ("d", "date"), ("v", "text"))]
    declared = spec(columns=columns, partition_by={"column": "d", "declarative": True})
    assert days.load(declared, text, partition="2025-06-01").effects == Effects(inserted=1)


def test_a_reader_that_does_not_end_makes_the_load_give_up_and_nothing_is_changed(days: Warehouse) -> None:
    days.load(spec(), FIRST)
    before = children(days)
    with days.session() as cursor:
        cursor.execute("SELECT count(*) FROM days")
        with pytest.raises(LockTimeoutError, match="pid"):
            days.load(spec(lock_timeout=1), SECOND, revision=2)
        cursor.execute("SELECT count(*) FROM days")
        assert cursor.fetchone() == (3,)

    assert children(days) == before
    assert days.load(spec(), SECOND, revision=2).effects.inserted == 1


def test_readers_see_the_old_child_or_the_new_one(days: Warehouse) -> None:
    days.load(spec(), "id,d,v\n" + "".join(f"{n},2025-05-01,a\n" for n in range(2000)))
    seen: set[tuple[int, int]] = set()
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.update(days.sql("SELECT count(*)::int, count(*) FILTER (WHERE v = 'b')::int FROM days"))
            time.sleep(0.001)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        days.load(spec(), "id,d,v\n" + "".join(f"{n},2025-05-01,b\n" for n in range(3000)), revision=2)
        time.sleep(0.05)
    finally:
        done.set()
        reader.join()

    assert seen == {(2000, 0), (3000, 3000)}


def test_two_partitions_at_once_take_turns(days: Warehouse) -> None:
    def load(day: str) -> None:
        days.load(spec(), "id,d,v\n" + "".join(f"{n},{day},a\n" for n in range(500)), partition=day)

    threads = [threading.Thread(target=load, args=(day,)) for day in (DAY, NEXT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert days.sql("SELECT d::text, count(*) FROM days GROUP BY 1 ORDER BY 1") == [(DAY, 500), (NEXT, 500)]
