"""Notes of cases about keys, names, types, drift and checks."""

from __future__ import annotations

from collections.abc import Sequence

from tests.cases.faults import wait_for
from tests.cases.noting import Note, effects, equal, refusal, run, says
from tests.cases.setups import batch_texts
from tests.cases.verdict import Done
from tests.cases.world import World


def null_key(world: World, done: Sequence[Done]) -> None:
    for item in done:
        says(item, "'b': 1 row", "nothing was loaded")


def counts(world: World, done: Sequence[Done]) -> None:
    effects(done[0], inserted=1, stale=1)
    equal(world.value("select staged_rows from airflow_idempotent.events where step = 'stage_merge'"), "2")


def one_new_row(world: World, done: Sequence[Done]) -> None:
    effects(done[0], inserted=1, unchanged=1)


def unchanged(world: World, done: Sequence[Done]) -> None:
    effects(done[0], unchanged=1)


def no_sequence_is_burnt(world: World, done: Sequence[Done]) -> None:
    equal(len(done), 50)
    effects(done[0], updated=1)
    effects(done[-1], unchanged=1)


def quoted_once(world: World, done: Sequence[Done]) -> None:
    effects(done[0], inserted=1, updated=1)
    text = refusal(lambda: run(world, done[1].step, checks=[{"count": 3}, {"unique": ["no such"]}]))
    assert '"Sales-2024"."Order"' in text, text  # as it can be pasted into SQL
    assert '""' not in text, text


def long_names(world: World, done: Sequence[Done]) -> None:
    name = "fact_customer_lifetime_value_by_region_and_channel_daily_roll"
    equal(world.sql(f"select v from {name}up"), [("from_a",)])
    equal(world.sql(f"select v from {name}_b"), [("from_b",)])


def no_folding(world: World, done: Sequence[Done]) -> None:
    text = refusal(lambda: run(world, done[0].step, keys=["ID"]))
    assert "Id, id, v" in text, text


def the_right_schema(world: World, done: Sequence[Done]) -> None:
    world.write("extra.csv", "id,v,extra\n1,new,7\n")
    run(world, done[0].step, file="extra.csv")
    equal(world.value("select extra from mart.orders"), "7")


def generated(world: World, done: Sequence[Done]) -> None:
    says(done[1], "'sid' is generated", "'twice' is generated")


def untouched_defaults(world: World, done: Sequence[Done]) -> None:
    effects(done[0], inserted=1, updated=1)


def bad_enum(world: World, done: Sequence[Done]) -> None:
    says(done[1], "bad.csv line 2", "column 'm'", "angry")


def extreme_values(world: World, done: Sequence[Done]) -> None:
    query = "select n::text, f::text, ts::text, d::text from tgt where id = 2"
    world.execute("set timezone to 'UTC'")
    equal(world.sql(query), [("NaN", "-Infinity", "0044-03-15 00:00:00+00 BC", "-infinity")])


def new_column(world: World, done: Sequence[Done]) -> None:
    says(done[0], "'extra'", "the target has: id, v")
    equal(world.sql("select id, v from tgt"), [("1", "b")])


def unfitting_values(world: World, done: Sequence[Done]) -> None:
    says(done[0], "long.csv line 2", "column 'code'", "too long")
    says(done[1], "'amt' is numeric(5,2)", "1 value")
    says(done[2], "big.csv line 2", "column 'n'", "3000000000")


def missing_column(world: World, done: Sequence[Done]) -> None:
    says(done[0], "'email' is missing in the batch, did you mean 'e_mail'?")


def not_evaluated(world: World, done: Sequence[Done]) -> None:
    says(done[0], "not_empty", "no rows")
    verdicts = "select check_name, verdict from airflow_idempotent.check_results where verdict <> 'failed' order by 1"
    found = dict(world.sql(verdicts))
    equal({found["not_null(id)"], found["unique(id)"]}, {"not_evaluated"})
    equal({name for name, verdict in found.items() if verdict == "passed"}, set())


def not_fooled(world: World, done: Sequence[Done]) -> None:
    says(done[0], "newest is 2024-01-01", "1 rows lie in the future")
    says(done[1], "no value that can be true", "1 have no time")


def nulls_are_equal(world: World, done: Sequence[Done]) -> None:
    says(done[0], "unique(a, b)", "(1, NULL)")


def one_leaf(world: World, done: Sequence[Done]) -> None:
    query = "select sum(seq_scan + coalesce(idx_scan, 0)) from pg_stat_user_tables where relname = "
    before = [world.value(f"{query} '{leaf}'") for leaf in ("tgt_1", "tgt_2")]
    run(world, done[0].step)
    assert wait_for(lambda: world.value(f"{query} 'tgt_1'") != before[0], "the statistics of the check")
    equal(world.value(f"{query} 'tgt_2'"), before[1])


def not_code(world: World, done: Sequence[Done]) -> None:
    says(done[0], "is not a table name")
    says(done[1], "'id) ; drop table precious; --' is missing in the batch")
    says(done[2], "from_date", "is not a date")


def greatest_version_wins(world: World, done: Sequence[Done]) -> None:
    newest: dict[int, int] = {}
    for _, text in batch_texts():
        for line in text.splitlines()[1:]:
            key, _, version = line.split(",")
            newest[int(key)] = max(newest.get(int(key), 0), int(version))
    found = world.sql("select id, ver from tgt where ver > 0")
    equal({int(str(key)): int(str(version)) for key, version in found}, newest)


def unchanged_columns(world: World, done: Sequence[Done]) -> None:
    says(done[0], "'big': 1 key(s) of (id)", "nothing was loaded")
    text = (world.folder / "source" / "in.csv").read_text()
    known = world.folder / "source" / "known.csv"
    known.write_text("".join(line for line in text.splitlines(keepends=True) if not line.startswith("U,3")))
    run(world, done[0].step, file="known.csv")
    found = world.sql("select id::text, small, big ->> 'k' from tgt order by id")
    equal(found, [("1", "s2", "1"), ("2", "s2", "2")])


NOTES: dict[str, Note] = {
    "C07": unchanged_columns,
    "G01": new_column,
    "G02": unfitting_values,
    "G03": missing_column,
    "I01": quoted_once,
    "I02": long_names,
    "I03": no_folding,
    "I04": the_right_schema,
    "M01": null_key,
    "M05": counts,
    "M07": one_new_row,
    "M09": unchanged,
    "M12": no_sequence_is_burnt,
    "Q01": not_code,
    "T01": generated,
    "T02": untouched_defaults,
    "T03": bad_enum,
    "T04": extreme_values,
    "V01": not_evaluated,
    "V03": nulls_are_equal,
    "V04": one_leaf,
    "V06": not_fooled,
    "X05": greatest_version_wins,
}
