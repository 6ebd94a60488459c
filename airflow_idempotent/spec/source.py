"""Where a partition's rows come from. Paths and queries are templates, rendered per partition."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from airflow_idempotent.core.manifest import CsvFormat
from airflow_idempotent.spec.model import Model as Model
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.transform import Transform


class CsvOptions(Model):
    """How CSV bytes are read, in the words of PostgreSQL's COPY."""

    delimiter: str = Field(",", min_length=1, max_length=1, description="One character between fields.")
    quote: str = Field('"', min_length=1, max_length=1, description="One character around fields.")
    null: str = Field("", description="Unquoted text that means NULL; a quoted one is plain text.")
    encoding: str = Field("utf-8", description="Encoding of the files, e.g. utf-8, latin1, windows-1252.")

    def value(self) -> CsvFormat:
        return CsvFormat(self.delimiter, self.quote, self.null, self.encoding)


class Files(Model):
    """Files that belong to one partition: ``/inbox/orders/{{ partition.key }}/*.csv``."""

    kind: Literal["files"] = "files"
    path: str = Field(min_length=1, description="Path or glob, local or any object store URL; a template.")
    format: Literal["csv"] = Field("csv", description="csv, plain or gzip (by the name's ending).")
    csv: CsvOptions = Field(default_factory=CsvOptions, description="CSV dialect.")
    conn_id: str | None = Field(None, description="Airflow connection of the object store.")

    def __init__(self, path: str | None = None, /, **values: Any) -> None:
        super().__init__(**({"path": path} | values if path is not None else values))


class Query(Model):
    """A query against any database Airflow knows; ``:start :end :cutoff_ts :key`` are bound as values, never text."""

    kind: Literal["query"] = "query"
    sql: str = Field(min_length=1, description="SELECT with binds :start :end :cutoff_ts :key.")
    conn_id: str = Field(min_length=1, description="Airflow connection to read from.")

    def __init__(self, sql: str | None = None, /, **values: Any) -> None:
        super().__init__(**({"sql": sql} | values if sql is not None else values))


Source = Annotated[Files | Query | Python | Transform, Field(discriminator="kind")]
KINDS = ("files", "query", "python", "transform")
