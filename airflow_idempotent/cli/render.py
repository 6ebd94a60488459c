"""``render``: the SQL that will load a partition, action by action, exactly as it will be sent."""

from __future__ import annotations

import re
import textwrap
from argparse import Namespace
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from airflow_idempotent.cli.connection import Connect, connector, dsn_of, shown_dsn
from airflow_idempotent.cli.files import load_spec, partition_of
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.cli.sources import RUN_ID
from airflow_idempotent.core.actions import Action, CreateTarget, EnsureChild, QueryBatch, UpsertRows
from airflow_idempotent.core.columns import TableShape
from airflow_idempotent.core.locks import locks_of
from airflow_idempotent.core.manifest import CsvFormat, Manifest, Part, batch_id
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.step import Step
from airflow_idempotent.engine.apply import is_there
from airflow_idempotent.engine.session import Session
from airflow_idempotent.engine.work import Work
from airflow_idempotent.landing.code import pinned
from airflow_idempotent.plan.build import Load, build_step, created_shape
from airflow_idempotent.plan.fitting import asked_of_batch, own_columns
from airflow_idempotent.spec.source import Files
from airflow_idempotent.spec.table import TableSpec
from airflow_idempotent.spec.transform import Transform
from airflow_idempotent.sql import ledger, merge
from airflow_idempotent.sql.catalog import found
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.create import child_of
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.sql.transform import ONLY_READ, WRITE_AGAIN, result_types


@dataclass(frozen=True, slots=True)
class Rendered:
    """One action and its statements, in order. ``transaction`` is ``prepare`` or ``load``."""

    transaction: str
    action: str
    does: str
    statements: tuple[Statement, ...]


_LEDGER = "Effects, digest and check results go to airflow_idempotent.events, in this same transaction."


def run(args: Namespace, out: Output) -> int:
    """Print the SQL of one partition; with a database, for the table as it is there."""
    spec = load_spec(args.spec)
    partition = partition_of(spec, args.partition, command="render")
    dsn = dsn_of(args.dsn)
    step = step_now(spec, partition, connector(dsn, command="render")) if dsn else assumed_step(spec, partition)
    rendered = list(render(step))
    source = f"as it is in {shown_dsn(dsn)}" if dsn and not _is_made(step) else "as created from 'columns'"
    columns = step.manifest.columns
    out.document(
        {
            "table": spec.table,
            "partition": partition.key,
            "target": source,
            "columns": columns,
            "actions": list(map(_document, rendered)),
        }
    )
    out.say(*_heading(spec, partition, source, columns), *_text(step, rendered))
    return DONE


def assumed_step(spec: TableSpec, partition: Partition, shape: TableShape | None = None) -> Step:
    """The step for a batch with the columns of the spec; without a ``shape`` the table is still to be made."""
    return build_step(Load(spec, partition, assumed_manifest(spec, partition, shape)), shape)


def step_now(spec: TableSpec, partition: Partition, connect: Connect) -> Step:
    """The same step for the table as it is, without the preparation that is done already."""
    with closing(connect()) as connection:
        session = Session(connection)
        with session.transaction():
            step = assumed_step(spec, partition, session.shape(spec.relation))
            nothing_to_read: Any = None
            work = Work(step, session, nothing_to_read)
            return replace(step, prepare=tuple(action for action in step.prepare if not is_there(work, action)))


def assumed_manifest(spec: TableSpec, partition: Partition, shape: TableShape | None) -> Manifest:
    """The manifest of a batch of one part that has the columns of the spec, else those of the table."""
    if isinstance(spec.source, Transform):
        query = pinned(spec.source, partition, cutoff_ts=partition.end, run_id=RUN_ID).query
        number = batch_id(partition.compact, 1)
        return Manifest(spec.table, partition.key, number, "", "", CsvFormat(), (), query=query)
    target = shape or created_shape(spec)
    own = {column.name for column in own_columns(spec, target)}
    there = tuple(column.name for column in target.columns if column.writable and column.name not in own)
    asked = tuple(column.name for column in asked_of_batch(spec, target))
    columns = tuple(dict.fromkeys((*(spec.column_names or there), *asked)))
    form = spec.source.value() if isinstance(spec.source, Files) else CsvFormat()
    part = Part(f"part-00000.{form.kind}", 0, 0, "", columns)
    return Manifest(spec.table, partition.key, batch_id(partition.compact, 1), "", "", form, (part,))


