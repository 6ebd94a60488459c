"""Cases of this folder that need what does not exist yet. What makes one run takes its line away."""

from __future__ import annotations

NOT_YET: dict[str, str] = {}
"""Not run at all."""

LEFT_OUT: dict[str, str] = {}
"""Run without these steps or checks."""
