"""How files are named for those who follow data through several systems."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.lineage import located, standing_part


@pytest.mark.parametrize(
    ("address", "dataset"),
    [
        ("/inbox/orders", ("file", "/inbox/orders")),
        ("file:///inbox/orders", ("file", "/inbox/orders")),
        ("s3://lake/raw/public.orders", ("s3://lake", "raw/public.orders")),
        ("s3://aws_default@lake/raw/", ("s3://lake", "raw")),
        ("gs://lake", ("gs://lake", "/")),
        ("abfss://raw@acc.dfs.core.windows.net/orders", ("abfss://raw@acc.dfs.core.windows.net", "orders")),
        ("abfss://my_conn@raw/orders", ("abfss://raw", "orders")),
    ],
)
def test_a_place_is_named_as_other_tools_name_it(address: str, dataset: tuple[str, str]) -> None:
    assert located(address) == dataset


@pytest.mark.parametrize(
    ("patterns", "folder"),
    [
        (("/inbox/orders/{{ partition.key }}/*.csv", "/inbox/orders/2025-05-01/*.csv"), "/inbox/orders"),
        (("s3://in/orders/{{ ds_nodash }}.csv", "s3://in/orders/20250501.csv"), "s3://in/orders"),
        (("{{ var.value.inbox }}/orders/{{ ds }}", "s3://in/orders/2025-05-01"), "s3://in/orders"),
        (("s3://{{ var.value.bucket }}/{{ ds }}", "s3://in/2025-05-01"), "s3://in"),
        (("/inbox/orders/year={{ ds[:4] }}/*", "/inbox/orders/year=2025/*"), "/inbox/orders"),
        (("/inbox/orders.csv", "/inbox/orders.csv"), "/inbox/orders.csv"),
        (("/2025-05-01/a.csv",), "/2025-05-01/a.csv"),
    ],
)
def test_all_days_are_one_dataset(patterns: tuple[str, ...], folder: str) -> None:
    assert standing_part(*patterns) == folder
