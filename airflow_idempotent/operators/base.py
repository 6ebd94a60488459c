"""What the operators share: whose partition, by which spec, and errors as Airflow understands them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowSkipException, BaseOperator, Context

from airflow_idempotent.engine.beside import meant
from airflow_idempotent.errors import ArgumentsError, GateClosedError, IdempotentError
from airflow_idempotent.operators.connections import Connections
from airflow_idempotent.operators.lineage import TellsLineage
from airflow_idempotent.operators.run import LOST, Assignment, assignments
from airflow_idempotent.operators.words import SpecT, spec_of
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.spec.table import TableSpec

LABEL = "{{ partition_label | default(task.partition_label) }}"
"""``map_index_template`` of tasks that are mapped over partitions: the UI shows keys instead of numbers."""


@contextmanager
def airflow_errors() -> Iterator[None]:
    """Let Airflow try again only what another try can help; the text of the error stays."""
    try:
        yield
    except IdempotentError as error:
        if error.retryable:
            raise
        raise AirflowFailException(str(error)) from error


class PartitionOperator(TellsLineage, BaseOperator):
    """Does one step for each of its partitions, usually one.

    The partition is the one named, else those that the plan of this run names, else the data
    interval of a scheduled run, or the partition that holds the logical date of a manual one.
    Running it again is safe. Errors that no retry can help fail the task at once.

    :param table: The table, ``schema.table``.
    :param partition: Key of the partition, like ``2025-05-01``; default: what the run means.
    :param planned: What the plan of a run says of the partitions, as an XCom; takes the place of the run.
    :param grain: Size of a partition: hour, day (default), week, month or year.
    :param timezone: Time zone whose calendar cuts the partitions.
    :param root: Folder or object store URL below which batches are landed;
        default: option ``landing_root`` in section ``[idempotent]`` of airflow.cfg.
    :param spec: A table's spec, in place of all other words.
    """

    template_fields: Sequence[str] = ("table", "partition", "planned", "grain", "timezone", "root")
    shallow_copy_attrs: Sequence[str] = ("spec",)
    not_words: ClassVar[frozenset[str]] = frozenset({"partition", "planned", "batch", "target"})

    def __init__(
        self,
        *,
        table: str | None = None,
        partition: str | None = None,
        planned: Any = None,
        grain: str | None = None,
        timezone: str | None = None,
        root: str | None = None,
        spec: TableSpec | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.table = table
        self.partition = partition
        self.planned = planned
        self.needs_plan = planned is not None
        self.grain = grain
        self.timezone = timezone
        self.root = root
        self.spec = spec

    def execute(self, context: Context) -> Any:
        """Do the step for each partition; one pointer, or one per partition of the plan."""
        self.connections = Connections()
        self.begin_diary()
        variables: Any = context
        with airflow_errors():
            spec = self.load_spec()
            assigned = assignments(
                spec, context, partition=self.partition, planned=self.planned, needs_plan=self.needs_plan
            )
            label = _label([item.partition.key for item in assigned])
            variables["partition_label"] = label
            self.log.info("table=%s partition=%s", spec.table, label)
            pointers = list(self._each(spec, assigned, context))
        self.done(context, pointers)
        return pointers if self.planned or len(pointers) != 1 else pointers[0]

    def load_spec(self) -> Any:
        """The spec of this task; each operator says which kind it needs."""
        raise NotImplementedError

    def step(self, spec: Any, assignment: Assignment, context: Context) -> dict[str, Any]:
        """Do the operator's work for one partition, and say what to hand on."""
        raise NotImplementedError

    def done(self, context: Context, pointers: Sequence[Mapping[str, Any]]) -> None:
        """Called after the last partition."""

    def on_kill(self) -> None:
        """Cancel the query of a task that is killed; what it wrote is rolled back."""
        if (opened := getattr(self, "connections", None)) is not None:
            opened.cancel()

    @property
    def partition_label(self) -> str:
        """The partitions of this task for people, as far as its arguments tell."""
        if isinstance(self.partition, str) and self.partition not in LOST:
            return self.partition
        planned = [self.planned] if isinstance(self.planned, Mapping) else self.planned
        if not isinstance(planned, (list, tuple)):
            return ""
        return _label([str(item.get("partition", "")) for item in planned if isinstance(item, Mapping)])

    def builds_shadow(self, target: str | None) -> bool:
        """Whether the task is for a version beside the live table, as far as its arguments tell."""
        planned = [self.planned] if isinstance(self.planned, Mapping) else self.planned
        found = planned if isinstance(planned, (list, tuple)) else ()
        told = {item.get("target") for item in found if isinstance(item, Mapping)}
        return target == "shadow" or (target in (None, *LOST) and "shadow" in told)

    def spec_from_words(self, model: type[SpecT]) -> SpecT | TableSpec:
        """The spec given as such, or the one that the operator's words make.

        Raises:
            ArgumentsError: everything that is wrong with the words.
        """
        names = [name for name in self.word_fields if name not in self.not_words]
        words = {name: value for name in names if (value := getattr(self, name)) is not None}
        task = f"task {self.task_id!r} of DAG {self.dag_id!r}"
        if self.spec is None:
            return spec_of(model, words, task=task)
        if words:
            raise ArgumentsError(
                file=task, problems=tuple((name, "given beside 'spec', which says it") for name in words)
            )
        return self.spec

    def meant(self, spec: SpecT, assignment: Assignment) -> SpecT:
        """The spec by which the version that is meant is landed and loaded: its own, until it is swapped."""
        if not isinstance(spec, TableSpec) or spec.publish.mode == "direct":
            return spec
        return meant(spec, assignment.target, connect=self.connections.warehouse(spec.conn_id))

    @property
    def word_fields(self) -> Sequence[str]:
        """The arguments that make a spec."""
        return self.template_fields

    def _each(self, spec: LoadSpec, assigned: Sequence[Assignment], context: Context) -> Iterator[dict[str, Any]]:
        skipped: list[str] = []
        for assignment in assigned:
            try:
                yield self.step(spec, assignment, context)
            except AirflowSkipException as reason:
                self.log.info("table=%s partition=%s skipped: %s", spec.table, assignment.partition, reason)
                skipped.append(str(reason))
            except GateClosedError as closed:
                self.diary.note(assignment.partition.key, checks=closed.results)
                raise
        if skipped and len(skipped) == len(assigned):
            raise AirflowSkipException("; ".join(dict.fromkeys(skipped)))


def _label(keys: Sequence[str]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} … {keys[-1]} ({len(keys)})" if keys else ""
