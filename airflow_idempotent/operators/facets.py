"""OpenLineage's own classes, made of our values. Imported only where its provider is installed."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import attr
from openlineage.client.facet_v2 import (
    DatasetFacet,
    InputDatasetFacet,
    OutputDatasetFacet,
    base_subset_dataset,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    storage_dataset,
)

from airflow_idempotent.core.columns import Column
from airflow_idempotent.core.lineage import Origin
from airflow_idempotent.core.manifest import Manifest
from airflow_idempotent.core.relation import Relation
from airflow_idempotent.core.step import Effects, Receipt
from airflow_idempotent.core.verdict import CheckResult, Severity, Verdict
from airflow_idempotent.operators.lineage import Done

FILE_FORMATS = {"jsonl": "json"}
"""Formats that OpenLineage calls otherwise."""


@attr.define
class IdempotentEffectsOutputDatasetFacet(OutputDatasetFacet):
    """What happened to the rows: seven counts over all partitions of the task, and each partition's own.

    ``replayed`` says that every partition was found done, so that this run wrote nothing.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    unchanged: int = 0
    stale: int = 0
    duplicate: int = 0
    rejected: int = 0
    replayed: bool = False
    partitions: list[dict[str, Any]] = attr.field(factory=list)


def effects(receipts: Sequence[Receipt]) -> dict[str, OutputDatasetFacet]:
    """``idempotentEffects``, and how many rows were written."""
    if not receipts:
        return {}
    written = Effects.sum(item.effects for item in receipts if not item.replayed)
    counts: dict[str, Any] = Effects.sum(item.effects for item in receipts).as_dict()
    facet = IdempotentEffectsOutputDatasetFacet(
        **counts,
        replayed=all(item.replayed for item in receipts),
        partitions=[_of_partition(item) for item in receipts],
    )
    return {"idempotentEffects": facet} | _rows_written(written.inserted + written.updated)


def _of_partition(receipt: Receipt) -> dict[str, Any]:
    return {
        "partition": receipt.partition,
        "batchId": receipt.batch_id,
        "contentFingerprint": receipt.content_fingerprint,
        "state": str(receipt.state),
        **receipt.effects.as_dict(),
        "rowCount": receipt.measure.row_count,
        "digest": receipt.measure.digest,
        "replayed": receipt.replayed,
    }


def removed(rows: int) -> dict[str, OutputDatasetFacet]:
    """The same where rows of a table went, and none came."""
    return {"idempotentEffects": IdempotentEffectsOutputDatasetFacet(deleted=rows)} | _rows_written(0)


