"""Targets as people make them, for every strategy: types, names, keys, columns that fill themselves, triggers."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from airflow_idempotent.errors import ConstraintError, PrecisionError
from airflow_idempotent.strategies import STRATEGIES
from tests.faults import Watched
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect
from tests.tried import TRIED, every_strategy

NEXT = "2025-05-02"


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    return Warehouse(connect_once)


def test_every_strategy_is_tried() -> None:
    assert set(STRATEGIES) <= set(TRIED)


# --- types -----------------------------------------------------------------------------------------------------------

TYPES = [
    ("json", '{"a":  1, "a": 2}', "[null]"),
    ("jsonb", '{"a": 1.0}', '"text"'),
    ("int[]", "{1,NULL,3}", "{}"),
    ("text[]", '{"a,b",NULL,"NULL",""}', '{{a},{"\\"q\\""}}'),
    ("bytea", "\\x00ff5c", "\\x"),
    ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "00000000-0000-0000-0000-000000000000"),
    ("mood", "sad", "very happy"),
    ("positive", "1", "2147483647"),
    ("interval", "1 mon -1 days +02:03:04.5", "-00:00:01"),
    ("int4range", "[1,5)", "empty"),
    ("tstzrange", '["2025-05-01 00:00:00+00",infinity]', "(,)"),
    ("int4multirange", "{[1,2),[4,6)}", "{}"),
    ("numeric", "NaN", "-Infinity"),
    ("numeric(8,3)", "12345.678", "NaN"),
    ("numeric(3,-2)", "12300", "99900"),
    ("float8", "NaN", "-Infinity"),
    ("float4", "0.1", "-0"),
    ("timestamptz", "infinity", "2025-05-01 10:00:00.123456+02"),
    ("date", "-infinity", "0044-03-15 BC"),
    ("timetz", "10:00:00+02", "24:00:00-05"),
    ("boolean", "t", "f"),
    ("inet", "192.168.0.1/24", "::1"),
    ("point", "(1,2)", "(NaN,0)"),
    ("polygon", "((0,0),(1,1),(1,0))", "((0,0))"),
    ("char(5)", "a", "abcde"),
    ('"char"', "x", "y"),
    ("bit(3)", "101", "000"),
    ("bit varying", "1", "10101"),
    ("tsvector", "'a':1 'b':2", ""),
    ("pair", '(1,"x,y")', "(,)"),
    ("name", "n", "m"),
    ("citext", "Case", "case"),
    ("hstore", '"a"=>NULL', ""),
]
MADE = """
CREATE EXTENSION citext; CREATE EXTENSION hstore;
CREATE TYPE mood AS ENUM ('sad', 'very happy');
CREATE DOMAIN positive AS int CHECK (value > 0);
CREATE TYPE pair AS (n int, t text)
"""


@every_strategy
def test_values_of_every_type_arrive_and_a_second_run_writes_nothing(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(MADE)
    warehouse.sql(tried.ddl(", ".join(f"c{n} {kind}" for n, (kind, _, _) in enumerate(TYPES))))
    header = "id,ver,d," + ",".join(f"c{n}" for n in range(len(TYPES)))
    firsts, seconds = [first for _, first, _ in TYPES], [second for _, _, second in TYPES]
    form = {"null": "∅"}  # an empty text is a value here
    batches = [
        tried.csv(header, [(1, 1, DAY, *firsts), (2, 1, DAY, *seconds), (3, 1, DAY, *["∅"] * len(TYPES))]),
        tried.csv(header, [(1, 2, DAY, *seconds), (2, 2, DAY, *["∅"] * len(TYPES)), (3, 2, DAY, *firsts)]),
    ]
    spec = tried.spec()
    texts = ", ".join(f"c{n}::text" for n in range(len(TYPES)))

    def printed(values: Sequence[str]) -> tuple[Any, ...]:
        asked = ", ".join(f"CAST(CAST(%s AS {kind}) AS text)" for kind, _, _ in TYPES)
        return warehouse.sql(f"SELECT {asked}", values)[0]

    expected = [printed(firsts), printed(seconds), (None,) * len(TYPES)]
    for revision, batch in enumerate(batches, start=1):
        warehouse.load(spec, batch, revision=revision, **form)
        before = warehouse.physical("t", "t.id")
        assert warehouse.load(spec, batch, revision=revision, **form).effects.touched == 0
        assert warehouse.physical("t", "t.id") == before
        if name == "insert_only":
            break
        assert warehouse.sql(f"SELECT {texts} FROM t WHERE ver = {revision} ORDER BY id") == expected
        expected = [expected[1], expected[2], expected[0]]


@every_strategy
def test_text_keys_that_differ_in_case_space_or_composition_are_other_keys(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl(base="id text, ver int, d date"))
    keys = ["a", "A", "a ", " a", "é", "e\u0301", "ss", "ß", "", "a\tb", "a\nb", "\u200ba"]
    batch = tried.batch(*((key, 1, str(number)) for number, key in enumerate(keys)))

    assert warehouse.load(tried.spec(), batch, null="∅").effects.inserted == len(keys)
    assert warehouse.load(tried.spec(), batch, null="∅").effects.touched == 0
    assert dict(warehouse.sql("SELECT id, v FROM t")) == {key: str(number) for number, key in enumerate(keys)}


@every_strategy
def test_keys_that_the_type_holds_for_equal_are_one_key(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    if not tried.row_key:
        pytest.skip("has no key")
    warehouse.sql("CREATE EXTENSION citext")
    warehouse.sql(tried.ddl(base="id citext, ver int, d date"))
    first, second = tried.batch(("a", 1, "x"), ("B", 1, "y")), tried.batch(("A", 2, "z"), ("b", 2, "y"))
    spec = tried.spec()

    warehouse.load(spec, first)
    warehouse.load(spec, second, revision=2)
    before = warehouse.physical("t")

    assert warehouse.load(spec, second, revision=2).effects.touched == 0
    assert warehouse.physical("t") == before
    assert warehouse.sql("SELECT count(DISTINCT id), count(*) FROM t") == [(2, 4 if name == "scd2" else 2)]


@every_strategy
@pytest.mark.parametrize("kind", ["numeric(8,2)", "money2"])
def test_digits_that_the_column_would_not_keep_are_refused(warehouse: Warehouse, name: str, kind: str) -> None:
    tried = TRIED[name]
    warehouse.sql("CREATE DOMAIN money2 AS numeric(8,2) CHECK (value > 0)")
    warehouse.sql(tried.ddl(f"v {kind}"))

    with pytest.raises(PrecisionError):
        warehouse.load(tried.spec(), tried.batch((1, 1, "1.005")))

    batch = tried.batch((1, 1, "1.50"), (2, 1, "2"))
    assert warehouse.load(tried.spec(), batch).effects.inserted == 2
    assert warehouse.load(tried.spec(), batch).effects.touched == 0
    if kind == "money2":
        with pytest.raises(ConstraintError, match="money2_check"):
            warehouse.load(tried.spec(), tried.batch((1, 2, "1"), (2, 2, "-1"), (3, 1, "-1")), revision=2)


KEYS = [
    ("mood", "sad", "very happy"),
    ("bytea", "\\x00", "\\xff"),
    ("interval", "1 day", "1 mon"),
    ("int4range", "empty", "[1,5)"),
    ("jsonb", '{"a": 1}', "[]"),
    ("numeric(8,3)", "1.500", "NaN"),
    ("timestamptz", "-infinity", "2025-05-01 10:00:00+02"),
    ("citext", "a", "B"),
    ("pair", "(1,x)", "(2,)"),
]


@every_strategy
@pytest.mark.parametrize("role", ["id", "ver"])
def test_keys_and_versions_may_be_of_every_type_that_has_an_order(warehouse: Warehouse, name: str, role: str) -> None:
    tried = TRIED[name]
    warehouse.sql(MADE)
    for number, (kind, *values) in enumerate(KEYS):
        low, high = (
            text for (text,) in warehouse.sql("SELECT x FROM unnest(%s::text[]) x ORDER BY x::" + kind, [values])
        )
        types = {"id": "int", "ver": "int"} | {role: kind}
        table = f"t{number}"
        own = tried.own.replace(" int", f" {types['ver']}")
        base = f"id {types['id']}, ver {types['ver']}, d date"
        warehouse.sql(replace(tried, own=own).ddl(table=table, base=base))
        spec = tried.spec(table)
        if role == "id":
            first, second = tried.batch((low, 1, "a"), (high, 1, "b")), tried.batch((low, 2, "A"), (high, 1, "b"))
        else:
            first, second = tried.batch((1, low, "a"), (2, low, "b")), tried.batch((1, high, "A"), (2, low, "b"))
        for revision, text in enumerate((first, second), start=1):
            warehouse.load(spec, text, revision=revision)
            assert warehouse.load(spec, text, revision=revision).effects.touched == 0, kind

        found = [row for (row,) in warehouse.sql(f"SELECT v FROM {table} ORDER BY id, ver")]
        expected = {"insert_only": ["a", "b"], "scd2": ["a", "A", "b"]}.get(name, ["A", "b"])
        assert sorted(found) == sorted(expected), kind


# --- names -----------------------------------------------------------------------------------------------------------

TOUCHED = {"insert_only": 0, "append": 2, "scd2": 2}
"""Rows of the table that one changed row of a batch writes, where that is not one."""
NAMES = ["user", '"Sales-2024"."we""ird"', "p" * 63, '"' + "ж" * 31 + '"."ß%s"', '"a.b".":x %(y)s"']


@every_strategy
@pytest.mark.parametrize("table", NAMES)
def test_names_are_taken_as_they_are(warehouse: Warehouse, name: str, table: str) -> None:
    tried = TRIED[name]
    key, version, value, day = "select", "Ver 100%", '"); -- %(v)s', "ж" * 31
    words = dict(tried.words) | ({"unique_key": [key], "version": [version]} if "unique_key" in tried.words else {})
    if name == "insert_overwrite":
        words["partition_by"] = {"column": day}
    columns = [
        {"name": key, "data_type": "int"},
        {"name": version, "data_type": "int"},
        {"name": day, "data_type": "date"},
        {"name": value, "data_type": "text"},
    ]
    checks = [{"not_null": [value]}] + ([{"unique": [key]}] if tried.row_key else [])
    spec = tried.spec(table if "." in table else f"public.{table}", **{**words, "columns": columns, "checks": checks})
    header = f'{key},{version},{day},"{value.replace(chr(34), chr(34) * 2)}"'
    batch = tried.csv(header, [(1, 1, DAY, "a"), (2, 1, DAY, "b")])

    assert warehouse.load(spec, batch).effects.inserted == 2
    assert warehouse.load(spec, batch).effects.touched == 0
    newer = tried.csv(header, [(1, 2, DAY, "A"), (2, 1, DAY, "b")])
    assert warehouse.load(spec, newer, revision=2).effects.touched == TOUCHED.get(name, 1)
    assert warehouse.load(spec, newer, revision=2).effects.touched == 0


# --- columns that the batch has not ----------------------------------------------------------------------------------


@every_strategy
def test_columns_that_fill_themselves_do_and_keep_what_they_hold(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(
        tried.ddl(
            "v text, sid bigint GENERATED ALWAYS AS IDENTITY, low text GENERATED ALWAYS AS (lower(v)) STORED, "
            "status text NOT NULL DEFAULT 'new', at timestamptz NOT NULL DEFAULT now(), "
            "made uuid DEFAULT gen_random_uuid()"
        )
    )
    spec = tried.spec()
    first = tried.batch((1, 1, "A"), (2, 1, "B"), (3, 1, "C"))
    warehouse.load(spec, first)
    warehouse.sql("UPDATE t SET status = 'paid' WHERE id IN (1, 2)")
    kept = "SELECT id, sid, status, at, made FROM t WHERE id IN (1, 3) ORDER BY id"
    before = warehouse.sql(kept)

    assert warehouse.load(spec, first).effects.touched == 0
    warehouse.load(spec, tried.batch((1, 1, "A"), (2, 2, "Z"), (3, 1, "C"), (4, 1, "D")), revision=2)

    assert warehouse.sql(kept) == before
    assert warehouse.sql("SELECT low, status FROM t WHERE id = 4") == [("d", "new")]
    assert warehouse.sql("SELECT count(*) - count(DISTINCT sid), count(*) - count(DISTINCT made) FROM t") == [(0, 0)]
    if name not in ("insert_only", "append", "scd2"):
        status = "new" if name == "delete_insert" else "paid"  # a row of its own, not the old one changed
        assert warehouse.sql("SELECT low, status FROM t WHERE id = 2") == [("z", status)]


@every_strategy
def test_an_identity_that_may_be_given_takes_what_the_batch_gives(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl("v text, sid int GENERATED BY DEFAULT AS IDENTITY"))
    batch = tried.csv("id,ver,d,v,sid", [(1, 1, DAY, "a", 70), (2, 1, DAY, "b", 71)])

    warehouse.load(tried.spec(), batch)

    assert warehouse.load(tried.spec(), batch).effects.touched == 0
    assert warehouse.sql("SELECT id, sid FROM t ORDER BY 1") == [(1, 70), (2, 71)]


@every_strategy
def test_a_virtual_column_is_computed_on_the_way_out(warehouse: Warehouse, name: str) -> None:
    if warehouse.sql("SELECT current_setting('server_version_num')::int")[0][0] < 180000:
        pytest.skip("virtual columns came with PostgreSQL 18")
    tried = TRIED[name]
    warehouse.sql(tried.ddl("v text, low text GENERATED ALWAYS AS (lower(v)) VIRTUAL"))
    batch = tried.batch((1, 1, "A"))

    warehouse.load(tried.spec(), batch)

    assert warehouse.load(tried.spec(), batch).effects.touched == 0
    assert warehouse.sql("SELECT low FROM t") == [("a",)]


# --- partitioned tables ----------------------------------------------------------------------------------------------

CHILDREN = (
    f"CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('{DAY}') TO ('{NEXT}')",
    "CREATE TABLE t_rest PARTITION OF t DEFAULT",
)


@every_strategy
@pytest.mark.parametrize("indexed", [True, False])
def test_a_row_that_moves_between_partitions_is_there_once(warehouse: Warehouse, name: str, indexed: bool) -> None:
    tried = TRIED[name]
    if not tried.shares_keys:
        pytest.skip("a partition is what its own batches say")
    unique = f", UNIQUE ({', '.join(tried.row_key)}, d)" if indexed else ""
    own = f", {tried.own}" if tried.own else ""
    warehouse.sql(f"CREATE TABLE t (id int, ver int, d date, v text{own}{unique}) PARTITION BY RANGE (d)")
    for child in CHILDREN:
        warehouse.sql(child)
    spec = tried.spec()
    stays, moved = (2, 1, DAY, "stays"), (1, 2, NEXT, "moved")
    warehouse.load(spec, tried.csv("id,ver,d,v", [(1, 1, DAY, "first"), stays]))

    batch = tried.csv("id,ver,d,v", [moved, stays])
    warehouse.load(spec, batch, revision=2)
    assert warehouse.load(spec, batch, revision=2).effects.touched == 0

    found = warehouse.sql("SELECT tableoid::regclass::text, v FROM t WHERE id = 1 ORDER BY ver")
    assert found == {
        "insert_only": [("t_1", "first")],
        "scd2": [("t_1", "first"), ("t_rest", "moved")],
    }.get(name, [("t_rest", "moved")])
    assert warehouse.sql("SELECT count(*) FROM t WHERE id = 2") == [(1,)]


# --- without and with too many unique indexes ------------------------------------------------------------------------


@every_strategy
def test_without_unique_index_it_is_safe_and_the_log_says_once_what_would_help(
    warehouse: Warehouse, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl(key=""))
    spec = tried.spec()
    batch = tried.batch((1, 1, "a"), (2, 1, "b"))

    with caplog.at_level(logging.INFO):
        warehouse.load(spec, batch)

    advice = [record.message for record in caplog.records if "CREATE UNIQUE INDEX" in record.message]
    if tried.shares_keys:
        names = ", ".join(f'"{column}"' for column in tried.row_key)
        assert len(advice) == 1
        [statement] = re.findall(r"CREATE UNIQUE INDEX [^;]*;?", advice[0])
        assert statement.endswith(f'"public"."t"({names})')
        caplog.clear()
        autocommitted(warehouse, statement)
    else:
        assert advice == []
    with caplog.at_level(logging.INFO):
        assert warehouse.load(spec, batch).effects.touched == 0
    assert "CREATE UNIQUE INDEX" not in caplog.text


def autocommitted(warehouse: Warehouse, text: str) -> None:
    """As somebody would type it, outside of a transaction."""
    connection = warehouse.connect()
    connection.autocommit = True
    connection.cursor().execute(text)


@every_strategy
def test_a_second_unique_constraint_refuses_and_nothing_is_written(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl("v text CONSTRAINT one_v UNIQUE"))
    spec = tried.spec()
    warehouse.load(spec, tried.batch((1, 1, "a"), (2, 1, "b")))
    before = warehouse.physical("t")

    with pytest.raises(ConstraintError, match="one_v"):
        warehouse.load(spec, tried.batch((1, 1, "a"), (3, 1, "x"), (4, 1, "x")), revision=2)

    assert warehouse.physical("t") == before
    assert [event[3] for event in warehouse.events("public.t")] == ["published", "failed"]


# --- triggers --------------------------------------------------------------------------------------------------------

FIRED = """
CREATE TABLE fired (what text, op text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO fired VALUES (TG_LEVEL, TG_OP); RETURN NULL; END $$;
CREATE TRIGGER each_row AFTER INSERT OR UPDATE OR DELETE ON t FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER each_statement AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON t
FOR EACH STATEMENT EXECUTE FUNCTION note()
"""


@every_strategy
@pytest.mark.parametrize("checked", [False, True])
def test_no_trigger_fires_where_nothing_changes(warehouse: Warehouse, name: str, checked: bool) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl())
    warehouse.sql(FIRED)
    spec = tried.spec(checks=[{"row_count": {"min": 1}}] if checked else [])
    first = tried.batch((1, 1, "a"), (2, 1, "b"))
    second = tried.batch((1, 2, "A"), (2, 1, "b"), (3, 1, "c"))
    warehouse.load(spec, first)
    effects = warehouse.load(spec, second, revision=2).effects
    rows = sum(count for (count,) in warehouse.sql("SELECT count(*) FROM fired WHERE what = 'ROW'"))
    assert rows == 2 + effects.touched
    warehouse.sql("TRUNCATE fired")

    assert warehouse.load(spec, second, revision=2).effects.touched == 0
    assert warehouse.sql("SELECT * FROM fired") == []

    assert warehouse.load(spec, first, revision=1).effects.touched == 0
    assert warehouse.sql("SELECT * FROM fired WHERE what = 'ROW'") == []


# --- sessions with a past --------------------------------------------------------------------------------------------

MAKES = re.compile(r'CREATE TEMPORARY (TABLE|SEQUENCE) (?:"?pg_temp"?\.)?"?(\w+)"?')


def made_by(warehouse: Warehouse, load: Any) -> Iterator[tuple[str, str]]:
    """The temporary things a load makes."""
    seen: list[str] = []
    load(lambda: Watched(warehouse.connect(), seen.append))
    for event in seen:
        if event.startswith("before "):
            yield from MAKES.findall(event)


@every_strategy
def test_what_others_left_in_the_session_is_in_nobodys_way(warehouse: Warehouse, name: str) -> None:
    tried = TRIED[name]
    warehouse.sql(tried.ddl())
    warehouse.sql("CREATE SCHEMA other; CREATE TABLE other.t (nothing int)")
    spec = tried.spec()
    first, second = tried.batch((1, 1, "a"), (2, 1, "b")), tried.batch((1, 2, "A"), (3, 1, "c"))
    made = set(made_by(warehouse, lambda connect: warehouse.load(spec, first, connect=connect)))
    made |= set(made_by(warehouse, lambda connect: warehouse.load(spec, second, revision=2, connect=connect)))
    assert len(made) >= 2
    after = warehouse.sql("SELECT id, ver, v FROM t ORDER BY 1, 2")
    warehouse.sql("TRUNCATE t; DROP SCHEMA airflow_idempotent CASCADE")

    def littered() -> Any:
        connection = warehouse.connect()
        cursor = connection.cursor()
        cursor.execute("SET search_path TO other, public")
        for kind, leftover in [*made, ("TABLE", "t"), ("TABLE", "events"), ("TABLE", "pg_class")]:
            cursor.execute(f'CREATE TEMPORARY {kind} "{leftover}"{" (other int)" if kind == "TABLE" else ""}')
        connection.commit()
        return connection

    warehouse.load(spec, first, connect=littered)
    warehouse.load(spec, second, revision=2, connect=littered)

    assert warehouse.load(spec, second, revision=2, connect=littered).effects.touched == 0
    assert warehouse.sql("SELECT id, ver, v FROM t ORDER BY 1, 2") == after
    assert warehouse.sql("SELECT * FROM other.t") == []
