"""``dedupe``: what its arguments ask for, and what it says."""

from __future__ import annotations

import pytest

from airflow_idempotent.cli.dedupe import columns, lines, order_of
from airflow_idempotent.cli.main import parser
from airflow_idempotent.core.duplicates import Deduplicated, Deduplication
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Timeouts
from tests.cli_fixtures import Command

KEY = ("dedupe", "orders", "--unique-key", "order_id")
DONE = Deduplicated("public.orders", ("order_id",), ("updated_at",), 2_000_000, 0, 803, 1204, removed=1204, chunks=1)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("order_id", ("order_id",)),
        ("order_id,line_no", ("order_id", "line_no")),
        ("order_id, line_no", ("order_id", "line_no")),
        ('"odd, name",Größe', ("odd, name", "Größe")),
        ('"say ""id""",b', ('say "id"', "b")),
        ("", ()),
    ],
)
def test_names_are_separated_by_commas_and_quoted_as_in_sql(text: str, names: tuple[str, ...]) -> None:
    assert columns(text) == names


def test_all_words_together_make_the_order() -> None:
    more = ["--version", "updated_at,seq", "--chunk-rows", "500", "--lock-timeout", "2.5"]

    assert order_of(parser().parse_args([*KEY, *more])) == Deduplication(
        Relation("public", "orders"), ("order_id",), ("updated_at", "seq"), 500, Timeouts(lock=2.5)
    )
    assert order_of(parser().parse_args(KEY)) == Deduplication(Relation("public", "orders"), ("order_id",))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("dedupe", "orders"), "--unique-key"),
        (("dedupe", "a.b.c", "--unique-key", "id"), "'a.b.c' is not a table name"),
        (("dedupe", "orders", "--unique-key", ""), "unique_key is empty"),
        (("dedupe", "orders", "--unique-key", "id,"), "unique_key: column '' is no name"),
        (("dedupe", "orders", "--unique-key", "id,id"), "unique_key: column 'id' is named twice"),
        ((*KEY, "--version", "v,v"), "version: column 'v' is named twice"),
        ((*KEY, "--chunk-rows", "0"), "chunk_rows is 0, it must be at least 1"),
        ((*KEY, "--chunk-rows", "many"), "invalid int value"),
        (KEY, "no database is named"),
    ],
)
def test_what_makes_no_order_is_refused(
    command: Command, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.delenv("AIRFLOW_IDEMPOTENT_DSN", raising=False)
    answer = command(*words)

    assert answer.code == 2
    assert said in answer.err


def test_it_says_what_was_done_why_and_what_keeps_duplicates_out() -> None:
    advised = Deduplicated(**{**DONE.as_pointer(), "index_advice": "CREATE UNIQUE INDEX"})

    assert lines(advised) == [
        "public.orders: 1,204 duplicates of 803 keys removed, 2,000,000 rows looked at; running it again removes 0.",
        "Of each key (order_id) the row with the greatest updated_at stays; ties are decided by the row's content.",
        "No unique index keeps duplicates out. Add one:",
        "  CREATE UNIQUE INDEX;",
    ]


def test_it_says_when_nothing_but_the_content_decided_and_what_was_left_alone() -> None:
    facts = {**DONE.as_pointer(), "version": (), "null_keys": 1, "dry_run": True, "repeated_keys": 1, "duplicates": 1}

    assert lines(Deduplicated(**facts)) == [
        "public.orders: 1 duplicate of 1 key would be removed, 2,000,000 rows looked at; nothing was changed.",
        "Of each key (order_id) the row with the greatest content stays, since no --version is given.",
        "1 row has NULL in the key (order_id): left alone, nobody can say which row that is.",
    ]
