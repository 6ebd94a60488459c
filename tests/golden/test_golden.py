"""Every action, strategy and check as SQL, on pages that people can read and run."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any

import pytest

from airflow_idempotent.checks import CHECKS
from airflow_idempotent.core.actions import (
    ApplyChanges,
    CopyBatch,
    CreateLike,
    CreateStaging,
    CreateTarget,
    Deduplicate,
    EnsureChild,
    EnsureTombstones,
    KeepUnchanged,
    RejectRows,
    ReplacePartition,
    ResolveChanges,
)
from airflow_idempotent.core.manifest import copied_as
from airflow_idempotent.engine.session import Session
from airflow_idempotent.sql.compiler import compile_action
from airflow_idempotent.sql.statement import Statement
from airflow_idempotent.strategies import STRATEGIES
from tests.golden.page import ACTIONS, FOLDER, PAGES, STAGING, WINNERS, Page
from tests.postgres_fixtures import Connect


def name_of(page: Page) -> str:
    return str(page.path.relative_to(FOLDER).with_suffix(""))


pages = pytest.mark.parametrize("page", PAGES, ids=name_of)


@pages
def test_the_sql_is_what_the_page_says(page: Page, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        page.path.write_text(page.expected(), encoding="utf-8")
        return

    assert page.path.read_text(encoding="utf-8") == page.expected(), "if meant: pytest tests/golden --update-golden"


@pages
def test_what_people_read_is_what_is_sent(page: Page) -> None:
    for sent in page.statements:
        assert without_space(sent.pretty) == without_space(sent.sql)


@pages
def test_a_page_begins_with_a_sentence(page: Page) -> None:
    assert re.fullmatch(r"[A-Z].*\.", page.sentence)


@pages
def test_a_range_is_half_open(page: Page) -> None:
    assert not re.search(r"\bbetween\b", page.body, re.IGNORECASE)


@pytest.mark.parametrize("name", [*ACTIONS, *STRATEGIES, *CHECKS])
def test_each_action_strategy_and_check_has_a_page(name: str) -> None:
    assert [page for page in PAGES if page.path.parent.name == name]


@pages
def test_postgres_runs_it(page: Page, connect: Connect) -> None:
    session = Session(connect())
    with session.transaction():
        prepare(page, session)
        for sent in page.statements:
            run(session, replace(sent, sql=sent.pretty), page)


def prepare(page: Page, session: Session) -> None:
    """What the statements of the page find when their turn comes."""
    kinds = {type(action) for action in page.actions}
    if kinds & {CreateTarget, CreateLike}:
        make_models(page, session)
        return
    session.execute(Statement(f'CREATE SCHEMA IF NOT EXISTS "{page.relation.schema}"'))
    by = next((column_of(action) for action in page.actions if isinstance(action, CUTTING)), None)
    for made in compile_action(CreateTarget(page.relation, page.shape.columns, (), partition_column=by), page.shape):
        session.execute(made)
    for name in page.check.tables_used if "check" in page.given else ():
        other = ".".join(map(quoted, name.split(".")))
        session.execute(Statement(f"CREATE TABLE IF NOT EXISTS {other} (LIKE {target(page)})"))
    for key in page.shape.unique_keys:
        columns = ", ".join(quoted(name) for name in sorted(key))
        session.execute(Statement(f"CREATE UNIQUE INDEX ON {target(page)} ({columns})"))
    make_children(page, session)
    if CreateStaging in kinds:
        return
    columns = page.shape.names
    extra = page.strategy.batch_only() if page.strategy else ()
    staging = CreateStaging(page.relation, STAGING, columns, extra=extra, places=RejectRows in kinds)
    for made in compile_action(staging, page.shape):
        session.execute(made)
    if (
        beside := page.strategy.made(page.relation, page.staged.unique_key, page.staged.version)
        if page.strategy
        else ()
    ):
        session.execute(Statement("CREATE SCHEMA IF NOT EXISTS airflow_idempotent"))
        for made in compile_action(beside[0], page.shape) if EnsureTombstones not in kinds else ():
            session.execute(made)
    if kinds & {KeepUnchanged, ApplyChanges} and ResolveChanges not in kinds:
        for made in compile_action(ResolveChanges(page.actions[0].events, WINNERS, "rows"), page.shape):
            session.execute(made)
    elif not kinds & {Deduplicate, ResolveChanges}:
        winners = Deduplicate(STAGING, WINNERS, columns, columns[:1])
        session.execute(compile_action(winners, page.shape)[0])


CUTTING = (EnsureChild, ReplacePartition)
"""Actions on a table PARTITION BY RANGE."""


def column_of(action: EnsureChild | ReplacePartition) -> str:
    return action.column.name if isinstance(action, EnsureChild) else action.column


def make_models(page: Page, session: Session) -> None:
    """The tables that others are made like."""
    for action in page.actions:
        if isinstance(action, CreateLike):
            for made in compile_action(CreateTarget(action.like, page.shape.columns, ()), page.shape):
                session.execute(made)


def make_children(page: Page, session: Session) -> None:
    """The children that are exchanged for others."""
    for action in page.actions:
        if isinstance(action, ReplacePartition):
            child = EnsureChild(page.relation, page.shape[action.column], action.partition)
            for made in compile_action(child, page.shape):
                session.execute(made)


def run(session: Session, sent: Statement, page: Page) -> Any:
    if not sent.sql.startswith("COPY"):
        return session.execute(sent)
    [action] = page.actions
    assert isinstance(action, CopyBatch)
    form = copied_as(action.format)
    header = form.delimiter.join(action.part.columns) + "\n" if form.header else ""
    return session.copy_in(sent, io.BytesIO(header.encode(form.encoding)))


def target(page: Page) -> str:
    return f"{quoted(page.relation.schema)}.{quoted(page.relation.name)}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def without_space(text: str) -> str:
    return re.sub(r"\s+", "", text)
