"""``schema``: what a spec file may hold, for editors or for people."""

from __future__ import annotations

import json
from argparse import Namespace

from airflow_idempotent.cli.output import DONE, Output


def run(args: Namespace, out: Output) -> int:
    """Print ``table.schema.json``, or the page docs/spec.md."""
    from airflow_idempotent.spec.reference import json_schema, markdown

    if args.markdown:
        out.document({"markdown": markdown()})
        out.say(markdown().rstrip("\n"))
    else:
        out.document(json_schema())
        out.say(json.dumps(json_schema(), indent=2, ensure_ascii=False))
    return DONE
