"""Simulators: the same for a seed, and as unpleasant as they promise."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.testing import Batch, Simulation, simulate_cdc, simulate_late_data
from airflow_idempotent.testing.simulation import day_of

SIMULATORS = {"late data": simulate_late_data, "cdc": simulate_cdc}
each = pytest.mark.parametrize("simulate", SIMULATORS.values(), ids=SIMULATORS)


def rows_of(simulation: Simulation) -> list[dict[str, Any]]:
    return [dict(row) for batch in simulation for row in batch.rows or ()]


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.csv"))}


def written(simulate: Any, seed: object, folder: Path) -> dict[str, bytes]:
    simulate(seed=seed).write(folder)
    return files(folder)


@each
def test_the_same_seed_gives_the_same_bytes(simulate: Any, tmp_path: Path) -> None:
    assert written(simulate, 7, tmp_path / "a") == written(simulate, 7, tmp_path / "b")


@each
def test_another_seed_gives_other_bytes(simulate: Any, tmp_path: Path) -> None:
    contents = {tuple(written(simulate, seed, tmp_path / str(seed)).values()) for seed in range(20)}

    assert len(contents) == 20


@each
def test_another_process_gives_the_same_bytes(simulate: Any, tmp_path: Path) -> None:
    """Hashes of texts differ from process to process; nothing may depend on them."""
    program = f"from airflow_idempotent.testing import {simulate.__name__} as simulate; simulate(seed='x').write('.')"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)

    assert files(tmp_path) == written(simulate, "x", tmp_path / "here")


@each
@pytest.mark.parametrize(
    ("wrong", "said"), [({"days": 0}, "days must be"), ({"duplicate_share": 1.5}, "between 0 and 1")]
)
def test_what_cannot_be_simulated_is_refused(simulate: Any, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        simulate(seed=1, **wrong)


# --- late data -------------------------------------------------------------------------------------------------------


def test_events_arrive_late_twice_and_corrected() -> None:
    simulation = simulate_late_data(seed=1, days=10, events_per_day=200)
    rows = rows_of(simulation)
    late = sum(row["ingested_at"] - row["event_time"] >= timedelta(days=1) for row in rows)
    twice = [row for row, count in Counter(tuple(row.items()) for row in rows).items() if count > 1]
    values = {(row["event_id"], row["value"]) for row in rows}

    assert 0.05 < late / len(rows) < 0.2
    assert 0.02 < len(twice) / len(rows) < 0.08
    assert 0.02 < (len(values) - len({key for key, _ in values})) / len(rows) < 0.08


def test_a_batch_holds_what_was_ingested_by_its_day() -> None:
    simulation = simulate_late_data(seed=1)
    by_day = [(batch.partition, row) for batch in simulation for row in batch.rows or ()]

    assert [batch.partition for batch in simulation] == [f"2025-05-0{day}" for day in range(1, 8)]
    assert all(day_of(row["ingested_at"]) <= day for day, row in by_day)
    assert any(day_of(row["ingested_at"]) < day for day, row in by_day)  # the second delivery


def test_per_event_the_row_ingested_last_is_right() -> None:
    simulation = simulate_late_data(seed=1, correction_share=0.5)

    for event_id, row in simulation.end_state.items():
        others = [other for other in rows_of(simulation) if other["event_id"] == event_id]
        assert row == max(others, key=lambda other: other["ingested_at"])
    assert {row["event_id"] for row in rows_of(simulation)} == set(simulation.end_state)


def test_by_day_of_the_event_the_last_revisions_are_the_end_state() -> None:
    simulation = simulate_late_data(seed=1, partition="event")
    last = {batch.partition: batch.rows for batch in simulation}

    assert max(Counter(batch.partition for batch in simulation).values()) > 1
    assert all(day_of(row["event_time"]) == batch.partition for batch in simulation for row in batch.rows or ())
    assert {row["event_id"]: row for rows in last.values() for row in rows or ()} == simulation.end_state


def test_both_ways_to_cut_end_in_the_same_rows() -> None:
    by_arrival, by_event = (simulate_late_data(seed=3, partition=by) for by in ("arrival", "event"))

    assert by_arrival.end_state == by_event.end_state


def test_without_any_trouble_every_event_arrives_once() -> None:
    quiet = simulate_late_data(seed=1, days=3, events_per_day=10, late_share=0, duplicate_share=0, correction_share=0)

    assert len({row["event_id"] for row in rows_of(quiet)}) == len(rows_of(quiet)) > 25


# --- changes ---------------------------------------------------------------------------------------------------------


def test_changes_come_out_of_order_twice_and_deletes_after_the_key_is_back() -> None:
    rows = rows_of(simulate_cdc(seed=1, events=500))
    versions = [row["commit_version"] for row in rows]
    arrived = [(row["account_id"], row["op"], row["commit_version"]) for row in rows]
    late_deletes = [
        (key, version)
        for place, (key, op, version) in enumerate(arrived)
        if op == "D" and any(other == key and kind == "I" and newer > version for other, kind, newer in arrived[:place])
    ]

    assert set(versions) == set(range(1, 501))  # nothing is lost
    assert versions != sorted(versions)
    assert len(versions) > 520
    assert {row["op"] for row in rows} == {"I", "U", "D"}
    assert late_deletes


def test_a_source_replayed_in_order_of_commits_is_the_end_state() -> None:
    simulation = simulate_cdc(seed=2)
    source: dict[int, dict[str, Any]] = {}
    for row in sorted(rows_of(simulation), key=lambda row: row["commit_version"]):
        known, change = row["account_id"] in source, dict(row)
        op = change.pop("op")
        if source.get(row["account_id"]) == change:  # delivered twice
            continue
        assert (op == "I") != known or op == "D"
        if op == "D":
            source.pop(row["account_id"], None)
        else:
            source[row["account_id"]] = change

    assert source == simulation.end_state


def test_a_delete_carries_its_key_and_nothing_else() -> None:
    deletes = [row for row in rows_of(simulate_cdc(seed=1)) if row["op"] == "D"]

    assert deletes
    assert all(row["owner"] is row["balance"] is None for row in deletes)


def test_a_simulation_is_written_as_files_by_partition_and_revision(tmp_path: Path) -> None:
    first = Batch("2025-05-01", [{"id": 1, "v": None}])
    simulation = Simulation(
        (first, Batch("2025-05-02", [{"id": 2, "v": "x"}]), Batch("2025-05-01", [{"id": 1, "v": ""}])), {}
    )

    paths = simulation.write(tmp_path)

    assert [str(path.relative_to(tmp_path)) for path in paths] == [
        "2025-05-01/01.csv",
        "2025-05-02/01.csv",
        "2025-05-01/02.csv",
    ]
    assert [path.read_text() for path in paths] == ["id,v\n1,\n", "id,v\n2,x\n", 'id,v\n1,""\n']
