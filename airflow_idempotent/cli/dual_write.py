"""What ``run`` loads beside the live table: the version that is being built, and the one to go back to."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from airflow_idempotent.cli.pipeline import Outcome
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.beside import kept_up, meant
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.engine.validate import validate
from airflow_idempotent.errors import IdempotentError
from airflow_idempotent.landing.land import Landed
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.table import TableSpec

log = logging.getLogger(__name__)
Land = Callable[[TableSpec], Landed | None]
"""Lands the partition by the spec of a version."""


def dual_write(
    spec: TableSpec,
    partition: Partition,
    land: Land,
    *,
    store: BatchStore,
    connect: Connect,
    outcome: Outcome,
) -> None:
    """Load the partition that the live table has now into the versions beside it; ``outcome`` says what became of it.

    What goes wrong there is said, and fails nothing: the version stays behind until it is loaded.
    """
    if spec.publish.mode == "direct":
        return
    for item in kept_up(spec, connect=connect):
        said: dict[str, Any] = {"version": item.version.number, "relation": str(item.version.relation)}
        try:
            of_version = meant(spec, item.target, connect=connect)
            landed = outcome.landed if of_version.landed_as == spec.table else land(of_version)
            load = landed and Load(spec, partition, landed.manifest, target=item.target)
            said |= _loaded(load, store, connect) if load else {"state": "behind", "message": "it has no input"}
        except (IdempotentError, OSError) as error:
            log.debug("dual write", exc_info=True)
            said |= {"state": "behind", "message": str(error)}
        outcome.beside.append(said)


def _loaded(load: Load, store: BatchStore, connect: Connect) -> dict[str, Any]:
    loaded = stage_merge(load, connect=connect, batches=store, is_last=True)
    receipt = validate(load, connect=connect, batches=store)
    found = {"state": str(receipt.state), "effects": loaded.effects.as_dict()}
    return found | ({"likeness": str(receipt.comparison.likeness)} if receipt.comparison else {})
