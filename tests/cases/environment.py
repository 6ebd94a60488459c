"""An Airflow without a metadata database: its home, set before anything imports Airflow.

In the whole suite tests/airflow/conftest.py has done that already.
"""

from __future__ import annotations

import os
import tempfile

if "AIRFLOW__CORE__UNIT_TEST_MODE" not in os.environ:
    os.environ.update(
        {
            "AIRFLOW_HOME": tempfile.mkdtemp(prefix="idem-cases-"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
            "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
            # The unit test configuration of Airflow 3 hides that a cron text has no data interval.
            "AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS": "False",
        }
    )
