"""SQL that differs in its values alone is built once: a backfill sends the same statements for every partition.

Building a tree and its text takes milliseconds, as much as many a statement takes to run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.partition import Partition

A = TypeVar("A")
R = TypeVar("R")
P = ParamSpec("P")

_SOME_PARTITION = Partition(datetime(2000, 1, 1, tzinfo=UTC), datetime(2000, 1, 2, tzinfo=UTC))
_SOME_BATCH = "some batch"


def no_values(action: Any, target: TableShape) -> Mapping[str, Any]:
    """Of actions that name neither a partition nor a batch."""
    return {}


def remembered(
    values: Callable[[A, TableShape], Mapping[str, Any]],
) -> Callable[
    [Callable[Concatenate[A, TableShape, P], R]],
    Callable[Concatenate[A, TableShape, P], R],
]:
    """Build what an action stands for once, whatever its partition and batch; ``values`` are what it binds, by name."""

    def of(build: Callable[Concatenate[A, TableShape, P], R]) -> Callable[Concatenate[A, TableShape, P], R]:
        built = lru_cache(maxsize=64)(build)

        @wraps(build)
        def compiled(action: A, target: TableShape, /, *args: P.args, **words: P.kwargs) -> R:
            made = built(_nameless(action), target, *args, **words)  # type: ignore[arg-type]  # all are hashable
            return cast(R, _bound(made, values(action, target)))

        return compiled

    return of


def _nameless(action: Any) -> Any:
    """The action for some partition and some batch, where it has any."""
    some: dict[str, Any] = {}
    if getattr(action, "partition", None):
        some["partition"] = _SOME_PARTITION
    if within := getattr(action, "within", None):
        some["within"] = (within[0], _SOME_PARTITION)
    if getattr(action, "late_since", None):
        some["late_since"] = (_SOME_PARTITION, _SOME_PARTITION)
    if new_since := getattr(action, "new_since", None):
        some["new_since"] = (new_since[0], _SOME_PARTITION.start)
    if getattr(action, "batch_id", ""):
        some["batch_id"] = _SOME_BATCH
    return replace(action, **some) if some else action


def _bound(made: Any, values: Mapping[str, Any]) -> Any:
    """Statements with these values in the place of others of the same name."""
    if not values:
        return made
    if isinstance(made, tuple):
        return tuple(_bound(each, values) for each in made)
    return made.bound(values)
