"""Every check against real rows: what it finds, what it says, and how much it reads for that."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from airflow_idempotent.checks.facts import Facts
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.verdict import CheckResult
from airflow_idempotent.engine.gate import evaluate
from airflow_idempotent.engine.session import Session
from airflow_idempotent.errors import GateClosedError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.checks import target_place
from airflow_idempotent.sql.statement import Statement
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

TABLE = """
CREATE TABLE facts (id int, day date, ts timestamptz, amount numeric, rate float8, status text);
INSERT INTO facts VALUES
    (1, '2025-05-01', '2025-05-01 10:00Z', 10, 0.5, 'paid'),
    (2, '2025-05-01', '2025-05-01 11:00Z', -5, 'NaN', 'open'),
    (3, '2025-05-01', '2099-01-01 00:00Z', NULL, NULL, 'lost'),
    (3, '2025-05-01', NULL, 2.50, 1, NULL),
    (4, '2025-05-02', '2025-05-02 10:00Z', 99, 9, 'later');
"""

SAID: list[tuple[Any, str]] = [
    ({"row_count": {"min": 1, "max": 4}}, "passed: row_count(min 1, max 4): 4 rows"),
    (
        {"row_count": {"equals": 2, "where": "status = 'paid' or amount % 2 > 0"}},
        "passed: row_count(equals 2) where status = 'paid' or amount % 2 > 0: 2 rows",
    ),
    ({"not_null": "amount"}, "failed: not_null(amount): 1 of 4 rows have NULL, e.g. (3, NULL)"),
    ({"not_null": {"columns": "amount", "error_if": ">1"}}, "warned: not_null(amount): 1 of 4 rows have NULL, e.g. …"),
    (
        {"not_null": {"columns": "amount", "error_if": ">30%", "warn_if": ">25%"}},
        "passed: not_null(amount): 1 of 4 rows have NULL",
    ),
    (
        {"not_null": {"columns": "rate", "where": "id < 3"}},
        "passed: not_null(rate) where id < 3: 0 of 2 rows have NULL",
    ),
    ({"not_null": {"columns": "rate", "where": "id > 3"}}, "not_evaluated: not_null(rate) where id > 3: no rows"),
    (
        {"null_rate": {"columns": "amount", "max": 0.25}},
        "passed: null_rate(amount, max 0.25): 1 of 4 rows have NULL, 25.00%",
    ),
    (
        {"null_rate": {"columns": "amount", "max": 0.2}},
        "failed: null_rate(amount, max 0.2): 1 of 4 rows have NULL, 25.00%, e.g. …",
    ),
    ({"unique": ["id"]}, "failed: unique(id): 1 keys repeated, e.g. 3"),
    ({"unique": ["id", "status"]}, "passed: unique(id, status): 0 keys repeated"),
    (
        {"unique": {"columns": ["id"], "where": "status is not null"}},
        "passed: unique(id) where status is not null: 0 keys repeated",
    ),
    (
        {"accepted_values": {"column": "status", "values": ["paid", "open"]}},
        "failed: accepted_values(status): 1 of 4 rows have another value, e.g. (3, lost)",
    ),
    (
        {"accepted_values": {"column": "id", "values": [1, "2", 3]}},
        "passed: accepted_values(id): 0 of 4 rows have another value",
    ),
    (
        {"range": {"columns": "amount", "min": 0}},
        "failed: range(amount, min 0): 1 of 4 rows are outside; 1 with NULL, e.g. (2, -5)",
    ),
    (
        {"range": {"columns": "rate", "min": 0}},
        "failed: range(rate, min 0): 1 of 4 rows are outside; 1 with NaN, 1 with NULL, e.g. (2, NaN)",
    ),
    (
        {"range": {"columns": "rate", "min": 0.5, "exclusive": True, "allow_nan": True}},
        "failed: range(rate, above 0.5): 1 of 4 rows are outside; 1 with NaN, 1 with NULL, e.g. (1, 0.5)",
    ),
    (
        {"range": {"columns": "ts", "min": "2025-01-01", "max": "infinity"}},
        "passed: range(ts, min 2025-01-01, max infinity): 0 of 4 rows are outside; 1 with NULL",
    ),
    (
        {"max": {"column": "ts", "less_than": "infinity"}},
        "passed: statistic(max ts, < infinity): max is 2099-01-01 00:00:00+00",
    ),
    (
        {"sum": {"column": "amount", "equal_to": 7, "tolerance": 0.1}},
        "passed: statistic(sum amount, = 7, tolerance 0.1): sum is 7.50",
    ),
    ({"sum": {"column": "amount", "equal_to": 7}}, "failed: statistic(sum amount, = 7): sum is 7.50"),
    ({"distinct_check": {"column": "status", "geq_to": 4}}, "failed: statistic(distinct status, >= 4): distinct is 3"),
    (
        {"min": {"column": "amount", "geq_to": 0, "where": "id = 3 and rate is null"}},
        "not_evaluated: statistic(min amount, >= 0) where id = 3 and rate is null: every amount is NULL",
    ),
    (
        {"freshness": {"column": "ts", "max_age": "13h"}},
        "passed: freshness(ts, max_age 13h): newest is 2025-05-01 11:00:00+00, 13h before 2025-05-02 00:00 UTC; "
        "1 rows lie in the future; 1 have no time",
    ),
    (
        {"freshness": {"column": "ts", "max_age": "12h 59m"}},
        "failed: freshness(ts, max_age 12h 59m): newest is 2025-05-01 11:00:00+00, 13h before …",
    ),
    (
        {"freshness": {"column": "ts", "where": "status is null"}},
        "failed: freshness(ts, max_age 1d) where status is null: no value that can be true; 1 have no time",
    ),
    (
        {"custom_sql": {"name": "debts", "sql": "select m.id from this_model m where m.amount < 0 and m.ts < :end"}},
        'failed: custom_sql(debts): 1 rows returned, e.g. {"id": 2}',
    ),
    (
        {"custom_sql": "select id from this_model where status like 'z%' -- none"},
        "passed: custom_sql(select id from this_model where status like 'z%' -- none): 0 rows returned",
    ),
]


@pytest.fixture
def facts(warehouse: Warehouse) -> Warehouse:
    warehouse.sql(TABLE)
    return warehouse


def checked(warehouse: Warehouse, *checks: Any, **words: Any) -> list[CheckResult]:
    """The results of the checks on the rows of the day, whatever they are."""
    spec = LoadSpec(table="facts", checks=checks, unique_key="id", partition_by={"column": "day"}, **words)
    try:
        found = warehouse.validate(spec).checks
    except GateClosedError as closed:
        found = closed.results
    return [result for result in found if result.check not in ("reconcile", "not_empty")]


def test_each_check_says_what_it_found_in_the_partition(facts: Warehouse) -> None:
    results = checked(facts, *(check for check, _ in SAID))

    for result, (_, said) in zip(results, SAID, strict=True):
        told = f"{result.verdict}: {result}"
        assert told.startswith(said.removesuffix("…")) if said.endswith("…") else told == said


def test_the_query_of_a_result_finds_the_same_rows_when_it_is_run_as_it_stands(facts: Warehouse) -> None:
    checked(facts, *(check for check, _ in SAID))

    recorded = facts.sql("SELECT check_name, observed, samples, query FROM airflow_idempotent.checks WHERE query <> ''")

    assert len(recorded) == len(SAID)
    for name, observed, samples, query in recorded:
        found = facts.sql(query)
        if samples and not name.startswith("null_rate"):
            assert len(found) == observed


def test_a_result_is_bound_to_the_partition_and_what_was_in_it(facts: Warehouse) -> None:
    checked(facts, {"row_count": {"min": 1}})

    columns = "partition_key, step, digest, check_name, observed"
    [(*bound, digest, name, observed)] = facts.sql(f"SELECT {columns} FROM airflow_idempotent.checks WHERE query <> ''")

    assert (*bound, name, observed) == (DAY, "validate", "row_count(min 1)", 4)
    assert digest.startswith("4:")


def test_rows_that_break_a_check_are_kept_up_to_the_limit(facts: Warehouse) -> None:
    facts.sql("INSERT INTO facts SELECT n, '2025-05-01' FROM generate_series(10, 19) n")

    checked(facts, {"not_null": {"columns": "amount", "severity": "warn", "store_failures": {"limit": 3}}})

    rows = facts.sql(
        "SELECT partition_key, check_name, number, content FROM airflow_idempotent.check_failures ORDER BY 3"
    )
    assert [row[:3] for row in rows] == [(DAY, "not_null(amount)", number) for number in (1, 2, 3)]
    assert all(row[3].keys() == {"id", "day", "ts", "amount", "rate", "status"} for row in rows)


# --- how much is read -------------------------------------------------------------------------------------------------


class Watching(Session):
    """A session that keeps what it was asked."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self.asked: list[Statement] = []

    def query(self, statement: Statement) -> list[tuple[Any, ...]]:
        self.asked.append(statement)
        return super().query(statement)


