"""The confusion matrix: which classes are taken for which."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import int32, int64
from penstock.graph.node import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like, zeros
from penstock.ops.array.pack import stack
from penstock.ops.array.shape_ops import rank, squeeze
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_less, assert_non_negative
from penstock.ops.flow.control_flow import cond
from penstock.ops.math.compare import equal
from penstock.ops.math.elementwise import Maximum
from penstock.ops.math.reduce import reduce_max
from penstock.ops.sparse.sparse_math import SparseTensorDenseAdd


def remove_squeezable_dimensions(labels: Any, predictions: Any, expected_rank_diff: int = 0,
                                 name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels and predictions of which the one with one axis more than expected lost its last, if that has extent 1."""
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        labels, predictions = to_tensor(labels), to_tensor(predictions)
        ranks = predictions.shape.ndims, labels.shape.ndims
        if None in ranks:
            return _squeezed_in_the_step(labels, predictions, expected_rank_diff)
        extra = ranks[0] - ranks[1] - expected_rank_diff
        if extra == 1:
            predictions = squeeze(predictions, [-1])
        elif extra == -1:
            labels = squeeze(labels, [-1])
        return labels, predictions


def _squeezed_in_the_step(labels: Tensor, predictions: Tensor, expected_rank_diff: int) -> tuple[Tensor, Tensor]:
    """The same, where a rank is known only when the graph runs."""
    difference = rank(predictions) - rank(labels)

    def squeezed(tensor: Tensor, extra: int) -> Tensor:
        if tensor.shape.ndims is not None and (tensor.shape.ndims == 0 or not tensor.shape[-1].is_compatible_with(1)):
            return tensor
        return cond(equal(expected_rank_diff + extra, difference), lambda: squeeze(tensor, [-1]), lambda: tensor)

    predictions = squeezed(predictions, 1)
    return squeezed(labels, -1), predictions


def _checked_classes(values: Tensor, number: Any, what: str) -> Tensor:
    """``values`` once it is known that they are classes."""
    with control_dependencies([assert_non_negative(values, message=f"`{what}` contains negative values")]):
        values = identity(values)
    if number is None:
        return values
    with control_dependencies([assert_less(values, cast(number, int64), message=f"`{what}` out of bound")]):
        return identity(values)


def confusion_matrix(labels: Any, predictions: Any, num_classes: Any = None, dtype: Any = dtypes.int32,
                     name: str | None = None, weights: Any = None) -> Tensor:
    """``tf.confusion_matrix``: entry [i, j] counts (or sums the weights of) the cases of class i predicted as j."""
    with name_scope(name, "confusion_matrix", [labels, predictions, num_classes, weights]):
        labels, predictions = to_tensor(labels, None, "labels"), to_tensor(predictions, None, "predictions")
        labels, predictions = remove_squeezable_dimensions(labels, predictions)
        labels, predictions = cast(labels, int64), cast(predictions, int64)
        labels = _checked_classes(labels, num_classes, "labels")
        predictions = _checked_classes(predictions, num_classes, "predictions")
        if num_classes is None:
            number = Maximum(reduce_max(predictions), reduce_max(labels)) + 1
        else:
            number = cast(num_classes, int64)
        if weights is None:
            values = ones_like(predictions, dtype)
        else:
            values = cast(weights, dtype)
            predictions.shape.merge_with(values.shape)
        extents = stack([number, number])
        cells = stack([labels, predictions], axis=1)
        return SparseTensorDenseAdd(cells, values, extents, zeros(cast(extents, int32), dtype))
