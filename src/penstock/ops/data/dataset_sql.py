"""The rows that a query of a database gives, as a dataset. The only driver is ``sqlite``, which Python has."""
from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import numpy as np

from penstock.errors import KernelError, UnknownError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.ops.data.dataset_core import OUTPUTS, Element, Source, dataset_op, scalar, text

_NUMBERS = (dt.int8, dt.int16, dt.int32, dt.int64, dt.uint8, dt.uint16, dt.bool_, dt.float64)


def _bytes(value: Any) -> np.ndarray:
    return scalar(b"" if value is None else value if isinstance(value, bytes) else str(value).encode())


def _converter(dtype: dt.DType) -> Callable[[Any], Any]:
    """What makes an element of this type of a column, as SQLite itself converts between types: text that is not a number is 0."""
    if dtype is dt.string:
        return _bytes
    if dtype is dt.bool_:
        return lambda value: np.bool_(_number(value, int) != 0)
    kind = float if dtype is dt.float64 else int
    plain: Callable[[Any], Any] = dtype.np.type
    return lambda value: plain(np.array(_number(value, kind)).astype(dtype.np))


def _number(value: Any, kind: type) -> Any:
    """``value`` as an int or a float; 0 if it is not a number."""
    for convert in (kind, float):  # float: the text "1.5" as an int
        try:
            return kind(convert(value))
        except (TypeError, ValueError):
            continue
    return kind(0)


def _rows(data_source_name: str, query: str, output_types: Any) -> Iterator[Element]:
    """The rows, from a connection that only reads."""
    converters = [_converter(dtype) for dtype in output_types]
    try:
        with closing(sqlite3.connect(f"file:{quote(data_source_name)}?mode=ro", uri=True, check_same_thread=False)) as connection:
            connection.text_factory = bytes
            cursor = connection.execute(query)
            columns = len(cursor.description or ())
            if columns != len(converters):
                raise invalid_argument(f"The number of columns in query ({columns}) must match the number of elements in output_types "
                                       f"({len(converters)}).")
            for row in cursor:
                yield tuple([convert(value) for convert, value in zip(converters, row)])
    except sqlite3.OperationalError as error:
        if "readonly" in str(error):  # a statement that changes the database has no columns
            raise invalid_argument(f"The number of columns in query (0) must match the number of elements in output_types ({len(converters)}): "
                                   f"{error}") from None
        raise KernelError(UnknownError, f"Failed to run the query: {error}") from None
    except sqlite3.Error as error:
        raise KernelError(UnknownError, f"Failed to run the query: {error}") from None


@dataset_op("SqlDataset", "driver_name: string, data_source_name: string, query: string", **OUTPUTS)
class SqlDataset:
    """The rows of a query, a scalar per column."""

    touches = "files"

    def kernel(driver_name, data_source_name, query, output_types, output_shapes):
        driver = text(driver_name)
        if driver != "sqlite":
            raise invalid_argument(f"tensorflow: The database type, {driver}, is not supported by SqlDataset. The set of supported databases is: "
                                   "{'sqlite'}.")
        for dtype, shape in zip(output_types, output_shapes):
            if dtype is not dt.string and dtype not in _NUMBERS:
                raise invalid_argument("Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, "
                                       f"DT_UINT16, DT_BOOL, DT_DOUBLE, not {dtype.name}")
            if not shape.is_compatible_with([]):
                raise invalid_argument("Each element of `output_shapes_` must be a scalar.")
        source, statement = text(data_source_name), text(query)
        return Source(lambda: _rows(source, statement, output_types))
