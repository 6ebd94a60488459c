"""What everything a user writes has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """Base of everything a user writes: frozen, and unknown options are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)
