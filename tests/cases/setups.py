"""What a case of this folder describes in words only: how it begins, or steps that its note stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.cases.case import Case, Step, own_cases
from tests.cases.world import World

SESSIONS, BATCHES, KEYS, ROWS = 8, 3, 2000, 500
"""X05: as the case says, with 3 instead of 20 batches per session."""


@dataclass(frozen=True)
class Setup:
    """``before`` prepares the world, ``table`` are options of the factory's table, ``steps`` stand for the case's."""

    before: Callable[[World], None] | None = None
    table: dict[str, Any] | None = None
    steps: Callable[[Case], Sequence[Step]] | None = None


def setup_of(case: Case) -> Setup | None:
    """The setup of a case of this folder, also when it is read from another file."""
    own = own_cases().get(case.id)
    return SETUPS.get(case.id) if own and own.steps == case.steps else None


def prepare(world: World) -> None:
    """Set up what the case's note describes."""
    if (setup := setup_of(world.case)) is None:
        return
    if setup.table:
        world.memory["table"] = setup.table
    if setup.before:
        setup.before(world)


def self_contained(steps: Sequence[Step]) -> bool:
    """Whether the factory's own table is all that these steps need."""
    ours = {"trigger", "build_dag", "run", "run_task", "list_partitions"}
    return all(step.get("op") in ours for step in steps)


def _a_table(world: World) -> None:
    world.execute("create table tgt(id int primary key, v text)")
    world.write("in.csv", "id,v\n1,a\n2,b\n")


def _impatient_role(world: World) -> None:
    """Reading a row takes 60 ms, and the role gives a statement, or a pause between two, 200 ms."""
    role = f"impatient_{world.value('select oid from pg_database where datname = current_database()')}"
    world.execute(f"""
        create function slow(text) returns bool language plpgsql as 'begin perform pg_sleep(0.06); return true; end';
        create domain slow_text as text check (slow(value));
        create table tgt(id int primary key, v slow_text);
        create role {role} login superuser;
        alter role {role} set statement_timeout = '200ms';
        alter role {role} set idle_in_transaction_session_timeout = '200ms';
    """)
    world.write("in.csv", "id,v\n" + "".join(f"{number},a\n" for number in range(8)))
    world.lead_by_default("case_x11", role)
    world.at_end.append(lambda: world.execute(f"reassign owned by {role} to current_user; drop role {role}"))


def _in_words(words: dict[str, Any]) -> Callable[[Case], Sequence[Step]]:
    """The steps of a case whose note says the words that they leave out."""
    return lambda case: [{**words, **step} for step in case.steps]


def _rising_batches(case: Case) -> Sequence[Step]:
    """X05: sessions that send the same keys in random order, with versions that rise from batch to batch."""
    steps = [
        {"op": "stage_merge", "session": session, "partition": f"2025-{session + 1:02d}-{batch + 1:02d}"}
        | {"target": "tgt", "file": f"{session}-{batch}.csv", "keys": ["id"], "version": "ver"}
        for session in range(SESSIONS)
        for batch in range(BATCHES)
    ]
    return [{**case.steps[0], "steps": steps}]


def _random_files(world: World) -> None:
    for name, text in batch_texts():
        world.write(name, text)


def batch_texts() -> Iterator[tuple[str, str]]:
    """The files of X05, always the same."""
    random = Random(5)
    for session in range(SESSIONS):
        for batch in range(BATCHES):
            keys = random.sample(range(1, KEYS + 1), ROWS)
            version = batch * SESSIONS + session + 1
            rows = "".join(f"{key},s{session}b{batch},{version}\n" for key in keys)
            yield f"{session}-{batch}.csv", "id,v,ver\n" + rows


_POOLED = {"target": "tgt", "file": "in.csv", "keys": ["id"], "connection": "pgbouncer, pool_mode=transaction"}
_LEAVES = {
    "table": "tgt",
    "columns": [{"name": "ts", "data_type": "date"}, {"name": "v", "data_type": "int"}],
    "unique_key": ["ts", "v"],
    "partition_by": {"column": "ts", "declarative": True},
}

SETUPS: dict[str, Setup] = {
    "D04": Setup(table={"start_date": "2023-11-29", "schedule": "@daily", "catchup": True}),
    "D05": Setup(table=_LEAVES),
    "D06": Setup(),
    "D07": Setup(),
    "P09": Setup(table={"schedule": "30 9 * * *"}),
    "X05": Setup(_random_files, steps=_rising_batches),
    "X08": Setup(_a_table, steps=_in_words(_POOLED)),
    "X11": Setup(_impatient_role, steps=_in_words({"target": "tgt", "file": "in.csv", "keys": ["id"]})),
}
"""By the id of the case. One without options needs nothing but the factory's own table."""
