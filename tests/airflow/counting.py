"""What stands for StatsD in a test."""

from __future__ import annotations


class Backend:
    """Keeps what is sent: (kind, name, value, tags)."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, str, float, dict[str, str]]] = []

    def incr(self, name: str, value: float, *, tags: dict[str, str]) -> None:
        self.sent.append(("incr", name, value, tags))

    def gauge(self, name: str, value: float, *, tags: dict[str, str]) -> None:
        self.sent.append(("gauge", name, value, tags))

    def counted(self) -> dict[str, float]:
        return {name.removeprefix("airflow_idempotent."): value for kind, name, value, _ in self.sent if kind == "incr"}
