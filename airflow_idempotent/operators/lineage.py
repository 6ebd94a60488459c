"""What a task tells of its data when OpenLineage asks: remembered while it works, never in the way of its work.

Nothing of OpenLineage is imported here: without its provider nobody asks.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.core.verdict import CheckResult

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Done:
    """What a task has done for one partition so far.

    ``manifest`` and its ``address`` are of the batch it landed or found; ``replayed`` says that landing found it
    there. ``sql`` is the query it was exported by.
    """

    partition: str
    manifest: Manifest | None = None
    address: str = ""
    replayed: bool = False
    sql: str = ""
    receipt: Receipt | None = None
    checks: tuple[CheckResult, ...] = ()


@dataclass
class Diary:
    """What a task has done, partition by partition."""

    _pages: dict[str, Done] = field(default_factory=dict)

    def note(self, partition: str, **facts: Any) -> None:
        """Add what is known of a partition."""
        self._pages[partition] = replace(self._pages.get(partition) or Done(partition), **facts)

    @property
    def done(self) -> tuple[Done, ...]:
        return tuple(self._pages.values())


class Answers(Protocol):
    """What answers for an operator."""

    def tell(self, *, finished: bool) -> Any: ...


class TellsLineage:
    """An operator that OpenLineage can ask, by the three methods which its provider looks for.

    Whatever goes wrong in an answer is logged, and the task goes on: a load matters more than what is told of it.
    """

    @property
    def diary(self) -> Diary:
        """What this task has done; begun anew by ``begin_diary``."""
        return getattr(self, "_diary", None) or Diary()

    def begin_diary(self) -> None:
        """Forget what an earlier attempt has done."""
        self._diary = Diary()

    def teller(self) -> Answers:
        """What answers for this operator; imported when asked, since it needs the provider."""
        raise NotImplementedError

    def get_openlineage_facets_on_start(self) -> Any:
        """What the task is going to read and write, as far as its arguments say."""
        return self._told(finished=False)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> Any:
        """What it has read and written."""
        return self._told(finished=True)

    def get_openlineage_facets_on_failure(self, task_instance: Any) -> Any:
        """What it has read and written before it failed, and the checks that failed."""
        return self._told(finished=True)

    def _told(self, *, finished: bool) -> Any:
        try:
            return self.teller().tell(finished=finished)
        except Exception as error:
            log.warning("no lineage told: %s: %s", type(error).__name__, error)
            log.debug("lineage", exc_info=True)
            return None
