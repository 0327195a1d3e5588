"""Connectionist temporal classification: the loss of a label sequence whose alignment with the input is not known.

A *path* gives one class per time step; its labels are what is left after repeated classes are merged and blanks (the last class) are
dropped. The loss is minus the logarithm of the probability of all paths that give the wanted labels.

Reference: Graves, Fernández, Gomez, Schmidhuber, "Connectionist temporal classification", ICML 2006.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import count, types
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape, unknown_shape
from penstock.ops.array.passing import prevent_gradient
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.nn.ctc_beam import beam_search
from penstock.ops.nn.ctc_lattice import posteriors

_FLOAT = types(dt.float32, dt.float64, default=dt.float32)


def _check_inputs(inputs: np.ndarray, sequence_length: np.ndarray) -> None:
    if inputs.ndim != 3:
        raise invalid_argument("inputs is not a 3-Tensor")
    steps, batch, classes = inputs.shape
    if np.ndim(sequence_length) != 1 or len(sequence_length) != batch:
        raise invalid_argument(f"len(sequence_length) != batch_size.  len(sequence_length): {np.size(sequence_length)} "
                               f"batch_size: {batch}")
    if not classes:
        raise invalid_argument("num_classes cannot be 0")
    for number, length in enumerate(sequence_length):
        if length > steps:
            raise invalid_argument(f"sequence_length({number}) <= {steps}")


def _log_softmax(x: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    shifted = x - x.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def _label_rows(indices: np.ndarray, values: np.ndarray, batch: int, blank: int, collapse: bool) -> list[list[int]]:
    """The labels of each example; a label from ``blank`` on ends them."""
    rows: list[list[int]] = [[] for _ in range(batch)]
    for (example, _), label in zip(indices.tolist(), values.tolist()):
        if not 0 <= example < batch:
            raise invalid_argument(f"labels: an index of batch {example} is not in [0, {batch})")
        rows[example].append(label)
    return [_checked_labels(number, row, blank, collapse) for number, row in enumerate(rows)]


def _checked_labels(number: int, row: list[int], blank: int, collapse: bool) -> list[int]:
    if not row:
        raise invalid_argument(f"Labels length is zero in batch {number}")
    if min(row) < 0:
        raise invalid_argument(f"All labels must be nonnegative integers, batch: {number} labels: {','.join(map(str, row))}")
    end = next((place for place, label in enumerate(row) if label >= blank), len(row))
    if any(label < blank for label in row[end:]):
        raise invalid_argument(f"Saw a non-null label (index >= num_classes - 1) following a null label, batch: {number} "
                               f"num_classes: {blank + 1} labels: {','.join(map(str, row))}")
    row = row[:end]
    return [label for place, label in enumerate(row) if not (collapse and place and row[place - 1] == label)]


@op("CTCLoss", "inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32 -> loss: T, gradient: T",
    preprocess_collapse_repeated=False, ctc_merge_repeated=True, ignore_longer_outputs_than_inputs=False, T=_FLOAT)
class CTCLoss:
    """Minus the log probability of label sequences, and its gradient with respect to the inputs [steps, batch, classes]."""

    def shape(inputs, labels_indices, labels_values, sequence_length):
        full = inputs.shape.with_rank(3)
        labels_indices.shape.with_rank(2).merge_with([labels_values.shape.with_rank(1)[0], 2])
        batch = full[1].merge_with(sequence_length.shape.with_rank(1)[0]).value
        return [TensorShape._of((batch,)), full]

    def kernel(inputs, labels_indices, labels_values, sequence_length, preprocess_collapse_repeated, ctc_merge_repeated,
               ignore_longer_outputs_than_inputs):
        _check_inputs(inputs, sequence_length)
        steps, batch, classes = inputs.shape
        rows = _label_rows(labels_indices, labels_values, batch, classes - 1, preprocess_collapse_repeated)
        skipped = np.array([length == 0 or len(row) > length for row, length in zip(rows, sequence_length)], bool)
        if not ignore_longer_outputs_than_inputs:
            _check_time(rows, sequence_length)
        log_probability = _log_softmax(inputs)
        total, posterior = posteriors(rows, log_probability, sequence_length, ~skipped, ctc_merge_repeated)
        grad = np.exp(log_probability) - posterior
        outside = (np.arange(steps)[:, None] >= sequence_length) | skipped
        grad[outside] = 0.0
        return np.where(skipped, 0.0, -total).astype(inputs.dtype), grad.astype(inputs.dtype)

    def gradient(op, dloss, dgradient):
        once = prevent_gradient(op.outputs[1], message="Currently there is no way to take the second derivative of ctc_loss.")
        return [expand_dims(dloss, -1) * once, None, None, None]


def _check_time(rows: list[list[int]], lengths: np.ndarray) -> None:
    for number, (row, length) in enumerate(zip(rows, lengths)):
        if length and len(row) > length:
            raise invalid_argument(f"Not enough time for target transition sequence (required: {len(row)}, available: {length}){number}"
                                   "You can turn this error into a warning by using the flag ignore_longer_outputs_than_inputs")


def _as_sparse(rows: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sequences as the indices, values and shape of a sparse matrix."""
    indices = [(number, place) for number, row in enumerate(rows) for place in range(len(row))]
    values = [label for row in rows for label in row]
    return (np.array(indices, np.int64).reshape(-1, 2), np.array(values, np.int64),
            np.array([len(rows), max(map(len, rows), default=0)], np.int64))


