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
        read = f"cursor={window.cursor} low={window.low} high={window.high} read_at={window.read_at}"
        counts = f"null_rows={window.null_rows} future_rows={window.future_rows}"
        yield logging.INFO, f"{read} watermark={window.watermark or '-'} {counts}"
        if window.note:
            yield logging.WARNING, window.note
        if window.future_rows:
            dated = f"{window.future_rows} row(s) are dated after the reading ({window.read_at})"
            yield logging.WARNING, f"{dated}; the watermark stays below"
