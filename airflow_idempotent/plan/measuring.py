"""What is measured of a partition once it is written: rows and digest, and what checks will compare with later."""

from __future__ import annotations

from airflow_idempotent.checks import Distribution, Reconcile
from airflow_idempotent.core.actions import Action, MeasurePartition, ProfilePartition
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.profile import Sampling
from airflow_idempotent.core.staged import Scope
from airflow_idempotent.spec.load import LoadSpec


def measuring(spec: LoadSpec, partition: Partition, batch_id: str, target: TableShape) -> tuple[Action, ...]:
    """The last actions of a load. None where nothing says which rows of the table belong to the partition."""
    by = spec.partition_column
    if not by and spec.strategy.scope is not Scope.TABLE:
        return ()
    where = (target.relation, by, partition)
    measured = MeasurePartition(*where, *bucketing(spec))
    names, size = profiled(spec, target)
    if not names:
        return (measured,)
    sampling = Sampling.of(spec.unique_key, size, spec.table, partition.key, batch_id)
    return (measured, ProfilePartition(*where, names, sampling))


def bucketing(spec: LoadSpec) -> tuple[int | None, tuple[str, ...]]:
    """In how many buckets digests are kept, and the key that cuts them; None and nothing where none are."""
    wanted = [check.buckets for check in spec.checks if isinstance(check, Reconcile) and check.buckets]
    return (max(wanted), spec.unique_key) if wanted else (None, ())


def profiled(spec: LoadSpec, target: TableShape) -> tuple[tuple[str, ...], int]:
    """The columns whose distribution is kept, and in a sample of how many rows."""
    checks = [check for check in spec.checks if isinstance(check, Distribution)]
    names = dict.fromkeys(name for check in checks for name in check.columns if name in target)
    return tuple(names), max((check.sample for check in checks), default=0)
