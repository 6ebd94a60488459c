"""What a test of your own tables needs: a real PostgreSQL, without a service to install."""

from airflow_idempotent.testing.postgres import PostgresUnavailableError, embedded_postgres, postgres_bin

__all__ = ["PostgresUnavailableError", "embedded_postgres", "postgres_bin"]
