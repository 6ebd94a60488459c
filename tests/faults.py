"""Connections that tell of everything sent to the server; public, since users' proofs need them too."""

from airflow_idempotent.testing.watched import Watch, Watched

__all__ = ["Watch", "Watched"]