PARTED = """
CREATE TABLE facts (id int, day date, email text, amount numeric, status text, PRIMARY KEY (day, id))
    PARTITION BY RANGE (day);
CREATE TABLE facts_1 PARTITION OF facts FOR VALUES FROM ('2025-05-01') TO ('2025-05-02');
CREATE TABLE facts_2 PARTITION OF facts FOR VALUES FROM ('2025-05-02') TO ('2025-05-03');
INSERT INTO facts SELECT n, '2025-05-01', 'm' || n, n, 'ok' FROM generate_series(1, 500) n;
INSERT INTO facts SELECT n, '2025-05-02', NULL, NULL, 'bad' FROM generate_series(1, 500) n;
"""

TWENTY = [
    {"row_count": {"min": 1}},
    {"unique": ["day", "id"]},
    {"unique": ["email"]},
    {"unique": {"columns": ["email", "status"], "where": "amount > 3"}},
    *({"not_null": name} for name in ("id", "day", "email", "amount", "status")),
    *({"null_rate": {"columns": name, "max": 0.1}} for name in ("email", "amount", "status")),
    {"accepted_values": {"column": "status", "values": ["ok"]}},
    {"range": {"columns": ["amount"], "min": 0, "max": 1000}},
    {"range": {"columns": ["id"], "min": 0}},
    {"min": {"column": "amount", "geq_to": 0}},
    {"max": {"column": "amount", "leq_to": 1000}},
    {"sum": {"column": "amount", "geq_to": 0}},
    {"avg": {"column": "amount", "geq_to": 0}},
    {"freshness": "day"},
]


