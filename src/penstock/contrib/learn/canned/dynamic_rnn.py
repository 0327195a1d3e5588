"""``DynamicRnnEstimator``: a recurrent network on columns of sequences, with a prediction for each sequence or for each of its steps."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.layers.columns.building import input_from_feature_columns, sequence_input_from_feature_columns, transform_features
from penstock.contrib.layers.connected import fully_connected
from penstock.contrib.layers.optimizers import OPTIMIZER_SUMMARIES, optimize_loss
from penstock.contrib.learn.estimator import Estimator
from penstock.contrib.learn.heads.base import SingleHead
from penstock.contrib.learn.heads.classes import multi_class_head
from penstock.contrib.learn.heads.regression import regression_head
from penstock.contrib.learn.keys import ModeKeys, PredictionKey, ProblemType
from penstock.contrib.learn.model_fn import ModelFnOps
from penstock.contrib.learn.target_columns import TargetColumn
from penstock.graph import nest
from penstock.layers.metrics.means import accuracy
from penstock.rnn.basic_cells import BasicRNNCell, GRUCell
from penstock.rnn.cell import RNNCell
from penstock.rnn.dynamic import dynamic_rnn
from penstock.rnn.lstm import LSTMCell
from penstock.rnn.multi import MultiRNNCell
from penstock.rnn.wrappers import DropoutWrapper
from penstock.train.rules import MomentumOptimizer

ModelFn = Callable[[Any, Any, str], ModelFnOps]
_CELLS = {"basic_rnn": BasicRNNCell, "lstm": LSTMCell, "gru": GRUCell}


class PredictionType:
    """Whether a sequence has one prediction, or one for each of its steps."""

    SINGLE_VALUE = 1
    MULTIPLE_VALUE = 2


class RNNKeys:
    """Keys of features and predictions: the lengths of sequences, and the parts of the state of the cells."""

    FINAL_STATE_KEY = "final_state"
    LABELS_KEY = "__labels__"
    SEQUENCE_LENGTH_KEY = "sequence_length"
    STATE_PREFIX = "rnn_cell_state"


class DynamicRnnEstimator(Estimator):
    """``tf.contrib.learn.DynamicRnnEstimator``: classes or numbers of sequences.

    The feature "sequence_length" says how long they are; without it all are of full length. Features "rnn_cell_state_0", ... are the state that the
    network begins with, and predictions of these names the state at its end.
    """

    def __init__(self, problem_type: int, prediction_type: int, sequence_feature_columns: Any, context_feature_columns: Any = None,
                 num_classes: int | None = None, num_units: Any = None, cell_type: Any = "basic_rnn", optimizer: Any = "SGD",
                 learning_rate: float = 0.1, predict_probabilities: bool = False, momentum: float | None = None,
                 gradient_clipping_norm: float | None = 5.0, dropout_keep_probabilities: Sequence[float] | None = None,
                 model_dir: str | None = None, feature_engineering_fn: Any = None, config: Any = None) -> None:
        if prediction_type not in (PredictionType.SINGLE_VALUE, PredictionType.MULTIPLE_VALUE):
            raise ValueError("prediction_type must be one of PredictionType.MULTIPLE_VALUE or PredictionType.SINGLE_VALUE; got "
                             f"{prediction_type}")
        head = head_for(problem_type, num_classes, predict_probabilities)
        if optimizer == "Momentum":
            optimizer = MomentumOptimizer(learning_rate, momentum)

        name = (f"{'SingleValue' if prediction_type == PredictionType.SINGLE_VALUE else 'MultiValue'}DynamicRNN"
                f"{'Classifier' if problem_type == ProblemType.CLASSIFICATION else 'Regressor'}")
        model_fn = _model_fn(head, cell_type, num_units, prediction_type, optimizer, sequence_feature_columns, context_feature_columns,
                             predict_probabilities, learning_rate, gradient_clipping_norm, dropout_keep_probabilities,
                             RNNKeys.SEQUENCE_LENGTH_KEY, tf.float32, 32, True, name)
        super().__init__(model_fn, model_dir, config, feature_engineering_fn=feature_engineering_fn)


def get_dynamic_rnn_model_fn(cell_type: Any, num_units: Any, target_column: TargetColumn, problem_type: int, prediction_type: int, optimizer: Any,
                             sequence_feature_columns: Any, context_feature_columns: Any = None, predict_probabilities: bool = False,
                             learning_rate: float | None = None, gradient_clipping_norm: float | None = None,
                             dropout_keep_probabilities: Sequence[float] | None = None, sequence_length_key: str = RNNKeys.SEQUENCE_LENGTH_KEY,
                             dtype: Any = tf.float32, parallel_iterations: int | None = None, swap_memory: bool = True,
                             name: str = "DynamicRNNModel") -> ModelFn:
    """The model function of the estimator for a target column, as TensorFlow's own ``_get_dynamic_rnn_model_fn`` makes it."""
    head = head_for(problem_type, max(2, target_column.num_label_columns), predict_probabilities)
    return _model_fn(head, cell_type, num_units, prediction_type, optimizer, sequence_feature_columns, context_feature_columns,
                     predict_probabilities, learning_rate, gradient_clipping_norm, dropout_keep_probabilities, sequence_length_key, dtype,
                     parallel_iterations, swap_memory, name)


