"""What audits on the command line share: which table, what its source holds now, and what to type next."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

from airflow_idempotent.cli.connection import source_connector
from airflow_idempotent.cli.files import load_spec
from airflow_idempotent.cli.functions import make_importable
from airflow_idempotent.cli.sources import landing_root, open_path, source_of
from airflow_idempotent.core.audit import Cause, Due, Finding, SourceVerdict
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.engine.attempts import Connect
from airflow_idempotent.engine.audit import CompareSource
from airflow_idempotent.errors import UsageError
from airflow_idempotent.landing.inputs import Input
from airflow_idempotent.landing.recheck import recheck
from airflow_idempotent.landing.store import BatchStore
from airflow_idempotent.spec.table import TableSpec

_TABLE = re.compile(r"^table:[ \t]*(.*?)[ \t]*(?:\s#.*)?$", re.MULTILINE)


def spec_file(name: str, *, command: str, folder: str = ".") -> Path:
    """The spec file that is meant: named as a file, or by its table and found below the folder.

    Raises:
        UsageError: there is none, or more than one.
    """
    if (path := Path(name)).is_file():
        return path
    try:
        wanted = Relation.parse(name)
    except ValueError:
        wanted = None
    files = sorted(path for end in ("yaml", "yml") for path in Path(folder).rglob(f"*.{end}"))
    found = [path for path in files if wanted and _table_of(path) == wanted]
    if len(found) == 1:
        return found[0]
    reason = f"{name!r} is neither a spec file nor the table of one below {str(Path(folder).resolve())!r}"
    if found:
        reason = f"{name!r} is the table of more than one spec: {', '.join(map(str, found))}"
    raise UsageError(command=command, reason=reason, hint="Name the YAML file of the table.")


def _table_of(path: Path) -> Relation | None:
    """The table that a file seems to be of, from a line of its text."""
    try:
        found = _TABLE.search(path.read_text(encoding="utf-8"))
        return Relation.parse(found[1].strip("\"'")) if found else None
    except (OSError, ValueError):
        return None


def audited_spec(args: Namespace) -> tuple[TableSpec, Path]:
    """The spec that the arguments name, and its file; functions of its source can be imported."""
    path = spec_file(args.spec, command=args.command)
    spec = load_spec(str(path))
    make_importable(path)
    return spec, path


def source_comparison(spec: TableSpec, args: Namespace, connect: Connect) -> CompareSource:
    """How the batch of a partition is compared with its source."""
    try:
        store = BatchStore(landing_root(spec, args.root))
    except UsageError:
        nowhere = SourceVerdict(unjudged="source: no landing folder is named, see --root")
        return lambda due, partition: nowhere

    def again(partition: Partition, manifest: Manifest) -> Input | None:
        if not args.requery:
            return None
        cutoff = datetime.fromisoformat(manifest.cutoff_ts) if manifest.cutoff_ts else partition.end
        connect_source = source_connector(args.source_dsn, connect)
        return source_of(spec, partition, cutoff_ts=cutoff, params={}, connect=connect_source, window=manifest.window)

    def compare(due: Due, partition: Partition) -> SourceVerdict:
        return recheck(store, spec.table, due, partition, open_path=open_path, again=again)

    return compare


def next_moves(spec: TableSpec, path: Path | str, findings: Iterable[Finding]) -> list[str]:
    """What to type next, one line for each cause."""
    first: dict[Cause, Finding] = {}
    for item in findings:
        first.setdefault(item.cause, item)
    return [f"{item.cause}: {move}" for item in first.values() for move in _moves(spec, str(path), item)]


def _moves(spec: TableSpec, path: str, item: Finding) -> Iterator[str]:
    run = f"airflow-idempotent run {path} --partition {item.partition}"
    accept = f"airflow-idempotent reconcile {path} --accept --apply"
    heals = spec.strategy.deletes or spec.strategy.stays_inside
    match item.cause:
        case Cause.SOURCE_CHANGED:
            yield f"load what is there now: {run}"
        case Cause.TARGET_CHANGED:
            limits = "" if heals else " (rows that no batch has, and edits of a greater version, stay)"
            yield f"load it again{limits}: {run}"
            yield f"or let it be right as it is: {accept} --partition {item.partition}"
        case Cause.SCHEMA_CHANGED:
            yield f"change the columns back, or let them be right as they are: {accept}"
        case Cause.BATCH_DAMAGED:
            yield f"remove what is left of the batch, then land it again: {run}"
        case Cause.SPEC_CHANGED:
            plan = f"airflow-idempotent plan {path} --reprocess-behavior stale --from-date … --to-date …"
            yield f"load these partitions again by the new spec: {plan}"
