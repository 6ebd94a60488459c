"""What a step of a case can be: one table from its name to what does it, with the words it may have."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from tests.cases import concurrency, factory, incremental, landings, loads, operating, swapping
from tests.cases.case import Step
from tests.cases.faults import fault_of
from tests.cases.words import lacking_check_words, lacking_load_words, lacking_partition
from tests.cases.world import World

Lack = tuple[str, bool]
"""What is missing, and whether the step makes no sense without it."""

COMMON = {"op", "expect", "note", "run", "attempt", "fault", "at_s", "each", "times"}
LANDING = {"file", "files", "dest", "encoding", "delimiter", "quote", "null", "null_marker", "partition"}
TABLE = {"target", "partition", "connection", "connection_options", "statement_timeout", "checks"}
LOADING = {
    "mode",
    "unchanged_columns_field",
    "keys",
    "version",
    "on_drift",
    "columns",
    "types",
    "lock_timeout",
    "on_empty",
    "pause_after",
}


def _nothing(step: Step) -> Iterator[Lack]:
    yield from ()


@dataclass(frozen=True)
class Operation:
    """What a step does. ``works`` means that operators do it: it is judged. ``again`` that a second run does it too."""

    run: Callable[[World, Step], Any]
    words: set[str]
    lacking: Callable[[Step], Iterator[Lack]] = _nothing
    works: bool = True
    again: bool = True


def concurrent(world: World, step: Step) -> Any:
    """Several steps at the same time."""
    return concurrency.concurrent(world, step, lambda inner: OPERATIONS[inner["op"]].run)


def stage_merge(world: World, step: Step) -> Any:
    """Land a file and load it."""
    return concurrency.later(world, step, partial(loads.stage_merge, world, step))


def sql(world: World, step: Step) -> None:
    """SQL that somebody else runs."""
    world.execute(step["sql"])


def kept_copy(name: str) -> str:
    """The copy of a table that was made at first."""
    return "case_copy." + '"' + name.replace('"', "'") + '"'


def reset_target(world: World, step: Step) -> None:
    """All tables as they were at first; how they ended before is remembered."""
    world.memory.setdefault("ends", []).append(world.rows())
    for name in world.rows():
        world.execute(f"truncate {name}; insert into {name} overriding system value select * from {kept_copy(name)}")


def _lacking_in_concurrent(step: Step) -> Iterator[Lack]:
    if not step.get("steps"):
        yield "concurrent without steps", True
    for inner in step.get("steps") or ():
        for reason, _ in lacking(inner):
            yield reason, True


def _lacking_in_run(step: Step) -> Iterator[Lack]:
    if "spec" in step:
        yield from lacking_load_words(step["spec"])


OPERATIONS: dict[str, Operation] = {
    "land": Operation(loads.land, COMMON | LANDING | {"target"}, lacking_partition),
    "stage_merge": Operation(stage_merge, COMMON | LANDING | TABLE | LOADING | {"session"}, lacking_load_words),
    "validate": Operation(loads.validate, COMMON | TABLE | {"allow_empty", "on_empty", "now"}, lacking_check_words),
    "concurrent": Operation(concurrent, COMMON | {"steps"}, _lacking_in_concurrent),
    "swap": Operation(
        swapping.swap,
        COMMON | {"live", "shadow", "drop_old", "both", "concurrently", "start_at_s"},
        swapping.lacking_swap,
    ),
    "build_shadow": Operation(swapping.build_shadow, {"op", "live", "shadow"}, works=False),
    "loop_reader": Operation(swapping.loop_reader, {"op", "sql", "sessions"}, works=False),
    "sql": Operation(sql, {"op", "sql", "note"}, works=False),
    "session_a": Operation(concurrency.session_named("session_a"), {"op", "sql", "note"}, works=False),
    "session_b": Operation(concurrency.session_named("session_b"), {"op", "sql", "note", "start_at_s"}, works=False),
    "reset_target": Operation(reset_target, {"op"}, works=False),
    "change_source": Operation(landings.change_source, {"op", "file", "to", "note"}, works=False),
    "downstream_list": Operation(landings.downstream_list, {"op", "dest", "note"}, works=False),
    "reader": Operation(landings.reader, {"op", "dest", "note"}, works=False),
    "poll_destination": Operation(landings.poll_destination, {"op", "dest", "note"}, works=False),
    "parse_dags": Operation(factory.parse_dags, COMMON | {"dir"}),
    "build_dag": Operation(factory.built, COMMON | {"schedule"}),
    "run": Operation(operating.run, {"op", "expect", "note", "logical_date", "spec", "run"}, _lacking_in_run),
    "trigger": Operation(factory.trigger, COMMON | {"logical_date", "conf"}),
    "list_partitions": Operation(factory.list_partitions, COMMON | {"from", "to", "grain"}),
    "unpause": Operation(operating.unpause, COMMON | {"observe"}),
    "backfill": Operation(operating.backfill, COMMON | {"from", "to", "runs", "parallel"}),
    "edit_spec_mid_run": Operation(operating.edit_spec_mid_run, {"op", "note"}, again=False),
    "edit_spec": Operation(operating.edit_spec, {"op", "to"}, works=False, again=False),
    "clear_and_rerun": Operation(operating.clear_and_rerun, COMMON, again=False),
    "finish_run": Operation(operating.finish_run, {"op", "note"}, again=False),
    "incremental_run": Operation(incremental.incremental_run, COMMON | incremental.WORDS),
    "run_task": Operation(operating.run_task, {"op", "note", "task", "xcom"}),
}

LATER = {
    "rollback": "swap: issue 5",
}
"""Operations that come with later issues."""


def lacking(step: Step) -> Iterator[Lack]:
    """What a plain step asks for that does not exist: an operation, a word of it, or a meaning of a word."""
    name = str(step.get("op"))
    operation = OPERATIONS.get(name)
    if operation is None:
        yield LATER.get(name, f"operation {name!r}"), True
        return
    if unknown := sorted(step.keys() - operation.words):
        yield f"{name}: {', '.join(unknown)}", True
    yield from operation.lacking(step)
    if "fault" in step and fault_of(step) is None:
        yield f"fault {step['fault']!r}", True
    if "connection" in step and not loads.knows_connection(str(step["connection"])):
        yield f"connection {step['connection']!r}", True
    if "pause_after" in step and step["pause_after"] not in concurrency.PAUSES:
        yield f"pause_after {step['pause_after']!r}", True
