"""A table that is not there yet is thought of as the catalogue will describe it."""

from __future__ import annotations

import pytest

from airflow_idempotent.core.actions import CreateTarget
from airflow_idempotent.engine.session import Session
from airflow_idempotent.plan.build import created_shape
from airflow_idempotent.spec.load import LoadSpec
from airflow_idempotent.sql.compiler import compile_action
from tests.postgres_fixtures import Connect

TYPES = (
    "int", "INTEGER", "int4", "bigint", "int8", "smallint", "int2", "numeric", "numeric(12,2)", "numeric(12, 2)",
    "decimal(5)", "decimal", "real", "float4", "float", "float(10)", "float(30)", "double precision", "float8",
    "bool", "boolean", "text", "varchar", "varchar(10)", "character varying (10)", "char", "char(3)", "bpchar",
    "date", "timestamp", "timestamp(3)", "timestamp without time zone", "timestamptz", "TIMESTAMPTZ(3)",
    "timestamp with time zone", "timestamp(0) with time zone", "time", "time(3)", "timetz", "interval",
    "uuid", "bytea", "json", "jsonb", "inet", "cidr", "macaddr", "bit(3)", "varbit", "varbit(3)", "money", "xml",
    "text[]", "int[]", "timestamptz[]", "numeric(10,2)[]", "int4range", "tstzrange", "point", "tsvector", "oid",
)  # fmt: skip


@pytest.mark.parametrize("data_type", TYPES)
def test_a_type_is_spelled_as_the_catalogue_spells_it(connect_once: Connect, data_type: str) -> None:
    columns = [{"name": "id", "data_type": "int"}, {"name": "value", "data_type": data_type}]
    spec = LoadSpec(table="made.here", unique_key=["id"], columns=columns)
    thought = created_shape(spec)
    session = Session(connect_once())

    with session.transaction():
        for statement in compile_action(CreateTarget(spec.relation, thought.columns, spec.unique_key), thought):
            session.execute(statement)
        made = session.shape(spec.relation)

    assert made == thought
