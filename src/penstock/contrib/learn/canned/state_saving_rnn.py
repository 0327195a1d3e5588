"""``StateSavingRnnEstimator``: a recurrent network on long sequences, cut into segments whose states are carried from step to step.

The input function gives one sequence at a time: features [time, ...] and labels [time]. Queues cut them into segments of ``num_unroll`` steps and
gather those into batches (``tf.contrib.training.batch_sequences_with_states``).
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import check_sequence_columns, parent_columns, sequence_input_from_feature_columns
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.optimizers import OPTIMIZER_SUMMARIES, optimize_loss
from penstock.contrib.learn.canned.dynamic_rnn import ModelFn, PredictionType, RNNKeys, construct_rnn_cell, head_for, model_ops
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import SingleHead
from penstock.contrib.learn.keys import ModeKeys, ProblemType
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.learn.target_columns import TargetColumn
from penstock.contrib.training.sequence_batches import batch_sequences_with_states
from penstock.graph import nest
from penstock.rnn.cell import RNNCell
from penstock.rnn.lstm import LSTMStateTuple
from penstock.rnn.static import static_state_saving_rnn
from penstock.train.rules import MomentumOptimizer


class StateSavingRnnEstimator(Estimator):
    """``tf.contrib.learn.StateSavingRnnEstimator``: a class or a number for each step of long sequences."""

    def __init__(self, problem_type: int, num_unroll: int, batch_size: int, sequence_feature_columns: Any, context_feature_columns: Any = None,
                 num_classes: int | None = None, num_units: Any = None, cell_type: Any = "basic_rnn", optimizer_type: Any = "SGD",
                 learning_rate: float = 0.1, predict_probabilities: bool = False, momentum: float | None = None,
                 gradient_clipping_norm: float | None = 5.0, dropout_keep_probabilities: Sequence[float] | None = None, model_dir: str | None = None,
                 config: Any = None, feature_engineering_fn: Any = None, num_threads: int = 3, queue_capacity: int = 1000,
                 seed: int | None = None) -> None:
        head = head_for(problem_type, num_classes, predict_probabilities)
        if num_unroll <= 0:
            raise ValueError(f"num_unroll must be positive; got {num_unroll}.")
        if optimizer_type == "Momentum":
            optimizer_type = MomentumOptimizer(learning_rate, momentum)
        name = f"MultiValueStateSavingRNN{'Classifier' if problem_type == ProblemType.CLASSIFICATION else 'Regressor'}"
        model_fn = _model_fn(head, cell_type, optimizer_type, num_unroll, num_units, num_threads, queue_capacity, batch_size,
                             sequence_feature_columns, context_feature_columns, predict_probabilities, learning_rate, gradient_clipping_norm,
                             dropout_keep_probabilities, name, seed)
        super().__init__(model_fn, model_dir, config, feature_engineering_fn=feature_engineering_fn)


def get_rnn_model_fn(cell_type: Any, target_column: TargetColumn, problem_type: int, optimizer: Any, num_unroll: int, num_units: Any,
                     num_threads: int, queue_capacity: int, batch_size: int, sequence_feature_columns: Any, context_feature_columns: Any = None,
                     predict_probabilities: bool = False, learning_rate: float | None = None, gradient_clipping_norm: float | None = None,
                     dropout_keep_probabilities: Sequence[float] | None = None, name: str = "StateSavingRNNModel",
                     seed: int | None = None) -> ModelFn:
    """The model function of the estimator for a target column, as TensorFlow's own ``_get_rnn_model_fn`` makes it."""
    head = head_for(problem_type, max(2, target_column.num_label_columns), predict_probabilities)
    return _model_fn(head, cell_type, optimizer, num_unroll, num_units, num_threads, queue_capacity, batch_size, sequence_feature_columns,
                     context_feature_columns, predict_probabilities, learning_rate, gradient_clipping_norm, dropout_keep_probabilities, name, seed)


