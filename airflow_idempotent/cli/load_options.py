"""The options of the commands that load partitions, or say what loading them would do. Standard library only."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError

REPROCESS = ("all", "missing", "failed", "stale", "drifted", "changed")


def render_options(parser: ArgumentParser) -> None:
    """What ``render`` takes beside the spec."""
    parser.add_argument("--partition", metavar="KEY", required=True, help="Partition, e.g. 2025-05-01.")


def plan_options(parser: ArgumentParser) -> None:
    """What ``plan`` takes beside the spec."""
    _range(parser, required=True)


def _range(parser: ArgumentParser, *, required: bool) -> None:
    parser.add_argument(
        "--from-date", metavar="DATE", required=required, help="Begin of the range, a date or an instant."
    )
    parser.add_argument("--to-date", metavar="DATE", required=required, help="End of the range, not included.")
    parser.add_argument(
        "--reprocess-behavior",
        choices=REPROCESS,
        default="all",
        help="Which partitions of the range, by what the ledger says; all but 'all' and 'changed' need the database.",
    )


def run_options(parser: ArgumentParser) -> None:
    """What ``run`` takes beside the spec."""
    parser.add_argument(
        "--partition",
        metavar="KEY",
        action="append",
        default=[],
        dest="partitions",
        help="Partition; may be repeated. Or a range:",
    )
    _range(parser, required=False)
    parser.add_argument("--newest-first", action="store_true", help="Load the newest partition first.")
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


def prove_options(parser: ArgumentParser) -> None:
    """What ``prove`` takes beside the spec."""
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
