# Every spec in tables/ is one DAG. Airflow finds this file because it says "dag" and "airflow".
from airflow_idempotent import load_tables

load_tables("tables", globals())
