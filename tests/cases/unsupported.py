"""Cases of this folder that need what does not exist yet. What makes one run takes its line away."""

from __future__ import annotations

NOT_YET: dict[str, str] = {
    "S01": "swap: issue 5",
    "S02": "swap: issue 5",
    "S03": "swap: issue 5",
    "S05": "swap: issue 5",
    "S06": "swap: issue 5",
    "S08": "swap: issue 5",
    "S09": "swap: issue 5",
    "S10": "swap: issue 5",
}
"""Not run at all."""

LEFT_OUT: dict[str, str] = {
    "I02": "swap: issue 5",
}
"""Run without these steps or checks."""
