"""What there is to say of a landing beyond its numbers, for the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from airflow_idempotent.landing.land import Landed

Line = tuple[int, str]


def told(landed: Landed) -> Iterator[Line]:
    """Level and text of each line: what changed in the source, what an incremental query found."""
    for change in landed.changed:
        if landed.drifted:
            yield logging.WARNING, f"the source changed under the same cutoff: {change}"
        else:
            yield logging.INFO, f"changed: {change}"
    if window := landed.manifest.window:
        yield logging.INFO, (
            f"cursor={window.cursor} low={window.low} high={window.high} read_at={window.read_at} "
            f"watermark={window.watermark or '-'} null_rows={window.null_rows} future_rows={window.future_rows}"
        )
        if window.note:
            yield logging.WARNING, window.note
        if window.future_rows:
            yield logging.WARNING, (
                f"{window.future_rows} row(s) are dated after the reading ({window.read_at}); the watermark stays below"
            )
