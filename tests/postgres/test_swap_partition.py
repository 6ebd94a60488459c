"""One partition changes places with a table built beside it: detached and attached in one moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import Any

import pytest

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.core.version import Keeping, RollbackOrder, SwapOrder, Swapped
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.errors import DependentsError, NoChildTableError, ShadowError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.testing.crashes import is_moment
from tests.cli_fixtures import Command
from tests.faults import Watched
from tests.loading import DAY, Warehouse
from tests.postgres.readers import reading
from tests.postgres_fixtures import Connect

PARENT, CHILD = Relation("public", "sales"), Relation("public", "sales_p20250501")
NEXT_DAY = "2025-05-02"


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql(
        "CREATE TABLE shops (id int PRIMARY KEY); INSERT INTO shops VALUES (1);"
        "CREATE TABLE sales (day date, id int, v text NOT NULL, shop int REFERENCES shops, CHECK (v <> ''),"
        " CONSTRAINT sales_pk PRIMARY KEY (day, id)) PARTITION BY RANGE (day);"
        "CREATE INDEX sales_by_v ON sales (v)"
    )
    for day in (1, 2):
        bounds = f"FOR VALUES FROM ('2025-05-0{day}') TO ('2025-05-0{day + 1}')"
        found.sql(f"CREATE TABLE sales_p2025050{day} PARTITION OF sales {bounds}")
        found.sql(f"INSERT INTO sales VALUES ('2025-05-0{day}', 1, 'old', 1)")
    return found


def shadow(warehouse: Warehouse, value: str = "new", day: str = DAY, name: str = "aside") -> None:
    """A table with the columns and no more; keys and indexes are the swap's to make."""
    warehouse.sql(f"CREATE TABLE {name} (day date NOT NULL, id int NOT NULL, v text NOT NULL, shop int)")
    warehouse.sql(f"INSERT INTO {name} VALUES ('{day}', 1, '{value}', 1), ('{day}', 2, '{value}', 1)")


def swapped(warehouse: Warehouse, *, run: str = "", connect: Callable[[], Any] | None = None, **words: Any) -> Swapped:
    given = {"shadow": Relation.parse("aside"), "partition": DAY, "timeouts": Timeouts(lock=30)} | words
    attempt = Attempt("sales", run, "swap") if run else Attempt()
    return swap(SwapOrder(PARENT, **given), connect=connect or warehouse.connect, attempt=attempt)


def rolled_back(warehouse: Warehouse, *, run: str = "", connect: Callable[[], Any] | None = None) -> Swapped:
    attempt = Attempt("sales", run, "rollback") if run else Attempt()
    order = RollbackOrder(CHILD, timeouts=Timeouts(lock=30))
    return rollback(order, connect=connect or warehouse.connect, attempt=attempt)


def values(warehouse: Warehouse, table: str = "sales") -> list[tuple[str, str]]:
    return warehouse.sql(f"SELECT DISTINCT day::text, v FROM {table} ORDER BY 1, 2")


NEW = [(DAY, "new"), (NEXT_DAY, "old")]
OLD = [(DAY, "old"), (NEXT_DAY, "old")]


def named(warehouse: Warehouse, table: str = "sales_p20250501") -> dict[str, str | None]:
    """The indexes of a child, each with that of its parent that it is part of; and its constraints."""
    indexes = warehouse.sql(
        "SELECT i.indexrelid::regclass::text, h.inhparent::regclass::text FROM pg_index i "
        "LEFT JOIN pg_inherits h ON h.inhrelid = i.indexrelid WHERE i.indrelid = %s::regclass",
        [table],
    )
    constraints = warehouse.sql(
        "SELECT conname, conparentid::text FROM pg_constraint WHERE conrelid = %s::regclass AND contype IN ('c', 'f')",
        [table],
    )
    return dict(indexes) | {name: "inherited" if parent != "0" else None for name, parent in constraints}


def test_one_child_for_another_and_all_names_and_keys_are_as_before(connect: Connect) -> None:
    warehouse = Warehouse(connect)
    for text in (
        "CREATE TABLE sales (day date, id int, v text NOT NULL, PRIMARY KEY (day, id)) PARTITION BY RANGE (day)",
        "CREATE TABLE sales_p20250501 PARTITION OF sales FOR VALUES FROM ('2025-05-01') TO ('2025-05-02')",
        "CREATE INDEX ON sales (v)",
        "INSERT INTO sales VALUES ('2025-05-01', 1, 'old')",
        "CREATE TABLE aside (day date NOT NULL, id int NOT NULL, v text NOT NULL)",
        "INSERT INTO aside VALUES ('2025-05-01', 1, 'new')",
    ):
        warehouse.sql(text)
    before = named(warehouse)

    done = swapped(warehouse)

    assert (done.table, done.version, done.retired) == (str(CHILD), 2, f"{CHILD}__v1")
    assert values(warehouse) == [(DAY, "new")]
    assert values(warehouse, "sales_p20250501__v1") == [(DAY, "old")]
    assert named(warehouse) == before


