"""DeduplicateTableOperator: removes the duplicates that are in a table already."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.common.compat.sdk import BaseOperator, Context

from airflow_idempotent.core.duplicates import Deduplication
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.engine.deduplicate import deduplicate
from airflow_idempotent.errors import ArgumentsError
from airflow_idempotent.operators.base import airflow_errors
from airflow_idempotent.operators.connections import Connections
from airflow_idempotent.operators.lineage import Answers, TellsLineage
from airflow_idempotent.operators.run import attempt_of


class DeduplicateTableOperator(TellsLineage, BaseOperator):
    """Leaves of the rows of each key only the best one, in a table that has duplicates already.

    The greatest version stays, NULL is lowest, ties are decided by the row's content. Rows with NULL
    in the key are counted and left alone. Nothing is truncated or rewritten: rows go in bounded chunks,
    each in a transaction of its own, and readers never wait. A task that was killed goes on where
    it was; one that is run again removes nothing and writes nothing.

    :param table: The table, ``schema.table``.
    :param conn_id: Airflow connection of the PostgreSQL that holds the table.
    :param unique_key: Columns that tell which row is which.
    :param version: Columns that order two rows of one key; the greatest stays. Default: the content decides.
    :param chunk_rows: Rows that one transaction removes at most; default: 10,000, or a hundredth of the
        table where no index leads to the key, since each chunk then reads the whole table.
    :param lock_timeout: Seconds to wait for other writers of the table, default 300.
    :param statement_timeout: Seconds one statement may run; default: the server's setting.
    :param dry_run: Only count, in one read-only snapshot.
    """

    template_fields: Sequence[str] = (
        "table",
        "conn_id",
        "unique_key",
        "version",
        "chunk_rows",
        "lock_timeout",
        "statement_timeout",
    )
    ui_color = "#dbe5ee"

    def __init__(
        self,
        *,
        table: str,
        unique_key: Sequence[str] | str,
        version: Sequence[str] | str = (),
        conn_id: str = "postgres_default",
        chunk_rows: int | None = None,
        lock_timeout: float = 300,
        statement_timeout: float | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.unique_key = unique_key
        self.version = version
        self.conn_id = conn_id
        self.chunk_rows = chunk_rows
        self.lock_timeout = lock_timeout
        self.statement_timeout = statement_timeout
        self.dry_run_only = dry_run

    def execute(self, context: Context) -> dict[str, Any]:
        """Remove the duplicates; how many there were of how many keys, and the index that keeps them out."""
        self.connections = Connections()
        with airflow_errors():
            done = deduplicate(
                self._order(),
                connect=self.connections.warehouse(self.conn_id),
                attempt=attempt_of(context, "manual"),
                dry_run=self.dry_run_only,
            )
        self.done = done
        if done.null_keys:
            self.log.warning("table=%s null_keys=%d: left alone, NULL is in their key", done.table, done.null_keys)
        if done.index_advice:
            self.log.info("table=%s no unique index keeps duplicates out: %s", done.table, done.index_advice)
        return done.as_pointer()

    def teller(self) -> Answers:
        from airflow_idempotent.operators.openlineage import Deduplicating

        return Deduplicating(Relation.parse(self.table), self.conn_id, getattr(self, "done", None))

    def on_kill(self) -> None:
        """Cancel the query of a task that is killed; its chunk is rolled back, earlier ones stay."""
        if (opened := getattr(self, "connections", None)) is not None:
            opened.cancel()

    def _order(self) -> Deduplication:
        """What the arguments ask for, once templates have been filled in.

        Raises:
            ArgumentsError: they name no table, no key, or something twice.
        """
        try:
            return Deduplication(
                relation=Relation.parse(self.table),
                unique_key=_names(self.unique_key),
                version=_names(self.version),
                chunk_rows=None if self.chunk_rows is None else int(self.chunk_rows),
                timeouts=Timeouts(float(self.lock_timeout), self.statement_timeout and float(self.statement_timeout)),
            )
        except ValueError as error:
            task = f"task {self.task_id!r} of DAG {self.dag_id!r}"
            raise ArgumentsError(file=task, problems=(("", str(error)),)) from None


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    """One name, or several."""
    return (given,) if isinstance(given, str) else tuple(given)
