"""Values and files that a format cannot give to the database."""

from __future__ import annotations


class RefusedError(ValueError):
    """Something that cannot be loaded: why, and as far as known on which line or in which row, and in which column."""

    def __init__(
        self, reason: str, *, line: int | None = None, row: int | None = None, column: str | None = None
    ) -> None:
        super().__init__(reason)
        self.reason, self.line, self.row, self.column = reason, line, row, column


class PackageMissingError(RefusedError):
    """A file needs a package that is not installed; ``extra`` of ours brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"needs the package {package}, which is not installed")
        self.package, self.extra = package, extra
