"""One trial: loads into a scratch database by the real engine, and what is in the table afterwards."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.step import Receipt
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.stage_merge import stage_merge
from airflow_idempotent.errors import TargetMissingError
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.plan.build import Load
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql import proof
from airflow_idempotent.sql.statement import Statement

OURS = "_idem_"
"""What columns begin with that say which run loaded a row."""
XIDS = 1 << 32

Texts = tuple["str | None", ...]


@dataclass(frozen=True, slots=True)
class Content:
    """What is in the table: how many rows, and a digest of them that no order changes."""

    rows: int
    digest: str


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows lie and who wrote them. ``mark`` is the transaction from which on writing is new."""

    found: tuple[int, str]
    mark: int


@dataclass(frozen=True, slots=True)
class Trial:
    """A database with the table, and the batches to load into it. ``ignore`` names columns that may differ."""

    spec: LoadSpec
    connect: Connect
    store: BatchStore
    manifests: Sequence[Manifest]
    ignore: frozenset[str] = frozenset()
    loaded: list[int] = field(default_factory=list)

    def load(self, number: int, *, connect: Connect | None = None) -> Receipt:
        """Load a batch as a task would.

        Raises:
            IdempotentError: the engine or the database refuses.
        """
        manifest = self.manifests[number]
        load = Load(self.spec, self.spec.partition(manifest.partition), manifest)
        receipt = stage_merge(load, connect=connect or self.connect, batches=self.store)
        self.loaded.append(number)
        return receipt

    def content(self) -> Content:
        """What is in the table now."""
        with self._reading() as (session, shape):
            [(rows, total)] = session.query(proof.content(shape, self.compared(shape)))
        return Content(rows, hashlib.sha256(f"{rows} {total}".encode()).hexdigest()[:16])

    def places(self) -> Places:
        """Where the rows lie now."""
        with self._reading() as (session, shape):
            [found] = session.query(proof.places(shape))
            [(mark,)] = session.query(proof.MARK)
        return Places(found, int(mark))

    def listing(self) -> tuple[tuple[str, ...], list[Texts]]:
        """Names of columns and all rows, as texts."""
        with self._reading() as (session, shape):
            names = self.compared(shape)
            return names, session.query(proof.listing(shape, names))

    def written_since(self, places: Places) -> list[Texts]:
        """The rows written since then: their keys, and the value that says which partition they belong to."""
        with self._reading() as (session, shape):
            by = self.spec.partition_column
            names = [*(self.spec.unique_key or self.compared(shape)), *((by,) if by else ())]
            found = proof.written_since(shape, names)
            return session.query(Statement(found.sql, {"mark": places.mark % XIDS}))

    def triggers(self) -> list[str]:
        """The names of the table's triggers."""
        with self._reading() as (session, shape):
            return [name for (name,) in session.query(proof.triggers_of(shape.relation))]

    def kind_of(self, name: str) -> str:
        """The type of a column."""
        with self._reading() as (_, shape):
            return shape[name].data_type

    def compared(self, shape: TableShape) -> tuple[str, ...]:
        """The columns whose values must not depend on anything but the batches."""
        return tuple(name for name in shape.names if not name.startswith(OURS) and name not in self.ignore)

    @contextmanager
    def _reading(self) -> Iterator[tuple[Session, TableShape]]:
        """A transaction in which nothing depends on settings of server or role."""
        with closing(self.connect()) as connection:
            session = Session(connection)
            with session.transaction(snapshot=True):
                if (shape := session.shape(self.spec.relation)) is None:
                    raise TargetMissingError(table=self.spec.table)
                yield session, shape
