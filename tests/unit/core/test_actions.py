"""What actions derive from their own fields."""

from __future__ import annotations

from airflow_idempotent.checks import NotNull, RowCount, Unique
from airflow_idempotent.core.actions import EnsureChild, RunChecks
from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.relation import Relation

DAY = Grain.DAY.parse("2025-05-01")


def child(name: str) -> Relation:
    return EnsureChild(Relation("public", name), Column("day", "date"), DAY).child


def test_a_child_table_is_named_after_its_table_and_partition() -> None:
    assert child("orders") == Relation("public", "orders_p20250501")


def test_a_child_whose_name_would_be_cut_is_named_by_a_hash_instead() -> None:
    longest, one, other = child("o" * 53), child("o" * 54), child("o" * 53 + "x")

    assert longest.name == "o" * 53 + "_p20250501"
    assert one.name.startswith("idem_p_")
    assert len({longest, one, other}) == 3


def test_children_of_two_partitions_never_share_a_name() -> None:
    twice = [Grain.HOUR.parse(key, "Europe/Berlin") for key in ("2025-10-26T02", "2025-10-26T02-2")]
    names = {EnsureChild(Relation("public", "o"), Column("t", "timestamptz"), item).child for item in twice}

    assert len(names) == 2


def test_checks_of_columns_that_the_batch_lacks_are_left_to_validate() -> None:
    checks = (RowCount(min=1), Unique(columns=("a",)), NotNull(columns=("a", "b")))

    assert RunChecks("winners", checks, ("a", "c")).answerable == [checks[0], checks[1]]
