"""Swaps by view: the name that readers know is a view of the live version, and is pointed at another one."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from airflow_idempotent.core.audit import SourceVerdict
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, Timeouts
from airflow_idempotent.core.version import Cutover, Keeping, RollbackOrder, SwapOrder, Swapped
from airflow_idempotent.engine.audit import Asked, audit
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import DependentsError, GateClosedError, JournalError, ShadowError
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.testing.crashes import is_moment
from tests.cli_fixtures import Command
from tests.faults import Watched
from tests.loading import DAY, Warehouse
from tests.postgres.readers import reading
from tests.postgres_fixtures import Connect

LIVE = Relation("public", "orders")


class Crash(BaseException):
    """The end of a process."""


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int CONSTRAINT orders_pk PRIMARY KEY, v text CHECK (v <> ''), d date)")
    found.sql("CREATE INDEX orders_by_v ON orders (v)")
    found.sql(f"INSERT INTO orders VALUES (1, 'old', '{DAY}')")
    return found


def shadow(warehouse: Warehouse, value: str = "new", name: str = "orders_new", more: str = "") -> None:
    """A table like the first live one."""
    warehouse.sql(f"CREATE TABLE {name} (id int PRIMARY KEY, v text CHECK (v <> ''), d date{more})")
    warehouse.sql(f"INSERT INTO {name} (id, v, d) VALUES (1, '{value}', '{DAY}')")


def swapped(warehouse: Warehouse, *, run: str = "", connect: Callable[[], Any] | None = None, **words: Any) -> Swapped:
    words = {"shadow": Relation.parse("orders_new"), "timeouts": Timeouts(lock=30), "by": "view"} | words
    attempt = Attempt("orders", run, "swap") if run else Attempt()
    return swap(SwapOrder(LIVE, **words), connect=connect or warehouse.connect, attempt=attempt)


def rolled_back(
    warehouse: Warehouse, to: int | None = None, run: str = "", connect: Callable[[], Any] | None = None
) -> Swapped:
    order = RollbackOrder(LIVE, to, timeouts=Timeouts(lock=30), accept_loss=True)
    attempt = Attempt("orders", run, "rollback") if run else Attempt()
    return rollback(order, connect=connect or warehouse.connect, attempt=attempt)


def values(warehouse: Warehouse, table: str = "orders") -> list[str]:
    return [row[0] for row in warehouse.sql(f"SELECT DISTINCT v FROM {table} ORDER BY 1")]


def kind(warehouse: Warehouse, table: str) -> str | None:
    rows = warehouse.sql("SELECT relkind::text FROM pg_class WHERE oid = to_regclass(%s)", [table])
    return rows[0][0] if rows else None


def journal(warehouse: Warehouse) -> dict[int, tuple[str, str]]:
    rows = warehouse.sql("SELECT table_version, state, relation FROM airflow_idempotent.table_versions ORDER BY 1")
    return {number: (state, relation) for number, state, relation in rows}


def as_role(warehouse: Warehouse, role: str, *texts: str) -> list[tuple[Any, ...]]:
    """Run statements as somebody else; the rows of the last one."""
    with warehouse.session() as cursor:
        cursor.execute(f'SET ROLE "{role}"')
        for text in texts:
            cursor.execute(text)
        return list(cursor.fetchall())


# --- the first time, and again ----------------------------------------------------------------------------------------


def test_the_first_time_the_table_gets_the_name_of_its_version_and_a_view_takes_its_place(connect: Connect) -> None:
    warehouse = Warehouse(connect)
    warehouse.sql("CREATE TABLE orders (id int PRIMARY KEY, v text); INSERT INTO orders VALUES (1, 'old')")
    warehouse.sql("CREATE TABLE orders_new (LIKE orders INCLUDING ALL); INSERT INTO orders_new VALUES (1, 'new')")

    done = swapped(warehouse)

    assert (done.version, done.retired, done.notes) == (2, "public.orders__v1", ())
    assert [kind(warehouse, name) for name in ("orders", "orders__v1", "orders__v2", "orders_new")] == [
        "v", "r", "r", None,
    ]  # fmt: skip
    assert values(warehouse) == ["new"]
    assert journal(warehouse) == {1: ("RETIRED", "public.orders__v1"), 2: ("SWAPPED", "public.orders__v2")}


def test_later_swaps_and_rollbacks_point_the_view_and_need_not_be_told_so(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse)
    [(view,)] = warehouse.sql("SELECT 'orders'::regclass::oid")
    shadow(warehouse, "newer")

    assert swapped(warehouse, by=None).version == 3
    assert values(warehouse) == ["newer"]
    assert rolled_back(warehouse).version == 2
    assert values(warehouse) == ["new"]
    assert rolled_back(warehouse).replayed
    assert rolled_back(warehouse, to=1).version == 1
    assert values(warehouse) == ["old"]
    assert warehouse.sql("SELECT 'orders'::regclass::oid") == [(view,)]
    assert journal(warehouse)[1] == ("SWAPPED", "public.orders__v1")


def test_the_way_back_to_a_table_is_a_swap_by_rename(warehouse: Warehouse) -> None:
    warehouse.sql("GRANT SELECT ON orders TO PUBLIC")
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql("COMMENT ON VIEW orders IS 'all'; CREATE VIEW seen AS SELECT v FROM orders")
    shadow(warehouse, "newer")

    with pytest.raises(DependentsError, match=r"gives way to a table, and view public\.seen hangs on it"):
        swapped(warehouse, by="rename")
    warehouse.sql("DROP VIEW seen")
    swapped(warehouse, by="rename")

    told = (
        "SELECT relkind::text, obj_description(oid), relacl::text LIKE '%=r/%' FROM pg_class WHERE relname = 'orders'"
    )
    assert warehouse.sql(told) == [("r", "all", True)]
    assert values(warehouse) == ["newer"]
    assert rolled_back(warehouse).retired == "public.orders__v3"
    assert (values(warehouse), kind(warehouse, "orders")) == (["new"], "r")


def test_many_swaps_leave_no_stray_object(warehouse: Warehouse) -> None:
    counted = []
    for number in range(4):
        shadow(warehouse, str(number))
        swapped(warehouse, by="view", run=f"r{number}")
        clean_up(LIVE, Keeping(keep_for=Keeping().keep_for * 0, keep_versions=0), connect=warehouse.connect)
        counted.append(warehouse.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"))

    assert counted == [counted[0]] * 4
    assert values(warehouse) == ["3"]


def test_a_retry_finds_it_done(warehouse: Warehouse) -> None:
    shadow(warehouse)

    assert [swapped(warehouse, run="r1").replayed, swapped(warehouse, run="r1").replayed] == [False, True]
    assert [swapped(warehouse).replayed, values(warehouse)] == [True, ["new"]]


def test_killed_at_any_moment_a_second_try_ends_where_one_clean_run_does(warehouse: Warehouse) -> None:
    acts: list[Callable[..., Swapped]] = [swapped, rolled_back]
    moments = [0, 0]
    shadow(warehouse)
    for number, act in enumerate(acts):

        def counted(event: str, number: int = number) -> None:
            moments[number] += is_moment(event)

        act(warehouse, run="r", connect=lambda watch=counted: Watched(warehouse.connect(), watch))
    assert min(moments) > 20
    for run, moment in enumerate(range(0, max(moments), 9)):
        warehouse.sql("DROP TABLE IF EXISTS orders_new")
        shadow(warehouse)
        for act, rows in zip(acts, (["new"], ["old"]), strict=True):
            with suppress(Crash):
                act(warehouse, run=f"r{run}", connect=dying(warehouse, moment))
            assert values(warehouse) in (["new"], ["old"])
            act(warehouse, run=f"r{run}")
            assert values(warehouse) == rows


def dying(warehouse: Warehouse, moment: int) -> Callable[[], Any]:
    left = count(-moment)

    def watch(event: str) -> None:
        if is_moment(event) and next(left) == 0:
            raise Crash

    return lambda: Watched(warehouse.connect(), watch)


# --- who may read -----------------------------------------------------------------------------------------------------


@pytest.fixture
def roles(warehouse: Warehouse) -> Any:
    names = ("idem view reader", "idem view owner")
    for name in names:
        warehouse.sql(f'CREATE ROLE "{name}"; GRANT USAGE, CREATE ON SCHEMA public TO "{name}"')
    yield names
    for name in names:
        warehouse.sql(f'DROP OWNED BY "{name}" CASCADE; DROP ROLE "{name}"')


def test_a_grant_on_the_name_is_all_that_readers_need_and_all_that_they_have(
    warehouse: Warehouse, roles: tuple[str, str]
) -> None:
    reader, owner = roles
    warehouse.sql(f'ALTER TABLE orders OWNER TO "{owner}"')
    warehouse.sql(f"GRANT SELECT, INSERT ON orders TO \"{reader}\"; COMMENT ON TABLE orders IS 'all'")
    warehouse.sql("COMMENT ON COLUMN orders.v IS 'a value'")
    shadow(warehouse)
    swapped(warehouse)
    shadow(warehouse, "newer")
    swapped(warehouse)

    assert as_role(warehouse, reader, "SELECT v FROM orders") == [("newer",)]
    assert as_role(warehouse, reader, "INSERT INTO orders VALUES (2, 'x', NULL)", "SELECT count(*) FROM orders") == [
        (2,)
    ]
    with pytest.raises(Exception, match="permission denied for table orders__v3"):
        as_role(warehouse, reader, "SELECT v FROM orders__v3")
    owners = "SELECT DISTINCT relowner::regrole::text FROM pg_class WHERE relname IN ('orders', 'orders__v3')"
    assert warehouse.sql(owners) == [(f'"{owner}"',)]
    assert warehouse.sql("SELECT obj_description('orders'::regclass), col_description('orders'::regclass, 2)") == [
        ("all", "a value")
    ]
    warehouse.sql(f'REVOKE SELECT ON orders FROM "{reader}"')
    with pytest.raises(Exception, match="permission denied for view orders"):
        as_role(warehouse, reader, "SELECT v FROM orders")


def test_policies_see_who_reads_and_not_whose_the_view_is(warehouse: Warehouse, roles: tuple[str, str]) -> None:
    reader, _ = roles
    warehouse.sql(f"GRANT SELECT ON orders TO \"{reader}\"; INSERT INTO orders VALUES (2, 'other', NULL)")
    warehouse.sql(
        f'ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON orders TO "{reader}" USING (id = 1)'
    )
    for value in ("new", "newer"):
        shadow(warehouse, value)
        warehouse.sql("INSERT INTO orders_new VALUES (2, 'other', NULL)")
        swapped(warehouse)

        assert as_role(warehouse, reader, "SELECT v FROM orders") == [(value,)]
    rolled_back(warehouse, to=1)
    assert as_role(warehouse, reader, "SELECT v FROM orders") == [("old",)]


# --- what hangs on the name -------------------------------------------------------------------------------------------


def test_what_refers_to_the_name_goes_on_to_work_through_every_swap(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE VIEW seen AS SELECT v FROM orders; CREATE VIEW above AS SELECT v FROM seen")
    shadow(warehouse)
    swapped(warehouse, on_dependents="carry")
    warehouse.sql("CREATE MATERIALIZED VIEW kept AS SELECT v FROM orders")
    warehouse.sql("CREATE FUNCTION f(o orders) RETURNS text LANGUAGE sql AS 'SELECT o.v'")
    shadow(warehouse, "newer")
    swapped(warehouse)
    warehouse.sql("REFRESH MATERIALIZED VIEW kept")

    assert [values(warehouse, name) for name in ("above", "kept")] == [["newer"], ["newer"]]
    assert warehouse.sql("SELECT f(o) FROM orders o") == [("newer",)]


def test_triggers_policies_and_keys_go_to_the_new_version_and_numbers_go_on(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders ADD parent int CONSTRAINT has_parent REFERENCES orders (id), ADD n serial")
    warehouse.sql("CREATE TABLE child (id int CONSTRAINT of_order REFERENCES orders); INSERT INTO child VALUES (1)")
    warehouse.sql(
        "CREATE FUNCTION up() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.v := upper(NEW.v); RETURN NEW; END'"
    )
    warehouse.sql("CREATE TRIGGER upped BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION up()")
    for value in ("new", "newer"):
        shadow(warehouse, value, more=", parent int, n int NOT NULL DEFAULT 0")
        warehouse.sql("ALTER TABLE orders_new ALTER n SET DEFAULT 0")
        swapped(warehouse, on_dependents="carry", allow_changes=False)
        warehouse.sql("INSERT INTO orders (id, v, parent) VALUES (2, 'x', 1)")
        assert warehouse.sql("SELECT v, n > 0 FROM orders WHERE id = 2") == [("X", True)]

    keys = "SELECT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE conname = %s"
    assert warehouse.sql(keys, ["of_order"]) == [("child", "orders__v3")]
    assert ("orders__v3", "orders__v3") in warehouse.sql(keys, ["has_parent"])


@pytest.mark.parametrize(
    ("ddl", "loss"),
    [
        ("CREATE VIEW seen AS SELECT * FROM orders", "view public.seen reads it: on_dependents: carry"),
        ("CREATE PUBLICATION p FOR TABLE orders", "publication p: subscribers know a table by its name"),
        ("CREATE RULE r AS ON DELETE TO orders DO NOTHING", "rule r: give public.orders_new one like it"),
    ],
)
def test_what_a_view_cannot_take_over_is_listed(warehouse: Warehouse, ddl: str, loss: str) -> None:
    warehouse.sql(ddl)
    shadow(warehouse)

    with pytest.raises(DependentsError) as refused:
        swapped(warehouse)

    assert any(line.startswith(loss) for line in refused.value.losses)
    assert (values(warehouse), kind(warehouse, "orders"), journal(warehouse)) == (["old"], "r", {})


# --- columns that come and go -----------------------------------------------------------------------------------------


def test_a_column_that_comes_is_shown_last_and_gone_again_after_a_rollback(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql("CREATE TABLE orders_new (extra int, v text CHECK (v <> ''), d date, id int PRIMARY KEY)")
    warehouse.sql(f"INSERT INTO orders_new VALUES (7, 'newer', '{DAY}', 1)")
    warehouse.sql("COMMENT ON VIEW orders IS 'all'; GRANT SELECT ON orders TO PUBLIC")

    swapped(warehouse, allow_changes=True)
    assert warehouse.sql("SELECT o::text FROM orders o") == [(f"(1,newer,{DAY},7)",)]
    rolled_back(warehouse)

    assert warehouse.sql("SELECT o::text FROM orders o") == [(f"(1,new,{DAY})",)]
    told = (
        "SELECT obj_description('orders'::regclass), relacl::text LIKE '%=r/%' FROM pg_class WHERE relname = 'orders'"
    )
    assert warehouse.sql(told) == [("all", True)]


def test_a_column_that_goes_while_something_reads_the_view_is_refused_with_what_to_do(warehouse: Warehouse) -> None:
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql("CREATE VIEW seen AS SELECT d FROM orders")
    warehouse.sql("CREATE TABLE orders_new (id bigint PRIMARY KEY, v text); INSERT INTO orders_new VALUES (1, 'newer')")

    with pytest.raises(DependentsError) as refused:
        swapped(warehouse, allow_changes=True)
    assert "column(s) id, d of view public.orders go or change their type, and view public.seen hangs on it" in str(
        refused.value
    )
    assert "CREATE VIEW public.seen AS SELECT d FROM" in str(refused.value)
    warehouse.sql("DROP VIEW seen")
    swapped(warehouse, allow_changes=True)

    assert warehouse.sql("SELECT o::text FROM orders o") == [("(1,newer)",)]


# --- somebody else's hands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ddl", "problem"),
    [
        ("CREATE OR REPLACE VIEW orders AS SELECT id, v, d FROM orders__v2 WHERE id > 0", "made anew by hand"),
        ("CREATE OR REPLACE VIEW orders AS SELECT id, upper(v) AS v, d FROM orders__v2", "made anew by hand"),
        ("CREATE OR REPLACE VIEW orders AS SELECT id, v, d FROM orders__v1", r"does not read public\.orders__v2 alone"),
        ("DROP VIEW orders", "it is no view"),
        ("DROP VIEW orders; CREATE TABLE orders (id int)", "it is no view"),
        ("DROP VIEW orders; DROP TABLE orders__v2", r"orders__v2, is not there any more"),
    ],
)
def test_a_view_that_somebody_has_changed_is_not_undone(warehouse: Warehouse, ddl: str, problem: str) -> None:
    shadow(warehouse)
    swapped(warehouse)
    warehouse.sql(ddl)
    shadow(warehouse, "newer")

    with pytest.raises(JournalError, match=problem):
        swapped(warehouse)


def test_a_view_of_somebody_else_is_no_live_table(warehouse: Warehouse) -> None:
    warehouse.sql("ALTER TABLE orders RENAME TO base; CREATE VIEW orders AS SELECT * FROM base")
    shadow(warehouse)

    with pytest.raises(ShadowError, match="the live table is no table"):
        swapped(warehouse)


def test_a_name_that_is_taken_is_refused(warehouse: Warehouse) -> None:
    shadow(warehouse)
    warehouse.sql("CREATE TABLE orders__v2 AS SELECT 99 AS id")

    with pytest.raises(ShadowError, match="orders__v2, the name of version 2, is taken"):
        swapped(warehouse)

    assert warehouse.sql("SELECT id FROM orders__v2") == [(99,)]


# --- loads ------------------------------------------------------------------------------------------------------------

COLUMNS = [
    {"name": "id", "data_type": "int"},
    {"name": "v", "data_type": "text"},
    {"name": "d", "data_type": "date"},
]
SPEC = LoadSpec(table="orders", unique_key="id", columns=COLUMNS, partition_by={"column": "d"})
NEXT = SPEC.model_copy(update={"table_version": 2})


def loaded(
    warehouse: Warehouse, value: str, spec: LoadSpec = NEXT, target: Any = "live", header: str = "id,v,d"
) -> Any:
    revision = 1 + sum(spec.partition(DAY).compact in name for name, _ in warehouse.batches.content)
    more = ",7" * (header.count(",") - 2)
    manifest = warehouse.batches.land(spec, f"{header}\n1,{value},{DAY}{more}\n", revision=revision)
    wanted = Load(spec, spec.partition(DAY), manifest, target=target)
    receipt = stage_merge(wanted, connect=warehouse.connect, batches=warehouse.batches)
    validate(wanted, connect=warehouse.connect)
    return receipt


@pytest.fixture
def published(warehouse: Warehouse) -> Warehouse:
    """A table of two versions, both loaded, the second one live by a view."""
    loaded(warehouse, "first", SPEC)
    loaded(warehouse, "second", target="shadow")
    swap(SwapOrder(LIVE, version=2, gates=Cutover(), by="view", allow_changes=True), connect=warehouse.connect)
    return warehouse


def test_loads_write_the_table_behind_the_view_and_say_so_to_the_ledger(published: Warehouse) -> None:
    receipt = loaded(published, "third")

    assert (receipt.table, receipt.table_version, receipt.effects.updated) == ("public.orders", 2, 1)
    assert [values(published, name) for name in ("orders", "orders__v2", "orders__v1")] == [
        ["third"], ["third"], ["first"],
    ]  # fmt: skip
    assert loaded(published, "third").effects.touched == 0
    rolled_back(published)
    assert loaded(published, "fourth", SPEC).table_version == 1
    assert [values(published), values(published, "orders__v2")] == [["fourth"], ["third"]]
    assert published.events("public.orders__v2") == []


def test_a_swap_between_the_look_and_the_lock_of_a_load_is_noticed(published: Warehouse) -> None:
    shadow(published, "newer")
    manifest = published.batches.land(NEXT, f"id,v,d\n1,late,{DAY}\n", revision=9)
    commits = count()

    def watch(event: str) -> None:
        if event.startswith("after COMMIT") and next(commits) == 1:
            swapped(published)

    load = Load(NEXT, NEXT.partition(DAY), manifest)
    stage_merge(load, connect=lambda: Watched(published.connect(), watch), batches=published.batches)

    assert next(commits) > 2
    assert [values(published), values(published, "orders__v2")] == [["late"], ["second"]]


def test_a_column_that_a_load_adds_is_shown(published: Warehouse) -> None:
    spec = NEXT.model_copy(update={"on_schema_change": "append_new_columns", "columns": ()})

    loaded(published, "third", spec, header="id,v,d,extra")

    assert published.sql("SELECT extra::text FROM orders") == [("7",)]


def test_an_audit_looks_at_the_table_behind_the_view(published: Warehouse) -> None:
    def look() -> list[str]:
        found = audit(NEXT, Asked("a"), connect=published.connect, compare_source=lambda due, at: SourceVerdict())
        return [str(item.cause) for item in found.findings]

    assert look() == []
    published.sql("UPDATE orders__v2 SET v = 'edited'")
    assert look() == ["target_changed"]


def test_checks_of_other_tables_read_the_view(published: Warehouse) -> None:
    words = {"columns": COLUMNS, "unique_key": "id", "partition_by": {"column": "d"}}
    spec = LoadSpec(table="copies", checks=[{"diff": {"against": "public.orders"}}], **words)
    batch = f"id,v,d\n1,{{}},{DAY}\n"

    assert [str(check.verdict) for check in published.load(spec, batch.format("second")).checks] == ["passed"]
    with pytest.raises(GateClosedError, match="diff"):
        published.load(spec, batch.format("other"), revision=2)


def test_duplicates_are_removed_from_the_table_behind_and_the_command_says_so(
    published: Warehouse, database: str, command: Command
) -> None:
    said = command("dedupe", "public.orders", "--unique-key", "id", "--dsn", database)

    assert "it is no table" in said.err
    assert "name the table behind it; airflow-idempotent versions public.orders" in said.err


# --- readers ----------------------------------------------------------------------------------------------------------


def test_readers_see_the_old_version_or_the_new_one_and_never_an_error(warehouse: Warehouse) -> None:
    with reading(warehouse, "SELECT DISTINCT v FROM orders") as seen:
        for number in range(5):
            shadow(warehouse, str(number))
            swapped(warehouse)
        rolled_back(warehouse)

    assert all(len(found) == 1 for found in seen)


def test_the_command_swaps_by_view(warehouse: Warehouse, database: str, command: Command) -> None:
    shadow(warehouse)

    said = command("swap", "orders", "--shadow", "orders_new", "--by", "view", "--dsn", database)

    assert "public.orders: version 2 is live, version 1 is kept as public.orders__v1" in said.out
    assert kind(warehouse, "orders") == "v"
