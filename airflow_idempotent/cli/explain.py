"""``explain``: a spec in words."""

from __future__ import annotations

import textwrap
from argparse import Namespace
from pathlib import Path

from airflow_idempotent.cli.output import DONE, Output
from airflow_idempotent.plan.explain import explain, inherited_options
from airflow_idempotent.spec.loader import DEFAULTS, layers, load_file

WIDTH, MARGIN = 100, 17


def run(args: Namespace, out: Output) -> int:
    """Explain one spec; what ``defaults.yml`` gave is marked."""
    path = Path(args.spec)
    below, own = layers(path)
    explanation = explain(load_file(path), inherited_options(below, own))
    out.document(explanation)
    out.say(explanation.table, "")
    for topic in explanation.topics:
        marks = f" [{DEFAULTS}: {', '.join(topic.inherited)}]" if topic.inherited else ""
        out.say(*_entry(topic.name, topic.text + marks))
    out.say(*_entry("fingerprint", explanation.fingerprint))
    return DONE


def _entry(name: str, text: str) -> list[str]:
    lines = textwrap.wrap(text, WIDTH - MARGIN, break_long_words=False, break_on_hyphens=False) or [""]
    return [f"{name:<{MARGIN}}{lines[0]}", *(" " * MARGIN + line for line in lines[1:])]
