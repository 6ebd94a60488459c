"""land, stage_merge and validate: a step of a case by the public operators, as a DAG would run them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from typing import Any

from airflow_idempotent import AtomicLandOperator, Files, StageMergeOperator, ValidatePartitionOperator
from airflow_idempotent.core.relation import Relation
from tests.cases.case import Step
from tests.cases.contexts import context
from tests.cases.faults import fault_of
from tests.cases.pooler import PGBOUNCER, pgbouncer, standing_in
from tests.cases.wiring import wrapping
from tests.cases.words import check_words, csv_words, instant, load_words, partition_words, seconds
from tests.cases.world import World

TABLE = "tgt"
"""The table of a step that names none."""

CONNECTIONS = r"same|autocommit on.*|pgbouncer.*transaction.*"
"""What a step may say of its connection."""


# --- the three operations -------------------------------------------------------------------------


def land(world: World, step: Step) -> Any:
    """Land the files of a step."""
    return with_fault(world, step, partial(land_files, world, step))


def stage_merge(world: World, step: Step) -> Any:
    """Land the file of a step and load it."""
    return with_fault(world, step, partial(_load, world, step))


def validate(world: World, step: Step) -> Any:
    """Look at what is in the table."""
    with connected(world, step) as conn_id:
        operator = ValidatePartitionOperator(
            task_id="validate",
            table=target_of(step),
            conn_id=conn_id,
            checks=check_words(step.get("checks")),
            root=root_of(world, step),
            on_empty=step.get("on_empty") or ("skip" if step.get("allow_empty") else None),
            statement_timeout=seconds(step.get("statement_timeout")),
            **partition_words(step.get("partition") or _until(step)),
        )
        return operator.execute(_context(step, "validate"))


def _until(step: Step) -> str | None:
    """The day that ends at the instant which the step takes for now."""
    return f"{instant(step['now']) - timedelta(days=1):%Y-%m-%d}" if "now" in step else None


# --- their parts ----------------------------------------------------------------------------------


def with_fault(world: World, step: Step, work: Any) -> Any:
    """Do the work, or let happen to it what the step wants to happen."""
    if "fault" not in step:
        return work()
    fault = fault_of(step)
    assert fault is not None, step["fault"]
    fault(world, step, work)
    raise AssertionError(f"it went through, in spite of: {step['fault']}")


def land_files(world: World, step: Step) -> dict[str, Any]:
    """Land the source files of a step as they are now."""
    where = partition_words(step.get("partition") or _dated(step.get("dest", "")))
    grain = where.get("partition_by", {}).get("grain")
    operator = AtomicLandOperator(
        task_id="land",
        table=target_of(step),
        source=Files(world.deliver(files_of(world, step)), csv=csv_words(step)),
        root=root_of(world, step),
        partition=where["partition"],
        grain=grain,
        timezone=where.get("timezone"),
    )
    pointer: dict[str, Any] = operator.execute(_context(step, "land"))
    return pointer


def _load(world: World, step: Step) -> Any:
    pointer = land_files(world, step)
    with connected(world, step) as conn_id:
        operator = StageMergeOperator(
            task_id="stage_merge",
            table=target_of(step),
            conn_id=conn_id,
            root=root_of(world, step),
            batch=pointer,
            columns=_columns(world, step),
            **load_words(step),
        )
        return operator.execute(_context(step, "stage_merge"))


def target_of(step: Step) -> str:
    return str(step.get("target", TABLE))


def files_of(world: World, step: Step) -> Sequence[str]:
    """The files a step names, else all there are."""
    if "file" in step:
        return [step["file"]]
    return list(step.get("files") or world.case.files)


def root_of(world: World, step: Step) -> str:
    """Where a step wants its batches: below the case's folder, or in an object store."""
    dest = str(step.get("dest", ""))
    if "://" in dest:
        return re.sub(r"^[\w-]+://", "bucket://", dest).rstrip("/")
    return str(world.lake)


def _dated(dest: str) -> str | None:
    """The day in the name of a destination."""
    found = re.search(r"\d{4}-\d{2}-\d{2}", dest)
    return found[0] if found else None


def _context(step: Step, task: str) -> dict[str, Any]:
    return context(str(step.get("run", "r1")), task=task, attempt=int(step.get("attempt", 1)))


def _columns(world: World, step: Step) -> list[dict[str, str]] | None:
    """The columns a spec names, with the types they have in the table, or those that the step gives."""
    if "columns" not in step:
        return None
    relation = Relation.parse(target_of(step))
    types = dict(
        world.sql(
            "select a.attname, format_type(a.atttypid, a.atttypmod) from pg_attribute a "
            "join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace "
            f"where (n.nspname, c.relname) = ('{relation.schema}', '{relation.name}') and a.attnum > 0"
        )
    )
    types |= step.get("types", {})
    return [{"name": name, "data_type": str(types.get(name, "text"))} for name in step["columns"]]


# --- connections ----------------------------------------------------------------------------------


@contextmanager
def connected(world: World, step: Step) -> Iterator[str]:
    """The id of the Airflow connection that a step asks for."""
    word = str(step.get("connection", world.memory.get("connection", "")))
    if word == "same":
        word = world.memory["connection"]
    world.memory["connection"] = word if "connection" in step else world.memory.get("connection", "")
    with ExitStack() as stack:
        if word.startswith("pgbouncer"):
            yield _pooled(world, word, stack)
            return
        if word.startswith("autocommit"):
            stack.enter_context(wrapping(_autocommitting))
        options = str(step.get("connection_options", ""))
        extra = {"options": f"-c {options}"} if options else {}
        yield world.conn_id(options, **extra)


def knows_connection(word: str) -> bool:
    """Whether a step may say that of its connection."""
    return bool(re.fullmatch(CONNECTIONS, word))


def _pooled(world: World, word: str, stack: ExitStack) -> str:
    """A connection through a pooler, which lives as long as the case."""
    if PGBOUNCER is None:
        stack.enter_context(standing_in(world.sessions))
        return world.conn_id()
    if "pool" not in world.memory:
        size = re.search(r"pool size (\d+)", word)
        pool = pgbouncer(world.dsn, int(size[1]) if size else 2)
        world.memory["pool"] = pool.__enter__()
        world.at_end.append(lambda: pool.__exit__(None, None, None))
        world.lead("case_pool", world.memory["pool"])
    return "case_pool"


def _autocommitting(connection: Any) -> Any:
    connection.autocommit = True
    return connection
