"""``airflow-idempotent prove``: exit codes, the table, the document, and which file is which partition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_idempotent.cli.inputs import batches
from airflow_idempotent.errors import UsageError
from airflow_idempotent.spec.loader import load_file, load_mapping
from airflow_idempotent.testing import postgres
from airflow_idempotent.testing import scratch as scratch_module
from tests.cli_fixtures import Answer, Command
from tests.orders_folder import FIRST, edit

pytestmark = pytest.mark.cli

SPEC = "tables/orders.yaml"
DAY = "inbox/orders/2025-05-01"
HEADER = FIRST.splitlines()[0]
OTHER_DAY = f"{HEADER}\n3,sent,1.00,2025-05-01,2025-05-02T08:00:00Z\n4,new,2.00,2025-05-02,2025-05-02T09:00:00Z\n"
FEW = ("--orders", "3", "--crashes", "2")


@pytest.fixture
def prove(folder: Path, command: Command) -> Any:
    (folder / DAY / "second.csv").write_text(
        FIRST.replace("3,new,,2025-05-01,2025-05-01T11", "3,paid,,2025-05-01,2025-05-01T12")
    )
    (folder / "other.csv").write_text(OTHER_DAY)

    def run(*words: str) -> Answer:
        return command("prove", SPEC, *FEW, *words)

    return run


def test_what_holds_is_shown_as_a_table(prove: Any) -> None:
    answer = prove("--input", f"{DAY}/orders.csv", f"{DAY}/second.csv", "--input", "2025-05-02=other.csv")

    assert answer.code == 0, answer.err
    lines = [line.split() for line in answer.out.splitlines() if line.strip()]
    assert " ".join(lines[0]) == "analytics.orders: merge, 3 batches of 2 partitions"
    assert [line[0] for line in lines[3:7]] == ["commute", "rerun", "isolate", "crash"]
    assert " ".join(lines[3]) == "commute orders of loading 3 of 6 all end in the same 4 rows"
    assert lines[6][4] == "2"
    assert answer.out.splitlines()[-1].startswith("Proven for these batches: digest ")


def test_what_holds_as_a_document(prove: Any) -> None:
    document = prove("--input", f"{DAY}/orders.csv", f"{DAY}/second.csv", "--json").document

    assert document["proven"] is True
    assert (document["batches"], document["partitions"], document["orders"], document["rows"]) == (2, 1, 2, 3)
    assert document["crashes"] == 2


def test_a_law_that_does_not_hold_is_a_finding_with_its_story(prove: Any, folder: Path) -> None:
    edit(folder, "version: [updated_at]", "version: []")

    answer = prove("--input", f"{DAY}/*.csv", "2025-05-02=other.csv")

    assert answer.code == 1
    assert answer.err.startswith(
        "analytics.orders: the law 'rerun' does not hold (loading a batch again writes nothing)"
    )
    assert "order_id='3' was written" in answer.err
    assert "rerun" in answer.out
    assert "BROKEN" in answer.out
    assert "not finished" in answer.out


def test_a_law_that_does_not_hold_as_a_document(prove: Any, folder: Path) -> None:
    edit(folder, "version: [updated_at]", "version: []")

    answer = prove("--input", f"{DAY}/orders.csv", "2025-05-02=other.csv", "--json")

    assert (answer.code, answer.err) == (1, "")
    assert (answer.document["error"], answer.document["law"]) == ("LawBrokenError", "rerun")


def test_the_table_may_be_created_by_sql_and_a_column_ignored(prove: Any, folder: Path) -> None:
    (folder / "orders.sql").write_text(
        "CREATE SCHEMA analytics; CREATE TABLE analytics.orders (order_id bigint PRIMARY KEY, status text, "
        "amount numeric, order_date date, updated_at timestamptz, loaded_at timestamptz DEFAULT clock_timestamp())"
    )
    words = ("--input", f"{DAY}/orders.csv", f"{DAY}/second.csv", "--ddl", "orders.sql")

    assert "ignore=['loaded_at']" in prove(*words).err
    assert prove(*words, "--ignore", "loaded_at").code == 0


def test_data_that_cannot_be_loaded_is_a_finding_of_its_own(prove: Any) -> None:
    answer = prove("--input", "inbox/orders/2025-05-02/orders.csv")

    assert answer.code == 1
    assert "NULL in the unique key" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "other.csv"], "--input 'other.csv' does not tell its partition"),
        (["--input", "2025-05-01=missing.csv"], "there is no such file"),
        (["--input", f"{DAY}/missing.csv"], "there is no such file"),
        (["--input", f"{DAY}/orders.csv", "--ddl", "missing.sql"], "--ddl 'missing.sql' cannot be read"),
        (["--input", f"{DAY}/orders.csv", "--orders", "many"], "'many' is not a whole number"),
        (["--input", f"{DAY}/orders.csv", "--crashes", "-1"], "argument --crashes"),
        ([], "--input"),
    ],
)
def test_bad_usage_is_refused(prove: Any, words: list[str], said: str) -> None:
    answer = prove(*words)

    assert answer.code == 2
    assert said in answer.err


def test_without_a_table_or_columns_it_says_so(prove: Any, folder: Path) -> None:
    text = (folder / SPEC).read_text()
    start, end = text.index("columns:"), text.index("unique_key:")
    (folder / SPEC).write_text(text[:start] + text[end:])

    assert prove("--input", f"{DAY}/orders.csv").code == 2


def test_without_a_postgresql_it_says_what_to_install(prove: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> str:
        with postgres.embedded_postgres() as dsn:
            return dsn

    monkeypatch.delenv(postgres.DSN_VARIABLE, raising=False)
    monkeypatch.setattr(scratch_module, "_server", none)
    monkeypatch.setattr(postgres, "_wheel", lambda: None)
    monkeypatch.setattr(postgres, "SYSTEM_INSTALLATIONS", ())
    monkeypatch.setenv("PATH", "/nowhere")

    answer = prove("--input", f"{DAY}/orders.csv")

    assert answer.code == 3
    assert "pip install 'airflow-provider-idempotent[prove]'" in answer.err


# --- which partition -------------------------------------------------------------------------------------------------


def test_a_file_belongs_where_the_path_of_the_spec_has_it(folder: Path) -> None:
    spec = load_file(Path(SPEC))
    relative, absolute = f"{DAY}/orders.csv", str(folder / DAY / "orders.csv")

    found = batches(spec, [relative, absolute, f"./{relative}"], command="prove")

    assert [batch.partition for batch in found] == ["2025-05-01"] * 3


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("in/{{ partition.compact }}.csv", "in/20250501.csv"),
        ("in/{{ params.shop }}/{{partition.key}}-*.csv", "in/eu/2025-05-01-a.csv"),
        ("in/**/day={{ partition.key }}/orders.csv", "in/a/b/day=2025-05-01/orders.csv"),
    ],
)
def test_the_path_of_the_spec_may_be_written_in_many_ways(folder: Path, path: str, file: str) -> None:
    spec = load_mapping(
        {"table": "t", "start_date": "2025-01-01", "unique_key": ["id"], "source": {"kind": "files", "path": path}},
        name="t",
    )
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_text("id\n1\n")

    [batch] = batches(spec, [file], command="prove")

    assert batch.partition == "2025-05-01"


def test_a_glob_behind_a_key_is_one_batch_of_all_files(folder: Path) -> None:
    (folder / DAY / "b.csv").write_text(FIRST)

    [batch] = batches(load_file(Path(SPEC)), [f"2025-05-01={DAY}/*.csv"], command="prove")

    assert [path.name for path in batch.files] == ["b.csv", "orders.csv"]


def test_a_query_has_no_path_that_could_tell(folder: Path) -> None:
    source = {"kind": "query", "sql": "select 1", "conn_id": "x"}
    spec = load_mapping({"table": "t", "start_date": "2025-01-01", "unique_key": ["id"], "source": source}, name="t")

    with pytest.raises(UsageError, match="does not tell its partition"):
        batches(spec, [f"{DAY}/orders.csv"], command="prove")
