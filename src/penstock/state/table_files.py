"""Tables from text files: one entry per line, of which a column, the whole line or its number is the key, and another one the value."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import KernelError, OpError, invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.platform.gfile import open_file

WHOLE_LINE, LINE_NUMBER = -2, -1


def read_entries(path: bytes, columns: tuple[int, int], dtypes: tuple[DType, DType], delimiter: str, size: int = -1) -> tuple[np.ndarray, np.ndarray]:
    """(keys, values) of a file: from its first ``size`` lines, or from all if it is -1."""
    shown = path.decode(errors="replace")
    keys: list[Any] = []
    values: list[Any] = []
    for number, line in enumerate(_lines(path)):
        if number == size:
            break
        if not line:
            raise invalid_argument(f"Invalid content in {shown}: empty line found, line {number}")
        fields = line.split(delimiter.encode()) if max(columns) >= 0 else []
        if max(columns) >= max(1, len(fields)):
            raise invalid_argument(f"Invalid number of columns in {shown} line {number} ({line.decode(errors='replace')}) : "
                                   f"expected {max(columns)} got {len(fields)}")
        for entries, column, dtype in zip((keys, values), columns, dtypes):
            entries.append(_field(line, fields, number, column, dtype))
    if size >= 0 and len(keys) != size:
        raise invalid_argument(f"Invalid vocab_size in {shown}: expected {size} but got {len(keys)}")
    return _array(keys, dtypes[0]), _array(values, dtypes[1])


def _lines(path: bytes) -> Iterator[bytes]:
    try:
        with open_file(path, "rb") as file:
            for line in file:
                yield line.removesuffix(b"\n").removesuffix(b"\r")
    except OpError as error:
        raise KernelError(type(error), error.message) from None


def _field(line: bytes, fields: list[bytes], number: int, column: int, dtype: DType) -> Any:
    if column == LINE_NUMBER:
        return number
    text = line if column == WHOLE_LINE else fields[column]
    if dtype is dt.string:
        return text
    try:
        return dtype.np.type(int(text) if dtype.is_integer else float(text))
    except (ValueError, OverflowError):
        raise invalid_argument(f"Field {text.decode(errors='replace')} in line {number} is not a valid {dtype.name}.") from None


def _array(items: list[Any], dtype: DType) -> np.ndarray:
    result = np.empty(len(items), dtype.np)
    result[:] = items
    return result
