"""Checks that compare a partition with something else: its own input, earlier publications, other tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from airflow_idempotent.checks.expression import as_number
from airflow_idempotent.core.step import Attempt
from airflow_idempotent.core.verdict import CheckResult
from airflow_idempotent.errors import CheckQueryError, GateClosedError
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.statement import statement
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import Connect

GUIDE = Path(__file__).parents[2] / "docs/how-to/compare.md"


def spec(*checks: Any, **options: Any) -> LoadSpec:
    given = {"table": "orders", "unique_key": ["id"], "version": ["ver"], "event_time": "d", "checks": checks}
    return LoadSpec(**(given | options))


@pytest.fixture
def warehouse(connect_once: Connect) -> Warehouse:
    found = Warehouse(connect_once)
    found.sql("CREATE TABLE orders (id int PRIMARY KEY, d date NOT NULL, amount numeric, country text, ver int)")
    return found


def text(*rows: tuple[Any, ...], day: str = DAY) -> str:
    """A batch of rows (id, amount, country, ver)."""
    lines = (",".join(map(str, (number, day, *values))) for number, *values in rows)
    return "\n".join(("id,d,amount,country,ver", *lines)) + "\n"


def many(count: int, amount: str = "7", country: str = "de", ver: int = 1, day: str = DAY, first: int = 0) -> str:
    """A batch of so many rows; ``amount`` and ``country`` are computed from the number g."""
    rows = [(first + g, eval(amount, {"g": g}), country if g % 3 else "fr", ver) for g in range(count)]
    return text(*rows, day=day)


def loaded(warehouse: Warehouse, wanted: LoadSpec, *texts: str, **options: Any) -> CheckResult:
    """What the first check says before the gate, whether it closes it or not."""
    try:
        return warehouse.load(wanted, *texts, **options).checks[0]
    except GateClosedError as closed:
        return closed.results[0]


def validated(warehouse: Warehouse, wanted: LoadSpec, manifest: Any = None, **options: Any) -> CheckResult:
    """What the first check says of what is published."""
    try:
        return warehouse.validate(wanted, manifest, **options).checks[0]
    except GateClosedError as closed:
        return closed.results[0]


def said(result: CheckResult) -> str:
    return f"{result.verdict}: {result.message}"


# --- aggregate --------------------------------------------------------------------------------------------------------

TOTAL = {"sql": "sum(amount)", "against": "source", "tolerance": 0.01}


def test_the_total_of_what_is_published_is_that_of_what_landed(warehouse: Warehouse) -> None:
    wanted = spec({"aggregate": TOTAL})
    manifest = warehouse.batches.land(wanted, text((1, 10, "de", 1), (2, 20, "fr", 1)))

    receipt = warehouse.load_again(wanted, manifest)

    assert said(receipt.checks[0]) == "passed: 30 here, 30 in the batch as it landed"
    assert said(validated(warehouse, wanted, manifest)) == "passed: 30 here, 30 in the batch as it landed"
    warehouse.sql("UPDATE orders SET amount = 25 WHERE id = 2")
    assert said(validated(warehouse, wanted, manifest)) == ("failed: 35 here, 30 in the batch as it landed, +16.667%")


def test_rows_that_lost_to_another_of_their_key_are_missing_in_the_total(warehouse: Warehouse) -> None:
    result = loaded(warehouse, spec({"aggregate": TOTAL}), text((1, 10, "de", 1), (1, 90, "de", 2)))

    assert said(result) == "failed: 90 here, 100 in the batch as it landed, -10.000%"
    assert (result.observed, result.expected) == (90, 100)
    assert warehouse.sql("SELECT count(*) FROM orders") == [(0,)]


def test_a_partition_with_rows_of_other_batches_is_not_compared_with_one_of_them(warehouse: Warehouse) -> None:
    wanted = spec({"aggregate": TOTAL})
    warehouse.load(wanted, text((1, 10, "de", 1)))
    manifest = warehouse.batches.land(wanted, text((2, 20, "de", 1)), revision=2)
    warehouse.load_again(wanted, manifest)

    assert said(validated(warehouse, wanted, manifest)) == (
        "not_evaluated: the partition holds rows of other batches, too"
    )


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({}, "failed"),
        ({"tolerance": 0.09}, "failed"),
        ({"tolerance": 0.1}, "passed"),
        ({"absolute_tolerance": 1.99}, "failed"),
        ({"absolute_tolerance": 2}, "passed"),
        ({"tolerance": 0.01, "absolute_tolerance": 2}, "passed"),
        ({"severity": "warn"}, "warned"),
        ({"where": "country = 'de'"}, "passed"),
    ],
)
def test_the_same_partition_of_another_table_is_compared(
    warehouse: Warehouse, options: dict[str, Any], verdict: str
) -> None:
    warehouse.sql("CREATE SCHEMA sales")
    warehouse.sql("CREATE TABLE sales.lines (d timestamptz, amount int, country text)")
    warehouse.sql(
        "INSERT INTO sales.lines VALUES ('2025-05-01 00:00+00', 10, 'de'), ('2025-05-01 23:59+00', 10, 'fr'), "
        "('2025-05-02 00:00+00', 1000, 'de'), ('2025-04-30', 1000, 'de')"
    )
    wanted = spec({"aggregate": {"sql": "SUM( amount )", "against": "sales.lines", **options}})

    assert loaded(warehouse, wanted, text((1, 10, "de", 1), (2, 12, "fr", 1))).verdict == verdict


def test_another_table_that_is_not_there_or_has_no_such_partition_fails(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE other (amount int)")
    batch = text((1, 10, "de", 1))

    assert said(loaded(warehouse, spec({"aggregate": {"sql": "sum(amount)", "against": "public.nowhere"}}), batch)) == (
        "failed: not compared: public.nowhere does not exist"
    )
    assert said(loaded(warehouse, spec({"aggregate": {"sql": "sum(amount)", "against": "public.other"}}), batch)) == (
        "failed: not compared: public.other has no column 'd', which says what belongs to the partition"
    )


def test_an_aggregate_is_compared_with_the_publication_before(warehouse: Warehouse) -> None:
    wanted = spec({"aggregate": {"sql": "max(amount)", "against": "previous", "tolerance": 0.5}})
    first = warehouse.batches.land(wanted, text((1, 10, "de", 1)))
    second = warehouse.batches.land(wanted, text((1, 30, "de", 2)), revision=2)

    assert "no earlier publication of other content yet" in said(warehouse.load_again(wanted, first).checks[0])
    with pytest.raises(GateClosedError, match=r"30 here, 10 in 2025-05-01 \(batch 20250501_01\), \+200\.000%"):
        warehouse.load_again(wanted, second)


def test_an_aggregate_is_compared_with_the_same_weekday_and_never_with_a_backfill(warehouse: Warehouse) -> None:
    wanted = spec({"aggregate": {"sql": "count(distinct country)", "against": "same_weekday"}})
    later = text((2, 1, "de", 1), (3, 1, "fr", 1), day="2025-05-08")
    warehouse.load(wanted, text((1, 1, "de", 1)), attempt=Attempt(lane="backfill"))
    assert loaded(warehouse, wanted, later, partition="2025-05-08").verdict == "not_evaluated"

    warehouse.load(wanted, text((1, 1, "de", 1)), attempt=Attempt(lane="scheduled"))

    again = loaded(warehouse, wanted, later, partition="2025-05-08", revision=2)
    assert said(again) == "failed: 2 here, 1 in 2025-05-01 (batch 20250501_01), +100.000%"


def test_the_manifest_knows_how_many_rows_there_are(warehouse: Warehouse) -> None:
    wanted = spec({"aggregate": {"sql": "count(*)", "against": "manifest"}})

    assert said(loaded(warehouse, wanted, text((1, 1, "de", 1), (1, 2, "de", 2)))) == (
        "failed: 1 here, 2 in the manifest, -50.000%"
    )


def test_a_total_of_nothing_is_null_and_not_zero(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE other AS SELECT * FROM orders")
    wanted = spec({"aggregate": {"sql": "sum(amount)", "against": "public.other"}})

    assert said(loaded(warehouse, wanted, text((1, "", "de", 1)))) == "passed: NULL here, NULL in public.other"
    assert said(loaded(warehouse, wanted, text((1, 0, "de", 2)), revision=2)) == (
        "failed: 0 here, NULL in public.other"
    )


def test_an_aggregate_means_what_was_written(warehouse: Warehouse) -> None:
    """It is read as a tree and written out again, which must not make another number of it."""
    warehouse.sql("INSERT INTO orders SELECT g, '2025-05-01', g * 1.5, 'x' || g % 3, g FROM generate_series(1, 9) AS g")
    expressions = (
        "sum(ver) / count(*)",
        "SUM(ver)::float / 2",
        "sum(amount) FILTER (WHERE country <> 'x1' AND ver % 2 = 1)",
        "percentile_cont(0.25) WITHIN GROUP (ORDER BY amount DESC)",
        "stddev_pop(amount) - variance(ver)",
        "count(DISTINCT (country, ver % 2))",
        "extract(epoch FROM max(d::timestamptz) - min(d) + interval '1 day')",
        "bool_or(ver > 8)::int - bool_and(ver > 8)::int",
        "max(length(country)) ^ 2",
        "-sum(ver) % 7",
        "sum(CASE country WHEN 'x0' THEN 1 ELSE 0 END)",
        "round(avg(amount), 1) * 10",
        "corr(amount, ver)",
        "sum(coalesce(nullif(ver, 3), 100))",
        "(mode() WITHIN GROUP (ORDER BY country = 'x2'))::int",
    )
    for text in expressions:
        made = statement(exp.select(as_number(text)).from_("orders")).sql

        assert warehouse.sql(made) == warehouse.sql(f"SELECT ({text})::numeric FROM orders"), text


# --- diff -------------------------------------------------------------------------------------------------------------


def test_a_diff_says_which_rows_are_only_here_only_there_or_differ(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE before AS SELECT * FROM orders")
    warehouse.sql(
        "INSERT INTO before VALUES (1, '2025-05-01', 10, 'de', 1), (2, '2025-05-01', 20, 'de', 1), "
        "(3, '2025-05-01', NULL, 'de', 1), (9, '2025-05-01', 1, 'de', 1), (10, '2025-05-02', 1, 'de', 1)"
    )
    wanted = spec({"diff": "public.before"})
    batch = text((1, 10, "de", 1), (2, 21, "fr", 1), (3, "", "de", 1), (4, 1, "de", 1))

    result = loaded(warehouse, wanted, batch)

    assert said(result) == "failed: 1 rows only here, 1 only there, 1 of 3 differ (amount 1, country 1)"
    assert result.samples == ("2 amount differs", "4 only here", "9 only there")
    assert (result.observed, result.rows) == (3, 5)


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ({}, "failed"),
        ({"tolerance": 0.5}, "passed"),
        ({"tolerance": {"amount": 0.5}}, "passed"),
        ({"tolerance": {"amount": 0.4}}, "failed"),
        ({"columns": ["country"]}, "passed"),
        ({"exclude_columns": ["amount"]}, "passed"),
        ({"warn_if": ">0", "error_if": ">1"}, "warned"),
        ({"where": "id = 2"}, "passed"),
    ],
)
def test_what_counts_as_a_difference_can_be_said(warehouse: Warehouse, options: dict[str, Any], verdict: str) -> None:
    warehouse.sql("CREATE TABLE before (id bigint, d date, amount float8, country varchar(9), ver int)")
    warehouse.sql("INSERT INTO before VALUES (1, '2025-05-01', 10.5, 'de', 1), (2, '2025-05-01', 20, 'de', 1)")
    wanted = spec({"diff": {"against": "public.before", **options}})

    assert loaded(warehouse, wanted, text((1, 10, "de", 1), (2, 20, "de", 1))).verdict == verdict


def test_a_key_that_is_not_one_is_refused(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE before AS SELECT * FROM orders")
    warehouse.sql("INSERT INTO before SELECT 5, '2025-05-01' FROM generate_series(1, 2)")
    warehouse.sql("INSERT INTO before VALUES (NULL, '2025-05-01')")
    batch = text((1, 10, "de", 1), (2, 10, "de", 1))

    assert said(loaded(warehouse, spec({"diff": "public.before"}), batch)) == (
        "failed: not compared: key (id) is not unique in public.before, e.g. 5, NULL"
    )
    by_country = spec({"diff": {"against": "public.before", "key": ["country", "ver"]}})
    assert said(loaded(warehouse, by_country, batch)) == (
        "failed: not compared: key (country, ver) is not unique here, e.g. (de, 1)"
    )


def test_what_is_published_is_compared_again(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE before AS SELECT * FROM orders")
    warehouse.sql("INSERT INTO before VALUES (1, '2025-05-01', 10, 'de', 1)")
    wanted = spec({"diff": "public.before"})
    manifest = warehouse.batches.land(wanted, text((1, 10, "de", 1)))
    warehouse.load_again(wanted, manifest)

    assert validated(warehouse, wanted, manifest).verdict == "passed"
    warehouse.sql("UPDATE orders SET amount = NULL")
    assert validated(warehouse, wanted, manifest).samples == ("1 amount differs",)


def test_values_that_equal_nothing_and_types_without_equality_are_compared(warehouse: Warehouse) -> None:
    for name in ("this", "that"):
        warehouse.sql(f"CREATE TABLE {name} (id int, d date, x float8, doc json, tags text[])")
        warehouse.sql(
            f"""INSERT INTO {name} VALUES (1, '{DAY}', 'NaN', '{{"a": 1}}', '{{a,b}}'), """
            f"(2, '{DAY}', NULL, NULL, NULL)"
        )
    wanted = LoadSpec(table="this", unique_key="id", event_time="d", checks=[{"diff": "public.that"}])

    assert validated(warehouse, wanted).verdict == "passed"
    warehouse.sql("UPDATE that SET x = 1, doc = '{\"a\": 2}', tags = '{a}' WHERE id = 1")
    assert "1 of 2 differ (x 1, doc 1, tags 1)" in validated(warehouse, wanted).message


# --- distribution -----------------------------------------------------------------------------------------------------


def spread(**options: Any) -> LoadSpec:
    return spec({"distribution": {"columns": ["amount", "country"], **options}})


def test_a_distribution_like_the_one_before_passes(warehouse: Warehouse) -> None:
    wanted = spread()
    first = loaded(warehouse, wanted, many(600, "g"))
    second = loaded(warehouse, wanted, many(600, "g + 1", ver=2), revision=2)

    assert said(first).startswith("not_evaluated: there is no earlier publication of other content yet")
    assert said(second) == ("passed: compared with 2025-05-01 (batch 20250501_01): amount psi 0.000; country psi 0.000")


@pytest.mark.parametrize(
    ("amount", "country", "ver", "text"),
    [
        ("g + 70", "de", 2, "warned: compared with 2025-05-01 (batch 20250501_01): amount psi 0.1"),
        ("g * 10", "de", 2, "failed: compared with 2025-05-01 (batch 20250501_01): amount psi "),
        ("g", "at", 2, "failed: compared with 2025-05-01 (batch 20250501_01): amount psi 0.000; country psi "),
        ("g if g % 5 else ''", "de", 2, "failed: compared with 2025-05-01 (batch 20250501_01): amount NULL in 0.0% to"),
    ],
)
def test_a_distribution_that_has_moved_does_not(
    warehouse: Warehouse, amount: str, country: str, ver: int, text: str
) -> None:
    wanted = spread()
    warehouse.load(wanted, many(1000, "g"))

    assert said(loaded(warehouse, wanted, many(1000, amount, country, ver), revision=2)).startswith(text)


@pytest.mark.parametrize("method", ["psi", "chi_square", "ks"])
def test_each_method_finds_a_shift_and_lets_the_same_values_pass(warehouse: Warehouse, method: str) -> None:
    wanted = spec({"distribution": {"columns": ["amount"], "method": method}})
    warehouse.load(wanted, many(1000, "g"))

    assert loaded(warehouse, wanted, many(1000, "999 - g", ver=2), revision=2).verdict == "passed"
    assert loaded(warehouse, wanted, many(1000, "g * g", ver=3), revision=3).verdict == "failed"


def test_the_same_batch_again_is_compared_with_the_same_publication(warehouse: Warehouse) -> None:
    wanted = spread(sample=300, min_rows=100, severity="warn")
    warehouse.load(wanted, many(3000, "g"))
    second = warehouse.batches.land(wanted, many(3000, "g * 1.1", ver=2), revision=2)

    results = [warehouse.load_again(wanted, second).checks[0] for _ in range(3)]
    looks = [validated(warehouse, wanted, second) for _ in range(2)]

    assert results[0].observed
    assert [said(result) for result in results] == [said(results[0])] * 3
    assert [said(look) for look in looks] == [said(looks[0])] * 2
    assert [result.observed for result in results] == [results[0].observed] * 3


def test_old_partitions_are_not_read_again(warehouse: Warehouse) -> None:
    wanted = spread(against="same_weekday")
    warehouse.load(wanted, many(600, "g"))
    warehouse.sql("DELETE FROM orders")

    result = loaded(warehouse, wanted, many(600, "g", day="2025-05-08"), partition="2025-05-08")

    assert said(result).startswith("passed: compared with 2025-05-01 (batch 20250501_01)")


def test_a_partition_can_be_named_and_backfills_are_no_baseline(warehouse: Warehouse) -> None:
    wanted = spread(against=DAY)
    later = many(600, "g * 10", day="2025-05-03", first=5000)
    warehouse.load(wanted, many(600, "g"), attempt=Attempt(lane="backfill"))
    assert said(loaded(warehouse, wanted, later, partition="2025-05-03")) == (
        "not_evaluated: partition 2025-05-01 has no publication (backfills are none)"
    )

    warehouse.load(wanted, many(600, "g"), attempt=Attempt(lane="scheduled"))

    assert loaded(warehouse, wanted, later, partition="2025-05-03", revision=2).verdict == "failed"


def test_what_cannot_be_told_is_not_passed(warehouse: Warehouse) -> None:
    before = spec({"row_count": {"min": 1}})
    warehouse.load(before, many(600, "g"))

    asked = [
        said(loaded(warehouse, spread(), many(600, "g", ver=2), revision=2)),
        said(loaded(warehouse, spread(), many(100, "g", ver=3), revision=3)),
        said(loaded(warehouse, spread(method="ks"), many(600, "g", ver=4), revision=4)),
    ]

    assert asked == [
        "not_evaluated: 2025-05-01 (batch 20250501_01) was published before the distribution of amount was kept",
        "not_evaluated: 100 rows are too few to tell (min_rows 500)",
        "failed: not compared: country has no order, use psi or chi_square",
    ]


# --- no_future_knowledge ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"as_of": "at"}, "1 of 5 rows know what came after at, 1 do not say when they were known, 1 have no at"),
        (
            {"as_of": "at", "allow_nulls": True},
            "1 of 5 rows know what came after at, 1 do not say when they were known (allowed), 1 have no at",
        ),
        (
            {},
            "2 of 5 rows know what came after partition_end, 1 do not say when they were known",
        ),
    ],
)
def test_no_row_knows_what_came_later(warehouse: Warehouse, options: dict[str, Any], message: str) -> None:
    warehouse.sql("CREATE TABLE features (id int, d date, known timestamptz, at timestamptz)")
    warehouse.sql(
        "INSERT INTO features VALUES (1, '2025-05-01', '2025-05-01 10:00+00', '2025-05-01 10:00+00'), "
        "(2, '2025-05-01', '2025-05-01 10:00:01+00', '2025-05-01 10:00+00'), "
        "(3, '2025-05-01', NULL, '2025-05-01 10:00+00'), (4, '2025-05-01', '2025-05-02 00:00+00', NULL), "
        "(5, '2025-05-01', '2025-05-03 00:00+00', '2025-06-01')"
    )
    check = {"no_future_knowledge": {"columns": ["known"], **options}}
    wanted = LoadSpec(table="features", unique_key="id", event_time="d", checks=[check])

    result = validated(warehouse, wanted)

    assert said(result) == f"failed: {message}"
    assert result.observed == (2 if options.get("allow_nulls") else 3)
    assert len(warehouse.sql(result.query)) == result.observed


def test_a_cutoff_that_nobody_pinned_proves_nothing(warehouse: Warehouse) -> None:
    warehouse.sql("CREATE TABLE features (id int, d date, known timestamptz)")
    warehouse.sql("INSERT INTO features VALUES (1, '2025-05-01', '2025-05-01 10:00+00')")
    check = {"no_future_knowledge": {"columns": ["known"], "as_of": "cutoff"}}
    wanted = LoadSpec(table="features", unique_key="id", event_time="d", checks=[check])

    assert validated(warehouse, wanted).verdict == "not_evaluated"


# --- reconcile by buckets ---------------------------------------------------------------------------------------------


def test_a_mismatch_is_traced_to_its_buckets_and_keys(warehouse: Warehouse) -> None:
    wanted = spec({"reconcile": {"buckets": 64}})
    manifest = warehouse.batches.land(wanted, many(1000, "g"))
    in_one = warehouse.load_again(spec(), manifest).measure.digest
    assert warehouse.load_again(wanted, manifest).measure.digest == in_one
    assert said(validated(warehouse, wanted, manifest)) == "passed: 1,000 rows, digest equal"
    warehouse.sql("UPDATE orders SET amount = amount + 1 WHERE id = 17")
    warehouse.sql("DELETE FROM orders WHERE id = 900")
    warehouse.sql("INSERT INTO orders VALUES (5000, '2025-05-01', 1, 'de', 1)")

    with pytest.raises(GateClosedError) as caught:
        warehouse.validate(wanted, manifest)

    [result] = caught.value.results
    assert "ledger has 1,000 rows, the table 1,000 with other content, in 3 of 64 buckets by (id): " in result.message
    assert "1 keys only in the table, 1 only in the batch, 1 of " in result.message
    assert result.samples == ("17 amount differs", "900 only in the batch", "5000 only in the table")


def test_the_guide_shows_what_is_said_of_changed_rows(warehouse: Warehouse) -> None:
    wanted = spec({"reconcile": {"buckets": 64}})
    manifest = warehouse.batches.land(wanted, many(1000, "g", first=1001))
    warehouse.load_again(wanted, manifest)
    warehouse.sql("UPDATE orders SET amount = 0 WHERE id = 1017; DELETE FROM orders WHERE id = 1900")

    result = validated(warehouse, wanted, manifest)

    assert f"\n{result}\n" in GUIDE.read_text(encoding="utf-8").replace("order_id", "id")


def test_buckets_that_were_not_kept_are_said_so(warehouse: Warehouse) -> None:
    manifest = warehouse.batches.land(spec(), text((1, 1, "de", 1)))
    warehouse.load_again(spec(), manifest)
    warehouse.sql("DELETE FROM orders")
    warehouse.sql("INSERT INTO orders VALUES (2, '2025-05-01', 1, 'de', 1)")

    result = validated(warehouse, spec({"reconcile": {"buckets": 64}}), manifest)

    assert result.message.endswith("with other content, it was published before digests of buckets were kept")


def test_a_batch_that_is_gone_leaves_the_buckets(warehouse: Warehouse) -> None:
    wanted = spec({"reconcile": {"buckets": 4}})
    manifest = warehouse.batches.land(wanted, text((1, 1, "de", 1)))
    warehouse.load_again(wanted, manifest)
    warehouse.sql("UPDATE orders SET amount = 2")
    warehouse.batches.content[manifest.batch_id, manifest.parts[0].name] = b"id\n1\n"

    result = validated(warehouse, wanted, manifest)

    assert "in 1 of 4 buckets" in result.message
    assert result.message.endswith("the landed batch is not at hand to compare with")
    assert warehouse.events("public.orders")[-1][2:] == ("validate", "failed")


@pytest.mark.parametrize("table", ["profiles", "bucket_digests"])
@pytest.mark.parametrize("sql", ["UPDATE {} SET event_id = 0", "DELETE FROM {}", "TRUNCATE {}"])
def test_what_was_kept_is_never_changed(warehouse: Warehouse, table: str, sql: str) -> None:
    checks = ({"distribution": "amount"}, {"reconcile": {"buckets": 4}})
    warehouse.load(spec(*checks), text((1, 1, "de", 1)))

    with pytest.raises(Exception, match="append-only"):
        warehouse.sql(sql.format(f"airflow_idempotent.{table}"))
    assert warehouse.sql(f"SELECT count(*) FROM airflow_idempotent.{table}") == [(1,)]


def test_a_dry_run_keeps_nothing(warehouse: Warehouse) -> None:
    checks = ({"distribution": "amount"}, {"reconcile": {"buckets": 4}})
    warehouse.load(spec(*checks), text((1, 1, "de", 1)), dry_run=True)

    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.profiles") == [(0,)]
    assert warehouse.sql("SELECT count(*) FROM airflow_idempotent.bucket_digests") == [(0,)]


# --- relationships ----------------------------------------------------------------------------------------------------


@pytest.fixture
def countries(warehouse: Warehouse) -> Warehouse:
    """Give a table of countries, one of which is no more."""
    warehouse.sql(
        "CREATE TABLE countries (code text, country text, gone boolean); "
        "INSERT INTO countries VALUES ('de', 'x', false), ('fr', 'y', false), ('dd', 'z', true), (NULL, 'n', false)"
    )
    return warehouse


REFERS = {"column": "country", "to": "countries", "field": "code"}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "failed: 1 of 5 rows refer to no code of public.countries"),
        ({"to_where": "not gone"}, "failed: 2 of 5 rows refer to no code of public.countries"),
        ({"where": "amount < 40"}, "passed: 0 of 4 rows refer to no code of public.countries"),
        ({"severity": "warn"}, "warned: 1 of 5 rows refer to no code of public.countries"),
        ({"error_if": ">1", "warn_if": ">20%"}, "passed: 1 of 5 rows refer to no code of public.countries"),
    ],
)
def test_rows_refer_to_rows_of_another_table(countries: Warehouse, options: dict[str, Any], told: str) -> None:
    rows = text((1, 10, "de", 1), (2, 20, "fr", 1), (3, 30, "dd", 1), (4, 30, "", 1), (5, 40, "it", 1))
    wanted = spec({"relationships": REFERS | options})

    gated = loaded(countries, wanted, rows)
    countries.load(spec(), rows, revision=2)

    assert said(gated) == told
    assert said(validated(countries, wanted)) == told


def test_rows_that_refer_to_nobody_are_shown_and_kept_with_the_query_that_finds_them(countries: Warehouse) -> None:
    wanted = spec({"relationships": REFERS | {"store_failures": True}})
    countries.load(spec(), text((1, 10, "de", 1), (5, 40, "it", 1)))

    found = validated(countries, wanted)

    assert found.samples == ("(5, it)",)
    assert [row[0] for row in countries.sql(found.query)] == [5]
    assert len(found.failures) == 1


def test_a_column_of_the_same_name_is_that_of_the_other_table(countries: Warehouse) -> None:
    wanted = spec({"relationships": {"column": "country", "to": "countries"}})

    result = loaded(countries, wanted, text((1, 10, "x", 1), (2, 20, "de", 1)))

    assert said(result) == "failed: 1 of 2 rows refer to no country of public.countries"


def test_a_table_that_is_not_there_is_told_with_the_check(countries: Warehouse) -> None:
    wanted = spec({"relationships": REFERS | {"to": "nowhere.countries"}})

    with pytest.raises(CheckQueryError, match=r"relationships\(country, to nowhere.countries.code\)"):
        countries.load(wanted, text((1, 10, "de", 1)))
