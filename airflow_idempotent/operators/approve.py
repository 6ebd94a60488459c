"""Asking somebody before a version goes live: Airflow's human in the loop, where there is one (from 3.1 on)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from airflow.providers.common.compat.sdk import AirflowSkipException, Context
from airflow.providers.standard.operators.hitl import ApprovalOperator

from airflow_idempotent.core.version import Swapped
from airflow_idempotent.engine.preflight import Preflight, preflight
from airflow_idempotent.engine.states import comparisons
from airflow_idempotent.errors import CutoverError, SwapSupersededError
from airflow_idempotent.operators.base import airflow_errors
from airflow_idempotent.operators.connections import Connections
from airflow_idempotent.operators.cutover import APPROVED, asked_by_param, longest_wait, order_of
from airflow_idempotent.operators.run import attempt_of
from airflow_idempotent.spec.table import TableSpec

LISTED = 10


class ApproveCutoverOperator(ApprovalOperator):
    """Asks whether the version of a spec shall become the live table, when it is ready and not before.

    The question has what was compared and how the swap can be undone. Nobody is asked by backfills and by runs that
    catch up. It waits for half an interval at most, so that the next run of the table is not held up; unanswered it
    counts as no, and the next run asks again. The task ``swap`` behind it goes ahead only after a yes.

    :param spec: A table's spec, with ``cutover: manual``.
    """

    shallow_copy_attrs: Sequence[str] = ("table_spec",)

    def __init__(self, *, spec: TableSpec, **kwargs: Any) -> None:
        subject = f"Swap version {spec.table_version} of {spec.table} in?"
        super().__init__(subject=subject, defaults=self.REJECT, **kwargs)
        self.table_spec = spec

    def execute(self, context: Context) -> Any:
        """Ask, or say why there is nothing to ask."""
        spec = self.table_spec
        with airflow_errors():
            if asked_by_param(spec, context):
                return APPROVED
            found = self._ready(spec, context)
            self.response_timeout = longest_wait(context, datetime.now(UTC))
            if self.response_timeout is None:
                raise AirflowSkipException(f"{spec.table}: a later run is due, that one asks")
            self.body = self._body(spec, found)
        return super().execute(context)

    def _ready(self, spec: TableSpec, context: Context) -> Preflight:
        """What would be swapped.

        Raises:
            AirflowSkipException: there is nothing to ask, or not yet.
        """
        connect = Connections().warehouse(spec.conn_id)
        try:
            found = preflight(order_of(spec), connect=connect, attempt=attempt_of(context, "manual"))
        except (CutoverError, SwapSupersededError) as error:
            raise AirflowSkipException(str(error)) from None
        if isinstance(found, Swapped):
            raise AirflowSkipException(f"{spec.table}: version {found.version} is live already")
        return found

    def _body(self, spec: TableSpec, found: Preflight) -> str:
        """What has to be known to decide, as Markdown."""
        connect = Connections().warehouse(spec.conn_id)
        compared = comparisons(connect, spec.table, found.coming.number, everything=True)
        meant = [f"- {item.partition}: {unlike}" for item in compared for unlike in item.comparison.unlike]
        more = [f"- and {len(meant) - LISTED:,} more"] if len(meant) > LISTED else []
        told = ["Differences, all of them expected:", "", *meant[:LISTED], *more] if meant else ["Nothing differs."]
        first = f"`{found.coming.relation}` (version {found.coming.number}) takes the place of `{spec.table}` "
        first += f"(version {found.live.number}). {len(compared):,} partitions are compared with the live table."
        return "\n".join([first, "", *told, "", str(found.way_back)])
