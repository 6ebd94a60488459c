"""What the commands about versions of a table take. Standard library only."""

from __future__ import annotations

from argparse import ArgumentParser


def swap_options(parser: ArgumentParser) -> None:
    """What ``swap`` takes."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="The live table, schema.table; or the YAML file of its spec: then version table_version is swapped in by "
        "the rules under publish, once every partition of the live table is in it and validated.",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--shadow", metavar="NAME", help="The table that takes its place, schema.table.")
    which.add_argument("--version", metavar="N", type=int, help="The version that does. Default: the newest built.")
    parser.add_argument(
        "--partition", metavar="KEY", help="Only the child table of this partition, like 2025-05-01 or 2025-05."
    )
    parser.add_argument("--timezone", metavar="ZONE", default="UTC", help="Whose calendar cuts it. Default: UTC.")
    parser.add_argument("--allow-empty", action="store_true", help="Also when the shadow has no rows.")
    parser.add_argument("--allow-changes", action="store_true", help="Also when its columns or keys differ.")
    parser.add_argument(
        "--keep-for", metavar="SPAN", default="7d", help="How long retired versions stay at least. Default: 7d."
    )
    parser.add_argument(
        "--keep-versions", metavar="N", type=int, default=1, help="How many of them stay at least. Default: 1."
    )
    parser.add_argument(
        "--by",
        choices=("rename", "view"),
        help="How readers get to it: the table takes the live one's name, or that name becomes a view of it. "
        "Default: as now, which is by rename until a first swap by view.",
    )
    _exchange(parser)


def _exchange(parser: ArgumentParser) -> None:
    """What every exchange of two tables takes."""
    parser.add_argument(
        "--on-dependents",
        choices=("refuse", "carry"),
        default="refuse",
        help="Views and foreign keys of other tables that refer to the live table: nothing is exchanged, which is "
        "the default, or they follow to the new one.",
    )
    parser.add_argument(
        "--lock-timeout",
        metavar="SECONDS",
        type=float,
        default=300.0,
        help="How long to try while others use the table, default 300; readers wait 0.1 s of it at most.",
    )


def rollback_options(parser: ArgumentParser) -> None:
    """What ``rollback`` takes."""
    parser.add_argument("table", metavar="TABLE", help="The live table, schema.table.")
    parser.add_argument("--to", metavar="N", type=int, help="The version. Default: the one that was live before.")
    parser.add_argument(
        "--accept-loss", action="store_true", help="Also when loads made since the swap are not in that version."
    )
    parser.add_argument("--partition", metavar="KEY", help="Only this partition; then TABLE is the spec file.")
    parser.add_argument("--to-batch", metavar="BATCH", help="The batch that --partition shall hold again.")
    parser.add_argument("--root", metavar="DIR", help="Where batches are landed. Default: landing.root of the spec.")
    _exchange(parser)


def versions_options(parser: ArgumentParser) -> None:
    """What ``versions`` takes."""
    parser.add_argument("table", metavar="TABLE", nargs="?", help="Only this table, schema.table.")
    parser.add_argument(
        "--divergence",
        action="store_true",
        help="Where new versions differ from the live table: what, in which rows, and the query that shows them.",
    )
    parser.add_argument("--version", metavar="N", type=int, help="With --divergence: only this version.")
    parser.add_argument("--all", action="store_true", help="With --divergence: partitions that are alike, too.")


def pin_options(parser: ArgumentParser) -> None:
    """What ``pin`` takes."""
    parser.add_argument("table", metavar="TABLE", help="The live table, schema.table.")
    parser.add_argument("--version", metavar="N", type=int, required=True, help="The version that is kept.")
    parser.add_argument("--remove", action="store_true", help="Take the pin off.")
    parser.add_argument("--reason", metavar="TEXT", default="", help="Why; goes to the journal.")