def _model_fn(head: SingleHead, cell_type: Any, num_units: Any, prediction_type: int, optimizer: Any, sequence_columns: Any, context_columns: Any,
              predict_probabilities: bool, learning_rate: float | None, gradient_clipping_norm: float | None,
              dropout_keep_probabilities: Sequence[float] | None, sequence_length_key: str, dtype: Any, parallel_iterations: int | None,
              swap_memory: bool, name: str) -> ModelFn:
    def model_fn(features: Any, labels: Any, mode: str) -> ModelFnOps:
        with tf.name_scope(name):
            inputs = build_sequence_input(features, sequence_columns, context_columns)
            cell = construct_rnn_cell(num_units, cell_type, dropout_keep_probabilities if mode == ModeKeys.TRAIN else None)
            logits, final_state = construct_rnn(dict_to_state_tuple(features, cell), inputs, cell, head.logits_dimension, dtype, parallel_iterations,
                                                swap_memory)

            def train_op_fn(loss: Any) -> Any:
                return optimize_loss(loss, None, learning_rate, optimizer, clip_gradients=gradient_clipping_norm, summaries=OPTIMIZER_SUMMARIES)
            return model_ops(head, prediction_type, predict_probabilities, features.get(sequence_length_key), logits, final_state, labels, mode,
                             train_op_fn)
    return model_fn


def head_for(problem_type: int, num_classes: int | None, predict_probabilities: bool) -> SingleHead:
    """The head for a problem: what it predicts, and its loss."""
    if problem_type == ProblemType.CLASSIFICATION:
        if not num_classes:
            raise ValueError("For CLASSIFICATION problem_type, num_classes must be specified.")
        return multi_class_head(num_classes)
    if problem_type != ProblemType.LINEAR_REGRESSION:
        raise ValueError(f"problem_type must be either ProblemType.LINEAR_REGRESSION or ProblemType.CLASSIFICATION; got {problem_type}")
    if predict_probabilities:
        raise ValueError(f"predict_probabilities can only be set to True for problem_type ProblemType.CLASSIFICATION; got {problem_type}.")
    return regression_head()


def construct_rnn_cell(num_units: Any, cell_type: Any = "basic_rnn", dropout_keep_probabilities: Sequence[float] | None = None) -> Any:
    """Cells of a kind, one for each number of units. Dropout has a probability for each input, and one for the last output."""
    sizes = num_units if isinstance(num_units, (list, tuple)) else (num_units,)
    kind = _CELLS.get(cell_type, cell_type) if isinstance(cell_type, str) else cell_type
    if not (isinstance(kind, type) and issubclass(kind, RNNCell)):
        raise ValueError(f"The supported cell types are {list(_CELLS)}; got {cell_type}")
    cells = [kind(num_units=size) for size in sizes]
    if dropout_keep_probabilities:
        cells = apply_dropout(cells, dropout_keep_probabilities)
    return cells[0] if len(cells) == 1 else MultiRNNCell(cells)


def apply_dropout(cells: list[Any], dropout_keep_probabilities: Sequence[float], random_seed: int | None = None) -> list[Any]:
    """The cells with dropout."""
    if len(dropout_keep_probabilities) != len(cells) + 1:
        raise ValueError("The number of dropout probabilities must be one greater than the number of cells. Got "
                         f"{len(cells)} cells and {len(dropout_keep_probabilities)} dropout probabilities.")
    *inputs, last = dropout_keep_probabilities
    outputs = [1.0] * (len(cells) - 1) + [last]
    return [DropoutWrapper(cell, kept, output, seed=random_seed) for cell, kept, output in zip(cells, inputs, outputs)]


def build_sequence_input(features: dict[str, Any], sequence_feature_columns: Any, context_feature_columns: Any) -> Any:
    """The inputs of the network, [batch, time, numbers]: what belongs to whole sequences stands beside each of their steps."""
    made = {**features, **transform_features(features, [*sequence_feature_columns, *(context_feature_columns or [])])}
    inputs = sequence_input_from_feature_columns(made, sequence_feature_columns)
    if context_feature_columns is None:
        return inputs
    context = tf.expand_dims(input_from_feature_columns(made, context_feature_columns), 1)
    return tf.concat([inputs, tf.tile(context, [1, tf.shape(inputs)[1], 1])], 2)


def construct_rnn(initial_state: Any, sequence_input: Any, cell: Any, num_label_columns: int, dtype: Any = tf.float32,
                  parallel_iterations: int | None = 32, swap_memory: bool = True) -> tuple[Any, Any]:
    """(logits [batch, time, label columns], the last state)."""
    with tf.name_scope("RNN"):
        outputs, state = dynamic_rnn(cell, sequence_input, initial_state=initial_state, dtype=dtype, parallel_iterations=parallel_iterations,
                                     swap_memory=swap_memory)
        return fully_connected(outputs, num_label_columns, activation_fn=None), state


