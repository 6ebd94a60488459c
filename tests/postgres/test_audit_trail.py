"""The audit trail: what was altered, removed or slipped in shows, whoever did it."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.trail import Break
from airflow_idempotent.engine.trail import verify_trail
from airflow_idempotent.spec.load import LoadSpec
from tests.cli_fixtures import Command
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

ORDERS = LoadSpec(table="orders", unique_key=["id"], version=["ver"], timezone="Europe/Berlin")
OTHER_DAY = "2025-05-02"


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, v text, ver int)")
    for revision in (1, 2, 3):
        manifest = found.batches.land(ORDERS, f"id,v,ver\n1,a,{revision}\n", revision=revision)
        found.load_again(ORDERS, manifest)
        found.validate(ORDERS, manifest)
    found.load(ORDERS, "id,v,ver\n2,b,1\n", partition=OTHER_DAY)
    return found


def tampered(warehouse: Warehouse, sql: str) -> None:
    """What a superuser can do."""
    warehouse.sql(
        "ALTER TABLE airflow_idempotent.events DISABLE TRIGGER append_only;"
        f"{sql}; ALTER TABLE airflow_idempotent.events ENABLE TRIGGER append_only"
    )


def test_a_trail_that_nobody_touched_is_whole_in_any_time_zone(warehouse: Warehouse) -> None:
    tokyo = "format('ALTER DATABASE %I SET timezone TO %L', current_database(), 'Asia/Tokyo')"
    warehouse.sql(f"DO $$ BEGIN EXECUTE {tokyo}; END $$")

    trail = verify_trail(warehouse.connect)

    assert (trail.events, trail.chains, trail.broken) == (7, 2, ())


def test_a_ledger_that_is_not_there_has_no_event(connect_once: Connect) -> None:
    assert verify_trail(connect_once).events == 0


@pytest.mark.parametrize(
    ("sql", "found"),
    [
        ("UPDATE airflow_idempotent.events SET updated = 0, unchanged = 1 WHERE event_id = 3", [(3, Break.ALTERED)]),
        ("UPDATE airflow_idempotent.events SET message = 'fine' WHERE event_id = 7", [(7, Break.ALTERED)]),
        ("UPDATE airflow_idempotent.events SET partition_end = '2025-06-01' WHERE event_id = 1", [(1, Break.ALTERED)]),
        ("DELETE FROM airflow_idempotent.events WHERE event_id = 4", [(5, Break.MISSING)]),
        ("DELETE FROM airflow_idempotent.events WHERE event_id = 1", [(2, Break.MISSING)]),
        ("DELETE FROM airflow_idempotent.events WHERE event_id IN (5, 6)", [(6, Break.MISSING)]),
        ("DELETE FROM airflow_idempotent.events WHERE event_id = 7", [(7, Break.MISSING)]),
        (
            "UPDATE airflow_idempotent.events SET hash = 'x' WHERE event_id = 2",
            [(2, Break.ALTERED), (3, Break.MISSING)],
        ),
    ],
)
def test_whatever_was_done_to_an_event_shows_where_it_was_done(
    warehouse: Warehouse, sql: str, found: list[tuple[int, Break]]
) -> None:
    warehouse.sql("ALTER TABLE airflow_idempotent.check_results DROP CONSTRAINT check_results_event_id_fkey")
    tampered(warehouse, sql)

    assert [(item.event_id, item.what) for item in verify_trail(warehouse.connect, "public.orders").broken] == found


def test_a_broken_trail_is_a_finding(warehouse: Warehouse, command: Command, database: str) -> None:
    words = ("audit-trail", "verify", "public.orders", "--dsn", database)
    whole = command(*words)
    tampered(warehouse, "UPDATE airflow_idempotent.events SET deleted = 5 WHERE event_id = 2")
    broken = command(*words)

    assert (whole.code, broken.code) == (0, 1)
    assert whole.out == "7 events of 2 partitions: each says what was written, and none is missing.\n"
    assert f"public.orders {DAY}: altered: event 2 does not say what was written" in broken.out
    assert command(*words, "--json").document["broken"][0]["what"] == "altered"
