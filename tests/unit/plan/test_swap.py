"""Names that change hands in a swap, as data."""

from __future__ import annotations

from airflow_idempotent.core.relation import MAX_IDENTIFIER_BYTES, Relation
from airflow_idempotent.core.renames import Named, Rename
from airflow_idempotent.core.version import fitted, version_name
from airflow_idempotent.plan.swap import exchange

TABLE, RETIRED, SHADOW = (Relation("public", name) for name in ("orders", "orders__v1", "orders_new"))


def index(name: str, definition: str, of: str = "orders") -> Named:
    return Named("", "INDEX", definition, name, "public", of)


def renamed(live: list[Named], coming: list[Named], *, taken: tuple[str, ...] = (), **known: str):
    found = exchange(live, coming, table=TABLE, retired=RETIRED, shadow=SHADOW, taken=taken, known=known)
    return [(item.old, item.new) for item in found.renames], dict(found.names)


def test_the_live_table_makes_room_before_anything_takes_its_name() -> None:
    renames, names = renamed([index("orders_pkey", "pk")], [index("orders_new_pkey", "pk")])

    assert renames == [
        ("orders_pkey", "orders__v1_pkey"),
        ("orders", "orders__v1"),
        ("orders_new_pkey", "orders_pkey"),
        ("orders_new", "orders"),
    ]
    assert names == {"orders__v1_pkey": "orders_pkey"}


def test_what_only_the_shadow_has_is_named_after_the_table_unless_that_name_is_taken() -> None:
    coming = [index("orders_new_v_idx", "v"), index("orders_new_w_idx", "w"), index("mine", "x")]

    renames, _ = renamed([], coming, taken=("orders_w_idx",))

    assert renames == [("orders", "orders__v1"), ("orders_new_v_idx", "orders_v_idx"), ("orders_new", "orders")]


def test_what_was_live_before_has_the_names_that_it_had_then() -> None:
    renames, _ = renamed([], [index("orders__v1_odd", "odd")], orders__v1_odd="odd")

    assert ("orders__v1_odd", "odd") in renames


def test_two_alike_indexes_both_find_a_counterpart() -> None:
    live, coming = [index("a", "v"), index("b", "v")], [index("c", "v"), index("d", "v")]

    renames, _ = renamed(live, coming)

    assert {new for old, new in renames if old in ("c", "d")} == {"a", "b"}


def test_constraints_that_have_each_others_names_go_by_a_name_between() -> None:
    def check(name: str, definition: str, of: str) -> Named:
        return Named("", "CONSTRAINT", definition, name, "public", of)

    live = [check("a", "n > 0", "orders"), check("b", "n < 9", "orders")]
    coming = [check("a", "n < 9", "orders_new"), check("b", "n > 0", "orders_new")]

    found = exchange(live, coming, table=TABLE, retired=RETIRED, shadow=SHADOW, taken=(), known={})

    names = ["a", "b"]
    for item in found.renames:
        if item.kind == "CONSTRAINT":
            assert item.new not in names
            names[names.index(item.old)] = item.new
    assert names == ["b", "a"]
    assert isinstance(found.renames[0], Rename)


def test_names_are_cut_by_bytes_and_two_that_begin_alike_stay_two() -> None:
    long = [Relation("s", "ä" * 30 + ending) for ending in ("ab", "ac")]
    names = [version_name(item, number).name for item in long for number in (1, 12, 123456)]

    assert len({*names}) == 6
    assert all(len(name.encode()) <= MAX_IDENTIFIER_BYTES for name in names)
    assert version_name(Relation("s", "orders"), 2) == Relation("s", "orders__v2")
    assert fitted("short", "whatever") == "short"