def render(step: Step) -> Iterator[Rendered]:
    """Every action of a step with the statements the engine sends for it, in order."""
    for transaction, actions in (("prepare", step.prepare), ("load", step.actions)):
        for action in actions:
            does = textwrap.dedent("    " + (type(action).__doc__ or "")).replace("``", "'").strip()
            yield Rendered(transaction, action_name(action), does, tuple(_statements(action, step)))


def action_name(action: Action) -> str:
    """``UpsertRows`` as golden files and logs write it: ``upsert_rows``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", type(action).__name__).lower()


def _statements(action: Action, step: Step) -> Iterator[Statement]:
    """What the compiler gives, and what the engine puts around it."""
    compiled = compile_action(action, step.target)
    match action:
        case CreateTarget():
            yield from (found(action.target), *compiled)
        case EnsureChild():
            yield from (child_of(action), *compiled)
        case QueryBatch():
            yield from (*ONLY_READ, result_types(action), *compiled, WRITE_AGAIN)
        case UpsertRows():
            if step.exclusive:
                yield merge.repeated_keys(action, step.target)
            yield from (merge.SAVEPOINT, *compiled, merge.COUNTERS.read, merge.COUNTERS.drop)
            if step.target.intercepted:
                yield merge.count_keys(action)
        case _:
            yield from compiled


def _is_made(step: Step) -> bool:
    return any(isinstance(action, CreateTarget) for action in step.prepare)


def _heading(spec: TableSpec, partition: Partition, source: str, columns: tuple[str, ...]) -> list[str]:
    lines = [
        f"{spec.table} {partition.key}: what stage_merge sends, in this order.",
        f"Target: {source}.",
        _batch(spec, columns),
        "Each transaction first pins time zone, date style, timeouts and the like (engine/session.py).",
        "%(name)s is a bind: its value travels beside the text, never in it.",
    ]
    return [line for text in lines for line in _comment(text)]


def _batch(spec: TableSpec, columns: tuple[str, ...]) -> str:
    if isinstance(spec.source, Transform):
        return "Batch: the query of the spec, run inside the warehouse; cutoff_ts is shown as the partition's end."
    return f"Batch: assumed to have the columns {', '.join(columns)}."


def _text(step: Step, rendered: list[Rendered]) -> Iterator[str]:
    for transaction in dict.fromkeys(item.transaction for item in rendered):
        yield from ("", "BEGIN;")
        for lock, why in _locks(step, transaction):
            yield from ("", f"-- {why}", *_statement(lock))
        for number, item in enumerate((item for item in rendered if item.transaction == transaction), start=1):
            yield from ("", f"-- {number}. {item.action}", *_comment(item.does))
            for statement in item.statements:
                yield from _statement(statement)
        if transaction == "load":
            yield from ("", *_comment(_LEDGER))
        yield "COMMIT;"


def _locks(step: Step, transaction: str) -> list[tuple[Statement, str]]:
    """The locks a transaction begins with, and what each keeps out."""
    table, partition = locks_of(step.table, step.partition.key)
    whole = Statement(ledger.LOCK, {"key": table})
    if transaction == "prepare":
        return [(whole, "Keep every other run of the table out.")]
    shared = (
        Statement(ledger.LOCK_SHARED, {"key": table}),
        "Let other partitions be loaded, but nobody replace the table.",
    )
    exclusive = (whole, "Keep other writers of the table out: no index keeps its key unique.")
    return [
        exclusive if step.exclusive else shared,
        (Statement(ledger.LOCK, {"key": partition}), "Keep other runs of the partition out."),
    ]


def _statement(statement: Statement) -> Iterator[str]:
    if statement.binds:
        yield "-- binds: " + ", ".join(f"{name} = {value!s}" for name, value in statement.binds.items())
    yield statement.pretty + ";"


def _comment(text: str) -> list[str]:
    paragraphs = text.split("\n\n")
    return [f"-- {line}" for text in paragraphs for line in textwrap.wrap(" ".join(text.split()), 100)]


def _document(item: Rendered) -> dict[str, Any]:
    statements = [{"sql": statement.sql.strip(), "binds": dict(statement.binds)} for statement in item.statements]
    return {"transaction": item.transaction, "action": item.action, "does": item.does, "statements": statements}
