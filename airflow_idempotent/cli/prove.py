"""``prove``: load batches in many orders, with repetitions and cuts, in scratch databases of our own."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from airflow_idempotent.cli.files import load_spec
from airflow_idempotent.cli.inputs import batches
from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.cli.progress import Bar
from airflow_idempotent.errors import LawBrokenError, UnreachableError, UsageError
from airflow_idempotent.testing.postgres import PostgresUnavailableError
from airflow_idempotent.testing.proof import Proof, assert_idempotent

UNFINISHED = "not finished"


def run(args: Namespace, out: Output) -> int:
    """Print what was tried, and that it held; a law that does not hold is an error that tells its story."""
    spec = load_spec(args.spec)
    given = batches(spec, args.inputs, command="prove")
    try:
        with TrialsBar(spec.table, "prove", silent=out.as_json) as bar:
            proof = assert_idempotent(
                spec,
                given,
                ddl=_ddl(args.ddl),
                orders=args.orders,
                crashes=args.crashes,
                seed=args.seed,
                ignore=args.ignore,
                progress=lambda what, done, of: bar(what, 0, done, of),
            )
    except PostgresUnavailableError as error:
        raise UnreachableError(
            address="a PostgreSQL of its own",
            reason=str(error).splitlines()[0].rstrip("."),
            hint="Type: pip install 'airflow-provider-idempotent[prove]'",
        ) from error
    except LawBrokenError as error:
        out.say(f"{spec.table}: {spec.strategy.kind}, a law does not hold")
        _show(out, _rows(dict(error.tried), broken=error.law))
        raise
    out.say(_heading(proof))
    _show(out, _rows(proof.as_dict(), same=f"all end in the same {proof.rows:,} rows"))
    out.say(f"Proven for these batches: digest {proof.digest}, {proof.loads:,} loads, {proof.seconds:.1f} s.")
    out.document({"proven": True, **proof.as_dict()})
    return DONE


class TrialsBar(Bar):
    """A bar that counts trials instead of bytes."""

    def amount(self, rows: int, size: int, of: int) -> str:
        return f"{size:,} of {of:,}"

    def total(self, amount: str, of: int) -> str:
        return amount


def _ddl(path: str | None) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            command="prove", reason=f"--ddl {path!r} cannot be read: {error}", hint="Correct the path."
        ) from None


def _heading(proof: Proof) -> str:
    batches, partitions = (
        f"{count} {what if count == 1 else plural}"
        for count, what, plural in ((proof.batches, "batch", "batches"), (proof.partitions, "partition", "partitions"))
    )
    return f"{proof.table}: {proof.strategy}, {batches} of {partitions}"


def _rows(tried: Mapping[str, Any], *, same: str = "", broken: str = "") -> Iterable[tuple[str, str, str, str]]:
    """One row per law: what was tried, how much of it, what came of it."""
    holds = {
        "commute": same or "the same rows",
        "rerun": "nothing written",
        "isolate": "others left alone",
        "crash": "as one clean run",
    }
    counts = {
        "commute": ("orders of loading", f"{tried['orders']:,} of {tried['possible_orders']:,}"),
        "rerun": ("repeated loads", f"{tried['repetitions']:,}"),
        "isolate": ("partitions repeated", f"{tried['repetitions']:,}"),
        "crash": ("cuts and retries", f"{tried['crashes']:,} of {tried['moments']:,} moments"),
    }
    for law, (what, count) in counts.items():
        unfinished = broken and (law == "crash" or not tried["crashes"])
        yield law, what, count, "BROKEN" if law == broken else UNFINISHED if unfinished else holds[law]


def _show(out: Output, rows: Iterable[tuple[str, str, str, str]]) -> None:
    """A table for people."""
    if out.as_json:
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table("law", "tried", "how much", "verdict", box=box.SIMPLE_HEAD, pad_edge=False)
    for law, what, count, found in rows:
        style = "bold red" if found == "BROKEN" else "" if found == UNFINISHED else "green"
        table.add_row(law, what, count, found, style=style)
    console = Console(highlight=False)
    console.print(table)
