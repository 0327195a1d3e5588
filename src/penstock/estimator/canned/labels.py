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
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_greater_equal, assert_less


def checked_logits(logits: Any, dimension: int) -> Any:
    """Logits as float32, whose last dimension is the head's."""
    logits = cast(to_tensor(logits), dtypes.float32)
    if logits.shape.ndims is not None and (logits.shape.ndims < 2 or logits.shape.extents[-1] not in (None, dimension)):
        raise ValueError(f"logits shape must be [D0, D1, ... DN, logits_dimension={dimension}], got {logits.shape}.")
    return logits


def checked_labels(labels: Any, logits: Any, dimension: int) -> Any:
    """Labels of shape [batch, dimension]; a vector of labels becomes a column."""
    if labels is None:
        raise ValueError("You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check that your data contain your label "
                         "feature. Check that your input_fn properly parses and returns labels.")
    if isinstance(labels, SparseTensor):
        raise ValueError(f"SparseTensor labels are not supported. labels must be a Tensor of shape [D0, D1, ..., DN, {dimension}], e.g. "
                         f"[batch_size, {dimension}]. Suggested Fix (1): Check the label feature in your data. Each example must contain "
                         f"{dimension} value(s). If not, your choice of label was probably incorrect.")
    with name_scope(None, "labels", [labels, logits]):
        labels = to_tensor(labels)
        if labels.shape.ndims is not None and logits.shape.ndims is not None and labels.shape.ndims == logits.shape.ndims - 1:
            labels = expand_dims(labels, -1)
        expected = [*(logits.shape.as_list()[:-1] if logits.shape.ndims is not None else [None]), dimension]
        if not labels.shape.is_compatible_with(expected):
            raise ValueError(f"Mismatched label shape. Expected labels dimension={dimension}, of labels of shape {expected}. Received "
                             f"{labels.shape}. Suggested Fix: If your classifier expects one-hot encoding label, check your n_classes argument to "
                             "the estimator and/or the shape of your label. Otherwise, check the shape of your label.")
        return labels


def in_range(labels: Any, classes: int) -> Any:
    """Labels that are checked, when they are computed, to be numbers of classes."""
    with name_scope(None, "assert_range", [labels]):
        limit = to_tensor(classes, labels.dtype) if not labels.dtype.is_floating else to_tensor(float(classes))
        checks = [assert_less(labels, limit, message=f"Labels must be less than n_classes - 1: classes are 0 to {classes - 1}."),
                  assert_greater_equal(labels, limit - limit, message="Labels must be non-negative.")]
        with control_dependencies(checks):
            return identity(labels)


def example_weights(features: Any, weight_column: Any, logits: Any) -> Any:
    """The weights of examples, [batch, 1]; 1.0 without a column of weights."""
    if weight_column is None:
        return 1.0
    column = numeric_column(weight_column) if isinstance(weight_column, str) else weight_column
    if not isinstance(column, NumericColumn):
        raise TypeError(f"Weight column must be either a string or _NumericColumn. Given type: {type(column)}.")
    weights = cast(column.get_dense_tensor(FeatureCache(features)), dtypes.float32)
    if weights.shape.ndims == 2 and weights.shape.extents[1] not in (None, 1):
        raise ValueError(f"weights shape must be [batch_size, 1]. Given: {weights.shape} of the column {column.key!r}")
    return weights
