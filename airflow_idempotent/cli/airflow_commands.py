"""``airflow idempotent …`` on Airflow 3: the same commands, the same options, the same exit codes.

Airflow calls ``get_commands`` each time its own command line starts, so nothing of ours is imported
before one of the commands is run.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import Any

from airflow_idempotent.cli.commands import COMMANDS, Command

NAME = "idempotent"


class _Arguments:
    """Stands for all options of a command, where Airflow expects one ``Arg``."""

    def __init__(self, command: Command) -> None:
        self.flags = (command.name,)
        self._command = command

    def add_to_parser(self, parser: ArgumentParser) -> None:
        """Give Airflow's parser what ours has. ``output`` makes Airflow log to standard error."""
        self._command.describe(parser)
        parser.set_defaults(command=self._command.name, output="plain")


def get_commands() -> list[Any]:
    """The group of commands that Airflow adds to its own."""
    from airflow.cli.cli_config import ActionCommand, GroupCommand

    commands = []
    for command in COMMANDS.values():
        arguments: Any = (_Arguments(command),)
        commands.append(ActionCommand(name=command.name, help=command.help, func=_run, args=arguments))
    description = "The commands of airflow-idempotent, which also runs without Airflow and starts much sooner."
    return [GroupCommand(NAME, "Tables that are safe to load again", commands, description)]


def _run(args: Namespace) -> None:
    from airflow_idempotent.cli.main import execute

    sys.exit(execute(args))
