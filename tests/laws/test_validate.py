"""Validating again gives the same verdict: whatever was loaded, wherever its rows lie, however they are read."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.verdict import Verdict
from airflow_idempotent.errors import GateClosedError
from airflow_idempotent.spec.load import LoadSpec
from tests.laws.world import law
from tests.loading import DAY, Warehouse
from tests.postgres_fixtures import DRIVERS, opening

COLUMNS = "id, d, amount, rate, country, at, ver"
CHECKS: list[dict[str, Any]] = [
    {"row_count": {"against": "previous", "tolerance": 0.2}},
    {"not_null": {"columns": ["country"]}},
    {"null_rate": {"columns": ["country"], "max": 0.2}},
    {"unique": ["id"]},
    {"unique": {"columns": ["amount", "country"]}},
    {"accepted_values": {"column": "country", "values": ["de", "fr"]}},
    {"range": {"columns": ["amount"], "min": 0, "max": 90}},
    {"statistic": {"column": "amount", "of": "avg", "leq_to": 50}},
    {"freshness": {"column": "at", "max_age": "1d"}},
    {"aggregate": {"sql": "sum(amount)", "against": "previous", "tolerance": 0.1}},
    {"custom_sql": "select id from this_model where amount > 95"},
    {"reconcile": {"buckets": 16}},
    *(
        {"distribution": {"columns": ["amount", "rate", "country"][:columns], "method": method, "sample": 100, **few}}
        for method, columns in (("psi", 3), ("chi_square", 3), ("ks", 2))
        for few in ({"min_rows": 20},)
    ),
]
_tables = count(1)

batches = st.lists(
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 400), st.sampled_from((0.0, 0.1, 0.6))),
    min_size=1,
    max_size=3,
)
"""What each batch is drawn from: a seed, rows, the share of NULLs."""


@pytest.fixture
def warehouses(database: str) -> Iterator[list[Warehouse]]:
    """The same database by both drivers."""
    with opening(DRIVERS[0], database) as one, opening(DRIVERS[-1], database) as other:
        yield [Warehouse(one), Warehouse(other)]


def content(seed: int, rows: int, nulls: float) -> str:
    """A batch as text: skewed numbers, few countries, repeated keys."""
    chance = random.Random(seed)
    lines = [COLUMNS.replace(" ", "")]
    for _ in range(rows):
        country = "" if chance.random() < nulls else chance.choice(("de", "fr", "it"))
        amount = f"{chance.gammavariate(2, 20):.2f}"
        at = f"{DAY}T{chance.randrange(24):02}:00:00Z"
        row = (chance.randrange(rows * 2), DAY, amount, chance.gauss(0, 1), country, at, chance.randrange(3))
        lines.append(",".join(map(str, row)))
    return "\n".join(lines) + "\n"


def verdicts(warehouse: Warehouse, spec: LoadSpec, manifest: Manifest) -> list[tuple[Any, ...]]:
    """What each check says of what is published."""
    try:
        found = warehouse.validate(spec, manifest).checks
    except GateClosedError as closed:
        found = closed.results
    return [
        (item.check, item.verdict, item.observed, item.expected, item.rows, item.message.replace("-0.000", "0.000"))
        for item in found
    ]


def moved(table: str, warehouse: Warehouse) -> None:
    """Each row gets another place."""
    warehouse.sql(f"UPDATE {table} SET country = country")


def mirrored(table: str, warehouse: Warehouse) -> None:
    """The rows lie the other way round."""
    warehouse.sql(
        f"CREATE TEMP TABLE kept ON COMMIT DROP AS SELECT * FROM {table}; DELETE FROM {table}; "
        f"INSERT INTO {table} SELECT * FROM kept ORDER BY id DESC, ver"
    )


def analyzed(table: str, warehouse: Warehouse) -> None:
    """The planner knows other numbers, and reads by several workers if it can."""
    warehouse.sql(f"ANALYZE {table}; ALTER TABLE {table} SET (parallel_workers = 2)")


def loaded(one: Warehouse, drawn: list[tuple[int, int, float]]) -> tuple[LoadSpec, Manifest]:
    """A table of its own with these batches, one after the other; the newest."""
    table = f"public.orders_{next(_tables)}"
    one.sql(
        f"CREATE TABLE {table} (id int PRIMARY KEY, d date NOT NULL, amount numeric, rate float8, country text, "
        "at timestamptz, ver int)"
    )
    one.sql(f"CREATE TABLE {table}_was (LIKE {table} INCLUDING ALL)")
    one.sql(f"INSERT INTO {table}_was SELECT n, '{DAY}', n, n, 'de', NULL, 1 FROM generate_series(1, 300, 7) n")
    wanted: list[dict[str, Any]] = [*CHECKS, {"diff": {"against": f"{table}_was"}}]
    checks = [{kind: _warning(value)} for check in wanted for kind, value in check.items()]
    spec = LoadSpec(
        table=table, unique_key=["id"], version=["ver"], event_time="d", on_empty="publish_empty", checks=checks,
        strategy={"kind": "insert_overwrite"}, partition_by={"column": "d"},
    )  # fmt: skip
    for revision, batch in enumerate(drawn, start=1):
        manifest = one.batches.land(spec, content(*batch), revision=revision)
        one.load_again(spec, manifest)
        if revision < len(drawn):
            verdicts(one, spec, manifest)  # later ones compare with what was measured then
    return spec, manifest


def test_the_checks_have_something_to_say(warehouses: list[Warehouse]) -> None:
    spec, manifest = loaded(warehouses[0], [(1, 300, 0.1), (2, 300, 0.6)])

    found = {check: verdict for check, verdict, *_ in verdicts(warehouses[0], spec, manifest)}

    assert [check for check, verdict in found.items() if verdict is Verdict.NOT_EVALUATED] == []
    assert {str(verdict) for verdict in found.values()} == {"passed", "warned"}


@law
@given(drawn=batches, by=st.sampled_from((moved, mirrored, analyzed)))
def test_validating_again_gives_the_same_verdict(
    warehouses: list[Warehouse], drawn: list[tuple[int, int, float]], by: Callable[[str, Warehouse], None]
) -> None:
    one, other = warehouses
    spec, manifest = loaded(one, drawn)
    table = spec.table

    first = verdicts(one, spec, manifest)
    by(table, one)
    other.batches = one.batches
    again = verdicts(other, spec, manifest)
    with suppress(GateClosedError):
        one.load_again(spec, manifest)
    after = verdicts(one, spec, manifest)

    assert len(first) >= len(CHECKS)
    assert again == first
    assert after == first


def _warning(value: Any) -> Any:
    """The options of a check that closes no gate."""
    if isinstance(value, dict):
        return value | {"severity": "warn"}
    return {"sql": value, "severity": "warn"} if isinstance(value, str) else {"columns": value, "severity": "warn"}
