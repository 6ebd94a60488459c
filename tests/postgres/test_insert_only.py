"""insert_only: the first version of a key, whatever comes when."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import DAY, Warehouse

FIRST = LoadSpec(table="signups", unique_key="id", version="ver", strategy="insert_only")
UNVERSIONED = LoadSpec(table="signups", unique_key="id", strategy="insert_only")
NEXT = "2025-05-02"


@pytest.fixture
def signups(warehouse: Warehouse) -> Warehouse:
    warehouse.sql("CREATE TABLE signups (id int PRIMARY KEY, v text, ver int)")
    return warehouse


def rows(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    return warehouse.sql("SELECT * FROM signups ORDER BY 1")


def test_the_smallest_version_stays_and_a_late_smaller_one_replaces_it(signups: Warehouse) -> None:
    signups.load(FIRST, "id,v,ver\n1,second,2\n1,third,3\n2,kept,1\n3,null is lowest,\n")

    receipt = signups.load(FIRST, "id,v,ver\n1,first,1\n2,later,2\n3,zero,0\n4,new,9\n", partition=NEXT)

    assert receipt.effects == Effects(inserted=1, updated=1, stale=2)
    assert rows(signups) == [(1, "first", 1), (2, "kept", 1), (3, "null is lowest", None), (4, "new", 9)]


def test_equal_versions_are_decided_by_the_smallest_content_in_any_order(signups: Warehouse) -> None:
    receipt = signups.load(FIRST, "id,v,ver\n1,b,1\n1,c,1\n2,a,1\n")
    other = signups.load(FIRST, "id,v,ver\n1,a,1\n2,b,1\n", partition=NEXT)

    assert (receipt.effects, other.effects) == (Effects(inserted=2, duplicate=1), Effects(updated=1, stale=1))
    assert rows(signups) == [(1, "a", 1), (2, "a", 1)]


def test_without_version_a_key_that_is_there_is_never_touched(signups: Warehouse) -> None:
    signups.load(UNVERSIONED, "id,v\n1,b\n1,a\n2,b\n")
    before = signups.physical("signups")

    receipt = signups.load(UNVERSIONED, "id,v\n1,0\n2,b\n", revision=2)

    assert receipt.effects == Effects(unchanged=1, stale=1)
    assert signups.physical("signups") == before
    assert rows(signups) == [(1, "a", None), (2, "b", None)]


def test_checks_look_at_the_row_that_would_stay(signups: Warehouse) -> None:
    gated = LoadSpec(**FIRST.model_dump(exclude={"checks"}), checks=[{"unique": ["id"]}, {"row_count": {"max": 1}}])

    assert signups.load(gated, "id,v,ver\n1,second,2\n1,first,1\n").effects == Effects(inserted=1, duplicate=1)
    assert rows(signups) == [(1, "first", 1)]


@pytest.mark.parametrize("spec", [FIRST, UNVERSIONED], ids=["version", "no version"])
def test_two_writers_of_the_same_new_keys_insert_each_once(signups: Warehouse, spec: LoadSpec) -> None:
    text = "id,v,ver\n" + "".join(f"{n},same,1\n" for n in range(500))

    def load(day: str) -> Effects:
        return signups.load(spec, text, partition=day).effects

    with ThreadPoolExecutor(2) as pool:
        effects = Effects.sum(pool.map(load, (DAY, NEXT)))

    assert effects == Effects(inserted=500, unchanged=500)
    assert len(rows(signups)) == 500
