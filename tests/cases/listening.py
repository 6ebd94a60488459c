"""What operators log while a case runs."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

LOGGERS = ("", "airflow", "airflow.task", "airflow_idempotent")


class _Ear(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@contextmanager
def listening() -> Iterator[list[str]]:
    """All log lines from level INFO on, each at least once."""
    ear, loggers = _Ear(), [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(ear)
    logging.getLogger("airflow_idempotent").setLevel(logging.INFO)
    logging.getLogger("airflow.task").setLevel(logging.INFO)
    try:
        yield ear.heard
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(ear)
            logger.setLevel(level)