def _batch_of(inputs: Tensor, sequence_length: Tensor) -> int | None:
    return inputs.shape.with_rank(3)[1].merge_with(sequence_length.shape.with_rank(1)[0]).value


@op("CTCGreedyDecoder", "inputs: T, sequence_length: int32 -> decoded_indices: int64, decoded_values: int64, decoded_shape: int64, "
    "log_probability: T", merge_repeated=False, T=_FLOAT)
class CTCGreedyDecoder:
    """The labels of the single most probable path of each example."""

    gradient = None

    def shape(inputs, sequence_length):
        return [TensorShape._of((None, 2)), unknown_shape(1), [2], [_batch_of(inputs, sequence_length), 1]]

    def kernel(inputs, sequence_length, merge_repeated):
        _check_inputs(inputs, sequence_length)
        best = inputs.argmax(axis=2)
        blank = inputs.shape[2] - 1
        inside = np.arange(len(inputs))[:, None] < sequence_length
        keep = (best != blank) & inside
        if merge_repeated:
            keep[1:] &= best[1:] != best[:-1]
        score = np.where(inside, -inputs.max(axis=2), 0.0).sum(axis=0)
        rows = [best[keep[:, number], number].tolist() for number in range(inputs.shape[1])]
        return *_as_sparse(rows), score[:, None].astype(inputs.dtype)


@op("CTCBeamSearchDecoder", "inputs: T, sequence_length: int32 -> decoded_indices: top_paths * int64, "
    "decoded_values: top_paths * int64, decoded_shape: top_paths * int64, log_probability: T", beam_width=count(1),
    top_paths=count(1), merge_repeated=True, T=_FLOAT)
class CTCBeamSearchDecoder:
    """The most probable label sequences of each example, found by a beam search over prefixes."""

    gradient = None

    def shape(inputs, sequence_length, top_paths):
        indices, values = [TensorShape._of((None, 2))] * top_paths, [unknown_shape(1)] * top_paths
        return [*indices, *values, *[[2]] * top_paths, [_batch_of(inputs, sequence_length), top_paths]]

    def kernel(inputs, sequence_length, beam_width, top_paths, merge_repeated):
        _check_inputs(inputs, sequence_length)
        if top_paths > beam_width:
            raise invalid_argument("requested more paths than the beam width.")
        log_probability = _log_softmax(inputs)
        decoded = [beam_search(log_probability[:length, number], beam_width, top_paths, merge_repeated)
                 for number, length in enumerate(sequence_length)]
        paths = [_as_sparse([rows[path][0] for rows in decoded]) for path in range(top_paths)]
        scores = np.array([[score for _, score in rows] for rows in decoded], inputs.dtype).reshape(-1, top_paths)
        return *(path[0] for path in paths), *(path[1] for path in paths), *(path[2] for path in paths), scores


def ctc_loss(labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
             ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
             logits: Any = None) -> Tensor:
    """``tf.nn.ctc_loss``: the loss of each example; ``inputs`` are logits [steps, batch, classes], the last class the blank."""
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = to_tensor(logits if inputs is None else inputs)
    inputs = inputs if time_major else transpose(inputs, [1, 0, 2])
    loss, _ = CTCLoss(inputs, labels.indices, labels.values, sequence_length,
                      preprocess_collapse_repeated=preprocess_collapse_repeated, ctc_merge_repeated=ctc_merge_repeated,
                      ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs)
    return loss


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """``tf.nn.ctc_greedy_decoder``: ([labels], minus the sum of the largest logits)."""
    *decoded, score = CTCGreedyDecoder(inputs, sequence_length, merge_repeated=merge_repeated)
    return [SparseTensor(*decoded)], score


def ctc_beam_search_decoder(inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1,
                            merge_repeated: bool = True) -> tuple[list[SparseTensor], Tensor]:
    """``tf.nn.ctc_beam_search_decoder``: (the ``top_paths`` best label sequences, their log probabilities)."""
    indices, values, shapes, scores = CTCBeamSearchDecoder(inputs, sequence_length, beam_width=beam_width, top_paths=top_paths,
                                                           merge_repeated=merge_repeated)
    return [SparseTensor(*path) for path in zip(indices, values, shapes)], scores