def test_other_partitions_are_left_alone_and_foreign_keys_hold(warehouse: Warehouse) -> None:
    before, other = named(warehouse), warehouse.physical("sales_p20250502")
    shadow(warehouse)

    swapped(warehouse)

    assert values(warehouse) == NEW
    assert warehouse.physical("sales_p20250502") == other
    assert named(warehouse) == before
    with pytest.raises(Exception, match="violates foreign key"):
        warehouse.sql(f"INSERT INTO sales VALUES ('{DAY}', 3, 'x', 99)")


def test_a_retry_finds_it_done_and_a_rollback_is_the_same_backwards(warehouse: Warehouse) -> None:
    before = named(warehouse)
    shadow(warehouse)

    assert [swapped(warehouse, run="r").replayed, swapped(warehouse, run="r").replayed] == [False, True]
    assert swapped(warehouse).replayed
    assert rolled_back(warehouse).retired == f"{CHILD}__v2"
    assert rolled_back(warehouse).replayed
    assert values(warehouse) == OLD
    assert named(warehouse) == before
    cleaned = clean_up(CHILD, Keeping(timedelta(0), 0), connect=warehouse.connect)
    assert cleaned.dropped == (f"{CHILD}__v2",)


def test_killed_at_any_moment_a_second_try_ends_where_one_clean_run_does(warehouse: Warehouse) -> None:
    acts: list[Callable[..., Swapped]] = [swapped, rolled_back]
    moments, before = [0, 0], named(warehouse)
    shadow(warehouse)
    for number, act in enumerate(acts):

        def counted(event: str, number: int = number) -> None:
            moments[number] += is_moment(event)

        act(warehouse, run="r", connect=lambda watch=counted: Watched(warehouse.connect(), watch))
    for run, moment in enumerate(range(0, max(moments), 9)):
        warehouse.sql("DROP TABLE IF EXISTS aside")
        shadow(warehouse)
        for act, rows in zip(acts, (NEW, OLD), strict=True):
            with suppress(Crash):
                act(warehouse, run=f"r{run}", connect=dying(warehouse, moment))
            assert values(warehouse) in (NEW, OLD)
            act(warehouse, run=f"r{run}")
            assert values(warehouse) == rows
        assert named(warehouse) == before


def dying(warehouse: Warehouse, moment: int) -> Callable[[], Any]:
    left = count(-moment)

    def watch(event: str) -> None:
        if is_moment(event) and next(left) == 0:
            raise Crash

    return lambda: Watched(warehouse.connect(), watch)


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ddl", "error", "reason"),
    [
        (f"INSERT INTO aside VALUES ('{NEXT_DAY}', 9, 'x', 1)", ShadowError, "rows outside of the partition"),
        ("INSERT INTO aside SELECT * FROM aside", DependentsError, "could not create unique index"),
        ("UPDATE aside SET shop = 99", DependentsError, "violates foreign key constraint"),
        ("UPDATE aside SET v = ''", DependentsError, "is violated by some row"),
        ("TRUNCATE aside", ShadowError, "it has no rows"),
        ("ALTER TABLE aside DROP COLUMN shop", ShadowError, "shop is missing"),
        ("ALTER TABLE aside ALTER v DROP NOT NULL", ShadowError, "v may be NULL"),
        ("CREATE TABLE lines (day date, id int, FOREIGN KEY (day, id) REFERENCES sales)", DependentsError, "taken out"),
        ("CREATE VIEW seen AS SELECT v FROM sales_p20250501", DependentsError, "view public.seen reads it"),
        ("CREATE TABLE sales_p20250501__v1 ()", ShadowError, "is taken"),
    ],
)
def test_what_does_not_fit_is_refused_and_readers_notice_nothing(
    warehouse: Warehouse, ddl: str, error: type[Exception], reason: str
) -> None:
    shadow(warehouse)
    warehouse.sql(ddl)

    with pytest.raises(error, match=reason):
        swapped(warehouse)

    assert values(warehouse) == OLD
    assert warehouse.sql("SELECT count(*) FROM pg_constraint WHERE conname = 'idem_bounds'") == [(0,)]


