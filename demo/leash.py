"""Stops the demo when ``run.py`` is gone, even by SIGKILL: ``python leash.py FOLDER``, its stdin held by ``run.py``."""

from __future__ import annotations

import sys
from pathlib import Path

import servers


def hold(folder: Path) -> None:
    """Wait for the end of stdin, which comes when its writer is gone; then stop what still runs."""
    sys.stdin.read()
    if running := servers.found_in(folder):
        running.stop()


if __name__ == "__main__":
    hold(Path(sys.argv[1]))
