"""An Airflow without a metadata database: its home, set before anything imports Airflow.

In the whole suite tests/airflow/conftest.py has done that already.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

if "AIRFLOW__CORE__UNIT_TEST_MODE" not in os.environ:
    _home = tempfile.mkdtemp(prefix="idem-cases-")
    atexit.register(shutil.rmtree, _home, ignore_errors=True)
    os.environ.update(
        {
            "AIRFLOW_HOME": _home,
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
            "AIRFLOW__DATABASE__LOAD_DEFAULT_CONNECTIONS": "False",
            "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
            # The unit test configuration of Airflow 3 hides that a cron text has no data interval.
            "AIRFLOW__SCHEDULER__CREATE_CRON_DATA_INTERVALS": "False",
        }
    )
