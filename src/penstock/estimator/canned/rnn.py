"""Canned recurrent networks: columns of sequences, perhaps with columns of context beside each step, a cell, a head on its last output or on all."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.canned.logits import check_features, network_partitioner, table_partitioner
from penstock.estimator.canned.optimizers import optimizer_instance
from penstock.estimator.columns.building import input_layer, sequence_input_layer
from penstock.estimator.estimator import Estimator
from penstock.estimator.extenders import clip_gradients_by_norm
from penstock.estimator.heads.base import Head
from penstock.estimator.heads.classes import class_head
from penstock.estimator.heads.sequential import SequentialHead
from penstock.estimator.spec import ModelFn
from penstock.graph import dtypes
from penstock.graph.graph import default_graph
from penstock.graph.scopes import name_scope
from penstock.layers.losses import Reduction
from penstock.layers.scoped_layers import dense
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.sequences import range as range_op
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.rnn.basic_cells import BasicRNNCell, GRUCell
from penstock.rnn.cell import RNNCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.lstm import BasicLSTMCell
from penstock.rnn.multi import MultiRNNCell
from penstock.summary import summary
from penstock.train.optimizer import Optimizer
from penstock.variables.initializers import GlorotUniform
from penstock.variables.scope import variable_scope

_CELLS = {"basic_rnn": BasicRNNCell, "lstm": BasicLSTMCell, "gru": GRUCell}
_LEARNING_RATE, _CLIP_NORM = 0.05, 5.0
USE_DEFAULT: Any = object()
_CONTEXT_CHECKS = 12  # nodes by which TensorFlow checks ranks and types of sequences and context: op seeds depend on their number


class RNNEstimator(Estimator):
    """``tf.contrib.estimator.RNNEstimator``: a recurrent network on columns of sequences, under a head of one's choice."""

    def __init__(self, head: Head, sequence_feature_columns: Any, context_feature_columns: Any = None, num_units: Any = None,
                 cell_type: Any = USE_DEFAULT, rnn_cell_fn: Callable[[str], Any] | None = None, return_sequences: bool = False, model_dir: Any = None,
                 optimizer: Any = "Adagrad", input_layer_partitioner: Any = None, config: Any = None) -> None:
        if return_sequences and not isinstance(head, SequentialHead):
            raise ValueError("Provided head must be a `_SequentialHead` object when `return_sequences` is set to True: a SequentialHeadWrapper of "
                             f"tensorflow_estimator.python.estimator.head.sequential_head around the head for a step. Given: {head}")
        super().__init__(_model_fn(head, tuple(sequence_feature_columns or ()), tuple(context_feature_columns or ()),
                                   _cell_fn(rnn_cell_fn, num_units, cell_type), optimizer, input_layer_partitioner, return_sequences),
                         model_dir, config)


class RNNClassifier(RNNEstimator):
    """``tf.contrib.estimator.RNNClassifier``: classes by a recurrent network on columns of sequences."""

    def __init__(self, sequence_feature_columns: Any, context_feature_columns: Any = None, num_units: Any = None, cell_type: Any = USE_DEFAULT,
                 rnn_cell_fn: Callable[[str], Any] | None = None, model_dir: Any = None, n_classes: int = 2, weight_column: Any = None,
                 label_vocabulary: Any = None, optimizer: Any = "Adagrad", loss_reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
                 input_layer_partitioner: Any = None, config: Any = None) -> None:
        super().__init__(class_head(n_classes, weight_column, label_vocabulary, loss_reduction), sequence_feature_columns, context_feature_columns,
                         num_units, cell_type, rnn_cell_fn, False, model_dir, optimizer, input_layer_partitioner, config)


def _cell_fn(rnn_cell_fn: Callable[[str], Any] | None, num_units: Any, cell_type: Any) -> Callable[[str], Any]:
    """The given function from a mode to a cell, or one that makes a stack of cells of the named kind."""
    if rnn_cell_fn is not None:
        if num_units or cell_type is not USE_DEFAULT:
            raise ValueError("num_units and cell_type must not be specified when using rnn_cell_fn")
        return rnn_cell_fn
    kind = "basic_rnn" if cell_type is USE_DEFAULT else cell_type
    kind = _CELLS.get(kind, kind)
    if not isinstance(kind, type) or not issubclass(kind, RNNCell):
        raise ValueError(f"Supported cell types are {list(_CELLS)}; got {cell_type}")

    def make(mode: str) -> Any:
        cells = [kind(num_units=units) for units in num_units]
        return cells[0] if len(cells) == 1 else MultiRNNCell(cells)
    return make


def _model_fn(head: Head, sequence_columns: Any, context_columns: Any, cell_fn: Callable[[str], Any], optimizer: Any, partitioner: Any,
              return_sequences: bool) -> ModelFn:
    def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
        check_features(features)
        trained_by = optimizer if isinstance(optimizer, Optimizer) else clip_gradients_by_norm(
            optimizer_instance(optimizer, _LEARNING_RATE), _CLIP_NORM)
        with variable_scope("rnn", values=tuple(features.values()), partitioner=network_partitioner(config)):
            inputs, lengths = _inputs(features, sequence_columns, context_columns, table_partitioner(partitioner, config))
            outputs, _ = dynamic_rnn(cell=cell_fn(mode), inputs=inputs, sequence_length=lengths, dtype=dtypes.float32)
            outputs = outputs if return_sequences else _last_outputs(outputs, lengths)
            with variable_scope("logits"):
                logits = dense(outputs, head.logits_dimension, kernel_initializer=GlorotUniform())
            mask = sequence_mask(lengths)
            if isinstance(head, SequentialHead) and return_sequences:
                features = {head.input_sequence_mask_key: mask, **features}
            return head.create_estimator_spec(features, mode, logits, labels, optimizer=trained_by)
    return model_fn


def _inputs(features: Any, sequence_columns: Any, context_columns: Any, partitioner: Any) -> tuple[Any, Any]:
    """([batch, steps, numbers], lengths); the numbers of the context stand beside those of each step."""
    with variable_scope("sequence_input_layer", values=tuple(features.values()), partitioner=partitioner):
        inputs, lengths = sequence_input_layer(features, sequence_columns)
        summary.histogram("sequence_length", lengths)
        if context_columns:
            context = expand_dims(input_layer(features, context_columns), 1)
            default_graph().imply(_CONTEXT_CHECKS)
            inputs = concat([inputs, tile(context, [1, shape(inputs)[1], 1])], 2)
        return inputs, lengths


def _last_outputs(outputs: Any, lengths: Any) -> Any:
    """The output of the last step of each sequence."""
    with name_scope(None, "select_last_activations", [outputs, lengths]):
        extents = shape(outputs)
        batch, steps, units = extents[0], extents[1], extents[2]
        places = cast(range_op(batch) * steps, dtypes.int64) + lengths - 1
        last = gather(reshape(outputs, [batch * steps, units]), places)
        last.set_shape([outputs.shape.extents[0], outputs.shape.extents[2]])
        return last
