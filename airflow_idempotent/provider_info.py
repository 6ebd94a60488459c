"""What Airflow reads to discover the provider.

Standard library only, and no import of the package's own modules: Airflow calls this
early, in every process, and an exception here would cost it the provider.
"""

from __future__ import annotations


def get_provider_info() -> dict[str, object]:
    """Describe the provider, in the words of Airflow's ``provider_info.schema.json``."""
    return {
        "package-name": "airflow-provider-idempotent",
        "name": "Idempotent",
        "description": "Load PostgreSQL tables so that running anything again is safe.",
        "versions": ["0.1.0"],
        "config": {
            "idempotent": {
                "description": "Options of the provider airflow-provider-idempotent.",
                "options": {
                    "landing_root": {
                        "description": "Folder or object store URL below which batches are landed, where a table's "
                        "spec says nothing else. Default: the folder idempotent in AIRFLOW_HOME.",
                        "version_added": "0.1.0",
                        "type": "string",
                        "example": "s3://lake/raw",
                        "default": "",
                    },
                },
            },
        },
        # Read by Airflow 3 only; on Airflow 2 the console script airflow-idempotent has the same commands.
        "cli": ["airflow_idempotent.cli.airflow_commands.get_commands"],
    }
