"""Clients that read all the time, whatever happens to what they read."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

from tests.loading import Warehouse

CLIENTS = 4


@contextmanager
def reading(warehouse: Warehouse, sql: str) -> Iterator[list[list[str]]]:
    """What they saw so far: the first column of each answer. An error that any of them met is raised at the end."""
    ended, seen, errors = threading.Event(), [], []

    def read() -> None:
        with closing(warehouse.connect()) as connection:
            cursor = connection.cursor()
            while not ended.is_set():
                try:
                    cursor.execute(sql)
                    seen.append([value for (value,) in cursor.fetchall()])
                    connection.commit()
                except Exception as error:  # noqa: BLE001, whatever a reader sees
                    errors.append(error)
                    connection.rollback()

    clients = [threading.Thread(target=read) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        yield seen
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert errors == []
