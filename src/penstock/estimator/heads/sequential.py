"""A head for each step of sequences: another head on the steps that belong to a sequence, one after the other."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.estimator.heads.base import Head
from penstock.estimator.heads.multi import MultiHead
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.spec import EstimatorSpec
from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import boolean_mask
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.constant import identity
from penstock.ops.flow.checks import assert_equal
from penstock.ops.math.reduce import reduce_sum
from penstock.ops.sparse.sparse_functions import sparse_reorder


class SequentialHead(Head):
    """What heads for sequences have beside others: the feature that says which steps belong to a sequence."""

    @property
    def input_sequence_mask_key(self) -> str:
        """The name of that feature, a bool [batch, steps]."""
        raise NotImplementedError("Calling an abstract method.")


class SequentialHeadWrapper(SequentialHead):
    """``static_head`` on the steps of sequences. Logits are [batch, steps, dimension], labels and the ``feature_columns`` [batch, steps, ...]."""

    def __init__(self, static_head: Head, sequence_length_mask: str = "sequence_length_mask", feature_columns: Any = None) -> None:
        if not isinstance(sequence_length_mask, str):
            raise TypeError(f"`sequence_mask` column must be a string. Given type: {type(sequence_length_mask)}.")
        columns = feature_columns or []
        if not isinstance(columns, Iterable):
            raise TypeError(f"`feature_columns` must be either a string or an iterable of strings got {type(columns)} instead.")
        self._columns = [columns] if isinstance(columns, str) else list(columns)
        for column in self._columns:
            if not isinstance(column, str):
                raise TypeError(f"Column must a string. Given type: {type(column)}.")
        if isinstance(static_head, MultiHead):
            raise ValueError("`MultiHead` is not supported with `SequentialHeadWrapper`.")
        name = f"{static_head.name}_sequential" if static_head.name else None
        super().__init__(loss_reduction=static_head.loss_reduction, name=name)
        self.static_head, self._mask, self.logits_dimension = static_head, sequence_length_mask, static_head.logits_dimension

    @property
    def input_sequence_mask_key(self) -> str:
        """The name of the feature that says which steps belong to a sequence."""
        return self._mask

    def predictions(self, logits: Any, keys: Any = None) -> dict[str, Any]:
        """Those of the other head, for each step."""
        return self.static_head.predictions(logits, keys)

    def loss(self, labels: Any, logits: Any, features: Any = None, mode: Any = None, regularization_losses: Any = None) -> Any:
        """The loss of the steps that belong to a sequence."""
        labels, logits, features = self._steps(labels, logits, features)
        return self.static_head.loss(labels, logits, features, mode, regularization_losses)

    def create_estimator_spec(self, features: Any, mode: str, logits: Any, labels: Any = None, optimizer: Any = None,
                              trainable_variables: Any = None, train_op_fn: Callable[[Any], Any] | None = None, update_ops: Any = None,
                              regularization_losses: Any = None) -> EstimatorSpec:
        """The spec of the other head. Predictions are for all steps, with the feature that says which of them count."""
        if mode == ModeKeys.PREDICT:
            spec = self.static_head.create_estimator_spec(features, mode, logits)
            return spec._replace(predictions={**spec.predictions, self._mask: features[self._mask]})
        labels, logits, features = self._steps(labels, logits, features)
        return self.static_head.create_estimator_spec(features, mode, logits, labels, optimizer, trainable_variables, train_op_fn, update_ops,
                                                      regularization_losses)

    def _steps(self, labels: Any, logits: Any, features: Any) -> tuple[Any, Any, dict[str, Any]]:
        """(labels, logits, features) of the steps that belong to a sequence."""
        for name in (self._mask, *self._columns):
            if name not in features:
                what = "The provided sequence_length_mask key" if name == self._mask else "The column"
                raise ValueError(f"{what} `{name}` should be included in the features dictionary, but was not found. "
                                 f"Found keys: {sorted(map(str, features))}.")
        mask = features[self._mask]
        if mask.shape.ndims != 2:
            raise ValueError(f"Mask is expected to have two dimensions, got {mask.shape.ndims} instead.")
        with name_scope("flatten"):
            count = reduce_sum(cast(mask, dtypes.int32))
            return _flat(labels, mask, count), _flat(logits, mask, count), {name: _flat(features[name], mask, count) for name in self._columns}


def _flat(tensor: Any, mask: Any, count: Any) -> Any:
    """The steps of a tensor that the mask has, [count, ...]."""
    rank = tensor.shape.ndims
    if rank is None or rank < 2:
        raise ValueError(f"Input tensor expected to have at least 2 dimensions, got {rank} instead.")
    inner = tensor.shape.as_list()[2:]
    if isinstance(tensor, SparseTensor):
        flat = sparse_reorder(tensor).values
        flat = reshape(flat, [-1, *inner]) if inner else flat
    else:
        flat = boolean_mask(tensor, mask)
    flat = flat if inner else expand_dims(flat, -1)
    with control_dependencies([assert_equal(shape(flat), concat([[count], inner or [1]], axis=0),
                                            message="Tensor shape is incompatible with provided mask.")]):
        return identity(flat)
