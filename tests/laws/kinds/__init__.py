"""Every strategy as the laws try it: one file each, one line each."""

from __future__ import annotations

from tests.laws.kinds.cdc import CDC, CDC_KEY_BEFORE, CDC_SOFT
from tests.laws.kinds.kind import PARTITIONS, Kind, Model
from tests.laws.kinds.merge import MERGE

KINDS: dict[str, Kind] = {
    "cdc": CDC,
    "cdc, key_before": CDC_KEY_BEFORE,
    "cdc, soft": CDC_SOFT,
    "merge": MERGE,
}
"""By the name of the strategy, with a comma and a word when it is tried with options."""

__all__ = ["KINDS", "PARTITIONS", "Kind", "Model"]
