"""The Airflow shell: an operator reads the context, calls the engine, returns a receipt."""
