"""The commands and what each of them takes. Standard library only, so that ``--help`` is there at once."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass

from airflow_idempotent.cli.version_options import pin_options, rollback_options, swap_options, versions_options

REPROCESS = ("all", "missing", "failed", "stale", "drifted", "changed")


@dataclass(frozen=True, slots=True)
class Command:
    """One command. ``module`` holds its function ``run(args, out)``, imported when it is needed."""

    name: str
    help: str
    arguments: Callable[[ArgumentParser], None]

    @property
    def module(self) -> str:
        return f"airflow_idempotent.cli.{self.name}"

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


def _render(parser: ArgumentParser) -> None:
    _spec(parser)
    parser.add_argument("--partition", metavar="KEY", required=True, help="Partition, e.g. 2025-05-01.")
    _dsn(parser)


def _plan(parser: ArgumentParser) -> None:
    _spec(parser)
    parser.add_argument("--from-date", metavar="DATE", required=True, help="Begin of the range, a date or an instant.")
    parser.add_argument("--to-date", metavar="DATE", required=True, help="End of the range, not included.")
    parser.add_argument(
        "--reprocess-behavior",
        choices=REPROCESS,
        default="all",
        help="Which partitions of the range, by what the ledger says; all but 'all' and 'changed' need the database.",
    )
    _dsn(parser)


def _run(parser: ArgumentParser) -> None:
    _spec(parser)
    parser.add_argument(
        "--partition",
        metavar="KEY",
        required=True,
        action="append",
        dest="partitions",
        help="Partition; may be repeated.",
    )
    _dsn(parser)
    parser.add_argument(
        "--source-dsn", metavar="DSN", help="Database of a query source. Default: the one of the table."
    )
    parser.add_argument("--root", metavar="DIR", help="Where batches are landed. Default: landing.root of the spec.")
    parser.add_argument("--skip-unchanged", action="store_true", help="Leave a partition alone whose batch is loaded.")
    parser.add_argument(
        "--force",
        action="store_true",
        help="Load a batch that another version of the spec published, also if it deletes.",
    )
    parser.add_argument("--dry-run", action="store_true", help="Do everything, count, and roll back; nothing is kept.")
    parser.add_argument(
        "--target",
        choices=("live", "shadow"),
        default="live",
        help="The table that readers read, or the version table_version of it that is built beside it.",
    )
    parser.add_argument("--cutoff-ts", metavar="INSTANT", help="Bind :cutoff_ts of a query source. Default: now.")
    parser.add_argument(
        "--param",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="What {{ params.NAME }} stands for; may be repeated.",
    )


def _prove(parser: ArgumentParser) -> None:
    _spec(parser)
    parser.add_argument(
        "--input",
        metavar="FILE",
        required=True,
        nargs="+",
        action="extend",
        dest="inputs",
        help="One batch: PARTITION=FILE, or a file that source.path of the spec matches; later ones of a partition are "
        "its newer revisions. PARTITION=GLOB is one batch of all files found.",
    )
    parser.add_argument(
        "--ddl", metavar="FILE", help="SQL that creates the table. Default: it is created from 'columns' of the spec."
    )
    parser.add_argument("--orders", metavar="N", type=_count, default=24, help="Orders of loading to try. Default: 24.")
    parser.add_argument(
        "--crashes", metavar="N|all", type=_count_or_all, default=100, help="Cuts to try, or all. Default: 100."
    )
    parser.add_argument("--seed", metavar="S", default="0", help="Another seed tries other orders and moments.")
    parser.add_argument(
        "--ignore",
        metavar="COLUMN",
        action="append",
        default=[],
        help="A column that may differ from run to run, as the time of loading; may be repeated.",
    )


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def _count_or_all(text: str) -> int | str:
    return text if text == "all" else _count(text)


def _status(parser: ArgumentParser) -> None:
    parser.add_argument("table", metavar="TABLE", nargs="?", help="Only this table, schema.table.")
    parser.add_argument(
        "--all", action="store_true", help="Every partition of every table, where else each of many is one line."
    )
    _dsn(parser)


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
        Command("render", "Show the SQL that loads a partition.", _render),
        Command("plan", "List the partitions of a range, and why each is in.", _plan),
        Command("run", "Load partitions: land, stage_merge, validate.", _run),
        Command("prove", "Prove that neither order, nor repetition, nor crashes change what batches end in.", _prove),
        Command("status", "Show what the ledger says of each partition.", _status),
        Command("audit", "Find what is no longer as it was published: source, table, columns, spec.", _audit),
        Command("reconcile", "Repair the ledger, never the data: show the repairs, or make them.", _reconcile),
        Command("watermark", "Show, set or recompute from where incremental queries read.", _watermark),
        Command("dedupe", "Remove the duplicates that are in a table already.", _dedupe),
        Command("swap", "Make a shadow the live table; the old one is kept.", _with_dsn(swap_options)),
        Command("rollback", "Make the version that was live before live again.", _with_dsn(rollback_options)),
        Command("versions", "Show which versions of a table there are.", _with_dsn(versions_options)),
        Command("pin", "Keep a version of a table whatever keep_for says.", _with_dsn(pin_options)),
        Command("schema", "Print the JSON schema of spec files, for editors.", _schema),
    )
}