def test_a_partition_without_a_child_is_said(warehouse: Warehouse) -> None:
    shadow(warehouse)

    with pytest.raises(NoChildTableError, match="from 2025-05-03 to 2025-05-04"):
        swapped(warehouse, partition="2025-05-03")


def test_a_key_that_is_none_is_said_by_the_command(warehouse: Warehouse, database: str, command: Command) -> None:
    shadow(warehouse)
    words = ("swap", "sales", "--shadow", "aside", "--dsn", database)

    assert "'yesterday' is no partition: write it like 2025" in command(*words, "--partition", "yesterday").err
    said = command(*words, "--partition", DAY)

    assert "public.sales_p20250501: version 2 is live" in said.out
    assert values(warehouse) == NEW


# --- other ways to cut a table ----------------------------------------------------------------------------------------


def test_any_child_changes_places_by_its_own_name(warehouse: Warehouse) -> None:
    for text in (
        "CREATE TABLE regions (region text, id int, PRIMARY KEY (region, id)) PARTITION BY LIST (region)",
        "CREATE TABLE regions_eu PARTITION OF regions FOR VALUES IN ('de', 'fr')",
        "CREATE TABLE regions_rest PARTITION OF regions DEFAULT",
        "INSERT INTO regions VALUES ('de', 1), ('us', 1)",
        "CREATE TABLE eu_new (region text NOT NULL, id int NOT NULL); INSERT INTO eu_new VALUES ('fr', 2)",
        "CREATE TABLE rest_new (region text NOT NULL, id int NOT NULL); INSERT INTO rest_new VALUES ('uk', 2)",
    ):
        warehouse.sql(text)

    for child, aside in (("regions_eu", "eu_new"), ("regions_rest", "rest_new")):
        swap(SwapOrder(Relation.parse(child), Relation.parse(aside)), connect=warehouse.connect)

    assert warehouse.sql("SELECT region, id FROM regions ORDER BY 1") == [("fr", 2), ("uk", 2)]


def test_months_and_local_days_are_found_by_their_keys(warehouse: Warehouse) -> None:
    for text in (
        "CREATE TABLE visits (at timestamptz, id int) PARTITION BY RANGE (at)",
        "CREATE TABLE visits_may PARTITION OF visits"
        " FOR VALUES FROM ('2025-05-01 00:00+02') TO ('2025-06-01 00:00+02')",
        "INSERT INTO visits VALUES ('2025-05-01 00:30+02', 1)",
        "CREATE TABLE visits_new (at timestamptz, id int)",
        "INSERT INTO visits_new VALUES ('2025-05-31 23:30+02', 2)",
    ):
        warehouse.sql(text)
    order = SwapOrder(
        Relation.parse("visits"), Relation.parse("visits_new"), partition="2025-05", timezone="Europe/Berlin"
    )

    assert swap(order, connect=warehouse.connect).table == "public.visits_may"
    assert warehouse.sql("SELECT id FROM visits") == [(2,)]


# --- loads and readers ------------------------------------------------------------------------------------------------


def test_a_load_that_runs_is_waited_for_and_the_next_one_writes_the_new_child(warehouse: Warehouse) -> None:
    spec = LoadSpec(table="sales", unique_key=["day", "id"], partition_by={"column": "day"})
    batch = f"day,id,v,shop\n{DAY},1,{{}},1\n"
    shadow(warehouse)
    swaps = [threading.Thread(target=swapped, args=(warehouse,))]

    def watch(event: str) -> None:
        if event.startswith("before INSERT INTO airflow_idempotent.events"):
            swaps[0].start()
            swaps[0].join(0.5)
            assert swaps[0].is_alive()

    warehouse.load(spec, batch.format("late"), connect=lambda: Watched(warehouse.connect(), watch))
    swaps[0].join()
    receipt = warehouse.load(spec, batch.format("newest"), revision=2)

    assert receipt.effects.updated == 1
    assert values(warehouse) == [(DAY, "new"), (DAY, "newest"), (NEXT_DAY, "old")]
    assert values(warehouse, "sales_p20250501__v1") == [(DAY, "late")]


def test_readers_see_the_old_child_or_the_new_one_and_never_an_error(warehouse: Warehouse) -> None:
    with reading(warehouse, f"SELECT DISTINCT v FROM sales WHERE day = '{DAY}'") as seen:
        for number in range(5):
            shadow(warehouse, str(number))
            swapped(warehouse)

    assert all(len(found) == 1 for found in seen)
