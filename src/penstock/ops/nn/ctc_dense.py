"""CTC with dense labels: rows of labels that are padded, and their lengths. The loss itself is that of ``ctc.py``."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.array import sequence_mask
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.gather import boolean_mask, gather_nd
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.pad import pad
from penstock.ops.array.scatter_nd import scatter_nd
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import shape, size
from penstock.ops.array.unique import unique
from penstock.ops.flow.functional_loops import map_fn
from penstock.ops.math.compare import logical_and, not_equal
from penstock.ops.math.reduce import reduce_max, reduce_sum
from penstock.ops.nn.ctc import ctc_beam_search_decoder, ctc_loss


def ctc_loss_v2(labels: Any, logits: Any, label_length: Any, logit_length: Any, logits_time_major: bool = True, unique: Any = None,
                blank_index: int | None = None, name: str | None = None) -> Tensor:
    """``tf.nn.ctc_loss_v2``: the loss of each example. Labels are sparse, or rows whose lengths are ``label_length``.

    The blank is class ``blank_index``: for dense labels 0 unless it is given. ``unique``, from ``ctc_unique_labels``, is not needed here.
    """
    is_sparse = isinstance(labels, SparseTensor)
    if is_sparse and blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    with name_scope(name, "ctc_loss_v2" if is_sparse else "ctc_loss_dense", [logits, label_length, logit_length]):
        logits = to_tensor(logits, name="logits")
        classes = logits.shape.extent(2)
        classes = shape(logits)[2] if classes is None else classes
        blank = 0 if blank_index is None else blank_index
        blank = classes + blank if blank < 0 else blank
        sparse = labels if is_sparse else _as_sparse(to_tensor(labels, name="labels"), to_tensor(label_length, name="label_length"))
        values = cast(sparse.values, dt.int32)
        values = where(values < blank, values, values - 1)
        logits = concat([logits[:, :, :blank], logits[:, :, blank + 1:], logits[:, :, blank:blank + 1]], axis=2)
        return ctc_loss(SparseTensor(sparse.indices, values, sparse.dense_shape), logits, cast(logit_length, dt.int32), time_major=logits_time_major)


def _as_sparse(labels: Tensor, lengths: Tensor) -> SparseTensor:
    indices = cast(where(sequence_mask(lengths, maxlen=shape(labels)[1])), dt.int64)
    return SparseTensor(indices, gather_nd(labels, indices), shape(labels, out_type=dt.int64))


def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """``tf.nn.collapse_repeated``: rows of labels in which equal neighbours are one, and their lengths."""
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels, seq_length = to_tensor(labels, name="labels"), to_tensor(seq_length, name="seq_length")
        first = concat([ones_like(labels[:, :1], dt.bool_), not_equal(labels[:, 1:], labels[:, :-1])], axis=1)
        kept = logical_and(first, sequence_mask(seq_length, maxlen=shape(labels)[1]))
        lengths = reduce_sum(cast(kept, dt.int32), axis=1)
        longest = reduce_max(lengths)
        places = where(sequence_mask(lengths, maxlen=longest))
        collapsed = scatter_nd(cast(places, dt.int32), boolean_mask(labels, kept), stack([shape(labels)[0], longest]))
        return collapsed, cast(lengths, seq_length.dtype)


def ctc_unique_labels(labels: Any, name: str | None = None) -> list[Tensor]:
    """``tf.nn.ctc_unique_labels``: for each row its distinct labels, padded with 0, and which of them each label is."""
    with name_scope(name, "ctc_unique_labels", [labels]):
        def row(x: Tensor) -> list[Tensor]:
            distinct, places = unique(x)
            return [cast(pad(distinct, [[0, size(places) - size(distinct)]]), dt.int64), places]

        return map_fn(row, to_tensor(labels, name="labels"), dtype=[dt.int64, dt.int32])


def ctc_beam_search_decoder_v2(inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1) -> tuple[list[SparseTensor], Tensor]:
    """``tf.nn.ctc_beam_search_decoder_v2``: `ctc_beam_search_decoder` that keeps repeated labels of a path."""
    return ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths, merge_repeated=False)
