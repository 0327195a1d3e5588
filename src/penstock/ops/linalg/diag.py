"""Diagonals and bands of matrices: ops that move the elements of a tensor on and off a diagonal."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import TYPE, types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.graph.static import constant_value
from penstock.ops.array.fill import ones, zeros, zeros_like
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.shape_ops import shape as shape_op
from penstock.ops.common import INDEX, INEXACT, at_least, like, shape_text
from penstock.ops.linalg.diag_bands import MatrixDiagPartV2, MatrixDiagV2, MatrixSetDiagV2
from penstock.ops.linalg.matrix_shape import extents_of, same_extent
from penstock.ops.math.elementwise import minimum
from penstock.ops.math.reduce import reduce_sum

_DIAG_TYPES = INEXACT | INDEX


@op("Diag", "diagonal: T -> output: T", T=_DIAG_TYPES)
class Diag:
    """A tensor of rank 2k with the given tensor of rank k on its diagonal."""

    def shape(diagonal):
        extents_of(diagonal, at_least=1)
        return diagonal.shape.concatenate(diagonal.shape)

    def kernel(diagonal):
        extents = np.shape(diagonal)
        result = np.zeros((diagonal.size, diagonal.size), diagonal.dtype)
        np.fill_diagonal(result, np.ravel(diagonal))
        return result.reshape(extents + extents)

    def native(emit, diagonal):
        return emit.move.diagonal(diagonal)

    def gradient(op, dy):
        return DiagPart(dy)


@op("DiagPart", "input: T -> diagonal: T", T=_DIAG_TYPES)
class DiagPart:
    """The diagonal, of rank k, of a tensor of rank 2k."""

    def shape(input):
        extents = extents_of(input, at_least=1)
        if extents is None:
            return unknown_shape()
        half = len(extents) // 2
        if len(extents) % 2:
            raise ValueError(f"Input must have even and non-zero rank, but its rank is {len(extents)}")
        return TensorShape._of(tuple(map(same_extent, extents[:half], extents[half:])))

    def kernel(input):
        half = input.ndim // 2
        extents = input.shape[:half]
        if input.ndim % 2 or input.shape[half:] != extents:
            raise invalid_argument(f"Invalid shape {shape_text(input)}: the two halves must be the same")
        count = int(np.prod(extents))
        return np.diagonal(input.reshape(count, count)).reshape(extents)

    def native(emit, input):
        return emit.move.diagonal_part(input)

    def gradient(op, dy):
        return Diag(dy)


@op("MatrixDiag", "diagonal: T -> output: T", T=TYPE)
class MatrixDiag:
    """Matrices with the last dimension of a tensor on their diagonals."""

    def shape(diagonal):
        extents = extents_of(diagonal, at_least=1)
        return unknown_shape() if extents is None else TensorShape._of((*extents, extents[-1]))

    def kernel(diagonal):
        side = np.arange(diagonal.shape[-1])
        result = np.zeros(diagonal.shape + diagonal.shape[-1:], diagonal.dtype)
        result[..., side, side] = diagonal
        return result

    def native(emit, diagonal):
        return emit.move.place_in_zeros((*diagonal.shape, diagonal.shape[-1]), diagonal, MatrixDiagPart.kernel, "diagonal")

    def gradient(op, dy):
        return MatrixDiagPart(dy)


@op("MatrixDiagPart", "input: T -> diagonal: T", T=TYPE)
class MatrixDiagPart:
    """The diagonals of a batch of matrices."""

    def shape(input):
        extents = extents_of(input)
        return unknown_shape() if extents is None else TensorShape._of((*extents[:-2], _shorter(*extents[-2:])))

    def kernel(input):
        return np.diagonal(input, axis1=-2, axis2=-1)

    def native(emit, input):
        return emit.move.view(MatrixDiagPart.kernel, input)

    def gradient(op, dy):
        extents = op.inputs[0].shape.extents
        if extents is not None and extents[-1] is not None and extents[-1] == extents[-2]:
            return MatrixDiag(dy)
        return MatrixSetDiag(zeros_like(op.inputs[0]), dy)


def _shorter(rows: int | None, columns: int | None) -> int | None:
    """The length of the main diagonal."""
    if rows == 0 or columns == 0:
        return 0
    return None if rows is None or columns is None else min(rows, columns)


@op("MatrixSetDiag", "input: T, diagonal: T -> output: T", T=TYPE)
class MatrixSetDiag:
    """A batch of matrices with other diagonals."""

    def shape(input, diagonal):
        extents, other = extents_of(input), extents_of(diagonal, at_least=1)
        if extents is None or other is None:
            return input.shape if extents is not None else unknown_shape(None if other is None else len(other) + 1)
        if len(other) != len(extents) - 1:
            raise ValueError(f"Shape must be rank {len(extents) - 1} but is rank {len(other)}")
        same_extent(_shorter(*extents[-2:]), other[-1])
        return TensorShape._of((*map(same_extent, extents[:-2], other[:-1]), *extents[-2:]))

    def kernel(input, diagonal):
        if diagonal.shape != (*input.shape[:-2], min(input.shape[-2:])):
            raise invalid_argument("must have diagonal.shape == input.shape[:-2] + min(input.shape[-2:]), but received input "
                                   f"shape: {shape_text(input)} and diagonal shape: {shape_text(diagonal)}")
        side = np.arange(diagonal.shape[-1])
        result = input.copy()
        result[..., side, side] = diagonal
        return result

    def native(emit, input, diagonal):
        result = emit.move.copy_of(input)
        emit.move.copy(diagonal, emit.move.view(MatrixDiagPart.kernel, result))
        return result

    def gradient(op, dy):
        return [MatrixSetDiag(dy, zeros_like(op.inputs[1])), MatrixDiagPart(dy)]


@op("MatrixBandPart", "input: T, num_lower: Tindex, num_upper: Tindex -> band: T", T=TYPE,
    Tindex=types(dt.int32, dt.int64, default=dt.int64))
class MatrixBandPart:
    """Matrices with zeros outside a band around the main diagonal; a negative width keeps the whole triangle."""

    ranks = {"input": at_least(2), "num_lower": 0, "num_upper": 0}
    shape = like("input")

    def kernel(input, num_lower, num_upper):
        rows, columns = input.shape[-2:]
        for what, width, limit in (("num_lower", num_lower, rows), ("num_upper", num_upper, columns)):
            if width > limit:
                name = "rows" if what == "num_lower" else "columns"
                raise invalid_argument(f"{what} must be negative or less or equal to number of {name} ({limit}) got: {width}")
        below = np.arange(rows)[:, None] - np.arange(columns)
        inside = np.ones((rows, columns), bool)
        if num_lower >= 0:
            inside &= below <= num_lower
        if num_upper >= 0:
            inside &= below >= -num_upper
        return np.where(inside, input, np.zeros((), input.dtype))

    def native(emit, input, num_lower, num_upper):
        return emit.scans.band(input, int(emit.known(num_lower)), int(emit.known(num_upper)))

    def gradient(op, dy):
        return [MatrixBandPart(dy, op.inputs[1], op.inputs[2]), None, None]


def _is_main(k: Any) -> bool:
    return isinstance(k, int) and k == 0


def matrix_diag(diagonal: Any, name: str = "diag", k: Any = 0, num_rows: Any = -1, num_cols: Any = -1,
                padding_value: Any = 0) -> Tensor:
    """``tf.matrix_diag``: matrices with the last dimension of ``diagonal`` on their diagonals.

    ``k`` chooses other diagonals than the main one, see ``ops/linalg/diag_bands.py``.
    """
    if _is_main(k) and (num_rows, num_cols, padding_value) == (-1, -1, 0):
        return MatrixDiag(diagonal, name=name)
    diagonal = to_tensor(diagonal, None, "diagonal")
    padding = to_tensor(padding_value, diagonal.dtype.base_dtype, "padding_value")
    return MatrixDiagV2(diagonal, k, num_rows, num_cols, padding, name=name)


def matrix_diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0) -> Tensor:
    """``tf.matrix_diag_part``: the main diagonals, or those that ``k`` chooses, of a batch of matrices."""
    if _is_main(k):
        return MatrixDiagPart(input, name=name)
    input = to_tensor(input, None, "input")
    return MatrixDiagPartV2(input, k, to_tensor(padding_value, input.dtype.base_dtype, "padding_value"), name=name)


def matrix_set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0) -> Tensor:
    """``tf.matrix_set_diag``: a batch of matrices with other diagonals."""
    return MatrixSetDiag(input, diagonal, name=name) if _is_main(k) else MatrixSetDiagV2(input, diagonal, k, name=name)


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """``tf.matrix_band_part``: ``(-1, 0)`` is the lower triangle, ``(0, -1)`` the upper one, ``(0, 0)`` the diagonal."""
    return MatrixBandPart(input, num_lower, num_upper, name=name)


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """``tf.diag``: a tensor of twice the rank with ``diagonal`` on its diagonal."""
    return Diag(diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """``tf.diag_part``: the diagonal of a tensor of even rank."""
    return DiagPart(input, name=name)


def trace(x: Any, name: str | None = None) -> Tensor:
    """``tf.trace``: the sums of the diagonals of a batch of matrices."""
    with name_scope(name, "Trace", [x]) as scope:
        return reduce_sum(matrix_diag_part(to_tensor(x, None, "x")), [-1], name=scope)


def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = dt.float32,
        name: str | None = None) -> Tensor:
    """``tf.eye``: an identity matrix, or a batch of them.

    >>> eye(2, batch_shape=[5]).shape.as_list()
    [5, 2, 2]
    """
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]):
        square = num_columns is None
        num_columns = num_rows if square else num_columns
        rows, columns, batch = _plain(num_rows), _plain(num_columns), _plain([] if batch_shape is None else batch_shape)
        if rows is None or columns is None or batch is None:
            return _eye_of_tensors(num_rows, num_columns, [] if batch_shape is None else batch_shape, square, dtype)
        batch = list(batch)
        diagonal = ones(batch + [min(rows, columns)], dtype)
        return matrix_diag(diagonal) if square else matrix_set_diag(zeros(batch + [rows, columns], dtype), diagonal)


def _plain(value: Any) -> Any:
    """An int or a list of ints where the value is known while building, else None."""
    if isinstance(value, Tensor):
        value = constant_value(value)
        return None if value is None else value.tolist()
    if isinstance(value, TensorShape):
        return value.as_list() if value.is_fully_defined() else None
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        return None if None in items else items
    return np.asarray(value).tolist() if isinstance(value, np.ndarray) else int(value)


def _eye_of_tensors(rows: Any, columns: Any, batch_shape: Any, square: bool, dtype: Any) -> Tensor:
    """``eye`` for extents that are known only when it runs."""
    rows, columns = to_tensor(rows, dt.int32, "num_rows"), to_tensor(columns, dt.int32, "num_columns")
    batch = to_tensor(batch_shape, dt.int32, "shape")
    diagonal = ones(concat([batch, stack([minimum(rows, columns)])], axis=0), dtype)
    if square:
        return matrix_diag(diagonal)
    return matrix_set_diag(zeros(concat([batch, stack([rows, columns])], axis=0), dtype), diagonal)


def matrix_rows(tensor: Tensor) -> tuple[Any, Any]:
    """(number of rows, batch shape) of a batch of matrices: plain values where they are known, for ``eye``."""
    extents = tensor.shape.extents
    if extents is not None and extents[-2] is not None and None not in extents[:-2]:
        return extents[-2], list(extents[:-2])
    dynamic = shape_op(tensor)
    return dynamic[-2], dynamic[:-2]
