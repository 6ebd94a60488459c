"""What operators log while a case runs: by the standard library's logging on Airflow 2, by structlog on Airflow 3."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

LOGGERS = ("", "airflow", "airflow.task", "airflow_idempotent")
"""Those that may not hand on to the one above them."""


class _Ear(logging.Handler):
    """Keeps lines; ``hears_event`` is the last of structlog's processors, nothing is printed after it."""

    def __init__(self, heard: list[str]) -> None:
        super().__init__(logging.INFO)
        self._heard = heard

    def emit(self, record: logging.LogRecord) -> None:
        self._heard.append(record.getMessage())

    def hears_event(self, logger: Any, method: str, event: dict[str, Any]) -> dict[str, Any]:
        from structlog import DropEvent

        self._heard.append(str(event.get("event")))
        raise DropEvent


@contextmanager
def listening() -> Iterator[list[str]]:
    """All log lines from level INFO on, each at least once."""
    heard: list[str] = []
    ear = _Ear(heard)
    with _standard(ear), _structured(ear):
        yield heard


@contextmanager
def _standard(ear: _Ear) -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.addHandler(ear)
    for name in ("airflow.task", "airflow_idempotent"):
        logging.getLogger(name).setLevel(logging.INFO)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.removeHandler(ear)
            logger.setLevel(level)


@contextmanager
def _structured(ear: _Ear) -> Iterator[None]:
    if not find_spec("structlog"):
        yield
        return
    import structlog

    before = structlog.get_config()
    bound = structlog.make_filtering_bound_logger(logging.INFO)
    structlog.configure(processors=[ear.hears_event], wrapper_class=bound, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)
