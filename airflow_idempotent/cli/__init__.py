"""The command line: the same engine as in Airflow, without Airflow."""
