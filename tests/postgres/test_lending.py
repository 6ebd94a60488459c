"""One connection lent to one load after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from airflow_idempotent.core.step import Effects
from airflow_idempotent.engine.lending import Lender
from airflow_idempotent.errors import BadRowError
from airflow_idempotent.spec.load import LoadSpec
from tests.loading import Warehouse
from tests.postgres_fixtures import Connect

SPEC = LoadSpec(table="t", unique_key="id")
ROWS = "id,v\n1,a\n2,b\n"


@pytest.fixture
def warehouse(connect: Connect) -> Warehouse:
    warehouse = Warehouse(connect)
    warehouse.sql("CREATE TABLE t (id int PRIMARY KEY, v text)")
    return warehouse


@pytest.fixture
def opened() -> list[Any]:
    """The connections that were opened for the lender."""
    return []


@pytest.fixture
def lender(connect: Connect, opened: list[Any]) -> Iterator[Lender]:
    def open_one() -> Any:
        opened.append(connect())
        return opened[-1]

    with closing(Lender(open_one)) as lender:
        yield lender


def test_loads_share_a_connection_also_behind_one_that_was_refused(
    warehouse: Warehouse, lender: Lender, opened: list[Any]
) -> None:
    assert warehouse.load(SPEC, ROWS, connect=lender).effects == Effects(inserted=2)
    with pytest.raises(BadRowError):
        warehouse.load(SPEC, "id,v\nx,a\n", revision=2, connect=lender)
    assert warehouse.load(SPEC, ROWS, revision=3, connect=lender).effects == Effects(unchanged=2)

    assert len(opened) == 1


def test_one_that_died_meanwhile_is_replaced(warehouse: Warehouse, lender: Lender, opened: list[Any]) -> None:
    warehouse.load(SPEC, ROWS, connect=lender)
    warehouse.sql("SELECT pg_terminate_backend(%s, 5000)", [opened[0].info.backend_pid])

    assert warehouse.load(SPEC, ROWS, connect=lender).effects == Effects(unchanged=2)
    assert len(opened) == 2


def test_who_asks_while_it_is_lent_gets_another(lender: Lender, opened: list[Any]) -> None:
    with closing(lender()), closing(lender()):
        pass
    with closing(lender()):
        pass

    assert len(opened) == 2
    assert sum(not connection.closed for connection in opened) == 1


def test_no_transaction_stays_open_in_one_that_was_given_back(
    warehouse: Warehouse, lender: Lender, opened: list[Any]
) -> None:
    with closing(lender()) as lent:
        lent.cursor().execute("LOCK TABLE t")

    assert warehouse.load(SPEC, ROWS).effects == Effects(inserted=2)
    lender.close()
    assert opened[0].closed
