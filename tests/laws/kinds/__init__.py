"""Every strategy as the laws try it: one file each, one line each."""

from __future__ import annotations

from tests.laws.kinds.insert_only import INSERT_ONLY, UNVERSIONED
from tests.laws.kinds.kind import PARTITIONS, Kind, Model
from tests.laws.kinds.merge import MERGE
from tests.laws.kinds.merge_options import ON_MISSING_DELETE, UPDATE_COLUMNS

KINDS: dict[str, Kind] = {
    "insert_only": INSERT_ONLY,
    "insert_only, no version": UNVERSIONED,
    "merge": MERGE,
    "merge, update columns": UPDATE_COLUMNS,
    "merge, on missing delete": ON_MISSING_DELETE,
}
"""By the name of the strategy, with a comma and a word when it is tried with options."""

__all__ = ["KINDS", "PARTITIONS", "Kind", "Model"]