def _rows_written(rows: int) -> dict[str, OutputDatasetFacet]:
    return {"outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=rows)}


def version(batches: Sequence[tuple[str, str]]) -> dict[str, DatasetFacet]:
    """The version that stands for some content: ids of batches, and a mark that the same content has again."""
    if not batches:
        return {}
    [(first, mark), *_], (last, _) = batches, batches[-1]
    if len(batches) > 1:
        first, mark = f"{first}..{last}", hashlib.sha256("".join(mark for _, mark in batches).encode()).hexdigest()
    return {"version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=f"{first}:{mark[-16:]}")}


def table_version(number: int) -> dict[str, DatasetFacet]:
    """The version that is live now, by its number."""
    return {"version": dataset_version_dataset.DatasetVersionDatasetFacet(datasetVersion=f"v{number}")}


def schema(columns: Iterable[Column]) -> dict[str, DatasetFacet]:
    """Names and types of columns; types that nobody knows are left open."""
    fields = [
        schema_dataset.SchemaDatasetFacetFields(name=item.name, type=item.data_type or None, ordinal_position=place)
        for place, item in enumerate(columns, start=1)
    ]
    return {"schema": schema_dataset.SchemaDatasetFacet(fields=fields)} if fields else {}


def storage(manifest: Manifest, layer: str) -> dict[str, DatasetFacet]:
    """Where files lie, and in which format."""
    kind = manifest.format.kind
    facet = storage_dataset.StorageDatasetFacet(storageLayer=layer, fileFormat=FILE_FORMATS.get(kind, kind))
    return {"storage": facet}


def files_written(manifests: Iterable[Manifest]) -> dict[str, OutputDatasetFacet]:
    """Rows, bytes and files that landing wrote."""
    sums = _sums(manifests)
    return {"outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(**sums)}


def files_read(manifests: Iterable[Manifest]) -> dict[str, InputDatasetFacet]:
    """Rows, bytes and files that were read; nothing where nothing is known to have been."""
    sums = _sums(manifests)
    if not sums["fileCount"]:
        return {}
    return {"inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(**sums)}


def _sums(manifests: Iterable[Manifest]) -> dict[str, Any]:
    found = list(manifests)
    return {
        "rowCount": sum(item.rows for item in found),
        "size": sum(item.bytes for item in found),
        "fileCount": sum(len(item.parts) for item in found),
    }


def only_files(places: Collection[str]) -> dict[str, InputDatasetFacet]:
    """That only these files of a folder were read."""
    if not places:
        return {}
    condition = base_subset_dataset.LocationSubsetCondition(locations=sorted(places))
    return {"subset": base_subset_dataset.InputSubsetInputDatasetFacet(inputCondition=condition)}


def only_partitions(column: str | None, keys: Collection[str]) -> dict[str, OutputDatasetFacet]:
    """That only these partitions of a table were written."""
    if not column or not keys:
        return {}
    found = [base_subset_dataset.Partition(dimensions={column: key}, identifier=key) for key in keys]
    condition = base_subset_dataset.PartitionSubsetCondition(partitions=found)
    return {"subset": base_subset_dataset.OutputSubsetOutputDatasetFacet(outputCondition=condition)}


def assertions(done: Iterable[Done], columns: Collection[str]) -> dict[str, InputDatasetFacet]:
    """What the checks said. One that was not evaluated is neither a success nor a failure, and left out."""
    found = [
        _assertion(result, item.partition, columns)
        for item in done
        for result in item.checks
        if result.verdict is not Verdict.NOT_EVALUATED
    ]
    if not found:
        return {}
    return {"dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(found)}


def _assertion(result: CheckResult, partition: str, columns: Collection[str]) -> Any:
    kind, _, about = result.check.partition("(")
    about = about.removesuffix(")")
    return data_quality_assertions_dataset.Assertion(
        assertion=kind,
        success=result.verdict is Verdict.PASSED,
        column=about if about in columns else None,
        severity="error" if result.severity is Severity.ERROR else "warn",
        name=result.check,
        description=result.message or None,
        expected=None if result.expected is None else str(result.expected),
        actual=None if result.observed is None else str(result.observed),
        content=result.query or None,
        contentType="sql" if result.query else None,
        params={"partition": partition, "rows": result.rows},
    )


def column_lineage(
    columns: Mapping[str, Iterable[Origin]], rows: Iterable[Origin], names: Mapping[Relation, tuple[str, str]]
) -> dict[str, DatasetFacet]:
    """Where columns come from; ``names`` are the datasets of the tables that are read."""

    def inputs(origins: Iterable[Origin]) -> list[column_lineage_dataset.InputField]:
        found: dict[tuple[Relation, str], list[column_lineage_dataset.Transformation]] = {}
        for item in origins:
            kind = "DIRECT" if item.use.is_direct else "INDIRECT"
            how = column_lineage_dataset.Transformation(type=kind, subtype=str(item.use))
            found.setdefault((item.relation, item.column), []).append(how)
        return [
            column_lineage_dataset.InputField(*names[relation], field=column, transformations=uses)
            for (relation, column), uses in found.items()
            if relation in names
        ]

    fields = {
        name: column_lineage_dataset.Fields(inputFields=found)
        for name, origins in columns.items()
        if (found := inputs(origins))
    }
    if not fields:
        return {}
    return {"columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(fields=fields, dataset=inputs(rows))}