def scans(plan: Any) -> Iterator[str]:
    """The tables that a plan reads, once for each time."""
    if "Relation Name" in plan:
        yield plan["Relation Name"]
    for below in plan.get("Plans", ()):
        yield from scans(below)


def test_twenty_checks_read_the_partition_twice_and_nothing_else(connect_once: Connect) -> None:
    Warehouse(connect_once).sql(PARTED)
    spec = LoadSpec(table="facts", unique_key=["day", "id"], partition_by={"column": "day"}, checks=TWENTY)
    partition = spec.partition(DAY)
    with closing(connect_once()) as connection:
        session = Watching(connection)
        with session.transaction():
            shape = session.shape(spec.relation)
            assert shape
            session.asked.clear()
            results = evaluate(session, spec.checks, target_place(shape, "day", partition), Facts(partition, shape))
            asked = list(session.asked)
            plans = [
                session.query(Statement(f"EXPLAIN (FORMAT json) {statement.sql}", statement.binds))[0][0]
                for statement in asked
            ]

    assert [str(result) for result in results if result.verdict != "passed"] == []
    assert len(results) == 20
    assert [list(scans(plan[0]["Plan"])) for plan in plans] == [["facts_1"], ["facts_1"]]


def test_what_an_index_keeps_unique_is_not_read_again(connect_once: Connect) -> None:
    warehouse = Warehouse(connect_once)
    warehouse.sql("CREATE TABLE facts (id int PRIMARY KEY, code int UNIQUE, day date)")
    warehouse.sql("INSERT INTO facts VALUES (1, NULL, '2025-05-01'), (2, NULL, '2025-05-01')")

    told = [str(result) for result in checked(warehouse, {"unique": ["id", "day"]}, {"unique": ["code"]})]

    assert told == [
        "unique(id, day): 0 keys repeated: an index keeps it so",
        "unique(code): 1 keys repeated, 1 of them with NULL, e.g. NULL",
    ]


# --- compared with earlier publications -------------------------------------------------------------------------------


COUNTED = {"unique_key": ["id"], "partition_by": {"column": "day"}, "strategy": "insert_overwrite"}
SCHEDULED, BACKFILL = Attempt(lane="scheduled"), Attempt(lane="backfill")


