"""Each test has a database of its own, by either driver."""

from __future__ import annotations

import pytest

from tests.postgres_fixtures import Connect


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_sees_nothing_of_the_one_before(connect: Connect, turn: int) -> None:
    with connect() as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE only_once (turn integer)")


def test_connections_are_separate_sessions(connect: Connect) -> None:
    one, other = connect().cursor(), connect().cursor()

    one.execute("SELECT pg_backend_pid()")
    other.execute("SELECT pg_backend_pid()")

    assert one.fetchone() != other.fetchone()
