"""What a correct load ends in and what it counts, computed by DuckDB from the CSV files alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb

JUDGE = """
create table batch as from {batch};
create table target as from {before};
create table winner as
    select r.* from (select arg_max(batch, updated_at) as r from batch group by order_id);
create table verdict as
    select w, t, case when t.order_id is null then 'inserted' when w.updated_at > t.updated_at then 'updated'
                      when w = t then 'unchanged' else 'stale' end as effect
    from winner w left join target t using (order_id);
create view written as select unnest(w) from verdict where effect in ('inserted', 'updated');
"""
WRITE = """
copy (from written union all select * from target where order_id not in (select order_id from written) order by 1)
to '{after}' (format csv, header, force_quote (status, note), nullstr '')
"""
COUNT = """
select effect, count(*) from verdict group by effect
union all select 'duplicate', (select count(*) from batch) - (select count(*) from winner)
"""


def compute(columns: Mapping[str, str], *, before: Path, batch: Path, after: Path) -> dict[str, int]:
    """Write the table after the batch to ``after``; the effects of a correct load."""
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        db.execute(JUDGE.format(batch=_reader(batch, columns), before=_reader(before, columns)))
        db.execute(WRITE.format(after=after))
        return dict(db.execute(COUNT).fetchall())


def rows_after(
    query: str, files: Mapping[str, Path], types: Mapping[str, Mapping[str, str]], columns: Sequence[str], after: Path
) -> None:
    """Write what ``query`` finds in the ``files``, each a view of its name, to ``after``."""
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        for name, path in files.items():
            db.execute(f"create view {name} as from {_reader(path, types[name])}")
        named = ", ".join(columns)
        options = "format csv, header, force_quote (status, note), nullstr ''"
        db.execute(f"copy (select {named} from ({query})) to '{after}' ({options})")


def _reader(path: Path, columns: Mapping[str, str]) -> str:
    """A file as DuckDB reads it: an empty string is not NULL."""
    options = "header = true, nullstr = '', allow_quoted_nulls = false, quote = '\"', escape = '\"', parallel = false"
    return f"read_csv('{path}', {options}, columns = {dict(columns)})"
