"""How rows get into a table: the options shared by spec files and hand-written operators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from airflow_idempotent.checks import Diff, Reconcile, Relationships
from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.data_types import catalogue_spelling
from airflow_idempotent.core.partition import Grain, Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.version import version_name
from airflow_idempotent.spec.checks import Checks
from airflow_idempotent.spec.model import Model
from airflow_idempotent.spec.options import ColumnSpec, Landing, Names, PartitionBy, Reject, named_mode, named_strategy
from airflow_idempotent.spec.words import meant, ours
from airflow_idempotent.strategies import AnyStrategy, Merge

Problem = tuple[str, str]


class LoadSpec(Model):
    """The words StageMergeOperator and ValidatePartitionOperator take."""

    table: str = Field(description="Target table, schema.table; double quotes around odd names.")
    table_version: int = Field(
        1,
        ge=1,
        description="Which version of the table this is; another one than the live one is built beside it, as "
        "table__v2, until it is swapped in. Not to be confused with 'version', which orders rows.",
    )
    conn_id: str = Field("postgres_default", description="Airflow connection of the warehouse.")
    columns: tuple[ColumnSpec, ...] = Field(
        (), description="Columns, to create the table from; optional when it exists."
    )
    unique_key: Names = Field((), description="Columns that tell which row is which; alias primary_key.")
    version: Names = Field((), description="Columns that order two rows of one key; the greatest wins.")
    event_time: str | None = Field(None, description="Column that says when a row happened.")
    partition_by: PartitionBy = Field(default_factory=PartitionBy, description="How the time axis is cut.")
    timezone: str = Field("UTC", description="Time zone whose calendar cuts the partitions (IANA name).")
    strategy: Annotated[AnyStrategy, BeforeValidator(named_strategy)] = Field(
        default_factory=Merge, description="How rows get in: its name, or a mapping with its options."
    )
    landing: Landing = Field(default_factory=Landing, description="Where batches are kept as they came.")
    on_schema_change: Literal["fail", "ignore", "append_new_columns", "sync_all_columns"] = Field(
        "fail",
        description="When the columns of batch, spec and target differ: append_new_columns adds what the target lacks; "
        "sync_all_columns makes it as 'columns' say, and drops others; a type is only ever widened.",
    )
    on_event_time_missing: Literal["raise", "include", "exclude"] | None = Field(
        None,
        description="Rows without a time in the partition column: refuse the batch, load them, or leave them out "
        "(counted as rejected). Default: raise where the strategy replaces the partition, else include.",
    )
    on_outside_partition: Literal["raise", "include", "exclude"] | None = Field(
        None,
        description="Rows whose time lies outside the partition; same words, same default.",
    )
    reject: Annotated[Reject, BeforeValidator(named_mode)] = Field(
        default_factory=Reject, description="What happens to bad rows: fail, quarantine, or a mapping with bounds."
    )
    on_empty: Literal["fail", "skip", "publish_empty"] = Field(
        "fail", description="When a partition has no input, or no rows."
    )
    checks: Checks = Field((), description="What must hold before rows become visible.")
    fillfactor: int | None = Field(
        None,
        ge=10,
        le=100,
        description="Of tables we create: how full a page gets, in percent. Default: 85, which leaves room for updates "
        "in place, or 100 where the strategy makes none.",
    )
    lock_timeout: float = Field(
        300, gt=0, description="Seconds to wait for another run of the same table or partition."
    )
    statement_timeout: float | None = Field(
        None, gt=0, description="Seconds one statement may run; default: the server's setting."
    )

    _number: int = PrivateAttr(1)
    _is_beside: bool = PrivateAttr(False)
    _behind: Relation | None = PrivateAttr(None)
    _lands_apart: bool = PrivateAttr(False)

    @model_validator(mode="before")
    @classmethod
    def _our_words(cls, values: Any) -> Any:
        return ours(values) if isinstance(values, Mapping) else values

    @field_validator("table")
    @classmethod
    def _a_table(cls, value: str) -> str:
        return str(Relation.parse(value))

    @field_validator("timezone")
    @classmethod
    def _a_zone(cls, value: str) -> str:
        try:
            Grain.DAY.parse("2025-05-01", value)
        except (KeyError, ValueError, OSError):
            raise ValueError(f"{value!r} is not a time zone, write it like 'Europe/Berlin'") from None
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> LoadSpec:
        if problems := tuple(self.problems()):
            raise PydanticCustomError("problems", "{count} problems", {"count": len(problems), "problems": problems})
        return self

    def problems(self) -> Iterator[Problem]:
        """What no single option can tell: (path, text)."""
        yield from self.unmet_needs()
        for path, names in (("unique_key", self.unique_key), ("version", self.version), ("columns", self.column_names)):
            for name in sorted({name for name in names if names.count(name) > 1}):
                yield path, f"column {name!r} is named twice"
        yield from self.strategy.problems(self.unique_key, self.version)
        yield from self._unknown_columns()
        yield from self._misplaced()
        yield from self._without_key()
        if self.on_schema_change == "sync_all_columns" and not self.columns:
            yield "columns", "required by 'on_schema_change: sync_all_columns': which columns shall the table have?"
        if self.partition_by.declarative and not self.partition_by.column:
            yield "partition_by.column", "required by declarative: which column cuts the table?"
        elif self.partition_by.declarative and self.partition_by.column not in self.created_key:
            yield (
                "unique_key",
                f"must hold {self.partition_by.column!r}: PostgreSQL needs it in every key of a partitioned table",
            )

    def _misplaced(self) -> Iterator[Problem]:
        """Policies about the time of a row, where it has none or the strategy cannot follow."""
        for option in ("on_event_time_missing", "on_outside_partition"):
            policy = getattr(self, option)
            if policy in ("raise", "exclude") and not self.partition_column:
                yield option, "needs 'partition_by.column' or 'event_time': which column says when a row happened?"
            if policy == "include" and self.strategy.stays_inside:
                why = f"strategy {self.strategy.kind!r} replaces the partition"
                yield option, f"'include' would write such rows again with every batch: {why}"

    def _without_key(self) -> Iterator[Problem]:
        """Checks that cannot tell rows apart."""
        for number, check in enumerate(self.checks):
            if isinstance(check, Diff) and not check.key and not self.unique_key:
                yield f"checks.{number}.diff.key", "required without 'unique_key': which columns tell rows apart?"
            if isinstance(check, Relationships) and check.other == self.live:
                text = "is the table itself, whose rows may come with one batch: write a custom_sql check of this_model"
                yield f"checks.{number}.relationships.to", text

    def unmet_needs(self) -> Iterator[Problem]:
        """What the strategy cannot do without."""
        for need, question in self.strategy.demands.items():
            if not getattr(self, need):
                path = "partition_by.column" if need == "partition_column" else need
                yield path, f"required by strategy {self.strategy.kind!r}: {question}"
        for number, check in enumerate(self.checks):
            if isinstance(check, Reconcile) and check.buckets and not self.unique_key:
                yield f"checks.{number}.reconcile.buckets", "needs 'unique_key': buckets are cut by it"

    def _unknown_columns(self) -> Iterator[Problem]:
        if not (known := self.column_names):
            return
        own = tuple(item.name for item in self.strategy.own_columns({}, self.version))
        for filled in own:
            if filled in known:
                yield "columns", f"column {filled!r} is filled by strategy {self.strategy.kind!r}: take it out"
        known = (*known, *own)
        used: list[tuple[str, str | None]] = [
            ("event_time", self.event_time),
            ("partition_by.column", self.partition_by.column),
        ]
        used += [("unique_key", name) for name in self.unique_key] + [("version", name) for name in self.version]
        used += [(f"strategy.{option}", name) for option, name in self.strategy.target_columns_used.items()]
        used += [
            (f"checks.{number}.{check.kind}", name)
            for number, check in enumerate(self.checks)
            for name in check.columns_used
        ]
        for path, name in used:
            if name and name not in known:
                yield path, f"column {name!r} is not in 'columns'{meant(name, known)}"

    @property
    def live(self) -> Relation:
        """What readers read: a table, or a view of the version that is live."""
        return Relation.parse(self.table)

    @property
    def relation(self) -> Relation:
        """The table that is loaded: the live one, or this version of it, which is kept beside."""
        return version_name(self.live, self._number) if self._is_beside else self._behind or self.live

    @property
    def number(self) -> int:
        """The version of the table that is loaded, as the ledger counts."""
        return self._number

    @property
    def is_beside(self) -> bool:
        """Whether what is loaded is a version beside the live one."""
        return self._is_beside

    @property
    def landed_as(self) -> str:
        """Under which name its batches are landed: the table's, or a version's that has a source of its own."""
        return str(version_name(self.live, self._number)) if self._lands_apart else self.table

    def of_version(
        self, number: int, *, beside: bool = False, behind: Relation | None = None, lands_apart: bool = False
    ) -> Self:
        """The same spec, for the live table that is this version, or for a version beside it.

        ``behind`` is the live table where readers read a view of it.
        """
        found = self.model_copy()
        found._number, found._is_beside, found._behind, found._lands_apart = number, beside, behind, lands_apart
        return found

    def policy_for(self, option: str) -> str:
        """What a policy about the time of a row says, its default put in."""
        default = "raise" if self.strategy.stays_inside else "include"
        return getattr(self, option) or (default if self.partition_column else "include")

    @property
    def quarantines(self) -> bool:
        """Whether bad rows are set aside instead of refusing the batch."""
        return self.reject.mode == "quarantine"

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def grain(self) -> Grain:
        return self.partition_by.grain

    @property
    def partition_column(self) -> str | None:
        """The column that says which partition a row of the target belongs to."""
        return self.partition_by.column or self.event_time

    def partition(self, key: str) -> Partition:
        """The partition of that key, e.g. ``2025-05-01``. Raises ValueError, showing a key of this grain."""
        return self.grain.parse(key, self.timezone)

    def created_columns(self) -> tuple[Column, ...]:
        """The columns as the target is created with them; keys are never NULL."""
        columns = tuple(
            Column(
                column.name,
                catalogue_spelling(column.data_type),
                nullable="not_null" not in column.constraints and column.name not in self.created_key,
            )
            for column in self.columns
        )
        return (*columns, *self.strategy.own_columns({item.name: item for item in columns}, self.version))

    @property
    def created_key(self) -> tuple[str, ...]:
        """The primary key of the table that we create."""
        return self.strategy.created_key(self.unique_key, self.version)