def batch(rows: int, day: str = DAY) -> str:
    return "id,day\n" + "".join(f"{number},{day}\n" for number in range(rows))


@pytest.fixture
def days(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE facts (id int, day date, PRIMARY KEY (day, id))")
    return found


def count_against(what: str, **options: Any) -> LoadSpec:
    return LoadSpec(table="facts", checks=[{"row_count": {"against": what, **options}}], **COUNTED)


def test_a_row_count_is_compared_with_the_version_before_and_never_with_itself(days: Warehouse) -> None:
    spec = count_against("previous", tolerance=0.1)
    first = days.load(spec, batch(20))
    second = days.load(spec, batch(19), revision=2)

    with pytest.raises(GateClosedError) as caught:
        days.load(spec, batch(10), revision=3)
    again = days.load(spec, batch(19), revision=2)

    assert first.checks[0].message == (
        "20 rows, no earlier version of it was published by the schedule or by hand to compare with"
    )
    assert first.checks[0].verdict == "not_evaluated"
    assert again.checks[0].message == second.checks[0].message == "19 rows, 20 in 2025-05-01 (batch 20250501_01)"
    assert "10 rows, 19 in 2025-05-01 (batch 20250501_02)" in str(caught.value)


def test_a_backfill_is_no_baseline(days: Warehouse) -> None:
    spec = count_against("previous", tolerance=0.1)
    days.load(spec, batch(20), attempt=SCHEDULED)
    days.load(LoadSpec(table="facts", **COUNTED), batch(2), revision=2, attempt=BACKFILL)

    receipt = days.load(spec, batch(21), revision=3, attempt=SCHEDULED)

    assert receipt.checks[0].message == "21 rows, 20 in 2025-05-01 (batch 20250501_01)"


def test_a_row_count_is_compared_with_the_same_weekday(days: Warehouse) -> None:
    spec = count_against("same_weekday")
    for day, rows in (("2025-04-17", 5), ("2025-04-23", 7), ("2025-04-25", 9)):
        days.load(LoadSpec(table="facts", **COUNTED), batch(rows, day), partition=day)

    manifest = days.batches.land(spec, batch(5))

    for receipt in (days.load_again(spec, manifest), days.validate(spec, manifest)):
        assert receipt.checks[0].message == "5 rows, 5 in 2025-04-17 (batch 20250417_01)"


def test_a_row_count_against_the_manifest_tells_what_duplicates_cost(days: Warehouse) -> None:
    tolerant = days.load(count_against("manifest", tolerance=0.1), batch(9) + f"1,{DAY}\n")

    assert (tolerant.checks[0].verdict, tolerant.checks[0].message) == ("passed", "9 rows, 10 in the manifest")
    with pytest.raises(GateClosedError, match="9 rows, 10 in the manifest"):
        days.load(count_against("manifest"), batch(9, "2025-05-02") + "1,2025-05-02\n", partition="2025-05-02")


@pytest.mark.parametrize(
    ("kind", "values", "keys"),
    [
        ("int", "(1), (2), (NULL)", 0),
        ("int", "(1), (NULL), (NULL)", 1),
        ("numeric", "(1.0), (1.00)", 1),
        ("float8", "(0), ('-0')", 1),
        ("float8", "('NaN'), ('NaN')", 1),
        ("char(3)", "('a'), ('a  ')", 1),
        ("jsonb", """('{"a": 1, "b": 2}'), ('{"b": 2, "a": 1}')""", 1),
        ("inet", "('10.0.0.1'), ('10.0.0.1/32')", 1),
        ("int[]", "('{1,2}'), ('{1,2}'), ('{2,1}')", 1),
        ("interval", "('1 day'), ('24 hours')", 1),
    ],
)
def test_values_that_are_equal_are_one_key_however_they_are_counted(
    connect_once: Connect, kind: str, values: str, keys: int
) -> None:
    warehouse = Warehouse(connect_once)
    warehouse.sql(
        f"CREATE TABLE facts (id int GENERATED ALWAYS AS IDENTITY, day date DEFAULT '2025-05-01', key {kind})"
    )
    warehouse.sql(f"INSERT INTO facts (key) VALUES {values}")

    alone, beside = checked(warehouse, {"unique": "key"}, {"unique": ["key", "day"]})

    assert (alone.observed, beside.observed) == (keys, keys)
