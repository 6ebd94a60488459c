"""One turn of a contender: timed, weighed by what it cost the server, and compared with the expected table."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from contenders import ContenderError, Run
from warehouse import Image, Warehouse

Key = tuple[str, str, str]
"""Target, contender, phase."""


@dataclass
class Figures:
    """Everything measured, by target, contender and phase."""

    seconds: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    cpu: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Processor seconds of client and session: what the neighbours of a shared machine disturb less."""
    server_cpu: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Those of the sessions alone."""
    loads: dict[Key, list[float]] = field(default_factory=lambda: defaultdict(list))
    """Seconds of stage_merge alone."""
    wal: dict[Key, list[int]] = field(default_factory=lambda: defaultdict(list))
    touched: dict[Key, int] = field(default_factory=dict)
    steps: dict[Key, dict[str, float]] = field(default_factory=dict)
    """Seconds of land, stage_merge and validate, of the last turn."""

    def median(self, target: str, contender: str, phase: str) -> float:
        return statistics.median(self.seconds[target, contender, phase])

    def last(self, target: str) -> str:
        """The last turn, in one line."""
        turns = {key: values[-1] for key, values in self.seconds.items() if key[0] == target}
        return ", ".join(f"{contender} {phase} {seconds:.2f} s" for (_, contender, phase), seconds in turns.items())


@dataclass
class Turns:
    """Where turns are taken, and what they must end in."""

    warehouse: Warehouse
    figures: Figures
    expected: Image = ()

    def turn(self, key: Key, load: Callable[[], Run]) -> Run:
        """A load, and what it cost."""
        wal, cpu = self.warehouse.wal(), self.warehouse.cpu()
        run = load()
        self.figures.wal[key].append(self.warehouse.wal() - wal)
        server = self.warehouse.cpu() - cpu
        self.figures.server_cpu[key].append(server)
        self.figures.cpu[key].append(server + run.cpu)
        self.figures.seconds[key].append(run.seconds)
        return run

    def our_turn(self, key: Key, load: Callable[[], Run], *, counted: bool = False) -> Run:
        """A load of ours, and how long its steps took; ``counted``: also how many rows it touched."""
        if counted:
            with self.warehouse.counting_touched() as touched:
                run = self.turn(key, load)
            self.figures.touched[key] = touched[0]
        else:
            run = self.turn(key, load)
        self.figures.steps[key] = run.partition["seconds"]
        self.figures.loads[key].append(run.partition["seconds"]["stage_merge"])
        return run

    def compare(self, key: Key) -> None:
        """The table must be the expected one.

        Raises:
            ContenderError: it is not.
        """
        found = self.warehouse.image()
        if found != self.expected:
            target, contender, phase = key
            turn = f"{target} target, {contender}, {phase}"
            raise ContenderError(f"{turn}: the table is {found}, expected {self.expected}")
