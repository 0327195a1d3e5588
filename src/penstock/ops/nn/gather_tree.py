"""GatherTree: the sequences of a beam search, read backwards along the parents of their steps."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.opdef import op
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.constant import identity
from penstock.ops.linalg.diag import matrix_diag_part


@op("GatherTree", "step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T -> beams: T", T=frozenset([dt.int32]))
class GatherTree:
    """[time, batch, beam]: for each beam of the last step the ids on the way to it, and ``end_token`` behind its first end."""

    ranks = {"step_ids": 3, "parent_ids": 3, "max_sequence_lengths": 1, "end_token": 0}

    def shape(step_ids, parent_ids):
        return step_ids.shape.merge_with(parent_ids.shape)

    def kernel(step_ids, parent_ids, max_sequence_lengths, end_token):
        time, batch, width = step_ids.shape
        if parent_ids.shape != step_ids.shape or max_sequence_lengths.shape != (batch,):
            raise invalid_argument(f"step_ids {step_ids.shape}, parent_ids {parent_ids.shape} and max_sequence_lengths "
                                   f"{max_sequence_lengths.shape} do not fit together")
        lengths = np.minimum(max_sequence_lengths, time)[:, np.newaxis]
        beams = np.full_like(step_ids, end_token)
        rows, parent = np.arange(batch)[:, np.newaxis], np.tile(np.arange(width), (batch, 1))
        for level in range(time - 1, -1, -1):
            running = np.broadcast_to(level < lengths, parent.shape)
            if (running & ((parent < 0) | (parent >= width))).any():
                raise invalid_argument(f"Saw invalid parent id at level {level}: parent ids must be in [0, {width})")
            safe = np.where(running, parent, 0)
            beams[level] = np.where(running, step_ids[level][rows, safe], end_token)
            parent = np.where(running, parent_ids[level][rows, safe], parent)
        ended = np.cumsum(beams == end_token, axis=0) > 0
        return np.where(ended, end_token, beams)

    gradient = None


def gather_tree(step_ids, parent_ids, max_sequence_lengths=None, end_token=None, name=None, sequence_length=None):
    """``tf.contrib.seq2seq.gather_tree``. Without ``end_token``, as up to TensorFlow 1.4: each beam has a length of its own, and -1 follows it."""
    if max_sequence_lengths is None:
        max_sequence_lengths = sequence_length
    if max_sequence_lengths is None:
        raise TypeError("gather_tree: max_sequence_lengths is missing.")
    if end_token is None:
        return _beams_of_own_lengths(to_tensor(step_ids), to_tensor(parent_ids), to_tensor(max_sequence_lengths), name)
    return GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)


def _beams_of_own_lengths(step_ids, parent_ids, lengths, name):
    """Each beam is read in a tree of its own, [time, batch * beam, beam], which ends with it."""
    time, batch, width = (shape(step_ids)[axis] for axis in range(3))
    trees = [reshape(tile(expand_dims(ids, 2), [1, 1, width, 1]), [time, batch * width, width]) for ids in (step_ids, parent_ids)]
    every = reshape(GatherTree(*trees, reshape(lengths, [-1]), -1), [time, batch, width, width])
    return identity(matrix_diag_part(every), name=name)
