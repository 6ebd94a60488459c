"""Where a partition's rows come from. Paths and queries are templates, rendered per partition."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from airflow_idempotent.core.manifest import CsvFormat, Format, JsonlFormat, ParquetFormat
from airflow_idempotent.spec.model import Model as Model
from airflow_idempotent.spec.python_source import Python
from airflow_idempotent.spec.transform import Transform


class CsvOptions(Model):
    """How CSV bytes are read, in the words of PostgreSQL's COPY."""

    delimiter: str = Field(",", min_length=1, max_length=1, description="One character between fields.")
    quote: str = Field('"', min_length=1, max_length=1, description="One character around fields.")
    null: str = Field("", description="Unquoted text that means NULL; a quoted one is plain text.")
    encoding: str = Field("utf-8", description="Encoding of the files, e.g. utf-8, latin1, windows-1252.")

    header: bool = Field(True, description="Whether the first record names the columns.")
    columns: tuple[str, ...] = Field(
        (), description="Names of the columns in the order of the file, with header: false; default: those of the spec."
    )

    def value(self) -> CsvFormat:
        return CsvFormat(self.delimiter, self.quote, self.null, self.encoding, self.header)


class Files(Model):
    """Files that belong to one partition: ``/inbox/orders/{{ partition.key }}/*.csv``."""

    kind: Literal["files"] = "files"
    path: str = Field(min_length=1, description="Path or glob, local or any object store URL; a template.")
    format: Literal["csv", "jsonl", "parquet"] = Field(
        "csv",
        description="What the files are; each plain, or .gz or .zst by its name. How values are read: how-to/formats.",
    )
    csv: CsvOptions = Field(default_factory=CsvOptions, description="CSV dialect; only for format: csv.")
    conn_id: str | None = Field(None, description="Airflow connection of the object store.")

    def __init__(self, path: str | None = None, /, **values: Any) -> None:
        super().__init__(**({"path": path} | values if path is not None else values))

    def value(self) -> Format:
        """How the files are read."""
        match self.format:
            case "csv":
                return self.csv.value()
            case "jsonl":
                return JsonlFormat()
            case "parquet":
                return ParquetFormat()

    def file_columns(self, spec_columns: tuple[str, ...]) -> tuple[str, ...]:
        """The columns of files that do not name them, in their order; empty for all others."""
        return () if self.format != "csv" or self.csv.header else self.csv.columns or spec_columns

    def problems(self, spec_columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """What no single option can tell: (path, text)."""
        if self.format != "csv" and self.csv.model_fields_set:
            yield "source.csv", f"means nothing with format: {self.format}"
        elif self.csv.header and self.csv.columns:
            yield "source.csv.columns", "the header names the columns; write header: false where there is none"
        elif not self.csv.header and not self.file_columns(spec_columns):
            yield (
                "source.csv.columns",
                "required by header: false where the spec has no columns: what does the file hold?",
            )
        elif twice := sorted({name for name in self.csv.columns if self.csv.columns.count(name) > 1}):
            yield "source.csv.columns", f"column {twice[0]!r} is named twice"


class Query(Model):
    """A query against any database Airflow knows; ``:start :end :cutoff_ts :key`` are bound as values, never text.

    With a ``cursor`` it is incremental: a scheduled run reads from the watermark on, any other run its partition.
    """

    kind: Literal["query"] = "query"
    sql: str = Field(min_length=1, description="SELECT with binds :start :end :cutoff_ts :key, and :watermark.")
    conn_id: str = Field(min_length=1, description="Airflow connection to read from.")
    cursor: str | None = Field(
        None,
        min_length=1,
        description="Column of the query that rises with every change (timestamptz, timestamp in UTC, or date): "
        "a scheduled run reads from the watermark on, ties included. The bounds are put around the query, "
        "unless it uses :watermark itself.",
    )
    initial_value: int | None = Field(
        None,
        strict=True,
        description="With it the cursor is an integer that rises, such as an id, and the first run begins there, "
        "e.g. 0. late_data.watermark_lag is then a number, too.",
    )
    on_cursor_null: Literal["raise", "include", "exclude"] = Field(
        "raise", description="Rows without a cursor: refuse the batch, land them with each batch, or leave them out."
    )
    on_cursor_future: Literal["raise", "include", "exclude"] = Field(
        "include",
        description="Rows dated after the reading: same words. They are counted, and the watermark never follows them.",
    )

    def __init__(self, sql: str | None = None, /, **values: Any) -> None:
        super().__init__(**({"sql": sql} | values if sql is not None else values))

    @model_validator(mode="after")
    def _has_a_cursor(self) -> Query:
        names = sorted(name for name in self.model_fields_set if name.startswith(("on_cursor_", "initial_")))
        if names and not self.cursor:
            raise ValueError(f"{names[0]} means nothing without 'cursor'")
        if self.initial_value is not None and "on_cursor_future" in names:
            raise ValueError("on_cursor_future means nothing with 'initial_value': a number has no future")
        return self


Source = Annotated[Files | Query | Python | Transform, Field(discriminator="kind")]
KINDS = ("files", "query", "python", "transform")
