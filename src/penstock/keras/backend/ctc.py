"""Connectionist temporal classification: functions of ``tf.keras.backend``."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import SparseTensor
from penstock.layers import settings
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.gather import gather_nd
from penstock.ops.array.permute import transpose
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, shape, squeeze
from penstock.ops.math.powers import log
from penstock.ops.nn import ctc
from penstock.ops.sparse.sparse_functions import sparse_tensor_to_dense


def ctc_label_dense_to_sparse(labels: Any, label_lengths: Any) -> SparseTensor:
    """``tf.keras.backend.ctc_label_dense_to_sparse``: the first labels of each row, as a SparseTensor."""
    extents = shape(labels)
    places = where(sequence_mask(cast(label_lengths, dtypes.int32), extents[1]))
    return SparseTensor(cast(places, dtypes.int64), gather_nd(labels, places), cast(extents, dtypes.int64))


def _by_time(y_pred: Any) -> Any:
    """The logarithms of probabilities, with the time axis first."""
    return log(transpose(y_pred, perm=[1, 0, 2]) + settings.epsilon())


def ctc_batch_cost(y_true: Any, y_pred: Any, input_length: Any, label_length: Any) -> Any:
    """``tf.keras.backend.ctc_batch_cost``: the loss of each sample."""
    labels = cast(ctc_label_dense_to_sparse(y_true, cast(squeeze(label_length, axis=-1), dtypes.int32)), dtypes.int32)
    lengths = cast(squeeze(input_length, axis=-1), dtypes.int32)
    return expand_dims(ctc.ctc_loss(inputs=_by_time(y_pred), labels=labels, sequence_length=lengths), 1)


def ctc_decode(y_pred: Any, input_length: Any, greedy: bool = True, beam_width: int = 100, top_paths: int = 1) -> tuple[list[Any], Any]:
    """``tf.keras.backend.ctc_decode``: (decoded sequences, filled up with -1; their log probabilities)."""
    inputs, lengths = _by_time(y_pred), cast(input_length, dtypes.int32)
    if greedy:
        decoded, probabilities = ctc.ctc_greedy_decoder(inputs, lengths)
    else:
        decoded, probabilities = ctc.ctc_beam_search_decoder(inputs, lengths, beam_width=beam_width, top_paths=top_paths)
    return [sparse_tensor_to_dense(each, default_value=-1) for each in decoded], probabilities
