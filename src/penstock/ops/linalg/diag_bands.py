"""Several diagonals at once: the second version of MatrixDiag and its relatives.

``k`` says which: a number (0 is the main diagonal, 1 the one above it), or a pair (lowest, highest). Several diagonals are the rows of
a matrix, the highest one first, each starting at the left and padded at its end.
"""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import TYPE
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.fill import zeros, zeros_like
from penstock.ops.common import at_least, at_most
from penstock.ops.linalg.matrix_shape import Extents, extents_of


class Band:
    """The diagonals from ``lowest`` to ``highest`` of a matrix with these extents."""

    def __init__(self, k: Any, rows: int, columns: int) -> None:
        self.lowest, self.highest = _limits(k)
        self.rows, self.columns = rows, columns
        for what, number in (("lower", self.lowest), ("upper", self.highest)):
            if number and not -rows < number < columns:
                raise ValueError(f"{what}_diag_index is out of bound.")
        if self.lowest > self.highest:
            raise ValueError("lower_diag_index must not be larger than upper_diag_index")

    @property
    def count(self) -> int:
        """How many diagonals."""
        return self.highest - self.lowest + 1

    @property
    def longest(self) -> int:
        """The length of the longest of them."""
        return min(self.rows + min(self.highest, 0), self.columns - max(self.lowest, 0))

    @property
    def packed(self) -> tuple[int, ...]:
        """The extents of the diagonals of one matrix."""
        return (self.longest,) if self.count == 1 else (self.count, self.longest)

    def places(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """For each diagonal: its row among the packed ones, and where its elements stand in the matrix."""
        for row, number in enumerate(range(self.highest, self.lowest - 1, -1)):
            length = min(self.rows + min(number, 0), self.columns - max(number, 0))
            steps = np.arange(length)
            yield row, steps + max(-number, 0), steps + max(number, 0)


def _band(k: Any, rows: int, columns: int) -> Band:
    """For kernels: a wrong ``k`` is an InvalidArgumentError."""
    try:
        return Band(k, rows, columns)
    except ValueError as error:
        raise invalid_argument(str(error)) from None


def _static_band(extents: Extents, k: Tensor) -> Band | None:
    known = constant_value(k)
    return None if known is None or None in extents[-2:] else Band(known, *extents[-2:])  # type: ignore[arg-type]


def _write(matrices: np.ndarray, diagonals: np.ndarray, band: Band) -> np.ndarray:
    """Puts packed diagonals into ``matrices``, which belong to the caller."""
    packed = diagonals[..., None, :] if band.count == 1 else diagonals
    for row, i, j in band.places():
        matrices[..., i, j] = packed[..., row, :len(i)]
    return matrices


@op("MatrixDiagPartV2", "input: T, k: int32, padding_value: T -> diagonal: T", T=TYPE)
class MatrixDiagPartV2:
    """Diagonals of a batch of matrices."""

    ranks = {"k": at_most(1), "padding_value": 0}

    def shape(input, k):
        extents = extents_of(input)
        band = None if extents is None else _static_band(extents, k)
        return unknown_shape() if band is None else TensorShape._of((*extents[:-2], *band.packed))

    def kernel(input, k, padding_value):
        band = _band(k, *input.shape[-2:])
        result = np.full((*input.shape[:-2], band.count, band.longest), padding_value, input.dtype)
        for row, i, j in band.places():
            result[..., row, :len(i)] = input[..., i, j]
        return result.reshape(input.shape[:-2] + band.packed)

    def gradient(op, dy):
        return [MatrixSetDiagV2(zeros_like(op.inputs[0]), dy, op.inputs[1]), None, None]


@op("MatrixSetDiagV2", "input: T, diagonal: T, k: int32 -> output: T", T=TYPE)
class MatrixSetDiagV2:
    """A batch of matrices with other diagonals."""

    ranks = {"diagonal": at_least(1), "k": at_most(1)}

    def shape(input, diagonal, k):
        extents = extents_of(input)
        band = None if extents is None else _static_band(extents, k)
        if band is not None:
            diagonal.shape.assert_is_compatible_with([*extents[:-2], *band.packed])
        return input.shape

    def kernel(input, diagonal, k):
        band = _band(k, *input.shape[-2:])
        if diagonal.shape != input.shape[:-2] + band.packed:
            raise invalid_argument(f"diagonal must have shape {list(input.shape[:-2] + band.packed)}, not {list(diagonal.shape)}")
        return _write(input.copy(), diagonal, band)

    def gradient(op, dy):
        _, diagonal, k = op.inputs
        return [MatrixSetDiagV2(dy, zeros_like(diagonal), k), MatrixDiagPartV2(dy, k, zeros([], dy.dtype)), None]


@op("MatrixDiagV2", "diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T -> output: T", T=TYPE)
class MatrixDiagV2:
    """Matrices with given diagonals; extents of -1 are the smallest that hold them."""

    ranks = {"k": at_most(1), "num_rows": 0, "num_cols": 0, "padding_value": 0}

    def shape(diagonal, k, num_rows, num_cols):
        extents, known = extents_of(diagonal, at_least=1), [constant_value(tensor) for tensor in (k, num_rows, num_cols)]
        if extents is None or any(value is None for value in known) or None in extents[-1:]:
            return unknown_shape()
        lowest, highest = _limits(known[0])
        batch = extents[:-1] if lowest == highest else extents[:-2]
        return TensorShape._of((*batch, *_matrix_extents(extents[-1], lowest, highest, int(known[1]), int(known[2]))))

    def kernel(diagonal, k, num_rows, num_cols, padding_value):
        try:
            lowest, highest = _limits(k)
            rows, columns = _matrix_extents(diagonal.shape[-1], lowest, highest, int(num_rows), int(num_cols))
        except ValueError as error:
            raise invalid_argument(str(error)) from None
        band = _band(k, rows, columns)
        batch = diagonal.shape[:-1] if band.count == 1 else diagonal.shape[:-2]
        if diagonal.shape != batch + band.packed:
            raise invalid_argument(f"diagonal must end in the extents {list(band.packed)}, not {list(diagonal.shape)}")
        return _write(np.full((*batch, rows, columns), padding_value, diagonal.dtype), diagonal, band)

    def gradient(op, dy):
        return [MatrixDiagPartV2(dy, op.inputs[1], zeros([], dy.dtype)), None, None, None, None]


def _limits(k: Any) -> tuple[int, int]:
    """The lowest and the highest diagonal."""
    numbers = np.ravel(k).tolist()
    if len(numbers) not in (1, 2):
        raise ValueError(f"diag_index must have one or two elements, received {len(numbers)} elements.")
    return numbers[0], numbers[-1]


def _matrix_extents(length: int, lowest: int, highest: int, rows: int, columns: int) -> tuple[int, int]:
    """The extents of a matrix whose longest diagonal in the band has this length; those given as -1 are found."""
    least_rows, least_columns = length - min(highest, 0), length + max(lowest, 0)
    if rows == columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows or columns < least_columns or (rows != least_rows and columns != least_columns):
        raise ValueError(f"The number of rows {rows} and columns {columns} does not fit diagonals of length {length}: "
                         f"at least {least_rows} and {least_columns}, and one of them exactly")
    return rows, columns
