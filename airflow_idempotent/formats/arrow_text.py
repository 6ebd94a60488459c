"""One Arrow array as the texts that PostgreSQL reads back as the same values."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

from airflow_idempotent.formats.arrow_values import json_text, plain_text, python_value
from airflow_idempotent.formats.refused import RefusedError
from airflow_idempotent.formats.wire import array_text

_JSON_TYPES = ("json", "jsonb")


def column_text(array: Any, kind: str, *, name: str, row: int) -> Any:
    """An array of strings, NULL where the array is. ``kind`` is the type of the column in the database, if known.

    Raises:
        RefusedError: a value that PostgreSQL cannot hold or that would lose digits. Rows count from ``row``.
    """
    return _Column(kind, name, row).text(array)


class _Column:
    def __init__(self, kind: str, name: str, row: int) -> None:
        self._kind, self._name, self._row = kind, name, row

    def text(self, array: Any) -> Any:
        """Most types are written by Arrow itself, the others value by value."""
        import pyarrow as pa
        from pyarrow import types as is_

        kind = array.type
        if isinstance(kind, pa.BaseExtensionType):
            return self._extension(array)
        if is_.is_dictionary(kind):
            return self.text(array.dictionary_decode())
        if is_.is_run_end_encoded(kind):
            return self.text(pa.compute.run_end_decode(array))
        if is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
            return self._strings(array.cast(pa.large_string()))
        if is_.is_null(kind) or is_.is_boolean(kind) or is_.is_integer(kind) or is_.is_decimal(kind):
            return array.cast(pa.string())
        if is_.is_floating(kind):
            return self._floats(array)
        if is_.is_timestamp(kind):
            return self._timestamps(array)
        if is_.is_date(kind):
            days = array.cast(pa.date32())
            self._refuse(pa.compute.less(days.cast(pa.int32()), _DAY_ONE), array, "is before the year 1")
            return days.cast(pa.string())
        if is_.is_time(kind):
            return self._times(array)
        return pa.array(self._one_by_one(array), pa.large_string())

    def _extension(self, array: Any) -> Any:
        if getattr(array.type, "extension_name", "") == "arrow.uuid":
            return _Column("uuid", self._name, self._row).text(array.storage)
        return self.text(array.storage)

    def _strings(self, array: Any) -> Any:
        import pyarrow.compute as pc

        self._refuse(
            pc.match_substring(array, "\0"), array, r"holds the character \u0000, which PostgreSQL cannot store"
        )
        return array

    def _floats(self, array: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        if array.type == pa.float16():
            array = array.cast(pa.float32())
        text = array.cast(pa.string())
        for odd in ("NaN", "Infinity", "-Infinity"):
            found = pc.is_nan(array) if odd == "NaN" else pc.equal(array, float(odd))
            text = pc.if_else(pc.fill_null(found, False), odd, text)
        return text

    def _timestamps(self, array: Any) -> Any:
        """Microseconds without a zone, with ``+00`` after them where there was one: such values are kept in UTC."""
        import pyarrow as pa
        import pyarrow.compute as pc

        plain = array.cast(pa.int64()).cast(pa.timestamp(array.type.unit))
        if array.type.unit == "ns":
            plain = self._whole_micros(plain.cast(pa.int64()), array).cast(pa.timestamp("us"))
        try:
            plain = plain.cast(pa.timestamp("us"))
        except pa.ArrowInvalid as error:
            raise RefusedError(str(error), column=self._name) from None
        self._refuse(pc.less(plain.cast(pa.int64()), _DAY_ONE * _DAY), array, "is before the year 1")
        text = plain.cast(pa.string())
        return pc.binary_join_element_wise(text, "+00", "") if array.type.tz else text

    def _times(self, array: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        unit = array.type.unit
        number = array.cast(pa.int32() if unit in ("s", "ms") else pa.int64()).cast(pa.int64())
        micros = (
            self._whole_micros(number, array) if unit == "ns" else pc.multiply(number, 1_000_000 // _PER_SECOND[unit])
        )
        outside = pc.or_(pc.less(micros, 0), pc.greater_equal(micros, _DAY))
        self._refuse(outside, array, "is no time of a day")
        return micros.cast(pa.time64("us")).cast(pa.string())

    def _whole_micros(self, nanos: Any, array: Any) -> Any:
        import pyarrow.compute as pc

        micros = pc.divide(nanos, 1000)
        left = pc.not_equal(pc.multiply(micros, 1000), nanos)
        # Division cuts towards zero, which matters only to values that are refused.
        self._refuse(left, array, "has nanoseconds, PostgreSQL keeps microseconds: it would lose digits")
        return micros

    def _one_by_one(self, array: Any) -> list[str | None]:
        from pyarrow import types as is_

        write = self._writer(array.type, is_)
        texts: list[str | None] = []
        for place, value in enumerate(array):
            try:
                texts.append(write(value) if value.is_valid else None)
            except (ValueError, OverflowError, ArithmeticError) as error:
                raise RefusedError(str(error), row=self._row + place + 1, column=self._name) from None
        return texts

    def _writer(self, kind: Any, is_: Any) -> Callable[[Any], str]:
        nested = is_.is_nested(kind) and not is_.is_union(kind)
        if nested and self._kind.endswith("[]") and not is_.is_struct(kind) and not is_.is_map(kind):
            of_json = self._kind[:-2] in _JSON_TYPES
            return lambda value: array_text(
                _items(python_value(value), json_text if of_json else plain_text, nest=not of_json)
            )
        if nested:
            return lambda value: json_text(python_value(value))
        if is_.is_fixed_size_binary(kind) and self._kind == "uuid":
            return lambda value: bytes.hex(value.as_py())
        if not (_is_binary(kind, is_) or is_.is_duration(kind) or is_.is_interval(kind)):
            raise RefusedError(
                f"is of the Arrow type {kind}, which has no counterpart in PostgreSQL", column=self._name
            )
        return lambda value: plain_text(python_value(value))

    def _refuse(self, found: Any, array: Any, reason: str) -> None:
        """Refuse the first value for which ``found`` is true."""
        import pyarrow.compute as pc

        if pc.any(found).as_py():
            place = pc.index(pc.fill_null(found, False), True).as_py()
            raise RefusedError(reason, row=self._row + place + 1, column=self._name)


_DAY = 86_400_000_000
_DAY_ONE = date.min.toordinal() - date(1970, 1, 1).toordinal()
_PER_SECOND = {"s": 1, "ms": 1000, "us": 1_000_000}


def _is_binary(kind: Any, is_: Any) -> bool:
    return any(
        test(kind) for test in (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary, is_.is_binary_view)
    )


def _items(values: list[Any], text: Callable[[Any], str], *, nest: bool) -> list[Any]:
    return [
        None if item is None else _items(item, text, nest=nest) if nest and isinstance(item, list) else text(item)
        for item in values
    ]
