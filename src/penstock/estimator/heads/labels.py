"""Labels, weights and logits of heads, checked: their shapes must fit, and errors say which one does not."""
from __future__ import annotations

from typing import Any

from penstock.estimator.columns.base import FeatureCache
from penstock.estimator.columns.numeric import NumericColumn, numeric_column
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, shape
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_equal, assert_less_equal, assert_non_negative

_NO_LABELS = ("You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contain your label feature. "
              "Check that your input_fn properly parses and returns labels.")
_FIX = ("Suggested Fix: If your classifier expects one-hot encoding label, check your n_classes argument to the estimator and/or the shape of your "
        "label. Otherwise, check the shape of your label.")


def checked_logits(logits: Any, dimension: int) -> Any:
    """Logits as float32, whose last dimension is the head's."""
    logits = cast(to_tensor(logits), dtypes.float32)
    message = f"logits shape must be [D0, D1, ... DN, logits_dimension={dimension}]"
    if logits.shape.ndims is not None:
        if logits.shape.ndims < 2 or logits.shape.extents[-1] not in (None, dimension):
            raise ValueError(f"{message}, got {logits.shape}.")
        if logits.shape.extents[-1] is not None:
            return logits
    with control_dependencies([assert_equal(dimension, shape(logits)[-1], data=[message, shape(logits)])]):
        return identity(logits)


def given_labels(labels: Any) -> Any:
    """Labels that are there."""
    if labels is None:
        raise ValueError(_NO_LABELS)
    return labels if isinstance(labels, SparseTensor) else to_tensor(labels)


def checked_labels(labels: Any, logits: Any, dimension: int) -> Any:
    """Labels of shape [batch, dimension]; a vector of labels becomes a column. What cannot be told before is checked in each step."""
    labels = given_labels(labels)
    if isinstance(labels, SparseTensor):
        raise ValueError(f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], e.g. "
                         f"[batch_size, {dimension}]. Suggested Fix (1): Check the label feature in your data. Each example must contain "
                         f"{dimension} value(s). If not, your choice of label was probably incorrect. Suggested Fix (2): In your input_fn, use "
                         "tf.sparse_tensor_to_dense() to turn labels into a Tensor.")
    with name_scope(None, "labels", [labels, logits]):
        if labels.shape.ndims is not None and logits.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims - 1:
            labels = expand_dims(labels, -1)
        expected = [*(logits.shape.as_list()[:-1] if logits.shape.ndims is not None else [None]), dimension]
        if not labels.shape.is_compatible_with(expected):
            raise ValueError(f"Mismatched label shape. Expected labels dimension={dimension}, of labels of shape {expected}. Received "
                             f"{labels.shape}. {_FIX}")
        return _of_shape(labels, logits, dimension, f"labels shape must be [D0, D1, ... DN, {dimension}]. {_FIX}")


def has_loss_shape(losses: Any, logits: Any, dimension: int) -> Any:
    """What a loss function returned, if it is a loss per example."""
    return _of_shape(losses, logits, dimension, f"loss_fn must return Tensor of shape [D0, D1, ... DN, {dimension}].")


def _of_shape(tensor: Any, logits: Any, dimension: int, message: str) -> Any:
    """The tensor, with a check in each step that its shape is that of the logits, with another last dimension; ValueError if it cannot be."""
    if logits.shape.ndims is not None:
        expected = [*logits.shape.as_list()[:-1], dimension]
        if not tensor.shape.is_compatible_with(expected):
            raise ValueError(f"{message} It is {tensor.shape}, and logits are {logits.shape}.")
        if None not in expected and tensor.shape.is_fully_defined():
            return tensor
    wanted = concat([shape(logits)[:-1], [dimension]], axis=0)
    with control_dependencies([assert_equal(shape(tensor), wanted, message=message)]):
        return identity(tensor)


def in_range(labels: Any, classes: int, message: str = "") -> Any:
    """Labels that are checked, when they are computed, to be numbers of classes."""
    with name_scope(None, "assert_range", [labels]):
        largest = to_tensor(classes - 1, labels.dtype)
        checks = [assert_less_equal(labels, largest, message=message or f"Labels must be <= n_classes - 1: {classes - 1}"),
                  assert_non_negative(labels, message=message or "Labels must be >= 0")]
        with control_dependencies(checks):
            return identity(labels)


def example_weights(features: Any, weight_column: Any, logits: Any, per_logit: bool = False) -> Any:
    """The weights of examples, [batch, 1], or perhaps one per logit; 1.0 without a column of weights."""
    if weight_column is None:
        return 1.0
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise TypeError(f"Weight column must be either a string or _NumericColumn. Given type: {type(column)}.")
    weights = cast(column.get_dense_tensor(FeatureCache(features)), dtypes.float32)
    if weights.shape.ndims is not None and weights.shape.ndims == (logits.shape.ndims or 0) - 1:
        weights = expand_dims(weights, -1)
    allowed = {None, 1, logits.shape.extents[-1] if per_logit and logits.shape.ndims else 1}
    if weights.shape.ndims and weights.shape.extents[-1] not in allowed:
        raise ValueError(f"weights shape must be [D0, D1, ... DN] or [D0, D1, ... DN, 1]{' or that of the logits' if per_logit else ''}. Given: "
                         f"{weights.shape} of the column {column.key!r}, for logits of shape {logits.shape}")
    return weights
