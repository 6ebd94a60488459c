"""Profiles of columns: exact counts where a table is small, a sample that is always the same where it is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from airflow_idempotent.checks.histograms import count_in_bins, profile_rows
from airflow_idempotent.core.profile import Profile, Sampling, is_measured
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.statement import statement, table
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

VALUES = Relation("public", "values")


@pytest.fixture
def warehouse(connect: Connect) -> Warehouse:
    found = Warehouse(connect)
    found.sql(
        'CREATE TABLE "values" (id int, amount numeric, at timestamptz, "100% of it" text, flag boolean, x float8)'
    )
    return found


def profiled(warehouse: Warehouse, size: int = 10_000, batch: str = "b_01", by: Profile | None = None) -> Profile:
    """The profile of the whole table, in bins of its own or of another."""
    session = Session(warehouse.connect())
    with session.transaction():
        shape = session.shape(VALUES)
        assert shape
        columns = [item for item in shape.columns if item.name != "id"]
        [(total,)] = warehouse.sql('SELECT count(*) FROM "values"')
        sampling = Sampling.of(["id"], size, "public.values", "2025-05-01", batch)
        asked: Any = (table(VALUES), columns, shape, sampling, total)
        tree, binds = count_in_bins(*asked, by) if by else profile_rows(*asked)
        rows = session.query(statement(tree, **binds))
    return Profile.read(rows, {item.name: is_measured(item) for item in columns}, by)


def fill(warehouse: Warehouse, rows: int, factor: str = "1") -> None:
    warehouse.sql('TRUNCATE "values"')
    warehouse.sql(
        'INSERT INTO "values" SELECT g, CASE WHEN g % 10 > 0 THEN g * ' + factor + " END, "
        "'2025-05-01 00:00+00'::timestamptz + g * interval '1 second', 'v' || g % 3, g % 4 = 0, "
        f"CASE g WHEN 1 THEN 'NaN' WHEN 2 THEN 'Infinity' ELSE g::float8 END FROM generate_series(1, {rows}) g"
    )


def test_a_profile_counts_every_row_in_one_bin(warehouse: Warehouse) -> None:
    fill(warehouse, 1000)

    found = profiled(warehouse)

    amount, at, text, flag, x = (found.columns[name] for name in ("amount", "at", "100% of it", "flag", "x"))
    assert (amount.rows, amount.nulls, amount.null_rate, amount.rest) == (1000, 100, 0.1, 0)
    assert (amount.bins[0], amount.bins[-1], len(amount.bins)) == ("1", "989", 100)
    assert set(amount.counts) <= {8, 9, 10}
    assert len(at.bins) == 100
    assert dict(zip(text.bins, text.counts, strict=True)) == {"v0": 333, "v1": 334, "v2": 333}
    assert dict(zip(flag.bins, flag.counts, strict=True)) == {"true": 250, "false": 750}
    assert (sum(x.counts), x.rest) == (1000, 0)


def test_the_bins_of_another_profile_say_what_has_moved(warehouse: Warehouse) -> None:
    fill(warehouse, 1000)
    before = profiled(warehouse)
    assert profiled(warehouse, by=before) == before
    fill(warehouse, 1000, "-1")
    warehouse.sql("""UPDATE "values" SET "100% of it" = 'new' WHERE id <= 300""")

    now = profiled(warehouse, by=before).columns

    assert (now["amount"].rest, sum(now["amount"].counts)) == (900, 0)
    assert now["100% of it"].rest == 300
    assert now["flag"] == before.columns["flag"]


def test_a_column_of_one_value_or_none_has_one_bin_or_none(warehouse: Warehouse) -> None:
    warehouse.sql("""INSERT INTO "values" SELECT g, 7, NULL, 'x', true, 0 FROM generate_series(1, 50) g""")

    found = profiled(warehouse)

    assert (found.columns["amount"].bins, found.columns["amount"].counts) == (("7",), (50,))
    assert (found.columns["at"].bins, found.columns["at"].nulls) == ((), 50)
    assert profiled(warehouse, by=found) == found


def test_only_the_most_frequent_values_are_kept(warehouse: Warehouse) -> None:
    fill(warehouse, 1000)
    warehouse.sql("""UPDATE "values" SET "100% of it" = CASE WHEN id <= 200 THEN 'often' ELSE id::text END""")

    found = profiled(warehouse).columns["100% of it"]

    assert (found.bins[0], found.counts[0], len(found.bins), found.rest) == ("often", 200, 50, 751)


def test_a_sample_is_of_the_size_asked_for_and_the_same_each_time(warehouse: Warehouse) -> None:
    fill(warehouse, 20_000)

    first = profiled(warehouse, size=2000)
    warehouse.sql('CREATE TABLE copy AS SELECT * FROM "values" ORDER BY md5(id::text)')
    warehouse.sql('TRUNCATE "values"')
    warehouse.sql('INSERT INTO "values" SELECT * FROM copy')

    assert 1800 < first.columns["amount"].rows < 2200
    assert profiled(warehouse, size=2000) == first
    assert profiled(warehouse, size=2000, batch="b_02") != first


def test_a_profile_survives_json(warehouse: Warehouse) -> None:
    fill(warehouse, 100)
    found = profiled(warehouse)

    assert Profile.from_json(found.as_json()) == found


def test_the_rows_are_read_once(warehouse: Warehouse) -> None:
    fill(warehouse, 100)
    session = Session(warehouse.connect())
    with session.transaction():
        shape = session.shape(VALUES)
        assert shape
        tree, binds = profile_rows(table(VALUES), shape.columns, shape, Sampling.of(["id"], 10, "t"), 100)
        asked = statement(tree, **binds)
        [(plan,)] = session.query(replace(asked, sql=f"EXPLAIN (FORMAT json) {asked.sql}"))

    assert str(plan).count("'Relation Name': 'values'") == 1
