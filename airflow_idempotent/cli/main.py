"""``airflow-idempotent``: parse, run the command, say how it ended."""

from __future__ import annotations

import gc
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import NoReturn

from airflow_idempotent import __version__
from airflow_idempotent.cli.commands import COMMANDS
from airflow_idempotent.cli.output import DONE, USAGE, Output
from airflow_idempotent.errors import IdempotentError, UsageError

PROGRAM = "airflow-idempotent"
INTERRUPTED = 130
EXIT_CODES = "exit codes: 0 done, 1 findings, 2 bad spec or usage, 3 database"


class Parser(ArgumentParser):
    """An argparse parser whose complaints are errors of ours, so that ``--json`` can show them too."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(command=self.prog, reason=message)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it ended."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = parser().parse_args(words)
    except UsageError as error:
        Output(as_json="--json" in words).failure(error)
        return USAGE
    return execute(args)


def parser() -> ArgumentParser:
    """The parser of all commands."""
    top = Parser(PROGRAM, description="Load tables so that running anything again is safe.", epilog=EXIT_CODES)
    top.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    subparsers = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS.values():
        command.describe(
            subparsers.add_parser(command.name, help=command.help, description=command.help, epilog=EXIT_CODES)
        )
    return top


def execute(args: Namespace) -> int:
    """Run the command that was parsed; never raises for what a user can cause."""
    out = Output(as_json=args.json)
    try:
        code: int = _command(args.command)(args, out)
        sys.stdout.flush()
        return code
    except IdempotentError as error:
        return out.failure(error)
    except BrokenPipeError:  # the reader has seen enough: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        reason = f"{error.filename or 'file system'}: {error.strerror or error}"
        hint = "Look at the path, its rights and the space left; running it again is safe."
        return out.failure(UsageError(command=args.command, reason=reason, hint=hint))
    except KeyboardInterrupt:
        print("Interrupted: the open transaction is rolled back, running it again is safe.", file=sys.stderr)
        return INTERRUPTED


def _command(name: str) -> Callable[[Namespace, Output], int]:
    """The function of a command. Its imports make many objects and no garbage: not looking for any saves a tenth."""
    gc.disable()
    run: Callable[[Namespace, Output], int] = import_module(COMMANDS[name].module).run
    gc.freeze()
    gc.enable()
    return run
