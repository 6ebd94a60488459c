"""DAGs of the factory: built from specs, triggered, and run task by task without a scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

from airflow.timetables.base import DataInterval, TimeRestriction

from airflow_idempotent import AtomicLandOperator, StageMergeOperator, ValidatePartitionOperator
from airflow_idempotent.core.partition import Partition
from airflow_idempotent.dag_factory.factory import build_dag
from airflow_idempotent.spec.loader import load_mapping
from airflow_idempotent.spec.table import TableSpec
from tests.cases.case import Step
from tests.cases.contexts import context
from tests.cases.words import instant
from tests.cases.world import World

CONF = {"partition_start": "from_date", "partition_end": "to_date"}
"""What a case calls the params of a run."""

PARSE_FILE = 'from airflow_idempotent import load_tables\nload_tables("{folder}", globals())\n'


class NoDagError(Exception):
    """A DAG file brought no DAG; the text is that of its import errors."""


class Daily:
    """A table of the factory and its DAG. Each partition that is asked for gets a file of two rows, once."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.words: dict[str, Any] = {
            "table": "daily",
            "conn_id": world.conn_id(),
            "start_date": "2020-01-01",
            "source": {"kind": "files", "path": f"{world.folder}/days/{{{{ partition.key }}}}/*.csv"},
            "landing": {"root": str(world.lake)},
            "columns": [
                {"name": "d", "data_type": "date"},
                {"name": "id", "data_type": "bigint"},
                {"name": "v", "data_type": "text"},
            ],
            "unique_key": ["d", "id"],
            "partition_by": {"column": "d"},
            "retries": 0,
        } | world.memory.get("table", {})
        self._built: tuple[TableSpec, Any] | None = None

    @property
    def spec(self) -> TableSpec:
        return load_mapping(self.words, name="daily.yaml")

    @property
    def dag(self) -> Any:
        """The DAG; built once for each spec, since Airflow builds one at a time and the steps may run in threads."""
        spec = self.spec
        if self._built is None or self._built[0] != spec:
            self._built = (spec, build_dag(spec))
        return self._built[1]

    def change(self, **words: Any) -> None:
        """Edit the spec; what is None goes."""
        self.words = {name: value for name, value in (self.words | words).items() if value is not None}

    def plan(self, run: Mapping[str, Any]) -> list[list[dict[str, Any]]]:
        """What the DAG's plan task says; the partitions' files are there from then on."""
        task = self.dag.get_task("plan")
        found: list[list[dict[str, Any]]] = task.execute(dict(run))
        for pointer in (pointer for pointers in found for pointer in pointers):
            self.deliver(self.spec.partition(pointer["partition"]))
        return found

    def deliver(self, partition: Partition) -> None:
        folder = self.world.folder / "days" / partition.key
        if not folder.exists():
            folder.mkdir(parents=True)
            (folder / "rows.csv").write_text(self._rows(partition))

    def _rows(self, partition: Partition) -> str:
        day = partition.start.date()
        names = [column["name"] for column in self.words["columns"]]
        values = {"d": str(day), "ts": str(day), "id": str(day.toordinal()), "v": f"of {day}"}
        rows = [values, values | {"id": str(-day.toordinal())}] if "id" in names else [values | {"v": "1"}]
        return "\n".join([",".join(names), *(",".join(row[name] for name in names) for row in rows)]) + "\n"

    def operators(self, planned: Any) -> Iterator[Any]:
        """The tasks of one mapped group, with the arguments that the DAG gives them."""
        common = {"spec": self.spec, "planned": planned}
        yield AtomicLandOperator(task_id="land", **common)
        yield StageMergeOperator(task_id="stage_merge", **common)
        yield ValidatePartitionOperator(task_id="validate", **common)

    def run(self, run: Mapping[str, Any]) -> list[dict[str, Any]]:
        """All tasks of a run, one after the other; the verdicts."""
        verdicts: list[dict[str, Any]] = []
        for planned in self.plan(run):
            for operator in self.operators(planned):
                result = operator.execute(dict(run))
            verdicts += result
        return verdicts

    # --- runs as Airflow makes them ----------------------------------------------------------------

    def manual(self, logical_date: datetime | None, conf: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The context of a run that somebody triggers."""
        if logical_date is None:
            return context("manual", conf=conf)
        found = self.dag.timetable.infer_manual_data_interval(run_after=_pendulum(logical_date))
        return context("manual", logical_date=logical_date, interval=(found.start, found.end), conf=conf)

    def scheduled(self, logical_date: datetime) -> dict[str, Any]:
        """The context of the scheduled run of that logical date."""
        interval = next(self.intervals(logical_date))
        return context("scheduled", logical_date=interval.start, interval=(interval.start, interval.end))

    def intervals(self, first: datetime) -> Iterator[DataInterval]:
        """The data intervals that the scheduler would run, beginning with the one of that logical date."""
        restriction = TimeRestriction(earliest=_pendulum(first), latest=None, catchup=True)
        last = None
        while info := self.dag.timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction):
            last = info.data_interval
            yield last


def daily(world: World) -> Daily:
    """The table of the factory that this case is about."""
    if "daily" not in world.memory:
        world.memory["daily"] = Daily(world)
    found: Daily = world.memory["daily"]
    return found


def _pendulum(moment: datetime) -> Any:
    import pendulum

    return pendulum.instance(moment)


# --- steps ----------------------------------------------------------------------------------------


def built(world: World, step: Step) -> Any:
    """``build_dag``: the DAG of a schedule."""
    daily(world).change(**{name: value for name, value in step.items() if name == "schedule"})
    return daily(world).dag


def run(world: World, step: Step) -> Any:
    """``run``: the scheduled run of a logical date."""
    return daily(world).run(daily(world).scheduled(instant(step["logical_date"])))


def trigger(world: World, step: Step) -> Any:
    """A run that somebody starts by hand, with or without a logical date and conf."""
    conf = {CONF.get(name, name): _text(value) for name, value in (step.get("conf") or {}).items()}
    logical_date = step.get("logical_date")
    table = daily(world)
    return table.run(table.manual(instant(logical_date) if logical_date else None, conf))


def _text(value: Any) -> Any:
    """A value as JSON has it."""
    return value.isoformat() if isinstance(value, date) else value


def list_partitions(world: World, step: Step) -> dict[str, list[str]]:
    """The partitions of a range, by grain; what a run with that range plans."""
    grains: Sequence[str] = [step["grain"]] if isinstance(step["grain"], str) else step["grain"]
    table, found = daily(world), {}
    for grain in grains:
        table.change(partition_by={"column": "d", "grain": grain}, schedule="0 0 * * *")
        conf = {"from_date": _text(step["from"]), "to_date": _text(step["to"])}
        planned = table.plan(table.manual(None, conf))
        found[grain] = [pointer["partition"] for pointers in planned for pointer in pointers]
    return found


def parse_dags(world: World, step: Step) -> dict[str, Any]:
    """Import a two-line DAG file as Airflow does. No DAG at all is a failure."""
    source = world.folder / "source"
    folder = source / step["dir"]
    defaults = {"source": {"kind": "files", "path": "/nowhere/*.csv"}, "start_date": "2024-01-01"}
    (folder / "defaults.yml").write_text(str(defaults))
    (source / "tables.py").write_text(PARSE_FILE.format(folder=step["dir"]))
    bag = _dag_bag(str(source / "tables.py"))
    if not bag.dags:
        raise NoDagError("\n".join(bag.import_errors.values()))
    return {"dags": sorted(bag.dags), "errors": dict(bag.import_errors)}


def _dag_bag(file: str) -> Any:
    from airflow.providers.common.compat.version_compat import AIRFLOW_V_3_0_PLUS

    if AIRFLOW_V_3_0_PLUS:
        from airflow.dag_processing.dagbag import DagBag

        return DagBag(file, safe_mode=False)
    from airflow.models.dagbag import DagBag as DagBag2

    return DagBag2(file, include_examples=False, safe_mode=False, read_dags_from_db=False)


def days(first: date, last: date, sample: int) -> list[date]:
    """As many days as wanted, spread evenly over a range; both ends are among them."""
    width = (last - first).days
    return sorted({first + timedelta(days=round(width * place / (sample - 1))) for place in range(sample)})
