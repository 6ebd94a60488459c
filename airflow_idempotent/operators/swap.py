"""SwapTableOperator and RollbackOperator: one version of a table takes the place of another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, BaseOperator, Context

from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from airflow_idempotent.core.version import By, Keeping, OnDependents, RollbackOrder, SwapOrder, Swapped
from airflow_idempotent.engine.preflight import preflight
from airflow_idempotent.engine.retiring import clean_up
from airflow_idempotent.engine.swap import rollback, swap
from airflow_idempotent.errors import ArgumentsError, CutoverError, SwapSupersededError
from airflow_idempotent.operators.base import airflow_errors
from airflow_idempotent.operators.connections import Connections
from airflow_idempotent.operators.cutover import asked_by_param, is_approved, next_due, order_of
from airflow_idempotent.operators.lineage import Answers, TellsLineage
from airflow_idempotent.operators.run import LOST, attempt_of
from airflow_idempotent.spec.durations import duration
from airflow_idempotent.spec.table import TableSpec


def at(moment: datetime) -> Any:
    """What wakes a deferred task at that instant; where it is found depends on what is installed."""
    try:
        from airflow.providers.standard.triggers.temporal import DateTimeTrigger
    except ImportError:  # Airflow 2 without the provider has it itself
        from airflow.triggers.temporal import DateTimeTrigger  # type: ignore[import-not-found, no-redef, unused-ignore]
    return DateTimeTrigger(moment=moment)


class VersionOperator(TellsLineage, BaseOperator):
    """What SwapTableOperator and RollbackOperator share.

    :param table: The live table, ``schema.table``.
    :param conn_id: Airflow connection of the PostgreSQL that holds the table.
    :param lock_timeout: Seconds to try while others use the table, default 300; readers wait 0.1 s of it at most.
    :param on_dependents: ``refuse`` (default) when views or foreign keys of other tables refer to the live table, or
        ``carry``: they refer to the new one, from the same moment on.
    """

    template_fields: Sequence[str] = ("table", "conn_id", "lock_timeout", "on_dependents")
    swapped: Swapped | None = None
    ui_color = "#eee0db"

    def __init__(
        self,
        *,
        table: str,
        conn_id: str = "postgres_default",
        lock_timeout: float = 300,
        on_dependents: OnDependents = "refuse",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.conn_id = conn_id
        self.lock_timeout = lock_timeout
        self.on_dependents = on_dependents

    def execute(self, context: Context) -> dict[str, Any]:
        """Do it; what is live now, and where the table that was live is kept."""
        self.connections = Connections()
        with airflow_errors():
            try:
                return self.act(context)
            except ValueError as error:
                task = f"task {self.task_id!r} of DAG {self.dag_id!r}"
                raise ArgumentsError(file=task, problems=(("", str(error)),)) from None

    def act(self, context: Context) -> dict[str, Any]:
        """Do the operator's work."""
        raise NotImplementedError

    def teller(self) -> Answers:
        from airflow_idempotent.operators.openlineage import Swapping

        shadow = getattr(self, "shadow", None)
        given = Relation.parse(shadow) if shadow and shadow not in LOST else None
        return Swapping(Relation.parse(self.table), self.conn_id, given, self.swapped)

    def on_kill(self) -> None:
        """Cancel the query of a task that is killed; the old table stays live."""
        if (opened := getattr(self, "connections", None)) is not None:
            opened.cancel()

    @property
    def dependents(self) -> OnDependents:
        """What becomes of views and foreign keys of other tables.

        Raises:
            ValueError: it is another word.
        """
        if self.on_dependents not in ("refuse", "carry"):
            raise ValueError(f"on_dependents is {self.on_dependents!r}: write 'refuse' or 'carry'")
        return self.on_dependents

    @property
    def timeouts(self) -> Timeouts:
        """How long it may be in each other's way with others."""
        return Timeouts(float(self.lock_timeout))


