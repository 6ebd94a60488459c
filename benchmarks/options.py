"""What every benchmark's command line has."""

from __future__ import annotations

import argparse


def sized(parser: argparse.ArgumentParser, *, batch_rows: int = 500_000) -> None:
    """Options for how much, and how often."""
    parser.add_argument("--rounds", type=int, default=3, help="how often each is measured; the median counts")
    parser.add_argument("--target-rows", type=int, default=2_000_000)
    parser.add_argument("--batch-rows", type=int, default=batch_rows)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, once: does it still work?")


def quickened(options: argparse.Namespace) -> argparse.Namespace:
    """The options, made small where ``--quick`` says so."""
    if options.quick:
        options.rounds = 1
        options.target_rows, options.batch_rows = options.target_rows // 10, options.batch_rows // 10
    return options
