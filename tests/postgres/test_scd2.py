"""scd2: versions that stay, and intervals that follow from all of them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects
from airflow_idempotent.core.verdict import Verdict
from airflow_idempotent.errors import NullVersionError, RepeatedKeyError, SchemaDriftError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse

TIERS = LoadSpec(table="tiers", unique_key="id", version="ver", strategy="scd2")
NEXT = "2025-05-02"


@pytest.fixture
def tiers(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE tiers (id int, v text, ver int, valid_from int, valid_to int, PRIMARY KEY (id, ver))")
    return warehouse


def rows(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.sql("SELECT id, v, ver, valid_from, valid_to FROM tiers ORDER BY 1, 3")


def test_each_version_holds_until_the_next_and_the_newest_has_no_end(tiers: Warehouse) -> None:
    receipt = tiers.load(TIERS, "id,v,ver\n1,a,1\n1,b,3\n2,x,5\n2,x,5\n")

    assert receipt.effects == Effects(inserted=3, duplicate=1)
    assert rows(tiers) == [(1, "a", 1, 1, 3), (1, "b", 3, 3, None), (2, "x", 5, 5, None)]


def test_a_late_version_splits_the_interval_it_falls_into(tiers: Warehouse) -> None:
    tiers.load(TIERS, "id,v,ver\n1,a,1\n1,c,3\n2,x,5\n")
    untouched = tiers.sql("SELECT ctid, xmin::text FROM tiers WHERE ver IN (3, 5) ORDER BY 1")

    receipt = tiers.load(TIERS, "id,v,ver\n1,b,2\n", partition=NEXT)

    assert receipt.effects == Effects(inserted=1, updated=1)
    assert receipt.measure.beyond_batch == 1
    assert rows(tiers)[:3] == [(1, "a", 1, 1, 2), (1, "b", 2, 2, 3), (1, "c", 3, 3, None)]
    assert tiers.sql("SELECT ctid, xmin::text FROM tiers WHERE ver IN (3, 5) ORDER BY 1") == untouched


def test_any_order_ends_alike_and_a_second_run_writes_nothing(warehouse: Warehouse) -> None:
    texts = ["id,v,ver\n1,a,1\n1,z,4\n", "id,v,ver\n1,b,2\n1,y,4\n2,m,2\n", "id,v,ver\n1,b,2\n2,l,1\n2,n,2\n"]
    ends = set()
    for order in permutations(range(3)):
        warehouse.sql("DROP TABLE IF EXISTS tiers")
        warehouse.sql("DROP SCHEMA IF EXISTS airflow_idempotent CASCADE")
        warehouse.sql(
            "CREATE TABLE tiers (id int, v text, ver int, valid_from int, valid_to int, PRIMARY KEY (id, ver))"
        )
        for number in order:
            warehouse.load(TIERS, texts[number], partition=f"2025-05-0{number + 1}")
        before = warehouse.physical("tiers")
        for number in order:
            assert warehouse.load(TIERS, texts[number], partition=f"2025-05-0{number + 1}").effects.touched == 0
        assert warehouse.physical("tiers") == before
        ends.add(tuple(rows(warehouse)))

    assert ends == {
        ((1, "a", 1, 1, 2), (1, "b", 2, 2, 4), (1, "z", 4, 4, None), (2, "l", 1, 1, 2), (2, "n", 2, 2, None))
    }


def test_of_one_version_with_two_contents_the_greater_stays(tiers: Warehouse) -> None:
    tiers.load(TIERS, "id,v,ver\n1,b,1\n2,b,1\n3,b,1\n")

    receipt = tiers.load(TIERS, "id,v,ver\n1,c,1\n2,a,1\n2,next,2\n3,b,1\n3,next,2\n", partition=NEXT)

    # 1 won; 2 lost, and its row in the table ends now; 3 is equal, and ends now.
    assert receipt.effects == Effects(inserted=2, updated=3, stale=1)
    assert receipt.measure.beyond_batch == 1
    assert rows(tiers) == [
        (1, "c", 1, 1, None),
        (2, "b", 1, 1, 2),
        (2, "next", 2, 2, None),
        (3, "b", 1, 1, 2),
        (3, "next", 2, 2, None),
    ]


def test_equal_contents_in_a_row_stay_rows_of_their_own(tiers: Warehouse) -> None:
    tiers.load(TIERS, "id,v,ver\n1,a,1\n1,a,2\n")

    assert rows(tiers) == [(1, "a", 1, 1, 2), (1, "a", 2, 2, None)]


def test_a_null_version_is_refused_by_name(tiers: Warehouse) -> None:
    with pytest.raises(NullVersionError) as refused:
        tiers.load(TIERS, "id,v,ver\n1,a,\n2,b,1\n3,c,\n")

    assert refused.value.columns == (("ver", 2),)
    assert rows(tiers) == []


def test_intervals_that_somebody_has_edited_are_healed_for_the_keys_of_the_batch(tiers: Warehouse) -> None:
    text = "id,v,ver\n1,a,1\n1,b,2\n"
    tiers.load(TIERS, text)
    tiers.load(TIERS, "id,v,ver\n2,x,1\n2,y,2\n", partition=NEXT)
    tiers.sql("UPDATE tiers SET valid_to = 99, valid_from = 0")

    assert tiers.load(TIERS, text).effects == Effects(updated=2)
    assert [row[3:] for row in rows(tiers)] == [(1, 2), (2, None), (0, 99), (0, 99)]


def test_a_table_that_was_no_history_gets_its_columns_and_intervals_for_the_keys_that_come(
    warehouse: Warehouse,
) -> None:
    warehouse.sql("CREATE TABLE tiers (id int, v text, ver int)")
    warehouse.sql("INSERT INTO tiers VALUES (1, 'a', 1), (1, 'b', 2), (1, 'no version', NULL), (2, 'x', 1)")

    receipt = warehouse.load(TIERS, "id,v,ver\n1,c,3\n")

    assert receipt.effects == Effects(inserted=1, updated=2)
    assert rows(warehouse) == [
        (1, "a", 1, 1, 2),
        (1, "b", 2, 2, 3),
        (1, "c", 3, 3, None),
        (1, "no version", None, None, None),
        (2, "x", 1, None, None),
    ]


def test_a_table_that_we_create_has_a_row_per_key_and_version(warehouse: Warehouse) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "text"}]
    columns.append({"name": "ver", "data_type": "timestamptz"})
    strategy = {"kind": "scd2", "valid_from": "since", "valid_to": "until", "is_current": "newest"}
    spec = LoadSpec(table="made", unique_key="id", version="ver", strategy=strategy, columns=columns)

    warehouse.load(spec, "id,v,ver\n1,a,2025-05-01T00:00Z\n1,b,2025-05-02T00:00Z\n")

    assert warehouse.sql("SELECT v, since = ver, until::date::text, newest FROM made ORDER BY ver") == [
        ("a", True, "2025-05-02", False),
        ("b", True, None, True),
    ]
    [(key,)] = warehouse.sql(
        "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'made'::regclass AND contype = 'p'"
    )
    assert key == "PRIMARY KEY (id, ver)"


def test_a_batch_must_not_bring_the_columns_that_we_fill(tiers: Warehouse) -> None:
    with pytest.raises(SchemaDriftError) as refused:
        tiers.load(TIERS, "id,v,ver,valid_to\n1,a,1,2\n")

    assert "column 'valid_to' is filled by strategy 'scd2'" in refused.value.problems


def test_intervals_of_another_type_than_the_version_are_refused(warehouse: Warehouse) -> None:
    """They could not hold where an interval begins, and would be written again by each re-run."""
    warehouse.sql("CREATE TABLE tiers (id int, v text, ver timestamptz, valid_from timestamptz, valid_to date)")

    with pytest.raises(SchemaDriftError) as refused:
        warehouse.load(TIERS, "id,v,ver\n1,a,2025-05-01T08:00Z\n")

    text = "column 'valid_to' is date: strategy 'scd2' fills it with timestamp with time zone"
    assert text in refused.value.problems


def test_columns_that_we_fill_stay_when_all_others_are_synchronised(tiers: Warehouse) -> None:
    tiers.sql("ALTER TABLE tiers ADD old text")
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "text"}]
    columns.append({"name": "ver", "data_type": "int"})
    words = {"table": "tiers", "unique_key": "id", "version": "ver", "strategy": "scd2", "columns": columns}
    spec = LoadSpec(**words, on_schema_change="sync_all_columns")

    tiers.load(spec, "id,v,ver\n1,a,1\n1,b,2\n")

    assert rows(tiers) == [(1, "a", 1, 1, 2), (1, "b", 2, 2, None)]
    assert tiers.sql("SELECT count(*) FROM information_schema.columns WHERE table_name = 'tiers'") == [(5,)]


def test_odd_names_and_text_as_version(warehouse: Warehouse) -> None:
    warehouse.sql('CREATE TABLE "Odd %Tiers" ("the key" text, "w%" text, "Ver""sion" text)')
    spec = LoadSpec(
        table='public."Odd %Tiers"',
        unique_key="the key",
        version='Ver"sion',
        strategy={"kind": "scd2", "valid_from": "from %s", "valid_to": "to"},
    )

    text = 'the key,w%,"Ver""sion"\nk,x,b\nk,y,a\n'
    assert warehouse.load(spec, text).effects == Effects(inserted=2)
    assert warehouse.load(spec, text).effects == Effects(unchanged=2)
    assert warehouse.sql('SELECT "from %s", "to" FROM "Odd %Tiers" ORDER BY 1') == [("a", "b"), ("b", None)]


def test_a_version_that_is_there_twice_is_refused(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE tiers (id int, v text, ver int, valid_from int, valid_to int)")
    warehouse.sql("INSERT INTO tiers VALUES (1, 'a', 1), (1, 'b', 1)")

    with pytest.raises(RepeatedKeyError) as refused:
        warehouse.load(TIERS, "id,v,ver\n1,c,1\n")

    assert (refused.value.count, refused.value.unique_key) == (1, ("id", "ver"))


def test_two_partitions_at_once_with_versions_of_the_same_keys(tiers: Warehouse) -> None:
    def load(number: int) -> Effects:
        text = "id,v,ver\n" + "".join(f"{n},v,{number}\n" for n in range(300))
        return tiers.load(TIERS, text, partition=f"2025-05-0{number}").effects

    with ThreadPoolExecutor(3) as pool:
        effects = Effects.sum(pool.map(load, (1, 2, 3)))

    assert effects.inserted == 900
    assert [row[3:] for row in rows(tiers)] == [(1, 2), (2, 3), (3, None)] * 300


def test_a_partition_whose_rows_were_ended_by_another_one_is_explained_not_failed(warehouse: Warehouse) -> None:
    warehouse.sql(
        "CREATE TABLE tiers (id int, v text, ver date, valid_from date, valid_to date, PRIMARY KEY (id, ver))"
    )
    by_day = LoadSpec(table="tiers", unique_key="id", version="ver", strategy="scd2", partition_by={"column": "ver"})
    first = warehouse.batches.land(by_day, "id,v,ver\n1,a,2025-05-01\n")
    warehouse.load_again(by_day, first)
    warehouse.load(by_day, "id,v,ver\n1,b,2025-05-02\n", partition=NEXT)

    receipt = warehouse.validate(by_day, first, partition=DAY)

    [reconcile] = [check for check in receipt.checks if check.check == "reconcile"]
    assert reconcile.verdict is Verdict.NOT_EVALUATED
    assert "20250502_01 has written to this partition since" in reconcile.message


def test_versions_may_cut_the_table_into_children(warehouse: Warehouse) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "v", "data_type": "text"}]
    columns.append({"name": "ver", "data_type": "date"})
    by = {"column": "ver", "declarative": True}
    spec = LoadSpec(table="tiers", unique_key="id", version="ver", strategy="scd2", columns=columns, partition_by=by)

    warehouse.load(spec, "id,v,ver\n1,b,2025-05-02\n", partition=NEXT)
    receipt = warehouse.load(spec, "id,v,ver\n1,a,2025-05-01\n")
    again = warehouse.load(spec, "id,v,ver\n1,c,2025-05-03\n", partition="2025-05-03")

    assert (receipt.effects, again.effects) == (Effects(inserted=1), Effects(inserted=1, updated=1))
    assert warehouse.sql("SELECT v, valid_to::text FROM tiers ORDER BY ver") == [
        ("a", "2025-05-02"),
        ("b", "2025-05-03"),
        ("c", None),
    ]


def test_a_trigger_that_drops_rows_makes_them_rejected(tiers: Warehouse) -> None:
    tiers.sql(
        "CREATE FUNCTION odd() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RETURN CASE WHEN NEW.id % 2 = 0 THEN NEW END; END $$"
    )
    tiers.sql("CREATE TRIGGER odd BEFORE INSERT OR UPDATE ON tiers FOR EACH ROW EXECUTE FUNCTION odd()")

    receipt = tiers.load(TIERS, "id,v,ver\n1,a,1\n2,b,1\n2,c,2\n")

    assert receipt.effects == Effects(inserted=2, rejected=1)
