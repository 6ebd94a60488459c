"""The commands and what each of them takes. Standard library only, so that ``--help`` is there at once."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass

from airflow_idempotent.cli.load_options import plan_options, prove_options, render_options, run_options
from airflow_idempotent.cli.version_options import pin_options, rollback_options, swap_options, versions_options


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``module`` holds its function ``run(args, out)``, imported when it is needed."""

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]

    @property
    def module(self) -> str:
        return f"airflow_idempotent.cli.{self.name.replace('-', '_')}"

    def describe(self, parser: ArgumentParser) -> None:
        """Give the parser everything the command takes."""
        self.arguments(parser)
        parser.add_argument("--json", action="store_true", help="One JSON document on standard output, nothing else.")


def _lint(parser: ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="A spec file, or a folder of them.")
    parser.add_argument("--strict", action="store_true", help="Warnings are findings too.")


def _spec(parser: ArgumentParser) -> None:
    parser.add_argument("spec", metavar="SPEC", help="The YAML file of the table.")


def _dsn(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--dsn",
        metavar="DSN",
        help="Database of the table, postgresql://user@host:5432/name. Default: AIRFLOW_IDEMPOTENT_DSN.",
    )


def _status(parser: ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", nargs="?", help="Only this table, schema.table.")
    parser.add_argument(
        "--all", action="store_true", help="Every partition of every table, where else each of many is one line."
    )
    _dsn(parser)


def _why(parser: ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="The table, schema.table.")
    parser.add_argument("partition", metavar="PARTITION", help="Its key, e.g. 2025-05-01.")


def _dedupe(parser: ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", help="The table, schema.table.")
    parser.add_argument(
        "--unique-key",
        metavar="COLUMNS",
        required=True,
        help="Columns that tell which row is which, with commas between; double quotes around odd names.",
    )
    parser.add_argument(
        "--version",
        metavar="COLUMNS",
        default="",
        help="Columns that order two rows of one key; the greatest stays. Default: the rows' content decides.",
    )
    _dsn(parser)
    parser.add_argument("--dry-run", action="store_true", help="Only count; exit code 1 when there are duplicates.")
    parser.add_argument("--chunk-rows", metavar="N", type=int, help="Rows that one transaction removes at most.")
    parser.add_argument(
        "--lock-timeout", metavar="SECONDS", type=float, default=300.0, help="Wait for other writers, default 300."
    )


def _audited(parser: ArgumentParser) -> None:
    parser.add_argument(
        "spec", metavar="SPEC|TABLE", help="The YAML file of the table; or the table of one below here."
    )
    _dsn(parser)
    parser.add_argument("--root", metavar="DIR", help="Where batches are landed. Default: landing.root of the spec.")


def _audit(parser: ArgumentParser) -> None:
    _audited(parser)
    parser.add_argument("--from-date", metavar="DATE", help="Only partitions from here on, a date or an instant.")
    parser.add_argument("--to-date", metavar="DATE", help="Only partitions before this.")
    parser.add_argument(
        "--sample", metavar="N|N%|all", default="all", help="How many partitions, longest waiting first. Default: all."
    )
    parser.add_argument("--requery", action="store_true", help="Run queries and functions again, to compare.")
    parser.add_argument(
        "--source-dsn", metavar="DSN", help="Database of a query source. Default: the one of the table."
    )


def _reconcile(parser: ArgumentParser) -> None:
    _audited(parser)
    parser.add_argument(
        "--partition", metavar="KEY", action="append", dest="partitions", help="Only this one; may be repeated."
    )
    parser.add_argument(
        "--accept", action="store_true", help="Let tables that somebody has changed be right as they are now."
    )
    parser.add_argument("--reason", metavar="TEXT", default="", help="Why; kept in the ledger.")
    parser.add_argument(
        "--apply", action="store_true", help="Repair the ledger; without it the repairs are shown only."
    )


def _watermark(parser: ArgumentParser) -> None:
    parser.add_argument(
        "action",
        choices=("show", "set", "recompute"),
        help="show: how far tables are, what keeps them, who changed it. set: read from an instant on. "
        "recompute: let the ledger's events alone say it again.",
    )
    parser.add_argument("table", metavar="TABLE", nargs="?", help="The table, schema.table; show lists all without.")
    parser.add_argument("instant", metavar="INSTANT", nargs="?", help="Where to set it; without an offset in UTC.")
    parser.add_argument("--reason", metavar="TEXT", help="Why; required by set and recompute, kept in the ledger.")
    parser.add_argument("--by", metavar="NAME", help="Who; default: the user of this machine.")
    _dsn(parser)


def _of_spec(options: Callable[[ArgumentParser], None]) -> Callable[[ArgumentParser], None]:
    def described(parser: ArgumentParser) -> None:
        _spec(parser)
        options(parser)

    return described


def _audit_trail(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=("verify",), help="verify: whether each event says what was written.")
    parser.add_argument("table", metavar="TABLE", nargs="?", help="Only this table, schema.table.")


def _with_dsn(options: Callable[[ArgumentParser], None]) -> Callable[[ArgumentParser], None]:
    def described(parser: ArgumentParser) -> None:
        options(parser)
        _dsn(parser)

    return described


def _schema(parser: ArgumentParser) -> None:
    parser.add_argument("--markdown", action="store_true", help="The options as a page for people.")


COMMANDS = {
    command.name: command
    for command in (
        Command("lint", "Find every problem of a spec file, or of all files of a folder.", _lint),
        Command("explain", "Say in words what a spec does.", _spec),
        Command("render", "Show the SQL that loads a partition.", _with_dsn(_of_spec(render_options))),
        Command("plan", "List the partitions of a range, and why each is in.", _with_dsn(_of_spec(plan_options))),
        Command("run", "Load partitions: land, stage_merge, validate.", _with_dsn(_of_spec(run_options))),
        Command(
            "prove",
            "Prove that neither order, nor repetition, nor crashes change what batches end in.",
            _of_spec(prove_options),
        ),
        Command("status", "Show what the ledger says of each partition.", _status),
        Command("why", "Say how a partition came to be as it is, and what to do about it.", _with_dsn(_why)),
        Command("audit", "Find what is no longer as it was published: source, table, columns, spec.", _audit),
        Command("reconcile", "Repair the ledger, never the data: show the repairs, or make them.", _reconcile),
        Command("audit-trail", "Verify that nobody has altered or removed an event.", _with_dsn(_audit_trail)),
        Command("watermark", "Show, set or recompute from where incremental queries read.", _watermark),
        Command("dedupe", "Remove the duplicates that are in a table already.", _dedupe),
        Command("swap", "Make a shadow the live table; the old one is kept.", _with_dsn(swap_options)),
        Command("rollback", "Make the version that was live before live again.", _with_dsn(rollback_options)),
        Command("versions", "Show which versions of a table there are.", _with_dsn(versions_options)),
        Command("pin", "Keep a version of a table whatever keep_for says.", _with_dsn(pin_options)),
        Command("schema", "Print the JSON schema of spec files, for editors.", _schema),
    )
}
