"""A folder of specs behind a DAG file of two lines: what the scheduler, a worker and a person see of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_idempotent.dag_factory import folder as folder_module
from airflow_idempotent.dag_factory.folder import load_tables
from airflow_idempotent.errors import SpecError
from tests.airflow.conftest import AIRFLOW_2
from tests.airflow.running import parsed, process

REPOSITORY = Path(__file__).parents[2]
DAG_FILE = '# dag, airflow\nfrom airflow_idempotent import load_tables\nload_tables("tables", globals())\n'

BAD = {
    "badkey.yaml": "table: b\nkyes: [id]\n",
    "broken.yaml": "table: [c\n",
    "empty.yaml": "",
    "schedule.yaml": 'schedule: "61 * * * *"\n',
}


@pytest.fixture
def dags(tmp_path: Path, words: dict[str, Any]) -> Path:
    """Give a folder with the DAG file, and a good spec."""
    (tmp_path / "dags" / "tables").mkdir(parents=True)
    (tmp_path / "dags" / "tables_dag.py").write_text(DAG_FILE)
    write(tmp_path / "dags", "good.yaml", words)
    return tmp_path / "dags"


def write(dags: Path, name: str, words: dict[str, Any], **more: Any) -> Path:
    path = dags / "tables" / name
    path.write_text(yaml.safe_dump({**words, **more}))
    return path


def errors(bag: Any) -> dict[str, str]:
    return {Path(file).name: text for file, text in bag.import_errors.items()}


def test_a_broken_spec_is_an_import_error_of_its_own_file_and_the_other_dags_stay(
    dags: Path, words: dict[str, Any]
) -> None:
    for name, text in BAD.items():
        (dags / "tables" / name).write_text(text)
    write(dags, "schedule.yaml", words, table="d", schedule="61 * * * *")

    bag = parsed(dags)

    assert list(bag.dags) == ["public.orders"]
    found = errors(bag)
    assert set(found) == set(BAD)
    assert all(str(dags / "tables" / name) in text for name, text in found.items())
    assert "kyes: unknown option, did you mean 'keys'?" in found["badkey.yaml"]
    assert "line 2: not YAML" in found["broken.yaml"]
    assert "empty" in found["empty.yaml"]
    assert "schedule: '61 * * * *' is neither a preset" in found["schedule.yaml"]


@pytest.mark.parametrize(
    "claims",
    [
        {"x.yaml": {"table": "sales.orders"}, "y.yaml": {"table": "sales_orders", "dag_id": "sales_orders"}},
        {"x.yaml": {"table": "sales.orders"}, "y.yaml": {"table": "sales.orders", "dag_id": "other"}},
        {"x.yaml": {"table": "a", "dag_id": "same"}, "y.yaml": {"table": "b", "dag_id": "same"}},
    ],
    ids=["alike", "one table", "one dag_id"],
)
def test_two_specs_that_claim_one_name_are_both_refused_and_both_named(
    claims: dict[str, dict[str, Any]], dags: Path, words: dict[str, Any]
) -> None:
    for name, claim in claims.items():
        write(dags, name, words, **claim)

    bag = parsed(dags)

    assert list(bag.dags) == ["public.orders"]
    assert set(errors(bag)) == {"x.yaml", "y.yaml"}
    assert all("x.yaml" in text and "y.yaml" in text for text in errors(bag).values())


def test_a_worker_builds_only_the_dag_it_was_asked_for(
    dags: Path, words: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(dags, "a.yaml", words, table='"Sales-2024"."Order"')
    write(dags, "b.yaml", words, table="b.b", dag_id="by_id")
    write(dags, "c.yaml", words, table="c.c")
    (dags / "tables" / "bad.yaml").write_text(BAD["broken.yaml"])
    read: list[str] = []
    load_file = folder_module.load_file
    monkeypatch.setattr(folder_module, "load_file", lambda path: read.append(path.name) or load_file(path))

    assert [list(parsed(dags, wanted).dags) for wanted in ("public.orders", "by_id", "Sales-2024.Order")] == [
        ["public.orders"],
        ["by_id"],
        ["Sales-2024.Order"],
    ]
    assert read == ["good.yaml", "b.yaml", "a.yaml"]
    assert parsed(dags, "public.orders").import_errors == {}
    assert list(parsed(dags, "dag of another file").dags) == []


def test_a_worker_whose_spec_broke_is_told_why(dags: Path) -> None:
    (dags / "tables" / "good.yaml").write_text("table: orders\nkyes: [id]\n")

    bag = parsed(dags, "public.orders")

    assert list(bag.dags) == []
    assert "did you mean" in errors(bag)["good.yaml"]


def test_where_no_import_is_going_on_a_dag_says_what_is_wrong(dags: Path) -> None:
    (dags / "tables" / "bad.yaml").write_text(BAD["badkey.yaml"])
    namespace: dict[str, Any] = {"__file__": str(dags / "tables_dag.py")}

    load_tables("tables", namespace)

    assert set(namespace) == {"__file__", "idempotent_dag_public.orders", "idempotent_dag_broken_spec.bad.yaml"}
    stand_in = namespace["idempotent_dag_broken_spec.bad.yaml"]
    assert "kyes: unknown option" in stand_in.doc_md
    assert "broken spec" in stand_in.tags


def test_a_second_folder_takes_no_dag_of_the_first_away(dags: Path) -> None:
    shutil.copytree(dags / "tables", dags / "more")
    (dags / "tables_dag.py").write_text(DAG_FILE + 'load_tables("more", globals())\n')

    bag = parsed(dags)

    assert list(bag.dags) == ["public.orders"]
    assert "taken by another folder" in errors(bag)["good.yaml"]


def test_a_missing_folder_is_an_error_of_the_dag_file(dags: Path) -> None:
    with pytest.raises(SpecError, match="no such folder"):
        load_tables("tabels", {"__file__": str(dags / "tables_dag.py")})


def test_the_dags_of_this_repository_parse(tmp_path: Path) -> None:
    shutil.copytree(REPOSITORY / "dags", tmp_path / "dags")

    bag = parsed(tmp_path / "dags")

    assert bag.import_errors == {}
    assert "analytics.flights" in bag.dags


@pytest.mark.usefixtures("metadata")
def test_the_dag_processor_records_the_error_and_the_dags_stay_active(dags: Path, words: dict[str, Any]) -> None:
    from airflow.models import DagModel
    from airflow.models.errors import ParseImportError
    from airflow.utils.session import create_session

    bad = dags / "tables" / "bad.yaml"
    write(dags, "good.yaml", words, dag_id="processed")
    bad.write_text(BAD["badkey.yaml"])

    for _ in range(2):
        process(dags / "tables_dag.py")

    with create_session() as session:
        [error] = session.query(ParseImportError).filter(ParseImportError.filename.like("%bad.yaml"))
        assert str(bad) in error.stacktrace
        model = session.get(DagModel, "processed")
        assert not model.has_import_errors
        assert model.is_active if AIRFLOW_2 else not model.is_stale
