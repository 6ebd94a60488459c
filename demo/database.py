"""A PostgreSQL server as a process of its own, so that it can outlive the demo: ``python database.py FILE``.

Its address is written to FILE when it accepts connections; SIGTERM stops it.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from airflow_idempotent.testing.postgres import embedded_postgres


def serve(address: Path) -> None:
    """Run the server until SIGTERM. Its data is in /tmp, and goes with it."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with embedded_postgres({"max_connections": "200"}) as dsn:
        unfinished = address.with_suffix(".part")
        unfinished.write_text(dsn)
        os.replace(unfinished, address)
        while True:
            signal.pause()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
