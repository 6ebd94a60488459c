"""What a landing takes over from those before it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from airflow_idempotent.core.manifest import CsvFormat, Manifest
from airflow_idempotent.core.partition import Grain
from airflow_idempotent.core.window import Window
from airflow_idempotent.landing.pinning import Pinned, pinned_for

DAY = Grain.DAY.partition(datetime(2025, 5, 1, tzinfo=UTC))
START = DAY.start.isoformat()
EARLY, MIDDLE, LATE = (f"2025-05-0{day}T00:00:00+00:00" for day in (2, 3, 4))


def landed(run: str, cutoff_ts: str, *, low: str = "", number: int = 1) -> Manifest:
    """A batch that a run has landed."""
    window = Window("at", low, DAY.end.isoformat()) if low else None
    batch = f"20250501_{number:02d}"
    return Manifest(
        "public.orders", DAY.key, batch, "", "", CsvFormat(), (), cutoff_ts=cutoff_ts, attempt=f"{run}land#1",
        window=window,
    )  # fmt: skip


def pinned(*manifests: Manifest, run: str = "d/r1/", **words: Any) -> Pinned:
    return pinned_for(DAY, manifests, run=run, **{"cutoff_ts": MIDDLE, **words})


def test_the_first_landing_asks_as_planned() -> None:
    assert pinned() == Pinned(MIDDLE, START)
    assert pinned(low=EARLY) == Pinned(MIDDLE, EARLY)


def test_a_retry_asks_as_the_batch_of_its_run_did() -> None:
    assert pinned(landed("d/r1/", EARLY, low=EARLY), low=LATE, cursor="at") == Pinned(EARLY, EARLY)


def test_another_run_asks_anew() -> None:
    assert pinned(landed("d/r10/", EARLY, low=EARLY), low=LATE, cursor="at") == Pinned(MIDDLE, LATE)
    assert pinned(landed("", EARLY), run="") == Pinned(MIDDLE, START)


def test_no_run_goes_back_behind_the_newest_batch() -> None:
    assert pinned(landed("d/r1/", EARLY), landed("d/r2/", LATE, number=2)).cutoff_ts == LATE
    assert pinned(landed("d/r2/", LATE)).cutoff_ts == LATE


def test_unless_somebody_asked_for_just_that_cutoff() -> None:
    assert pinned(landed("d/r1/", LATE), cutoff_ts=EARLY, cutoff_given=True).cutoff_ts == EARLY


def test_the_window_of_another_cursor_is_none_of_ours() -> None:
    assert pinned(landed("d/r1/", EARLY, low=EARLY), cursor="changed_at").low == START


def test_batches_of_before_there_were_cutoffs_pin_nothing() -> None:
    assert pinned(landed("d/r1/", "")) == Pinned(MIDDLE, START)
