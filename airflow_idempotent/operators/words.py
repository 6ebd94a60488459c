"""The words an operator was given, as the specs that the engine understands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from airflow_idempotent.errors import ArgumentsError
from airflow_idempotent.spec.load import LoadSpec, Problem
from airflow_idempotent.spec.loader import problems_of
from airflow_idempotent.spec.source import Files, Source

SpecT = TypeVar("SpecT", bound=LoadSpec)


class LookSpec(LoadSpec):
    """What it takes to look at a partition: nothing that only writing needs."""

    def unmet_needs(self) -> Iterator[Problem]:
        return iter(())


class LandSpec(LookSpec):
    """What it takes to land a partition."""

    source: Source

    def problems(self) -> Iterator[Problem]:
        yield from super().problems()
        if isinstance(self.source, Files):
            yield from self.source.problems(self.column_names)


def spec_of(model: type[SpecT], words: Mapping[str, Any], *, task: str) -> SpecT:
    """The spec that the words of an operator make; ``root``, ``grain`` and the like go where a spec file has them.

    Raises:
        ArgumentsError: everything that is wrong with them, naming the task.
    """
    try:
        return model.model_validate(_placed(words))
    except ValidationError as error:
        raise ArgumentsError(file=task, problems=tuple(problems_of(error))) from None


def _placed(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words as a spec file nests them; None means not given."""
    given = {name: value for name, value in words.items() if value is not None}
    landing = {
        name: given.pop(word)
        for word, name in (("root", "root"), ("on_source_change", "on_source_change"), ("keep_batches", "keep_batches"))
        if word in given
    }
    if landing:
        given["landing"] = landing
    if (grain := given.pop("grain", None)) is not None:
        given["partition_by"] = {**_options(given.get("partition_by")), "grain": grain}
    return given


def _options(partition_by: Any) -> dict[str, Any]:
    if partition_by is None or isinstance(partition_by, Mapping):
        return dict(partition_by or {})
    options: dict[str, Any] = partition_by.model_dump(exclude_unset=True)
    return options
