"""The laws, one after the other: each compares trials with one clean run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.errors import IdempotentError, LawBrokenError
from airflow_idempotent.testing import story
from airflow_idempotent.testing.crashes import Counting, Cut, chosen
from airflow_idempotent.testing.orders import Order, orders, possible
from airflow_idempotent.testing.scratch import Scratch
from airflow_idempotent.testing.trial import Content, Trial


@dataclass(slots=True)
class Tried:
    """How much was tried so far."""

    orders: int = 0
    possible_orders: int = 0
    repetitions: int = 0
    crashes: int = 0
    moments: int = 0
    loads: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Clean:
    """The run that others are compared with: each batch once, in the order given. Its database is still there.

    ``contents`` and ``moments`` are per load: what was in the table after it, and how often it could be cut.
    """

    trial: Trial
    contents: Sequence[Content]
    moments: Sequence[int]


@dataclass(slots=True)
class Laws:
    """All trials of one table. ``begin`` makes a trial of a copy of the database; ``batches`` is how many there are."""

    databases: Scratch
    begin: Callable[[Connect], Trial]
    batches: int
    seed: object
    progress: Callable[[str, int, int], None]
    tried: Tried = field(default_factory=Tried)

    def clean_run(self, stack: ExitStack) -> Clean:
        """Load each batch once. What is refused here is no matter of laws, and raised as it is."""
        trial = self.begin(stack.enter_context(self.databases.copy()))
        contents, moments = [], []
        for number in range(self.batches):
            counting = Counting()
            trial.load(number, connect=counting.connecting(trial.connect))
            contents.append(trial.content())
            moments.append(counting.moments)
        self.tried.loads += self.batches
        self.tried.possible_orders, self.tried.moments = possible(self.batches), sum(moments)
        return Clean(trial, contents, moments)

    def any_order(self, clean: Clean, count: int) -> None:
        """Commute, rerun and isolate: each order ends as the clean run, and then nothing writes any more.

        Raises:
            LawBrokenError: one does not.
        """
        found = orders(max(1, count), self.batches, seed=self.seed)
        for number, order in enumerate(found):
            self.progress("orders", number, len(found))
            told = f"order {number + 1} of {len(found)}"
            if number == 0:
                self._nothing_to_write(clean.trial, f"{told}: as given")
            else:
                with self.databases.copy() as connect:
                    trial = self.begin(connect)
                    self._one_order(trial, order, clean, told)
                    self._nothing_to_write(trial, f"{told}: {_told(trial, order)}")
            self.tried.orders += 1
        self.progress("orders", len(found), len(found))

    def _one_order(self, trial: Trial, order: Order, clean: Clean, told: str) -> None:
        for place, number in enumerate(order):
            step = f"load {place + 1} of {len(order)}, {story.named(trial.manifests[number])}"
            self._load(trial, number, "commute", f"{told}: {_told(trial, order)}", step)
        if trial.content() != clean.contents[-1]:
            lines, columns = story.differences(trial, clean.trial)
            step = f"after all {len(order)} loads, compared with the order given"
            raise self._broken(trial, "commute", f"{told}: {_told(trial, order)}", step, lines, columns)

    def _nothing_to_write(self, trial: Trial, told: str) -> None:
        """Load each batch once more, in the order given."""
        places = trial.places()
        for number, manifest in enumerate(trial.manifests):
            step = f"then {story.named(manifest)} loaded once more"
            touched = self._load(trial, number, "rerun", told, step).effects.touched
            now = trial.places()
            if now.found == places.found and not touched:
                continue
            rows = trial.written_since(places)
            law = "isolate" if _elsewhere(trial, number, rows) else "rerun"
            counts = f"{touched:,} written by its own count, {len(rows):,} found to be newly written"
            raise self._broken(trial, law, told, step, (counts, *story.rewritten(trial, rows)))

    def any_crash(self, clean: Clean, crashes: int | Literal["all"]) -> None:
        """Crash: cut off anywhere and tried again, each load ends as it did in the clean run.

        One database serves a crash of every batch: what one leaves is what the next begins with.

        Raises:
            LawBrokenError: it does not.
        """
        moments = chosen(clean.moments, crashes, seed=self.seed)
        rounds = max(map(len, moments), default=0)
        for turn in range(rounds):
            self.progress("crashes", turn, rounds)
            with self.databases.copy() as connect:
                trial = self.begin(connect)
                for number, at in enumerate(moments):
                    cut = at[turn] if turn < len(at) else None
                    told = f"crash round {turn + 1} of {rounds}: {story.named(trial.manifests[number])}"
                    self._one_crash(trial, number, cut, clean, told)
        self.progress("crashes", rounds, rounds)

    def _one_crash(self, trial: Trial, number: int, moment: int | None, clean: Clean, told: str) -> None:
        what = "" if moment is None else self._cut(trial, number, moment, told)
        step = f"cut {_shortened(what)}, then loaded again" if what else "loaded without a cut"
        self._load(trial, number, "crash", told, step)
        if trial.content() != clean.contents[number]:
            raise self._broken(trial, "crash", told, step, *self._difference_after(trial, number))

    def _difference_after(self, trial: Trial, number: int) -> tuple[Sequence[str], Sequence[str]]:
        """What differs from a clean run that went no further than that load."""
        with self.databases.copy() as connect:
            expected = self.begin(connect)
            for earlier in range(number + 1):
                expected.load(earlier)
            return story.differences(trial, expected)

    def _cut(self, trial: Trial, number: int, moment: int, told: str) -> str:
        """Load until the cut; at what it was made. Nothing where the load had fewer moments than in the clean run."""
        cut = Cut(moment, self.databases.terminate, self.databases.driver.OperationalError)
        try:
            trial.load(number, connect=cut.connecting(trial.connect))
        except (IdempotentError, self.databases.driver.Error) as error:
            if not cut.what:
                raise self._broken(trial, "crash", told, "loaded without a cut", (str(error),)) from error
        self.tried.loads += 1
        self.tried.crashes += bool(cut.what)
        return cut.what

    def _load(self, trial: Trial, number: int, law: str, told: str, step: str) -> Any:
        """Load a batch that the clean run could load: a refusal now breaks the law."""
        self.tried.repetitions += number in trial.loaded
        self.tried.loads += 1
        try:
            return trial.load(number)
        except IdempotentError as error:
            raise self._broken(trial, law, told, f"{step}: {type(error).__name__}", (error.headline,)) from error

    def _broken(
        self,
        trial: Trial,
        law: str,
        told: str,
        step: str,
        lines: Sequence[str] = (),
        columns: Sequence[str] = (),
    ) -> LawBrokenError:
        return LawBrokenError(
            table=trial.spec.table,
            law=law,
            trial=told,
            step=step,
            differences=tuple(lines),
            hints=story.hints(trial, columns),
            promise=story.promise(trial.spec),
            tried=tuple(self.tried.as_dict().items()),
        )


def _elsewhere(trial: Trial, number: int, rows: Sequence[Sequence[str | None]]) -> bool:
    """Whether rows of another partition were written."""
    by = trial.spec.partition_column
    if not by or not rows:
        return False
    partition = trial.spec.partition(trial.manifests[number].partition)
    kind = trial.kind_of(by)
    return any(row[-1] is not None and not partition.spans(row[-1], row[-1], kind) for row in rows)


def _told(trial: Trial, order: Order) -> str:
    return ", ".join(story.named(trial.manifests[number]) for number in order)


def _shortened(event: str) -> str:
    when = "within a COPY" if event == "chunk" else event
    return when if len(when) <= 60 else when[:60] + "…"
