"""``python -m airflow_idempotent`` is ``airflow-idempotent``."""

from __future__ import annotations

import sys

from airflow_idempotent.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
