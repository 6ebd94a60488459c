"""Steps, effects and receipts."""

from __future__ import annotations

import json
from dataclasses import fields

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_idempotent.core.actions import CreateStaging, UpsertRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Attempt, Effects, Measure, Receipt, State, Step

TARGET = Relation("public", "orders")
UPSERT = UpsertRows(TARGET, "staging", ("id",), ("id",))
STEP = Step(
    target=TableShape(TARGET, ()),
    partition=Grain.DAY.parse("2025-05-01"),
    manifest=Manifest("public.orders", "2025-05-01", "20250501_01", "", "", CsvFormat(), ()),
    actions=(CreateStaging(TARGET, "staging", ("id",)), UPSERT),
)
many = st.lists(st.builds(Effects, *[st.integers(0, 10**9)] * 7), max_size=5)


@given(many, many)
@settings(max_examples=50, deadline=None)
def test_effects_add_up_in_any_grouping(one: list[Effects], other: list[Effects]) -> None:
    assert Effects.sum([*one, *other]) == Effects.sum(one) + Effects.sum(other) == Effects.sum([*other, *one])


def test_effects_are_seven_counts_with_zeros_included() -> None:
    assert Effects().as_dict() == dict.fromkeys(
        ["inserted", "updated", "deleted", "unchanged", "stale", "duplicate", "rejected"], 0
    )
    assert Effects.sum([]) == Effects()
    assert str(Effects(inserted=1234)) == (
        "1,234 inserted, 0 updated, 0 deleted, 0 unchanged, 0 stale, 0 duplicate, 0 rejected"
    )


def test_only_rows_that_were_written_are_touched() -> None:
    every_count = Effects(*(10**number for number in range(len(fields(Effects)))))

    assert every_count.touched == every_count.inserted + every_count.updated + every_count.deleted == 111


def test_a_superseded_step_differs_in_how_it_writes_only() -> None:
    staging, upsert = STEP.superseded().actions

    assert staging == STEP.actions[0]
    assert upsert == UpsertRows(TARGET, "staging", ("id",), ("id",), superseded=True)
    assert STEP.superseded().superseded() == STEP.superseded() != STEP


def test_a_step_knows_its_table_by_the_name_that_people_write() -> None:
    assert STEP.table == "public.orders"


def test_an_attempt_is_shown_as_one_word_and_not_at_all_outside_airflow() -> None:
    attempt = Attempt(dag_id="orders", run_id="manual__1", task_id="load", try_number=2)

    assert str(attempt) == "orders/manual__1/load#2"
    assert str(Attempt(dag_id="orders", run_id="r", task_id="load", map_index=0)) == "orders/r/load[0]#1"
    assert str(Attempt()) == ""


def test_a_pointer_is_small_and_plain_enough_for_xcom() -> None:
    receipt = Receipt(
        table="public.orders",
        partition="2025-05-01",
        batch_id="20250501_01",
        state=State.PUBLISHED,
        effects=Effects(inserted=2),
        measure=Measure(row_count=2, digest="d"),
        content_fingerprint="f" * 64,
    )
    pointer = receipt.as_pointer()

    assert json.loads(json.dumps(pointer)) == pointer
    assert type(pointer["state"]) is str
    assert pointer["effects"] == Effects(inserted=2).as_dict()
    assert (pointer["row_count"], pointer["digest"], pointer["replayed"], pointer["dry_run"]) == (2, "d", False, False)


def test_a_replayed_receipt_is_the_same_but_tells_of_an_attempt_that_did_nothing() -> None:
    receipt = Receipt("public.orders", "2025-05-01", "20250501_01", State.PUBLISHED, Effects(inserted=2))
    again = receipt.replay()

    assert again.replayed
    assert again.effects == receipt.effects
    assert again.as_pointer() == receipt.as_pointer() | {"replayed": True, "effects": Effects().as_dict()}
