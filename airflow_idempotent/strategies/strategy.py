"""What every strategy says of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from airflow_idempotent.core.actions import Action, Deduplicate
from airflow_idempotent.core.columns import Column, TableShape
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.staged import Numbered, Scope, Staged


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """How a batch gets into its table, as actions: no connection, no clock.

    ``needs`` are the options of a spec without which it cannot work, each with the question it answers.
    ``always_deduplicates`` when it cannot write straight from staging. ``refuses_outside`` when a row
    outside the partition would be written twice, ``deletes`` when rows go that the batch says nothing of,
    ``writes_anywhere`` when those may lie in other partitions. ``indexed`` are columns that tables which we create
    get an index on. ``older`` and ``late`` tell people what older batches and late rows do.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}
    kind: str
    needs: ClassVar[Mapping[str, str]] = {}
    scope: ClassVar[Scope] = Scope.KEYS
    always_deduplicates: ClassVar[bool] = False
    refuses_outside: ClassVar[bool] = False
    deletes: ClassVar[bool] = False
    writes_anywhere: ClassVar[bool] = False
    indexed: ClassVar[tuple[str, ...]] = ()
    older: ClassVar[str] = (
        "An older batch replaces no newer row: those are stale. Other partitions and keys are left alone."
    )
    late: ClassVar[str] = ""

    @property
    def demands(self) -> Mapping[str, str]:
        """``needs``, and what its options make it need besides."""
        return self.needs

    @property
    def speaks_for(self) -> Scope:
        """``scope``, unless its options say otherwise."""
        return self.scope

    @property
    def stays_inside(self) -> bool:
        """``refuses_outside``, unless its options say otherwise."""
        return self.refuses_outside

    def moves(self, column: str) -> bool:
        """Whether a row that is written again takes its ``column`` from the batch, and so lies where that says."""
        return True

    def updates_in_place(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> bool:
        """Whether rows of the target are updated: then its pages keep room for them."""
        return True

    @property
    def said_of_older(self) -> str:
        """``older``, unless its options say otherwise."""
        return self.older

    @property
    def orders_within_batch(self) -> bool:
        """Whether the last columns of the version may be in the batch alone."""
        return False

    def problems(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """What its options get wrong together with those of the spec: (path, text)."""
        yield from ()

    @property
    def target_columns_used(self) -> Mapping[str, str]:
        """Columns of the target that options name: option to column."""
        return {}

    def winner(self, version: tuple[str, ...]) -> str:
        """What wins, for people; empty where it is the row of the greatest version, or of the newest batch."""
        return ""

    def never_null(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        """Columns whose NULL would leave a row without a place."""
        return unique_key

    def batch_only(self) -> tuple[Column, ...]:
        """Columns that the batch must have and the target need not."""
        return ()

    def own_columns(self, columns: Mapping[str, Column], version: tuple[str, ...]) -> tuple[Column, ...]:
        """Columns of the target that the strategy fills, never the batch; ``columns`` are the others, by name."""
        return ()

    def defaults(self) -> tuple[tuple[str, str], ...]:
        """What rows that are there already get in own columns that are added: column, SQL word."""
        return ()

    def created_key(self, unique_key: tuple[str, ...], version: tuple[str, ...]) -> tuple[str, ...]:
        """The primary key of a table that we create; empty for none."""
        return unique_key

    def is_exclusive(self, target: TableShape, unique_key: tuple[str, ...]) -> bool:
        """Whether other writers of the whole table must be kept out, since no index would stop them."""
        return not target.is_unique(unique_key)

    def says(self, target: Numbered, unique_key: tuple[str, ...], version: tuple[str, ...]) -> Mapping[str, str]:
        """What ``explain`` says of it where the general sentence would not be true: topic to text."""
        return {}

    def made(
        self, target: Relation, unique_key: tuple[str, ...], version: tuple[str, ...], of: Numbered | None = None
    ) -> tuple[Action, ...]:
        """What must exist beside the target before a batch is loaded; ``of`` is which version it is."""
        return ()

    def prepare(self, staged: Staged) -> tuple[Action, ...]:
        """Before the gate: what would be published stands in ``winners``, for checks to look at."""
        names = (staged.columns, staged.unique_key, staged.version)
        return (Deduplicate(staged.staging, staged.winners, *names, in_place=True),)

    def checked_rows(self, staged: Staged) -> str:
        """The table of rows that checks look at, once prepared."""
        return staged.source

    def winners_key(self, staged: Staged) -> tuple[str, ...]:
        """The columns that no two of those rows share; empty when nobody has seen to it."""
        return staged.unique_key if staged.deduplicated else ()

    def write(self, staged: Staged) -> tuple[Action, ...]:
        """Behind the gate: the actions that change the target."""
        raise NotImplementedError
