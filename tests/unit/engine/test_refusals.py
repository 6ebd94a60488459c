"""What a server says when it refuses, in whatever language, in our words."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from airflow_idempotent.core.manifest import Part
from airflow_idempotent.engine.refusals import bad_row, is_driver_error, is_transient, refusal
from airflow_idempotent.errors import (
    ConnectionLostError,
    ConstraintError,
    DatabaseError,
    LockTimeoutError,
    ServerBusyError,
    StatementTimeoutError,
)

PART = Part("part-00000.csv", 1, 1, "", ("id", "d"), source="orders.csv")
Error = type("Error", (Exception,), {"__module__": "psycopg"})


def refused(sqlstate: str, message: str = "no", **diag: str | None) -> Exception:
    """An error as a driver raises it."""
    error: Exception = Error(message)
    error.sqlstate = sqlstate  # type: ignore[attr-defined]
    error.diag = SimpleNamespace(message_primary=message, **diag)  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("context", "line", "column"),
    [
        ('COPY idem_staging_6eaf24ac, line 3, column d: "x"', 3, "d"),
        ("COPY idem_staging_6eaf24ac, line 3", 3, None),
        ('COPY idem_staging_6eaf24ac, line 3: "5,a"', 3, None),
        ('JSON data, line 1: {"a\nCOPY idem_staging_6eaf24ac, line 2, column j: "{}"', 2, "j"),
        ('COPY idem_staging_6eaf24ac, line 3, column we"ird, name: "x"', 3, 'we"ird, name'),
        ("COPY idem_staging_6eaf24ac, Zeile 3, Spalte my col: »x«", 3, "my col"),
        ("COPY idem_staging_6eaf24ac, ligne 3, colonne d : « x »", 3, "d"),
        ('COPY idem_staging_6eaf24ac、行 3、列 d: "x"', 3, "d"),
        ('COPY idem_staging_6eaf24ac, строка 3, столбец d: "x"', 3, "d"),
        ("SQL statement", None, None),
        (None, None, None),
    ],
)
def test_a_refused_value_is_found_in_its_file(context: str | None, line: int | None, column: str | None) -> None:
    found = bad_row(refused("22P02", context=context, column_name=None), "t", "p", PART)

    assert found is not None
    assert (found.file, found.line, found.column) == ("orders.csv", line, column)


@pytest.mark.parametrize("sqlstate", ["57014", "40P01", "42703", ""])
def test_what_is_no_bad_value_is_no_bad_row(sqlstate: str) -> None:
    assert bad_row(refused(sqlstate, context=None), "t", "p", PART) is None
    assert bad_row(ValueError("no"), "t", "p", PART) is None


@pytest.mark.parametrize(
    ("sqlstate", "kind", "retryable"),
    [
        ("", ConnectionLostError, True),
        ("08006", ConnectionLostError, True),
        ("57P01", ConnectionLostError, True),
        ("55P03", LockTimeoutError, True),
        ("57014", StatementTimeoutError, True),
        ("40P01", ServerBusyError, True),
        ("53300", ServerBusyError, True),
        ("55006", ServerBusyError, True),
        ("22003", ConstraintError, False),
        ("23505", ConstraintError, False),
        ("P0001", ConstraintError, False),
        ("42501", DatabaseError, False),
    ],
)
def test_each_code_is_an_error_of_ours(sqlstate: str, kind: type[Exception], retryable: bool) -> None:
    ours = refusal(refused(sqlstate, "first line\nsecond line"), "t", "p")

    assert type(ours) is kind
    assert ours.retryable is retryable
    assert "first line" in str(ours) or isinstance(ours, LockTimeoutError)
    assert "second line" not in str(ours)


def test_what_the_server_quotes_of_rows_is_not_shown() -> None:
    error = refused("23505", "duplicate key", message_detail="Key (ssn)=(078-05-1120) already exists.")

    assert "078-05-1120" not in str(refusal(error, "t", "p"))


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (refused("40001"), True),
        (refused("40P01"), True),
        (refused("23505", constraint_name="one_chain_per_partition"), True),
        (refused("23505", constraint_name="pg_namespace_nspname_index"), True),
        (refused("23505", constraint_name="orders_pkey"), False),
        (refused("42P01"), False),
        (ValueError(), False),
    ],
)
def test_only_what_another_look_can_mend_is_tried_at_once(error: Exception, transient: bool) -> None:
    assert is_transient(error) is transient


def test_a_drivers_error_is_known_by_its_family() -> None:
    assert is_driver_error(refused("42P01"))
    assert is_driver_error(type("UniqueViolation", (Error,), {})())
    assert not is_driver_error(type("Error", (Exception,), {"__module__": "elsewhere"})())
