"""assert_idempotent: it proves what holds, and catches what does not."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.errors import BadRowError, SpecError, TargetMissingError, UsageError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.testing import (
    Batch,
    LawBrokenError,
    assert_idempotent,
    simulate_cdc,
    simulate_late_data,
)
from airflow_idempotent.testing.scratch import scratch as scratch_databases
from tests.postgres_fixtures import DRIVERS

FIRST, SECOND = "2025-05-01", "2025-05-02"
COLUMNS = [
    {"name": "id", "data_type": "bigint"},
    {"name": "v", "data_type": "int"},
    {"name": "status", "data_type": "text"},
    {"name": "day", "data_type": "date"},
]
SPEC = {
    "table": "shop.orders",
    "unique_key": ["id"],
    "version": ["v"],
    "partition_by": {"column": "day"},
    "columns": COLUMNS,
}
NO_VERSION = {**SPEC, "version": []}
TABLE = """
CREATE SCHEMA shop;
CREATE TABLE shop.orders (id bigint PRIMARY KEY, v int, status text, day date{more});
"""
FEW = {"orders": 2, "crashes": 2}


def row(key: int, v: int, status: str | None = "new", day: str = FIRST) -> dict[str, Any]:
    return {"id": key, "v": v, "status": status, "day": day}


BATCHES = {
    FIRST: [[row(1, 1), row(2, 1)], [row(1, 2, "paid"), row(2, 1)]],
    SECOND: [[row(1, 3, "sent", SECOND), row(3, 1, None, SECOND)]],
}


@pytest.fixture(params=DRIVERS)
def driver(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(import_module("airflow_idempotent.testing.scratch"), "DRIVERS", (request.param,))
    return str(request.param)


def broken(**words: Any) -> LawBrokenError:
    with pytest.raises(AssertionError) as caught:
        assert_idempotent(**{"spec": SPEC, "batches": BATCHES, **FEW, **words})
    assert isinstance(caught.value, LawBrokenError)
    return caught.value


# --- what holds ------------------------------------------------------------------------------------------------------


def test_merge_with_a_version_is_proven(driver: str) -> None:
    proof = assert_idempotent(SPEC, BATCHES, orders=3, crashes=12)

    assert (proof.table, proof.strategy, proof.batches, proof.partitions) == ("shop.orders", "merge", 3, 2)
    assert (proof.orders, proof.possible_orders, proof.rows) == (3, 6, 3)
    assert proof.crashes == 12 < proof.moments
    assert proof.repetitions > 3 * 3
    assert proof.loads > proof.repetitions + 3
    assert str(proof).startswith("shop.orders: merge holds the laws for 3 batches of 2 partitions\n")


def test_every_moment_of_a_load_can_be_cut() -> None:
    spec = {**SPEC, "unique_key": ["id", "day"], "partition_by": {"column": "day", "declarative": True}}

    proof = assert_idempotent(spec, {FIRST: BATCHES[FIRST][:1]}, orders=1, crashes="all")

    assert proof.crashes == proof.moments > 40


def test_the_same_seed_proves_the_same() -> None:
    def proven(seed: int) -> dict[str, Any]:
        facts = assert_idempotent(SPEC, BATCHES, orders=2, crashes=1, seed=seed).as_dict()
        return {name: value for name, value in facts.items() if name != "seconds"}

    assert proven(1) == proven(1)


def test_without_version_the_newest_batch_of_a_partition_wins_in_any_order() -> None:
    proof = assert_idempotent(NO_VERSION, {FIRST: [*BATCHES[FIRST], [row(1, 0, "back")]]}, orders=4, crashes=0)

    assert proof.orders == 4


def test_files_are_loaded_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "orders.yaml").write_text(
        "table: shop.orders\nstart_date: 2025-05-01\nunique_key: [id]\nversion: [v]\n"
        "source: {kind: files, path: '{{ partition.key }}.csv', csv: {delimiter: ';'}}\n"
        "columns: [{name: id, data_type: int}, {name: v, data_type: int}]\n"
    )
    files = [tmp_path / f"{number}.csv" for number in range(3)]
    for number, file in enumerate(files):
        file.write_text(f"id;v\n1;{number}\n{number};7\n")

    batches = [Batch(FIRST, files=files[:2]), Batch(SECOND, files=files[2])]
    proof = assert_idempotent(tmp_path / "orders.yaml", batches, **FEW)

    assert (proof.batches, proof.rows) == (2, 3)


def test_a_spec_may_be_an_object_and_a_batch_may_be_empty() -> None:
    spec = LoadSpec(**SPEC)

    assert assert_idempotent(spec, [Batch(FIRST, [row(1, 1)]), Batch(FIRST, [])], **FEW).rows == 1


def test_late_data_by_day_of_arrival_ends_as_the_simulator_says() -> None:
    late = simulate_late_data(seed=5, days=4, events_per_day=30)
    types = {"event_id": "bigint", "user_id": "int", "value": "numeric(12,2)"}
    columns = [
        {"name": name, "data_type": types.get(name, "timestamptz")} for name in next(iter(late.end_state.values()))
    ]
    spec = {"table": "events", "unique_key": ["event_id"], "version": ["ingested_at"], "columns": columns}

    assert assert_idempotent(spec, late, **FEW).rows == len(late.end_state)


def test_changes_end_as_the_simulator_says() -> None:
    """By merge, with the deletes as rows."""
    changes = simulate_cdc(seed=5, events=80)
    types = {"commit_version": "bigint", "account_id": "int", "balance": "numeric(12,2)", "changed_at": "timestamptz"}
    columns = [{"name": name, "data_type": types.get(name, "text")} for name in changes.batches[0].columns]
    spec = {"table": "accounts", "unique_key": ["account_id"], "version": ["commit_version"], "columns": columns}
    newest = {
        change["account_id"]: change
        for change in sorted(
            (change for batch in changes for change in batch.rows or ()), key=lambda change: change["commit_version"]
        )
    }

    assert assert_idempotent(spec, changes, **FEW).rows == len(newest)
    assert {key for key, change in newest.items() if change["op"] != "D"} == set(changes.end_state)


# --- what does not ---------------------------------------------------------------------------------------------------


def test_a_trigger_that_counts_writes_breaks_commute(driver: str) -> None:
    counting = TABLE.format(more=", writes int DEFAULT 1") + (
        "CREATE FUNCTION shop.count() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN NEW.writes := OLD.writes + 1; RETURN NEW; END $$;"
        "CREATE TRIGGER counting BEFORE UPDATE ON shop.orders FOR EACH ROW EXECUTE FUNCTION shop.count()"
    )

    error = broken(ddl=counting)

    assert error.law == "commute"
    assert error.trial.startswith("order 2 of 2: 2025-05-02 #1, ")
    assert any(line.startswith("id='1': writes is ") for line in error.differences)
    assert "no batch fills 'writes': a default or a trigger does." in str(error)
    assert "triggers of the table: counting" in str(error)


def test_a_column_filled_by_the_clock_breaks_commute_unless_it_is_ignored() -> None:
    ddl = TABLE.format(more=", loaded_at timestamptz DEFAULT clock_timestamp()")

    error = broken(ddl=ddl)

    assert error.law == "commute"
    assert "ignore=['loaded_at']" in str(error)
    assert assert_idempotent(SPEC, BATCHES, ddl=ddl, ignore=["loaded_at"], **FEW).rows == 3


def test_without_version_two_partitions_with_one_key_break_the_rerun() -> None:
    error = broken(spec=NO_VERSION)

    assert (error.law, error.trial) == ("rerun", "order 1 of 2: as given")
    assert error.step == "then 2025-05-01 #2 loaded once more"
    assert error.differences[1] == "id='1' was written"
    assert "without 'version' nothing orders the rows of one key in two partitions" in str(error)
    assert "What merge promises: Insert new keys" in str(error)


def test_a_write_to_another_partition_breaks_isolate() -> None:
    batches = {FIRST: [[row(1, 1, "early", SECOND)]], SECOND: [[row(1, 1, "right", SECOND)]]}

    assert broken(spec=NO_VERSION, batches=batches).law == "isolate"


def test_a_serial_number_breaks_crash_since_a_rollback_does_not_give_it_back(driver: str) -> None:
    error = broken(ddl=TABLE.format(more=", serial bigserial"), orders=1, crashes=6)

    assert error.law == "crash"
    assert error.step.startswith("cut ")
    assert "no batch fills 'serial'" in str(error)
    assert dict(error.tried)["crashes"] >= 1


def test_a_load_that_is_refused_in_another_order_breaks_commute() -> None:
    ddl = TABLE.format(more=", parent bigint REFERENCES shop.orders")
    batches = {FIRST: [[row(1, 1) | {"parent": None}]], SECOND: [[row(2, 1, day=SECOND) | {"parent": 1}]]}

    error = broken(ddl=ddl, batches=batches, spec={**SPEC, "columns": []})

    assert error.law == "commute"
    assert error.step == "load 1 of 3, 2025-05-02 #1: ConstraintError"
    assert "violates foreign key constraint" in error.differences[0]


def test_what_cannot_even_be_loaded_once_is_an_error_of_its_own() -> None:
    with pytest.raises(BadRowError, match="invalid input syntax"):
        assert_idempotent(SPEC, [Batch(FIRST, [row("x", 1)])])  # type: ignore[arg-type]
    with pytest.raises(TargetMissingError):
        assert_idempotent({**SPEC, "columns": []}, BATCHES)


# --- a database of the user's ----------------------------------------------------------------------------------------


@pytest.fixture(params=DRIVERS)
def connect(request: pytest.FixtureRequest, database: str) -> Any:
    with closing(import_module(request.param).connect(database)) as connection:
        connection.cursor().execute(
            TABLE.format(more="") + "INSERT INTO shop.orders VALUES (99, 1, 'theirs', '2025-05-01')"
        )
        connection.commit()
    return lambda: import_module(request.param).connect(database)


def test_a_database_of_the_users_is_copied_and_never_written_to(connect: Any, postgres_admin: Any) -> None:
    proof = assert_idempotent(SPEC, BATCHES, connect=connect, **FEW)

    assert proof.rows == 4  # theirs is in each copy
    with closing(connect()) as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT id, to_regnamespace('airflow_idempotent') IS NULL FROM shop.orders")
        assert list(cursor.fetchall()) == [(99, True)]
    assert copies_left(postgres_admin) == []


def copies_left(admin: Any) -> list[Any]:
    admin.execute("SELECT datname FROM pg_database WHERE datname LIKE 'idem_proof_%'")
    return list(admin.fetchall())


def test_copies_go_when_a_law_is_broken_too(connect: Any, postgres_admin: Any) -> None:
    assert broken(spec=NO_VERSION, connect=connect).law == "rerun"
    assert copies_left(postgres_admin) == []


def test_a_database_somebody_is_connected_to_cannot_be_copied(connect: Any) -> None:
    with closing(connect()), pytest.raises(UsageError, match="others are connected to the database 'idem_test_"):
        assert_idempotent(SPEC, BATCHES, connect=connect)


def test_a_role_that_may_not_create_databases_is_told_so(connect: Any, postgres_admin: Any, database: str) -> None:
    postgres_admin.execute("CREATE ROLE idem_small LOGIN")
    driver = import_module(DRIVERS[0])
    try:
        with pytest.raises(UsageError, match="may not copy the database"):
            assert_idempotent(SPEC, BATCHES, connect=lambda: driver.connect(database, user="idem_small"))
    finally:
        postgres_admin.execute("DROP ROLE idem_small")


# --- what is given ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batches", "said"),
    [
        ([], "there are no batches"),
        ({FIRST: [row(1, 1)]}, "2025-05-01 needs a list of revisions"),
        ({FIRST: "orders.csv"}, "2025-05-01 needs a list of revisions"),
        ([{"id": 1}], "'dict' is not a Batch"),
        ({"May": [[row(1, 1)]]}, "May"),
    ],
)
def test_batches_that_are_none_are_refused(batches: Any, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        assert_idempotent(SPEC, batches)


def test_a_batch_has_rows_or_files() -> None:
    with pytest.raises(UsageError, match="neither rows nor files"):
        Batch(FIRST)
    with pytest.raises(UsageError, match="both rows and files"):
        Batch(FIRST, [row(1, 1)], files="a.csv")


def test_words_that_are_none_are_refused_all_at_once() -> None:
    with pytest.raises(SpecError) as caught:
        assert_idempotent({**SPEC, "verson": ["v"], "partition_by": {"column": "dya"}}, BATCHES)

    assert len(caught.value.problems) == 2


def test_ddl_that_is_refused_is_told(driver: str) -> None:
    with pytest.raises(UsageError, match="the DDL is refused: "):
        assert_idempotent(SPEC, BATCHES, ddl="CREATE TABEL x ()")


def test_scratch_databases_are_apart_from_each_other(driver: str) -> None:
    with scratch_databases(ddl="CREATE TABLE t (n int)") as databases, databases.copy() as one, databases.copy() as two:
        for connect in (one, two):
            with closing(connect()) as connection:
                cursor = connection.cursor()
                cursor.execute("INSERT INTO t VALUES (1) RETURNING (SELECT count(*) FROM t)")
                assert cursor.fetchone() == (0,)
                connection.commit()