class SwapTableOperator(VersionOperator):
    """Makes a shadow the live table, in one short transaction; the table that was live is kept beside it.

    Readers see the old table or the new one, never neither. Indexes, constraints and sequences keep their
    names. What hangs on the live table and would be lost is listed, and nothing is swapped. A second
    try finds it done; a task that is cleared after a later swap is refused.

    :param spec: A table's spec, in place of all other words: its version ``table_version`` is swapped in when every
        partition of the live table is in it and validated; until then the task is skipped.
    :param shadow: The table that takes the place of the live one, ``schema.table``.
    :param version: Or its number; default: the newest that was built.
    :param allow_empty: Also when the shadow has no rows and the live table has some.
    :param allow_changes: Also when columns, types or keys differ.
    :param by: ``rename``: the shadow takes the live table's name. ``view``: that name becomes a view of it. Default: as
        it is now, which is by rename until a first swap by view.
    :param partition: Key of the one partition that the shadow takes the place of, like ``{{ ds }}`` or ``2025-05``: its
        child table and the shadow change places, other partitions are left alone.
    :param timezone: The time zone whose calendar cuts it, default ``UTC``.
    :param keep_for: How long retired versions stay at least: ``7d`` (default), ``12h``.
    :param keep_versions: How many retired versions stay at least, default 1.
    :param approval: What the task that asks somebody got for an answer, where the spec says ``cutover: manual``.
    """

    shallow_copy_attrs: Sequence[str] = ("spec",)
    template_fields: Sequence[str] = (
        *VersionOperator.template_fields,
        "shadow", "version", "by", "partition", "timezone", "keep_for", "keep_versions", "approval",
    )  # fmt: skip

    def __init__(
        self,
        *,
        table: str = "",
        spec: TableSpec | None = None,
        shadow: str | None = None,
        version: int | str | None = None,
        allow_empty: bool = False,
        allow_changes: bool = False,
        by: By | None = None,
        partition: str | None = None,
        timezone: str = "UTC",
        keep_for: str | int = "7d",
        keep_versions: int | str = 1,
        approval: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(table=table, **kwargs)
        self.approval = approval
        self.spec = spec
        self.shadow = shadow
        self.version = version
        self.allow_empty = allow_empty
        self.allow_changes = allow_changes
        self.by = by
        self.partition = partition
        self.timezone = timezone
        self.keep_for = keep_for
        self.keep_versions = keep_versions

    def act(self, context: Context) -> dict[str, Any]:
        """Swap, then drop the retired versions whose time is over."""
        if self.spec is not None:
            return self._cut_over(self.spec, context)
        order = SwapOrder(
            Relation.parse(self.table),
            shadow=Relation.parse(self.shadow) if self.shadow and self.shadow not in LOST else None,
            version=None if self.version in (None, *LOST) else int(str(self.version)),
            allow_empty=self.allow_empty,
            allow_changes=self.allow_changes,
            by=self.way,
            partition=self.partition if self.partition and self.partition not in LOST else "",
            timezone=self.timezone,
            on_dependents=self.dependents,
            timeouts=self.timeouts,
            keeping=(keeping := Keeping(duration(self.keep_for), int(self.keep_versions))),
        )
        return self._swapped(order, keeping, self.conn_id, context)

    def resume(self, context: Context, event: Any = None) -> dict[str, Any]:
        """Go on when the time of day has come for which the task has waited."""
        return self.execute(context)

    @property
    def way(self) -> By | None:
        """How readers get to the table.

        Raises:
            ValueError: it is another word.
        """
        if self.by in (None, *LOST):
            return None
        if self.by not in ("rename", "view"):
            raise ValueError(f"by is {self.by!r}: write 'rename' or 'view'")
        return self.by

    def _cut_over(self, spec: TableSpec, context: Context) -> dict[str, Any]:
        """Swap the version of the spec in, unless it is not its time yet."""
        asked = is_approved(self.approval) or asked_by_param(spec, context)
        if spec.publish.cutover == "manual" and not asked:
            raise AirflowSkipException(f"{spec.table}: waits for a run with the param cutover, or for an approval")
        try:
            self._wait_for_window(spec, context)
            return self._swapped(order_of(spec), spec.publish.keeping, spec.conn_id, context)
        except SwapSupersededError as error:
            raise AirflowSkipException(str(error)) from None
        except CutoverError as error:
            if error.waiting:
                raise AirflowSkipException(str(error)) from None
            raise

    def _wait_for_window(self, spec: TableSpec, context: Context) -> None:
        """Leave the worker until the time of day has come; a version that is not ready is said at once.

        Raises:
            AirflowSkipException: the next run is due before.
            TaskDeferred: the task goes on then.
        """
        window, now = spec.cutover_window, datetime.now(UTC)
        if window is None or window.is_open(now):
            return
        words: dict[str, Any] = {"connect": self.connections.warehouse(spec.conn_id)}
        if isinstance(preflight(order_of(spec), **words, attempt=attempt_of(context, "manual")), Swapped):
            return
        opens, due = window.opens(now), next_due(context, now)
        if due is None or opens > due:
            raise AirflowSkipException(f"{spec.table}: is swapped in {window} only; a run at that time does it")
        self.log.info("swap table=%s waits for %s, until %s", spec.table, window, opens.isoformat())
        self.defer(trigger=at(opens), method_name="resume")

    def _swapped(self, order: SwapOrder, keeping: Keeping, conn_id: str, context: Context) -> dict[str, Any]:
        words: dict[str, Any] = {"connect": self.connections.warehouse(conn_id)}
        words["attempt"] = attempt_of(context, "manual")
        self.swapped = done = swap(order, **words)
        cleaned = clean_up(Relation.parse(done.table), keeping, timeouts=order.timeouts, **words)
        return done.as_pointer() | {"dropped": list(cleaned.dropped), "left": dict(cleaned.left)}


class RollbackOperator(VersionOperator):
    """Makes the version that was live before a swap live again: the same exchange, backwards.

    The version that is left is kept. A second try finds it done.

    :param to: Number of the version; default: the one that was live before.
    :param accept_loss: Also when loads made since the swap are not in it.
    """

    template_fields: Sequence[str] = (*VersionOperator.template_fields, "to")

    def __init__(self, *, to: int | str | None = None, accept_loss: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.to = to
        self.accept_loss = accept_loss

    def act(self, context: Context) -> dict[str, Any]:
        """Swap back."""
        to = None if self.to in (None, *LOST) else int(str(self.to))
        order = RollbackOrder(Relation.parse(self.table), to, self.dependents, self.timeouts, self.accept_loss)
        connect = self.connections.warehouse(self.conn_id)
        self.swapped = rollback(order, connect=connect, attempt=attempt_of(context, "manual"))
        return self.swapped.as_pointer()
