"""A process of its own for a load, killed at the n-th moment worth it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from tests.faults import Watched
from tests.laws.world import World


def in_a_child(work: Callable[[], object]) -> int:
    """Run it in a process of its own, which ends with it; its pid, without waiting."""
    if pid := os.fork():
        return pid
    try:
        work()
    finally:
        os._exit(0)  # neither pytest nor the fixtures must notice


def killed(pid: int) -> bool:
    """Whether the child was killed rather than done."""
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def killing(connect: Callable[[], Any], moment: int) -> Callable[[], Any]:
    """Connections that kill their process at the n-th moment worth it."""
    left = [moment]

    def watch(event: str) -> None:
        # What follows a statement is what precedes the next one, but for a COMMIT that nobody hears of.
        if event.startswith("before ") or event in ("chunk", "after COPY", "after COMMIT"):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return lambda: Watched(connect(), watch)


def moments_of(world: World, load: Callable[[Callable[[], Any]], object]) -> int:
    """How many moments a whole run has."""
    seen: list[str] = []
    load(lambda: Watched(world.connect(), seen.append))
    return sum(event.startswith("before ") or event in ("chunk", "after COPY", "after COMMIT") for event in seen)
