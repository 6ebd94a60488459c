"""Killed at any file operation and run again, landing ends where one clean run ends; readers never see half."""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.landing.inputs import QueryInput
from airflow_idempotent.landing.retention import retain
from airflow_idempotent.landing.store import BatchStore
from tests.unit.landing.landed import DAY, TABLE, files, land_day, tree, verified

FILE_EVENTS = {
    "open", "os.mkdir", "os.rename", "os.link", "os.remove", "os.rmdir", "os.truncate",
    "os.scandir", "os.listdir", "fcntl.flock", "shutil.rmtree",
}  # fmt: skip

OLD, NEW = "id\n1\n", "id\n1\n2\n"


def killed_at(operation: int, work: Callable[[], object], how: int = signal.SIGKILL) -> int | None:
    """Run ``work`` in a child that signals itself right before its n-th file operation.

    Gives the child's process id when it got there; None when it was done before.
    """
    child = os.fork()
    if child == 0:
        seen = 0

        def count(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event in FILE_EVENTS:
                seen += 1
                if seen == operation:
                    os.kill(os.getpid(), how)

        sys.addaudithook(count)
        try:
            work()
        except BaseException:  # noqa: BLE001  # nothing of pytest may run on in the child
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0, "the work itself failed"
        return None
    return child


def finish(child: int) -> None:
    os.kill(child, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def every_crash(
    folder: Path, prepare: Callable[[BatchStore], object], work: Callable[[BatchStore], object]
) -> Iterator[Any]:
    """Kill ``work`` before each of its file operations in turn, each time in a new store."""
    for operation in range(1, 1000):
        store = BatchStore(folder / str(operation))
        prepare(store)
        if killed_at(operation, lambda store=store: work(store)) is None:
            assert operation > 10, "the hook saw nothing"
            return
        yield store
    raise AssertionError("the work never ended")


def nothing(store: BatchStore) -> None:
    """Begin with an empty store."""


def query_input(database: Path) -> QueryInput:
    return QueryInput("select id from orders", {}, lambda: sqlite3.connect(database))


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "old.csv").write_text(OLD)
    (folder / "new.csv").write_text(NEW)
    database = sqlite3.connect(folder / "orders.db")
    database.executescript("create table orders (id integer); insert into orders values (2), (1)")
    database.close()
    return folder


@pytest.mark.parametrize("source", ["a file", "two files", "a query"])
def test_a_crash_of_the_first_landing_then_a_retry_equals_one_clean_run(
    tmp_path: Path, inbox: Path, source: str
) -> None:
    wanted = {
        "a file": files(inbox / "new.csv"),
        "two files": files(inbox / "old.csv", inbox / "new.csv"),
        "a query": query_input(inbox / "orders.db"),
    }[source]
    clean = BatchStore(tmp_path / "clean")
    expected = land_day(clean, wanted).manifest

    for store in every_crash(tmp_path / "crashed", nothing, lambda store: land_day(store, wanted)):
        assert verified(store) in ((), (expected,))

        assert land_day(store, wanted).manifest == expected
        assert tree(store.root) == tree(clean.root)


def test_a_crash_of_a_correction_then_a_retry_equals_one_clean_run(tmp_path: Path, inbox: Path) -> None:
    old, new = files(inbox / "old.csv"), files(inbox / "new.csv")
    clean = BatchStore(tmp_path / "clean")
    before, after = land_day(clean, old).manifest, land_day(clean, new).manifest

    crashes = every_crash(tmp_path / "crashed", lambda store: land_day(store, old), lambda store: land_day(store, new))
    for store in crashes:
        assert verified(store) in ((before,), (before, after))

        assert land_day(store, new).manifest == after
        assert tree(store.root) == tree(clean.root)


def test_a_retry_beside_a_killed_attempt_that_is_still_running_lands_the_content_once(
    tmp_path: Path, inbox: Path
) -> None:
    source = files(inbox / "new.csv")
    expected = land_day(BatchStore(tmp_path / "clean"), source).manifest
    for operation in range(1, 1000):
        store = BatchStore(tmp_path / str(operation))
        zombie = killed_at(operation, lambda store=store: land_day(store, source), how=signal.SIGSTOP)
        if zombie is None:
            return
        assert land_day(store, source).manifest == expected

        finish(zombie)

        assert verified(store) == (expected,)
        store.sweep(TABLE, DAY.key)
        assert len(tree(store.root)) == 2


def test_an_attempt_that_was_delayed_does_not_put_old_content_above_new(tmp_path: Path, inbox: Path) -> None:
    path = inbox / "orders.csv"
    for operation in range(1, 1000):
        path.write_text(OLD)
        store = BatchStore(tmp_path / str(operation))
        zombie = killed_at(operation, lambda store=store: land_day(store, files(path)), how=signal.SIGSTOP)
        if zombie is None:
            return
        replacement = path.with_name("orders.new")
        replacement.write_text(NEW)
        os.utime(replacement, ns=(1, 1))
        replacement.rename(path)
        land_day(store, files(path))

        os.kill(zombie, signal.SIGCONT)
        os.waitpid(zombie, 0)  # it may have noticed that the file changed under its hands, and failed

        newest = verified(store)[-1]
        assert store.open_part(newest, newest.parts[0]).read() == NEW.encode()


def test_a_crash_while_old_batches_are_deleted_leaves_whole_batches_only(tmp_path: Path, inbox: Path) -> None:
    def three_batches(store: BatchStore) -> None:
        for name in ("old.csv", "new.csv", "old.csv"):
            land_day(store, files(inbox / name))

    for store in every_crash(tmp_path, three_batches, lambda store: retain(store, TABLE, DAY, 1)):
        assert verified(store)[-1].revision == 3

        retain(store, TABLE, DAY, 1)

        assert [manifest.revision for manifest in verified(store)] == [3]


def test_what_a_killed_attempt_left_is_swept_at_once_and_what_a_live_one_writes_is_not(
    tmp_path: Path, inbox: Path
) -> None:
    source = files(inbox / "new.csv")
    for operation in range(1, 1000):
        store = BatchStore(tmp_path / str(operation))
        child = killed_at(operation, lambda store=store: land_day(store, source), how=signal.SIGSTOP)
        if child is None:
            break
        before = tree(store.root)
        store.sweep(TABLE, DAY.key)
        assert tree(store.root) == before

        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        store.sweep(TABLE, DAY.key)

        assert set(tree(store.root)) in (set(), {key for key in before if "batch=" in key})
    assert operation > 10
