"""What a case's notes promise beyond its checks, as far as it can be asked: one function per case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.cases import notes_files, notes_loads, notes_runs, notes_watermarks
from tests.cases.case import Case, own_cases
from tests.cases.noting import Note

MAY_FAIL: Mapping[str, Sequence[int]] = {"T01": (1,), "C07": (0,)}
"""Steps of which the notes leave it to us whether they fail, by their place among the plain steps."""


def note_of(case: Case) -> Note | None:
    """What to ask after the case. For a case of another file only when it is one of ours, word by word."""
    found = (notes_loads.NOTES | notes_files.NOTES | notes_runs.NOTES | notes_watermarks.NOTES).get(case.id)
    return found if found and own_cases().get(case.id) == case else None