def _model_fn(head: SingleHead, cell_type: Any, optimizer: Any, num_unroll: int, num_units: Any, num_threads: int, queue_capacity: int,
              batch_size: int, sequence_columns: Any, context_columns: Any, predict_probabilities: bool, learning_rate: float | None,
              gradient_clipping_norm: float | None, dropout_keep_probabilities: Sequence[float] | None, name: str, seed: int | None) -> ModelFn:
    def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
        with tf.name_scope(name):
            cell = construct_rnn_cell(num_units, cell_type, dropout_keep_probabilities if mode == ModeKeys.TRAIN else None)
            sequences, context = prepare_features_for_sqss(features, labels, mode, sequence_columns, context_columns)
            batch = batch_sequences_with_states(
                input_key="key", input_sequences=sequences, input_context=context, input_length=None, initial_states=_initial_states(cell),
                num_unroll=num_unroll, batch_size=batch_size, pad=True, make_keys_unique=True, make_keys_unique_seed=seed,
                num_threads=num_threads, capacity=queue_capacity)
            segment_labels = batch.sequences.pop(RNNKeys.LABELS_KEY, None)
            inputs = prepare_inputs_for_rnn(batch.sequences, batch.context, sequence_columns, num_unroll)
            with tf.name_scope("rnn"):
                outputs, state = static_state_saving_rnn(cell, inputs, batch, _state_names(cell), scope="rnn")
                logits = fully_connected(tf.stack(outputs, axis=1), head.logits_dimension, activation_fn=None)
                if len({tuple(part.shape.as_list()) for part in nest.flatten(state)}) == 1:
                    state = tf.identity(state, name="final_state")  # as TensorFlow, which has no name for the parts of different shapes

            def train_op_fn(loss: Any) -> Any:
                return optimize_loss(loss, None, learning_rate, optimizer, clip_gradients=gradient_clipping_norm, summaries=OPTIMIZER_SUMMARIES)
            return model_ops(head, PredictionType.MULTIPLE_VALUE, predict_probabilities, batch.length, logits, state, segment_labels, mode,
                             train_op_fn)
    return model_fn


def prepare_features_for_sqss(features: dict[str, Any], labels: Any, mode: str, sequence_feature_columns: Any,
                              context_feature_columns: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """(the features of the columns of sequences, and the labels; the features of the columns of context)."""
    check_sequence_columns(sequence_feature_columns)
    names = [each.name for column in sequence_feature_columns for each in parent_columns(column) or [column]]
    sequences = {name: _feature(features, name, "sequence") for name in names}
    context = {column.name: _feature(features, column.name, "context") for column in context_feature_columns or ()}
    return (sequences if mode == ModeKeys.INFER else {**sequences, RNNKeys.LABELS_KEY: labels}), context


def _feature(features: dict[str, Any], name: str, kind: str) -> Any:
    if name not in features:
        raise ValueError(f"No key in features for {kind} feature: {name}. There are {sorted(map(str, features))}.")
    return features[name]


def prepare_inputs_for_rnn(sequence_features: dict[str, Any], context_features: dict[str, Any] | None, sequence_feature_columns: Any,
                           num_unroll: int) -> list[Any]:
    """The inputs of each step, [batch, numbers]; what belongs to whole sequences stands beside those of each."""
    for feature in sequence_features.values():
        if isinstance(feature, tf.SparseTensor):
            feature.dense_shape.set_shape([3])
    inputs = sequence_input_from_feature_columns(sequence_features, sequence_feature_columns)
    inputs.set_shape([None, num_unroll, None])
    if context_features:
        context = [tf.squeeze(tf.tile(tf.expand_dims(context_features[name], 1), [1, num_unroll, 1]), axis=[2]) for name in sorted(context_features)]
        inputs = tf.concat([inputs, tf.stack(context, 2)], axis=2)
    return tf.unstack(inputs, axis=1)


def _state_names(cell: RNNCell) -> Any:
    """A name for each part of the state, in its structure."""
    size, prefix = cell.state_size, RNNKeys.STATE_PREFIX
    if isinstance(size, tf.TensorShape):
        raise TypeError("cell.state_size of type TensorShape is not supported.")
    if isinstance(size, int):
        return f"{prefix}_0"
    if isinstance(size, LSTMStateTuple):
        return [f"{prefix}_0_c", f"{prefix}_0_h"]
    if isinstance(size[0], LSTMStateTuple):
        return [[f"{prefix}_{number}_c", f"{prefix}_{number}_h"] for number in range(len(size))]
    return [f"{prefix}_{number}" for number in range(len(size))]


def _initial_states(cell: RNNCell) -> dict[str, Any]:
    zeros = nest.flatten(cell.zero_state(1, tf.float32))
    return {name: tf.squeeze(state, axis=[0]) for name, state in zip(nest.flatten(_state_names(cell)), zeros, strict=True)}
