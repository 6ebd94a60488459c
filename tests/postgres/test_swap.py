"""Swaps and rollbacks: names that stay, tries that come twice or too late, readers who never wait or miss the table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from itertools import count, zip_longest
from typing import Any

import pytest
from hypothesis import settings

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.core.version import RollbackOrder, SwapOrder, Swapped, VersionState
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.errors import (
    DependentsError,
    JournalError,
    LockTimeoutError,
    RollbackError,
    ShadowError,
    SwapSupersededError,
    TargetMissingError,
)
from airflow_idempotent.testing.crashes import chosen, is_moment
from tests.cli_fixtures import Command
from tests.faults import Watched
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

LIVE = "CREATE TABLE {} (id int CONSTRAINT {}_pk PRIMARY KEY, v text CHECK (v <> ''), n int)"


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql(LIVE.format("orders", "orders"))
    found.sql("CREATE INDEX orders_by_v ON orders (v)")
    found.sql("INSERT INTO orders VALUES (1, 'old', 1)")
    return found


def shadow(warehouse: Warehouse, name: str = "orders_new", rows: str = "(1, 'new', 1), (2, 'new', 2)") -> None:
    """A table like the live one, with names of its own."""
    warehouse.sql(f"CREATE TABLE {name} (LIKE orders INCLUDING ALL)")
    warehouse.sql(f"INSERT INTO {name} VALUES {rows}")


def swapped(
    warehouse: Warehouse,
    name: str | None = "orders_new",
    *,
    run: str = "",
    try_number: int = 1,
    connect: Callable[[], Any] | None = None,
    lock: float = 30,
    **words: Any,
) -> Swapped:
    order = SwapOrder(Relation.parse("orders"), name and Relation.parse(name), timeouts=Timeouts(lock=lock), **words)
    return swap(order, connect=connect or warehouse.connect, attempt=attempt(run, "swap", try_number))


def rolled_back(
    warehouse: Warehouse, to: int | None = None, *, run: str = "", connect: Callable[[], Any] | None = None
) -> Swapped:
    order = RollbackOrder(Relation.parse("orders"), to, timeouts=Timeouts(lock=30))
    return rollback(order, connect=connect or warehouse.connect, attempt=attempt(run, "rollback"))


def attempt(run: str, task: str, try_number: int = 1) -> Attempt:
    return Attempt("orders", run, task, try_number=try_number) if run else Attempt()


def values(warehouse: Warehouse, table: str = "orders") -> list[str]:
    return [row[0] for row in warehouse.sql(f"SELECT DISTINCT v FROM {table} ORDER BY 1")]


def names(warehouse: Warehouse, table: str = "orders") -> set[str]:
    """Every name that belongs to a table."""
    found = warehouse.sql(
        "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = %(table)s::regclass "
        "UNION SELECT conname FROM pg_constraint WHERE conrelid = %(table)s::regclass",
        {"table": table},
    )
    return {name for (name,) in found}


def journal(warehouse: Warehouse) -> dict[int, tuple[str, str]]:
    """Where each version stands, and its name."""
    rows = warehouse.sql("SELECT table_version, state, relation FROM airflow_idempotent.table_versions ORDER BY 1")
    return {number: (state, relation) for number, state, relation in rows}


# --- names ------------------------------------------------------------------------------------------------------------


def test_the_shadow_is_live_and_all_names_are_those_that_code_knows(connect: Connect) -> None:
    warehouse = Warehouse(connect)
    warehouse.sql(LIVE.format("orders", "orders"))
    warehouse.sql("INSERT INTO orders VALUES (1, 'old', 1)")
    shadow(warehouse)
    before = names(warehouse)

    done = swapped(warehouse)

    assert (done.version, done.retired_version, done.retired, done.replayed) == (2, 1, "public.orders__v1", False)
    assert values(warehouse) == ["new"]
    assert values(warehouse, "orders__v1") == ["old"]
    assert names(warehouse) == before
    warehouse.sql("INSERT INTO orders VALUES (9, 'x', 1) ON CONFLICT ON CONSTRAINT orders_pk DO NOTHING")
    assert journal(warehouse) == {1: ("RETIRED", "public.orders__v1"), 2: ("SWAPPED", "public.orders")}


def test_many_swaps_leave_no_stray_object_and_no_longer_names(warehouse: Warehouse) -> None:
    objects = "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1"
    before, counted = names(warehouse), []
    for _ in range(5):
        shadow(warehouse)
        done = swapped(warehouse)
        warehouse.sql(f"DROP TABLE {done.retired}")
        counted.append(warehouse.sql(objects))

    assert names(warehouse) == before
    assert all(found == counted[0] for found in counted)


def test_an_unrelated_table_that_looks_like_an_old_version_is_never_touched(warehouse: Warehouse) -> None:
    shadow(warehouse)
    warehouse.sql("CREATE TABLE orders__v1 AS SELECT 99 AS id")

    with pytest.raises(ShadowError, match=r"orders__v1, the name for the table that is live now, is taken"):
        swapped(warehouse)

    assert warehouse.sql("SELECT id FROM orders__v1") == [(99,)]
    assert values(warehouse) == ["old"]


def test_things_that_only_one_version_has_get_their_own_names_and_have_them_again_after_a_rollback(
    warehouse: Warehouse,
) -> None:
    shadow(warehouse)
    warehouse.sql("CREATE INDEX odd ON orders (n)")
    warehouse.sql("CREATE INDEX orders_new_n_v_idx ON orders_new (n, v)")
    before = names(warehouse)

    swapped(warehouse, allow_changes=True)
    assert names(warehouse) == before - {"odd"} | {"orders_n_v_idx"}
    rolled_back(warehouse)

    assert names(warehouse) == before
    assert values(warehouse) == ["old"]


def test_constraints_that_have_each_others_names_exchange_them(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders ADD CONSTRAINT a CHECK (n > 0), ADD CONSTRAINT b CHECK (n < 9)")
    shadow(warehouse)
    warehouse.sql("ALTER TABLE orders_new DROP CONSTRAINT a, DROP CONSTRAINT b")
    warehouse.sql("ALTER TABLE orders_new ADD CONSTRAINT a CHECK (n < 9), ADD CONSTRAINT b CHECK (n > 0)")

    swapped(warehouse)

    found = (
        "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint "
        "WHERE conname IN ('a', 'b') AND conrelid = %s::regclass"
    )
    assert sorted(warehouse.sql(found, ["orders"])) == sorted(warehouse.sql(found, ["orders__v1"]))


def test_children_of_partitioned_tables_are_called_as_before(warehouse: Warehouse) -> None:
    for table in ("sales", "sales__v2"):
        warehouse.sql(f"CREATE TABLE {table} (day date, id int, PRIMARY KEY (day, id)) PARTITION BY RANGE (day)")
        for day in (1, 2):
            bounds = f"FOR VALUES FROM ('2025-05-0{day}') TO ('2025-05-0{day + 1}')"
            warehouse.sql(f"CREATE TABLE {table}_p2025050{day} PARTITION OF {table} {bounds}")
    warehouse.sql("INSERT INTO sales__v2 VALUES ('2025-05-01', 7)")
    children = "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'sales'::regclass ORDER BY 1"
    before = (warehouse.sql(children), names(warehouse, "sales"), names(warehouse, "sales_p20250501"))

    swap(SwapOrder(Relation.parse("sales"), version=2), connect=warehouse.connect)

    assert (warehouse.sql(children), names(warehouse, "sales"), names(warehouse, "sales_p20250501")) == before
    assert warehouse.sql("SELECT id FROM sales_p20250501") == [(7,)]
    assert warehouse.sql("SELECT count(*) FROM sales__v1_p20250501") == [(0,)]


def test_names_of_63_bytes_that_begin_alike_do_not_meet(warehouse: Warehouse) -> None:
    long = "fact_customer_lifetime_value_by_region_and_channel_däily_rol"
    tables = [long + "_a", long + "_b"]
    for number, table in enumerate(tables):
        warehouse.sql(f'CREATE TABLE "{table}" (id int PRIMARY KEY, v text)')
        warehouse.sql(f"CREATE TABLE new_{number} (id int PRIMARY KEY, v text)")
        warehouse.sql(f"INSERT INTO new_{number} VALUES (1, '{table}')")
    retired = []
    for number, table in enumerate(tables):
        order = SwapOrder(Relation("public", table), Relation("public", f"new_{number}"))
        retired.append(swap(order, connect=warehouse.connect).retired)

    assert len(set(retired)) == 2
    assert all(len(Relation.parse(name).name.encode()) <= 63 for name in retired)
    for table in tables:
        assert values(warehouse, f'"{table}"') == [table]


# --- tries that come twice, or too late -------------------------------------------------------------------------------


def test_a_retry_after_the_commit_finds_it_done_and_says_by_whom(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse, run="r1")
    entries = warehouse.sql("SELECT count(*) FROM airflow_idempotent.versions")

    again = swapped(warehouse, run="r1", try_number=2)

    assert (again.replayed, again.version, again.run) == (True, 2, "orders/r1/swap")
    assert again.retired == "public.orders__v1"
    assert values(warehouse) == ["new"]
    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.versions") == entries


def test_an_old_run_that_is_cleared_later_does_not_swap_back(warehouse: Warehouse) -> None:
    for run in ("r1", "r2"):
        shadow(warehouse, rows=f"(1, '{run}', 1)")
        swapped(warehouse, run=run)
    shadow(warehouse, rows="(1, 'half built for r3', 1)")

    with pytest.raises(SwapSupersededError, match=r"version 2 is RETIRED, version 3 is live(.|\n)*orders/r2/swap"):
        swapped(warehouse, run="r1", try_number=2)

    assert values(warehouse) == ["r2"]


def test_a_run_that_is_cleared_with_the_task_that_builds_its_shadow_swaps_again(warehouse: Warehouse) -> None:
    for content in ("first", "second"):
        shadow(warehouse, rows=f"(1, '{content}', 1)")
        done = swapped(warehouse, run="r1")

    assert (done.version, done.replayed, values(warehouse)) == (3, False, ["second"])


def test_by_hand_the_same_command_twice_swaps_once(warehouse: Warehouse) -> None:
    shadow(warehouse)

    assert [swapped(warehouse).replayed, swapped(warehouse).replayed] == [False, True]
    assert values(warehouse) == ["new"]


def test_killed_at_any_moment_a_second_try_ends_where_one_clean_run_does(warehouse: Warehouse) -> None:
    """Each statement of a swap, and of the rollback after it, is a moment to die at; some of them, as a seed has it."""
    acts: list[Callable[..., Swapped]] = [swapped, rolled_back]
    expected = (["new"], ["old"])
    before = names(warehouse)
    shadow(warehouse)
    moments = [0, 0]
    for number, act in enumerate(acts):

        def counted(event: str, number: int = number) -> None:
            moments[number] += is_moment(event)

        act(warehouse, run="r", connect=lambda watch=counted: Watched(warehouse.connect(), watch))
    cuts = chosen(moments, 3 * settings.default.max_examples // 25)
    for run, cut in enumerate(zip_longest(*cuts, fillvalue=0)):
        warehouse.sql("DROP TABLE IF EXISTS orders_new")
        shadow(warehouse)
        for act, moment, rows in zip(acts, cut, expected, strict=True):
            with suppress(Crash):
                act(warehouse, run=f"r{run}", connect=dying(warehouse, moment))
            assert values(warehouse) in expected
            act(warehouse, run=f"r{run}")
            assert values(warehouse) == rows
        assert names(warehouse) == before


def dying(warehouse: Warehouse, moment: int) -> Callable[[], Any]:
    """Connections on which the process ends at that moment."""
    left = count(-moment)

    def watch(event: str) -> None:
        if is_moment(event) and next(left) == 0:
            raise Crash

    return lambda: Watched(warehouse.connect(), watch)


# --- rollback ---------------------------------------------------------------------------------------------------------


def test_a_rollback_is_the_swap_backwards_with_all_names(warehouse: Warehouse) -> None:
    shadow(warehouse)
    before = names(warehouse)
    swapped(warehouse, run="r1")

    done = rolled_back(warehouse)

    assert (done.version, done.retired, done.replayed) == (1, "public.orders__v2", False)
    assert values(warehouse) == ["old"]
    assert names(warehouse) == before
    assert journal(warehouse) == {1: ("SWAPPED", "public.orders"), 2: ("ROLLED_BACK", "public.orders__v2")}


def test_a_rollback_twice_goes_back_once(warehouse: Warehouse) -> None:
    for _ in range(2):
        shadow(warehouse)
        swapped(warehouse)
    rolled_back(warehouse)

    again = rolled_back(warehouse)

    assert (again.replayed, again.version) == (True, 2)
    assert rolled_back(warehouse, to=1).version == 1
    assert rolled_back(warehouse, to=1).replayed


def test_the_swap_of_a_version_that_was_rolled_back_is_refused_when_its_run_is_cleared(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse, run="r1")
    rolled_back(warehouse)

    with pytest.raises(SwapSupersededError, match="version 2 is ROLLED_BACK"):
        swapped(warehouse, run="r1", try_number=2)

    assert rolled_back(warehouse, to=2).version == 2
    assert values(warehouse) == ["new"]


@pytest.mark.parametrize(
    ("to", "reason"), [(None, "no version before it is kept"), (7, "there never was such a version")]
)
def test_what_cannot_be_rolled_back_to_is_said(warehouse: Warehouse, to: int | None, reason: str) -> None:
    with pytest.raises(RollbackError, match=reason):
        rolled_back(warehouse, to)


def test_a_retired_version_that_somebody_dropped_is_not_gone_back_to(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql("DROP TABLE orders__v1")

    with pytest.raises(RollbackError, match="orders__v1 is not there any more"):
        rolled_back(warehouse)

    assert values(warehouse) == ["new"]


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("CREATE TABLE orders_new (LIKE orders INCLUDING ALL)", "it has no rows"),
        ("CREATE TABLE orders_new (id int PRIMARY KEY, n int, v text)", "another order: id, n, v"),
        ("CREATE TABLE orders_new (id int PRIMARY KEY, v varchar, n int)", "v is character varying, not text"),
        ("CREATE TABLE orders_new (id int PRIMARY KEY, v text NOT NULL, n int)", "v may not be NULL"),
        ("CREATE TABLE orders_new (id int NOT NULL, v text, n int)", r"no unique key \(id\)"),
        ("CREATE TABLE orders_new (id int PRIMARY KEY, v text, n int, m int)", "m are not in the live table"),
        ("CREATE TABLE orders_new (id int PRIMARY KEY, v text)", "n is missing"),
        ("CREATE VIEW orders_new AS SELECT * FROM orders", "the shadow is no table"),
        ("SELECT", "there is no such table"),
    ],
)
def test_a_shadow_that_readers_would_notice_is_refused(warehouse: Warehouse, ddl: str, reason: str) -> None:
    warehouse.sql(ddl)

    with pytest.raises(ShadowError, match=reason):
        swapped(warehouse, run="r1")

    assert values(warehouse) == ["old"]
    assert journal(warehouse) == {}


def test_what_is_meant_is_let_through(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE orders_new (id bigint PRIMARY KEY, w text)")

    swapped(warehouse, allow_empty=True, allow_changes=True)

    assert warehouse.sql("SELECT count(w) FROM orders") == [(0,)]


@pytest.mark.parametrize(
    ("ddl", "loss"),
    [
        ("CREATE VIEW seen AS SELECT * FROM orders", "view public.seen reads it: on_dependents: carry"),
        ("CREATE TABLE child (id int REFERENCES orders)", "foreign key child_id_fkey of public.child refers to it"),
        ("CREATE MATERIALIZED VIEW seen AS SELECT * FROM orders", "materialised view public.seen reads it: drop it"),
        ("CREATE TABLE child () INHERITS (orders)", "public.child inherits from it"),
        (
            "CREATE FUNCTION f(o orders) RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "function public.f(public.orders) is made for its rows",
        ),
    ],
)
def test_what_would_stay_with_the_old_table_is_listed_and_nothing_is_swapped(
    warehouse: Warehouse, ddl: str, loss: str
) -> None:
    shadow(warehouse)
    warehouse.sql(ddl)

    with pytest.raises(DependentsError) as refused:
        swapped(warehouse)

    assert any(line.startswith(loss) for line in refused.value.losses)
    assert values(warehouse) == ["old"]


@pytest.mark.parametrize(
    ("ddl", "asked", "answer"),
    [
        ("GRANT SELECT ON orders TO PUBLIC", "relacl::text LIKE '%=r/%' FROM pg_class WHERE oid = {}", True),
        ("GRANT SELECT (id) ON orders TO PUBLIC", "count(attacl) FROM pg_attribute WHERE attrelid = {}", 1),
        ("ALTER TABLE orders ENABLE ROW LEVEL SECURITY", "relrowsecurity FROM pg_class WHERE oid = {}", True),
        ("CREATE POLICY p ON orders USING (true)", "polname FROM pg_policy WHERE polrelid = {}", "p"),
        ("COMMENT ON TABLE orders IS 'x'", "obj_description({})", "x"),
        ("CREATE PUBLICATION p FOR TABLE orders", "count(*) FROM pg_publication_rel WHERE prrelid = {}", 1),
        ("ALTER TABLE orders REPLICA IDENTITY FULL", "relreplident::text FROM pg_class WHERE oid = {}", "f"),
        ("CREATE RULE r AS ON DELETE TO orders DO NOTHING", "rulename FROM pg_rewrite WHERE ev_class = {}", "r"),
    ],
)
def test_what_the_live_table_has_the_new_one_has_from_the_same_moment_on_and_back_again(
    warehouse: Warehouse, ddl: str, asked: str, answer: Any
) -> None:
    shadow(warehouse)
    warehouse.sql(ddl)

    swapped(warehouse)
    assert warehouse.sql("SELECT " + asked.format("'orders'::regclass")) == [(answer,)]
    assert values(warehouse) == ["new"]

    rolled_back(warehouse)
    assert warehouse.sql("SELECT " + asked.format("'orders'::regclass")) == [(answer,)]
    assert values(warehouse) == ["old"]


def test_an_index_that_the_shadow_lacks_is_built_and_has_its_name(warehouse: Warehouse) -> None:
    shadow(warehouse)
    warehouse.sql("CREATE INDEX odd ON orders (n) WHERE v LIKE 'a%'")
    before = names(warehouse)

    swapped(warehouse)

    assert names(warehouse) == before


def test_views_and_foreign_keys_follow_where_that_is_wished_and_back_again(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT v FROM orders; CREATE VIEW above AS SELECT v FROM seen")
    warehouse.sql("CREATE TABLE child (id int REFERENCES orders ON DELETE CASCADE); INSERT INTO child VALUES (1)")
    shadow(warehouse)

    done = swapped(warehouse, on_dependents="carry")

    assert done.notes == ()
    assert warehouse.sql("SELECT DISTINCT v FROM above") == [("new",)]
    assert warehouse.sql(
        "SELECT confrelid::regclass::text, convalidated FROM pg_constraint WHERE conname = 'child_id_fkey'"
    ) == [("orders", True)]
    rollback(
        RollbackOrder(Relation.parse("orders"), on_dependents="carry"), connect=warehouse.connect, attempt=Attempt()
    )
    assert warehouse.sql("SELECT DISTINCT v FROM above") == [("old",)]
    warehouse.sql("DELETE FROM orders")
    assert warehouse.sql("SELECT count(*) FROM child") == [(0,)]


def test_the_commands_let_views_follow_too(warehouse: Warehouse, database: str, command: Command) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT v FROM orders")
    shadow(warehouse)
    swap_them, dsn = ("swap", "public.orders", "--shadow", "public.orders_new"), ("--dsn", database)

    assert command(*swap_them, *dsn).code == 1
    assert command(*swap_them, "--on-dependents", "carry", *dsn).code == 0
    assert warehouse.sql("SELECT DISTINCT v FROM seen") == [("new",)]
    assert command("rollback", "public.orders", "--on-dependents", "carry", *dsn).code == 0
    assert warehouse.sql("SELECT DISTINCT v FROM seen") == [("old",)]


def test_rows_of_a_child_that_the_new_table_lacks_are_said(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE child (id int REFERENCES orders); INSERT INTO child VALUES (1)")
    shadow(warehouse, rows="(2, 'new', 2)")

    [note] = swapped(warehouse, on_dependents="carry").notes

    assert note.startswith('not done, try it again by hand: ALTER TABLE "public"."child" VALIDATE CONSTRAINT')
    assert values(warehouse) == ["new"]


def test_a_view_that_cannot_read_the_new_table_keeps_the_old_one_live(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT id, v FROM orders")
    warehouse.sql("CREATE TABLE orders_new (id bigint PRIMARY KEY, v text); INSERT INTO orders_new VALUES (1, 'new')")

    with pytest.raises(DependentsError, match=r"cannot change data type of view column .id."):
        swapped(warehouse, allow_changes=True, on_dependents="carry")

    assert values(warehouse) == values(warehouse, "seen") == ["old"]


def test_tables_renamed_by_hand_are_not_swapped_on_top(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql("ALTER TABLE orders RENAME TO orders_kept")
    warehouse.sql("CREATE TABLE orders (LIKE orders_kept)")
    shadow(warehouse)

    with pytest.raises(JournalError, match=r"version 2 is called public\.orders_kept now"):
        swapped(warehouse)


def test_a_live_table_that_is_not_there_is_no_reason_to_rename_a_shadow(warehouse: Warehouse) -> None:
    shadow(warehouse)
    warehouse.sql("DROP TABLE orders")

    with pytest.raises(TargetMissingError):
        swapped(warehouse)


# --- readers ----------------------------------------------------------------------------------------------------------


def test_a_reader_who_stays_does_not_make_others_queue_behind_the_swap(warehouse: Warehouse) -> None:
    shadow(warehouse)
    waited: list[float] = []
    with warehouse.session() as cursor, closing(warehouse.connect()) as other:
        cursor.execute("SELECT * FROM orders")
        swapping = threading.Thread(target=lambda: swapped(warehouse))
        swapping.start()
        reader = other.cursor()
        for _ in range(30):
            started = time.monotonic()
            reader.execute("SELECT v FROM orders")
            assert reader.fetchall() == [("old",)]
            other.rollback()
            waited.append(time.monotonic() - started)
            time.sleep(0.03)
    swapping.join()

    assert max(waited) < 1
    assert values(warehouse) == ["new"]


def test_who_is_in_the_way_all_the_time_is_named(warehouse: Warehouse) -> None:
    shadow(warehouse)
    with warehouse.session() as cursor:
        cursor.execute("SELECT * FROM orders")

        with pytest.raises(LockTimeoutError, match=r"pid \d+"):
            swapped(warehouse, lock=0.5)

    assert values(warehouse) == ["old"]
    assert journal(warehouse) == {}


def test_readers_see_the_old_table_or_the_new_one_and_never_an_error(warehouse: Warehouse) -> None:
    ended = threading.Event()
    seen: list[list[str]] = []
    errors: list[Exception] = []

    def read() -> None:
        with closing(warehouse.connect()) as connection:
            cursor = connection.cursor()
            while not ended.is_set():
                try:
                    cursor.execute("SELECT DISTINCT v FROM orders")
                    seen.append([v for (v,) in cursor.fetchall()])
                    connection.commit()
                except Exception as error:  # noqa: BLE001, whatever a reader sees
                    errors.append(error)
                    connection.rollback()

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(6):
        shadow(warehouse, rows=f"(1, '{number}', 1)")
        swapped(warehouse)
    ended.set()
    for reader in readers:
        reader.join()

    assert errors == []
    assert all(len(found) == 1 for found in seen)
    assert journal(warehouse)[7] == (str(VersionState.SWAPPED), "public.orders")


def test_who_writes_rows_of_a_child_does_not_keep_a_swap_away(warehouse: Warehouse) -> None:
    """A writer has the child locked and waits for its parent; the swap must not have the parent and want the child."""
    warehouse.sql("CREATE TABLE child (id int REFERENCES orders)")
    ended, errors = threading.Event(), []

    def write() -> None:
        with closing(warehouse.connect()) as connection:
            cursor = connection.cursor()
            while not ended.is_set():
                try:
                    cursor.execute("INSERT INTO child SELECT 1 FROM generate_series(1, 200), pg_sleep(0.01)")
                    connection.commit()
                except Exception as error:  # noqa: BLE001, whatever a writer meets
                    errors.append(error)
                    connection.rollback()

    writers = [threading.Thread(target=write) for _ in range(4)]
    for writer in writers:
        writer.start()
    try:
        for _ in range(3):
            shadow(warehouse)
            swapped(warehouse, on_dependents="carry", lock=2)
    finally:
        ended.set()
        for writer in writers:
            writer.join()

    assert errors == []
    [(child,)] = warehouse.sql("SELECT confrelid::regclass::text FROM pg_constraint WHERE conname = 'child_id_fkey'")
    assert child == "orders"


def test_who_is_named_is_in_the_way_now_not_when_the_swap_began(warehouse: Warehouse) -> None:
    shadow(warehouse)
    pids: list[int] = []
    with closing(warehouse.connect()) as first, closing(warehouse.connect()) as second:
        for connection in (first, second):
            cursor = connection.cursor()
            cursor.execute("SELECT pg_backend_pid()")
            pids += [row[0] for row in cursor.fetchall()]
        first.cursor().execute("SELECT * FROM orders")

        def relayed() -> None:
            time.sleep(0.15)
            second.cursor().execute("SELECT * FROM orders")
            first.rollback()

        handing_over = threading.Thread(target=relayed)
        handing_over.start()
        with pytest.raises(LockTimeoutError) as refused:
            swapped(warehouse, lock=1.5)
        handing_over.join()

    [line] = refused.value.holders
    assert line.startswith(f"pid {pids[1]} ")
