"""Every strategy as the laws try it: one file each, one line each."""

from __future__ import annotations

from tests.laws.kinds import replacing
from tests.laws.kinds.cdc import CDC, CDC_KEY_BEFORE, CDC_SOFT
from tests.laws.kinds.insert_only import INSERT_ONLY, UNVERSIONED
from tests.laws.kinds.kind import PARTITIONS, Kind, Model
from tests.laws.kinds.merge import MERGE
from tests.laws.kinds.merge_options import ON_MISSING_DELETE, UPDATE_COLUMNS
from tests.laws.kinds.scd2 import SCD2, SCD2_CURRENT

KINDS: dict[str, Kind] = {
    "insert_only": INSERT_ONLY,
    "insert_only, no version": UNVERSIONED,
    "cdc": CDC,
    "cdc, key_before": CDC_KEY_BEFORE,
    "cdc, soft": CDC_SOFT,
    "merge": MERGE,
    "merge, update columns": UPDATE_COLUMNS,
    "merge, on missing delete": ON_MISSING_DELETE,
    "scd2": SCD2,
    "scd2, is_current": SCD2_CURRENT,
    "insert_overwrite, attach": replacing.INSERT_OVERWRITE_ATTACH,
    "append": replacing.APPEND,
    "append, unique_key": replacing.APPEND_BY_KEY,
    "delete_insert": replacing.DELETE_INSERT,
    "delete_insert, merge_key": replacing.DELETE_INSERT_OF_LINES,
    "insert_overwrite": replacing.INSERT_OVERWRITE,
    "insert_overwrite, unique_key": replacing.INSERT_OVERWRITE_BY_KEY,
    "snapshot": replacing.SNAPSHOT,
    "snapshot, unique_key": replacing.SNAPSHOT_BY_KEY,
    "snapshot, keep": replacing.SNAPSHOT_KEEPS,
    "snapshot, soft_delete": replacing.SNAPSHOT_MARKS,
}
"""By the name of the strategy, with a comma and a word when it is tried with options."""

__all__ = ["KINDS", "PARTITIONS", "Kind", "Model"]
