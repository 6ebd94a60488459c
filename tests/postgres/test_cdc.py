"""cdc against PostgreSQL: deletions, tombstones, keys that change, values that are left out."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.core.staged import Numbered
from airflow_idempotent.core.step import Effects
from airflow_idempotent.errors import (
    GateClosedError,
    RepeatedKeyError,
    SchemaDriftError,
    UnknownOpError,
    UnknownValueError,
)
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.strategies.cdc import tombstones_of
from tests.loading import Warehouse

HEADER = "op,id,v,ver,seq\n"


def spec_of(table: str = "t", **words: Any) -> LoadSpec:
    strategy = {"kind": "cdc", **words.pop("options", {})}
    given = {"unique_key": ["id"], "version": ["ver", "seq"], "lock_timeout": 60, **words}
    return LoadSpec(table=table, strategy=strategy, **given)


def made(db: Warehouse, columns: str = "id int PRIMARY KEY, v text, ver int, seq int", table: str = "t") -> None:
    db.sql(f"CREATE TABLE {table} ({columns})")


def tombstones(spec: LoadSpec) -> str:
    return str(tombstones_of(Numbered(spec.relation), spec.unique_key, spec.version))


def rows(db: Warehouse, columns: str = "id, v, ver") -> list[tuple[Any, ...]]:
    return db.sql(f"SELECT {columns} FROM t ORDER BY id")


# --- tombstones -------------------------------------------------------------------------------------------------------


def test_a_late_older_event_does_not_bring_a_deleted_row_back(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()

    assert warehouse.load(spec, f"{HEADER}I,1,a,10,\n").effects == Effects(inserted=1)
    assert warehouse.load(spec, f"{HEADER}D,1,,20,\n", revision=2).effects == Effects(deleted=1)
    assert warehouse.load(spec, f"{HEADER}U,1,late,15,\n", revision=3).effects == Effects(stale=1)
    assert rows(warehouse) == []
    assert warehouse.load(spec, f"{HEADER}I,1,reborn,21,\n", revision=4).effects == Effects(inserted=1)
    assert rows(warehouse) == [(1, "reborn", 21)]
    assert warehouse.sql(f"SELECT * FROM {tombstones(spec)}") == []


def test_the_deletion_of_a_key_that_is_not_there_yet_is_remembered(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()

    assert warehouse.load(spec, f"{HEADER}D,1,,20,\n").effects == Effects(unchanged=1)
    assert warehouse.load(spec, f"{HEADER}D,1,,30,\n", revision=2).effects == Effects(unchanged=1)
    assert warehouse.load(spec, f"{HEADER}D,1,,25,\n", revision=3).effects == Effects(stale=1)
    assert warehouse.load(spec, f"{HEADER}I,1,a,29,9\n", revision=4).effects == Effects(stale=1)
    assert rows(warehouse) == []


def test_a_second_run_writes_nothing_not_even_a_tombstone(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"tombstone_ttl": "30 days"})
    warehouse.load(spec, f"{HEADER}I,1,a,1,\nI,2,b,1,\nI,3,c,1,\n")
    batch = f"{HEADER}U,1,aa,2,\nD,2,,2,\nD,9,,2,\nI,4,d,2,\nD,4,,1,\n"
    first = warehouse.load(spec, batch, revision=2)
    before = warehouse.physical("t"), warehouse.physical(tombstones(spec))

    again = warehouse.load(spec, batch, revision=2)

    assert first.effects == Effects(inserted=1, updated=1, deleted=1, unchanged=1, duplicate=1)
    assert again.effects == Effects(unchanged=4, duplicate=1)
    assert (warehouse.physical("t"), warehouse.physical(tombstones(spec))) == before


def test_tombstones_end_after_their_time_and_no_row_with_them(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"tombstone_ttl": "P30D"})
    warehouse.load(spec, f"{HEADER}I,1,a,1,\nI,2,b,1,\nI,3,c,1,\nD,8,,5,\nD,9,,5,\n")
    warehouse.sql(f"UPDATE {tombstones(spec)} SET idem_deleted_at = now() - interval '31 days' WHERE id = 8")
    before = warehouse.physical("t")

    warehouse.load(spec, f"{HEADER}U,1,a,1,\n", revision=2)

    assert warehouse.sql(f"SELECT id FROM {tombstones(spec)}") == [(9,)]
    assert warehouse.physical("t") == before
    assert warehouse.load(spec, f"{HEADER}I,8,old,1,\nI,9,old,1,\n", revision=3).effects == Effects(inserted=1, stale=1)


def test_the_side_table_says_whose_it_is_and_outlives_the_table(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()
    warehouse.load(spec, f"{HEADER}D,1,,20,\n")
    [(comment,)] = warehouse.sql(f"SELECT obj_description('{tombstones(spec)}'::regclass)")
    assert "public.t" in comment

    warehouse.sql("DROP TABLE t")
    made(warehouse)

    assert warehouse.load(spec, f"{HEADER}I,1,a,10,\n").effects == Effects(stale=1)
    warehouse.sql(f"DROP TABLE {tombstones(spec)}")  # how to begin anew
    assert warehouse.load(spec, f"{HEADER}I,1,a,10,\nI,2,b,10,\n", revision=2).effects == Effects(inserted=2)


def test_the_side_table_follows_a_key_that_was_widened(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()
    warehouse.load(spec, f"{HEADER}D,1,,20,\n")
    warehouse.sql("ALTER TABLE t ALTER COLUMN id TYPE bigint, ALTER COLUMN ver TYPE numeric")

    effects = warehouse.load(spec, f"{HEADER}D,5000000000,,20.5,\nI,1,a,19.5,\n", revision=2).effects

    assert effects == Effects(unchanged=1, stale=1)
    assert warehouse.sql(f"SELECT id, ver FROM {tombstones(spec)} ORDER BY id") == [(1, 20), (5000000000, 20.5)]


def test_a_role_needs_no_more_than_the_documented_rights(warehouse: Warehouse) -> None:
    made(warehouse)
    warehouse.sql("DROP ROLE IF EXISTS cdc_loader; CREATE ROLE cdc_loader")
    [(database,)] = warehouse.sql("SELECT current_database()")
    warehouse.sql(f'GRANT CONNECT, TEMPORARY ON DATABASE "{database}" TO cdc_loader')
    warehouse.sql("CREATE SCHEMA airflow_idempotent AUTHORIZATION cdc_loader")
    warehouse.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON t TO cdc_loader")

    def connect() -> Any:
        connection = warehouse.connect()
        connection.cursor().execute("SET ROLE cdc_loader")
        connection.commit()
        return connection

    spec = spec_of()
    warehouse.load(spec, f"{HEADER}I,1,a,1,\nI,2,b,1,\n", connect=connect)
    assert warehouse.load(spec, f"{HEADER}D,1,,2,\n", revision=2, connect=connect).effects == Effects(deleted=1)
    warehouse.sql("DROP OWNED BY cdc_loader CASCADE; DROP ROLE cdc_loader")


# --- order ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches", [["I,1,reborn,20,\nD,1,,20,\n"], ["D,1,,20,\n", "I,1,reborn,20,\n"]])
@pytest.mark.parametrize("turned", [False, True])
def test_at_equal_versions_the_row_wins_wherever_it_meets_the_deletion(
    warehouse: Warehouse, batches: list[str], turned: bool
) -> None:
    made(warehouse)
    spec = spec_of()
    warehouse.load(spec, f"{HEADER}I,1,old,10,\n")

    for number, batch in enumerate(reversed(batches) if turned else batches, start=2):
        warehouse.load(spec, HEADER + batch, revision=number)

    assert rows(warehouse) == [(1, "reborn", 20)]


def test_null_is_the_lowest_version_of_a_tombstone_too(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()

    warehouse.load(spec, f"{HEADER}D,1,,5,\nD,2,,,\n")
    effects = warehouse.load(spec, f"{HEADER}I,1,a,,9\nI,2,b,,\n", revision=2).effects

    assert effects == Effects(inserted=1, stale=1)
    assert rows(warehouse) == [(2, "b", None)]


def test_a_sequence_that_only_the_batch_has_decides_inside_it(warehouse: Warehouse) -> None:
    made(warehouse, "id int PRIMARY KEY, v text, ver int")
    spec = spec_of()

    warehouse.load(spec, f"{HEADER}I,1,nine,20,9\nU,1,ten,20,10\nD,1,,20,8\nI,2,x,20,1\nD,2,,20,2\n")

    assert rows(warehouse) == [(1, "ten", 20)]


def test_the_word_commit_version_is_understood() -> None:
    spec = LoadSpec(table="t", unique_key="id", commit_version=["ver", "seq"], strategy="cdc")

    assert spec.version == ("ver", "seq")


# --- keys that change -------------------------------------------------------------------------------------------------


def test_a_chain_of_changed_keys_ends_with_the_last_one(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"key_before": {"id": "old_id"}})
    header = "op,old_id,id,v,ver,seq\n"
    warehouse.load(spec, f"{header}I,,1,a,10,\n")

    chain = f"{header}U,1,2,b,20,1\nU,2,3,c,20,2\nU,3,3,d,20,3\n"
    first = warehouse.load(spec, chain, revision=2)
    again = warehouse.load(spec, chain, revision=2)

    assert rows(warehouse) == [(3, "d", 20)]
    assert (first.effects, first.measure.beyond_batch) == (Effects(inserted=1, deleted=1, duplicate=2), 1)
    assert (again.effects, again.measure.beyond_batch) == (Effects(unchanged=1, duplicate=2), 0)
    assert warehouse.load(spec, f"{header}U,,1,late,15,\n", revision=3).effects == Effects(stale=1)


def test_two_rows_that_exchange_their_keys_are_both_kept(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"key_before": {"id": "old_id"}})
    header = "op,old_id,id,v,ver,seq\n"
    warehouse.load(spec, f"{header}I,,1,one,10,\nI,,2,two,10,\n")

    warehouse.load(spec, f"{header}U,1,2,one,20,\nU,2,1,two,20,\n", revision=2)

    assert rows(warehouse) == [(1, "two", 20), (2, "one", 20)]


# --- soft -------------------------------------------------------------------------------------------------------------


def test_a_soft_deletion_keeps_the_newest_row_in_whatever_order_it_comes(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"delete": "soft"})
    shown = "id, v, ver, _idem_deleted"

    warehouse.load(spec, f"{HEADER}I,1,a,1,\n")
    assert warehouse.load(spec, f"{HEADER}D,1,,9,\n", revision=2).effects == Effects(deleted=1)
    assert rows(warehouse, shown) == [(1, "a", 1, True)]
    assert warehouse.load(spec, f"{HEADER}U,1,late,5,\n", revision=3).effects == Effects(updated=1)
    assert rows(warehouse, shown) == [(1, "late", 5, True)]
    assert warehouse.load(spec, f"{HEADER}U,1,late,5,\n", revision=3).effects == Effects(unchanged=1)
    assert warehouse.load(spec, f"{HEADER}I,1,back,10,\n", revision=4).effects == Effects(updated=1)
    assert rows(warehouse, shown) == [(1, "back", 10, False)]


def test_a_soft_deletion_whose_tombstone_is_forgotten_holds_against_what_is_older(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"delete": "soft"})
    warehouse.load(spec, f"{HEADER}I,1,a,5,\nD,1,,9,\n")
    warehouse.sql(f"DELETE FROM {tombstones(spec)}")

    assert warehouse.load(spec, f"{HEADER}U,1,old,4,\n", revision=2).effects == Effects(stale=1)
    assert rows(warehouse, "v, _idem_deleted") == [("a", True)]


# --- values that are left out -----------------------------------------------------------------------------------------

PARTIAL = "op,id,small,big,unchanged,ver\n"
BIG = "id int PRIMARY KEY, small text, big jsonb, ver int"


def partial_spec(**options: Any) -> LoadSpec:
    return spec_of(version=["ver"], options={"unchanged_column": "unchanged", **options})


def test_a_value_left_out_comes_from_the_newest_older_row(warehouse: Warehouse) -> None:
    made(warehouse, BIG)
    spec = partial_spec()
    warehouse.load(spec, PARTIAL + 'I,1,s,"{""k"":1}",,10\nI,4,s,"{""k"":4}",,10\n')

    batch = (
        PARTIAL + 'U,1,s2,,big,20\nI,2,s1,"{""k"":2}",,20\nU,2,s2,,"[""big""]",21\nU,2,s3,," big ,id",22\nU,4,s,,,20\n'
    )
    first = warehouse.load(spec, batch, revision=2)
    before = warehouse.physical("t")
    again = warehouse.load(spec, batch, revision=2)

    assert rows(warehouse, "id, small, big->>'k'") == [(1, "s2", "1"), (2, "s3", "2"), (4, "s", None)]
    assert first.effects == Effects(inserted=1, updated=2, duplicate=2)
    assert again.effects == Effects(unchanged=3, duplicate=2)
    assert warehouse.physical("t") == before


@pytest.mark.parametrize("delete", ["hard", "soft"])
@pytest.mark.parametrize("events", ["U,3,s9,,big,22\n", 'I,3,s,"{}",,20\nD,3,,,,21\nU,3,s9,,big,22\n'])
def test_a_value_that_is_nowhere_refuses_the_batch(warehouse: Warehouse, events: str, delete: str) -> None:
    made(warehouse, BIG)
    spec = partial_spec(delete=delete)

    with pytest.raises(UnknownValueError) as caught:
        warehouse.load(spec, PARTIAL + 'I,1,s,"{}",,1\n' + events)

    assert caught.value.columns == (("big", 1),)
    assert rows(warehouse, "id") == []


def test_a_stale_event_needs_no_value(warehouse: Warehouse) -> None:
    made(warehouse, BIG)
    spec = partial_spec()
    warehouse.load(spec, PARTIAL + "D,3,,,,30\n")

    assert warehouse.load(spec, PARTIAL + "U,3,s9,,big,22\n", revision=2).effects == Effects(stale=1)


def test_a_text_can_stand_for_what_is_unchanged(warehouse: Warehouse) -> None:
    made(warehouse, "id int PRIMARY KEY, v text, big jsonb, ver int")
    spec = spec_of(version=["ver"], options={"unchanged_value": "__debezium_unavailable_value"})
    warehouse.load(spec, 'op,id,v,big,ver\nc,1,a,"{""k"": 1}",1\n')

    value = "__debezium_unavailable_value"
    warehouse.load(spec, f'op,id,v,big,ver\nu,1,{value},"""{value}""",2\n', revision=2)

    assert rows(warehouse, "v, big->>'k', ver") == [("a", "1", 2)]


def test_a_column_that_is_listed_and_does_not_exist_is_named(warehouse: Warehouse) -> None:
    made(warehouse, BIG)

    with pytest.raises(SchemaDriftError, match=r"'bigg' is listed in 'unchanged'.*did you mean 'big'"):
        warehouse.load(partial_spec(), PARTIAL + 'U,1,s,"{}",bigg,1\n')


# --- what is refused, and what is checked -----------------------------------------------------------------------------


def test_unknown_codes_are_named_with_their_counts_and_nothing_is_loaded(warehouse: Warehouse) -> None:
    made(warehouse)

    with pytest.raises(UnknownOpError) as caught:
        warehouse.load(spec_of(), f"{HEADER}d,1,,2,\nT,2,,2,\nT,4,,2,\n,3,x,2,\ni,5,x,2,\n")

    assert caught.value.codes == (("T", 2), ("i", 1), (None, 1))
    assert "NULL: 1 row(s)" in str(caught.value)
    assert rows(warehouse) == []


def test_codes_of_ones_own_replace_those_of_the_same_meaning(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(options={"op_map": {"insert": [2], "delete": 1}})

    assert warehouse.load(spec, f"{HEADER}2,1,a,1,\n2,2,b,1,\n1,2,,2,\n").effects == Effects(
        inserted=1, unchanged=1, duplicate=1
    )
    with pytest.raises(UnknownOpError):
        warehouse.load(spec, f"{HEADER}D,1,,3,\n", revision=2)


def test_checks_look_at_the_rows_alone(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(checks=[{"not_null": ["v"]}])

    warehouse.load(spec, f"{HEADER}I,1,a,1,\nD,2,,1,\n")
    with pytest.raises(GateClosedError):
        warehouse.load(spec, f"{HEADER}U,1,,2,\n", revision=2)
    assert rows(warehouse) == [(1, "a", 1)]


def test_a_target_with_the_op_column_gets_it(warehouse: Warehouse) -> None:
    made(warehouse, "id int PRIMARY KEY, op char(1), v text, ver int, seq int")

    warehouse.load(spec_of(), f"{HEADER}I,1,a,1,\nU,1,b,2,\nD,2,,1,\n")

    assert rows(warehouse, "id, op, v") == [(1, "U", "b")]


def test_an_event_that_cannot_be_read_can_be_set_aside(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of(reject="quarantine", options={"key_before": {"id": "old_id"}})
    good = "".join(f"I,,{n},a,1,\n" for n in range(20))

    effects = warehouse.load(spec, f"op,old_id,id,v,ver,seq\n{good}I,,x,a,1,\nU,3,30,a,2,\n").effects

    assert effects == Effects(inserted=20, duplicate=1, rejected=1)


def test_a_deletion_needs_no_time(warehouse: Warehouse) -> None:
    made(warehouse, "id int PRIMARY KEY, d date, ver int, seq int")
    spec = spec_of(event_time="d")
    warehouse.load(spec, "op,id,d,ver,seq\nI,1,2025-05-01,1,\n")

    assert warehouse.load(spec, "op,id,d,ver,seq\nD,1,,2,\n", revision=2).effects == Effects(deleted=1)


# --- targets as they are ----------------------------------------------------------------------------------------------


def test_a_row_that_moves_between_partitions_exists_once(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE t (id int, v text, ver int, seq int, UNIQUE (id, v)) PARTITION BY LIST (v)")
    warehouse.sql("CREATE TABLE t_a PARTITION OF t FOR VALUES IN ('a'); CREATE TABLE t_b PARTITION OF t DEFAULT")
    spec = spec_of()
    warehouse.load(spec, f"{HEADER}I,1,a,1,\nI,2,a,1,\n")

    effects = warehouse.load(spec, f"{HEADER}U,1,b,2,\nD,2,,2,\n", revision=2).effects

    assert effects == Effects(updated=1, deleted=1)
    assert warehouse.sql("SELECT tableoid::regclass::text, id FROM t") == [("t_b", 1)]


def test_children_of_a_partitioned_table_are_made_and_events_may_lie_in_any(warehouse: Warehouse) -> None:
    types = {"id": "int", "d": "date", "v": "text", "ver": "int"}
    spec = spec_of(
        unique_key=["id", "d"],
        version=["ver"],
        columns=[{"name": name, "data_type": kind} for name, kind in types.items()],
        partition_by={"column": "d", "declarative": True},
    )
    header = "op,id,d,v,ver\n"
    warehouse.load(spec, f"{header}I,1,2025-05-01,a,1\nI,2,2025-05-01,a,1\n")
    warehouse.load(spec, f"{header}I,1,2025-05-02,a,1\n", partition="2025-05-02")

    inside = warehouse.load(spec, f"{header}U,1,2025-05-01,b,2\nD,2,2025-05-01,,2\n", revision=2)
    across = warehouse.load(spec, f"{header}D,1,2025-05-02,,2\nU,2,2025-05-01,late,1\n", revision=3)

    assert inside.effects == Effects(updated=1, deleted=1)
    assert across.effects == Effects(deleted=1, stale=1)
    assert warehouse.sql("SELECT id, d::text, v FROM t") == [(1, "2025-05-01", "b")]


def test_a_dry_run_counts_and_leaves_nothing_behind(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()

    effects = warehouse.load(spec, f"{HEADER}I,1,a,1,\nD,2,,1,\n", dry_run=True).effects

    assert effects == Effects(inserted=1, unchanged=1)
    assert rows(warehouse) == []
    assert warehouse.sql("SELECT to_regclass(%s)", [tombstones(spec)]) == [(None,)]


def test_a_key_that_is_twice_in_the_target_is_refused(warehouse: Warehouse) -> None:
    made(warehouse, "id int, v text, ver int, seq int")
    warehouse.sql("INSERT INTO t VALUES (1, 'a', 1), (1, 'b', 1)")

    with pytest.raises(RepeatedKeyError):
        warehouse.load(spec_of(), f"{HEADER}D,1,,2,\n")


def test_odd_names_and_codes_are_only_names_and_codes(warehouse: Warehouse) -> None:
    warehouse.sql('CREATE TABLE "Odd %s.t" ("I d" int PRIMARY KEY, "v""%%" text, "deleted_at" int)'.replace("%%", "%"))
    spec = LoadSpec(
        table='"Odd %s.t"',
        unique_key=["I d"],
        version=["deleted_at"],
        strategy={"kind": "cdc", "op_column": "o'p", "op_map": {"insert": "'; --", "delete": "100%"}},
    )
    header = '"o\'p","I d","v""%","deleted_at"\n'

    warehouse.load(spec, f"{header}'; --,1,a,1\n'; --,2,b,1\n")
    effects = warehouse.load(spec, f"{header}100%,1,,2\n", revision=2).effects

    assert effects == Effects(deleted=1)
    assert warehouse.sql('SELECT "I d" FROM "Odd %%s.t"'.replace("%%", "%")) == [(2,)]


def test_deletions_free_unique_values_before_inserts_take_them(warehouse: Warehouse) -> None:
    made(warehouse, "id int PRIMARY KEY, v text UNIQUE, ver int, seq int")
    spec = spec_of()
    warehouse.load(spec, f"{HEADER}I,2,mail,1,\n")

    effects = warehouse.load(spec, f"{HEADER}I,1,mail,2,\nD,2,,2,\n", revision=2).effects

    assert effects == Effects(inserted=1, deleted=1)
    assert rows(warehouse) == [(1, "mail", 2)]
    assert warehouse.load(spec, f"{HEADER}U,2,late,1,\n", revision=3).effects == Effects(stale=1)


def test_rows_that_a_trigger_drops_are_rejected(warehouse: Warehouse) -> None:
    made(warehouse)
    warehouse.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1)")
    warehouse.sql(
        "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;"
        "CREATE TRIGGER keep BEFORE DELETE ON t FOR EACH ROW WHEN (old.id = 1) EXECUTE FUNCTION keep()"
    )

    effects = warehouse.load(spec_of(), f"{HEADER}D,1,,2,\nD,2,,2,\n").effects

    assert effects == Effects(deleted=1, rejected=1)
    assert rows(warehouse, "id") == [(1,)]


# --- overlap ----------------------------------------------------------------------------------------------------------


def test_two_writers_with_the_same_keys_end_in_the_same_rows(warehouse: Warehouse) -> None:
    made(warehouse)
    spec = spec_of()
    lanes = [
        [HEADER + "".join(f"{'D' if (n + k + lane) % 3 == 0 else 'U'},{k},{n},{n},{lane}\n" for k in range(20))
         for n in range(6)]
        for lane in range(2)
    ]  # fmt: skip

    def run(lane: int) -> None:
        for number, batch in enumerate(lanes[lane], start=1):
            warehouse.load(spec, batch, partition=f"2025-05-0{lane + 1}", revision=number)

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, (0, 1)))

    greatest = dict.fromkeys(range(20), (5, 1))
    assert rows(warehouse, "id, ver, seq") == [(k, *v) for k, v in greatest.items() if (5 + k + 1) % 3]


# --- the example of the guide -----------------------------------------------------------------------------------------

GUIDE = (Path(__file__).parents[2] / "docs/how-to/cdc.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r'```csv title="(.+?)"\n(.+?)```', GUIDE, re.DOTALL))
EFFECTS = re.findall(r"^\| (\w+\.csv)(?: again)? \| ((?:\d+ \| )+\d+) \|$", GUIDE, re.MULTILINE)


def example(warehouse: Warehouse) -> LoadSpec:
    made(warehouse, "order_id int PRIMARY KEY, status text, commit_version int")
    return spec_of(unique_key=["order_id"], version=["commit_version"])


def test_the_example_of_the_guide_counts_what_it_says(warehouse: Warehouse) -> None:
    spec = example(warehouse)
    revisions = {name: number for number, name in enumerate(FILES, start=1)}

    for name, counts in EFFECTS:
        found = warehouse.load(spec, FILES[name], revision=revisions[name]).effects
        assert " | ".join(str(count) for word, count in found.as_dict().items() if word != "rejected") == counts

    assert len(EFFECTS) == 5
    assert warehouse.sql("SELECT * FROM t") == [(1, "shipped", 40)]


@pytest.mark.parametrize("order", list(permutations(FILES)), ids=" ".join)
def test_the_example_of_the_guide_ends_alike_in_every_order(warehouse: Warehouse, order: tuple[str, ...]) -> None:
    spec = example(warehouse)

    for number, name in enumerate((*order, *order), start=1):
        warehouse.load(spec, FILES[name], revision=number)

    assert warehouse.sql("SELECT * FROM t") == [(1, "shipped", 40)]