def dict_to_state_tuple(input_dict: dict[str, Any], cell: Any) -> Any:
    """The state among the features; None if there is none."""
    sizes = nest.flatten(cell.state_size)
    given = [tf.convert_to_tensor(input_dict[name]) for name in map(get_state_name, range(len(sizes))) if name in input_dict]
    if not given:
        return None
    if len(given) != len(sizes):
        raise ValueError(f"RNN state was partially specified. Expected zero or {len(sizes)} state Tensors; got {len(given)}")
    for number, (state, size) in enumerate(zip(given, sizes)):
        if not state.shape.is_compatible_with([None, size]):
            raise ValueError(f"The feature {get_state_name(number)!r} must have the shape [batch, {size}], not {state.shape}.")
    return nest.pack_sequence_as(cell.zero_state(1, tf.float32), given)


def state_tuple_to_dict(state: Any) -> dict[str, Any]:
    """{name: part of the state}."""
    with tf.name_scope("state_tuple_to_dict"):
        return {get_state_name(number): tf.identity(part) for number, part in enumerate(nest.flatten(state))}


def get_state_name(number: int) -> str:
    """The feature and the prediction that is a part of the state."""
    return f"{RNNKeys.STATE_PREFIX}_{number}"


def model_ops(head: SingleHead, prediction_type: int, predict_probabilities: bool, lengths: Any, logits: Any, final_state: Any, labels: Any,
               mode: str, train_op_fn: Callable[[Any], Any]) -> ModelFnOps:
    is_single = prediction_type == PredictionType.SINGLE_VALUE
    wanted = [PredictionKey.SCORES] if head.problem_type == ProblemType.LINEAR_REGRESSION else [PredictionKey.CLASSES]
    wanted += [PredictionKey.PROBABILITIES] if predict_probabilities else []
    flat = select_last_activations(logits, lengths) if is_single else tf.reshape(logits, [-1, head.logits_dimension])
    predictions = {key: value for key, value in head.predictions(flat).items() if key in wanted}
    if not is_single:
        predictions = {key: tf.reshape(value, tf.concat([tf.shape(logits)[:2], tf.shape(value)[1:]], 0)) for key, value in predictions.items()}
    outputs = get_output_alternatives(prediction_type, _problem(head), predictions)
    states = state_tuple_to_dict(final_state)
    if mode == ModeKeys.INFER:
        return ModelFnOps(mode, {**predictions, **states}, output_alternatives=outputs)
    masked, used = (flat, labels) if is_single else mask_activations_and_labels(logits, labels, lengths)
    loss, _ = head.loss(head.used_labels(used), masked, None)
    metrics = None
    if PredictionKey.CLASSES in predictions:
        classes = predictions[PredictionKey.CLASSES]
        metrics = {"accuracy": accuracy(used, classes if is_single else _steps_of_sequences(classes, labels, lengths))}
    return ModelFnOps(mode, {**predictions, **states}, loss, train_op_fn(loss) if mode == ModeKeys.TRAIN else None, metrics, outputs)


def get_output_alternatives(prediction_type: int, problem_type: int, prediction_dict: dict[str, Any]) -> dict[str, Any] | None:
    """What an export serves: the predictions without the state. Predictions for each step are not exported."""
    if prediction_type == PredictionType.MULTIPLE_VALUE:
        return None
    if prediction_type != PredictionType.SINGLE_VALUE:
        raise ValueError(f"Unrecognized prediction_type: {prediction_type}")
    return {"dynamic_rnn_output": (problem_type, {key: value for key, value in prediction_dict.items() if RNNKeys.STATE_PREFIX not in key})}


def _problem(head: SingleHead) -> int:
    return head.problem_type if head.problem_type == ProblemType.LINEAR_REGRESSION else ProblemType.CLASSIFICATION


def select_last_activations(activations: Any, sequence_lengths: Any) -> Any:
    """The activations of the last step of each sequence."""
    with tf.name_scope("select_last_activations"):
        batch, padded, columns = (tf.shape(activations)[axis] if extent is None else extent
                                  for axis, extent in enumerate(activations.shape.as_list()))
        ends = padded if sequence_lengths is None else tf.cast(sequence_lengths, tf.int32)
        last = tf.gather(tf.reshape(activations, [-1, columns]), tf.range(batch) * padded + ends - 1)
        last.set_shape([activations.shape[0], activations.shape[2]])
        return last


def mask_activations_and_labels(activations: Any, labels: Any, sequence_lengths: Any) -> tuple[Any, Any]:
    """The activations and the labels of the steps that belong to a sequence, one after the other."""
    with tf.name_scope("mask_activations_and_labels"):
        return _steps_of_sequences(activations, labels, sequence_lengths), _steps_of_sequences(labels, labels, sequence_lengths)


def _steps_of_sequences(values: Any, labels: Any, lengths: Any) -> Any:
    """Those of the steps that belong to a sequence, one after the other."""
    padded = tf.shape(labels)[1]
    mask = tf.ones(tf.shape(labels)[:2], tf.bool_) if lengths is None else tf.sequence_mask(lengths, padded)
    mask.set_shape([None, None])
    return tf.boolean_mask(values, mask)
