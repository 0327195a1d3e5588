"""GatherTree: the sequences of a beam search, read backwards along the parents of their steps."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.opdef import op


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


def gather_tree(step_ids, parent_ids, max_sequence_lengths, end_token, name=None):
    """``tf.contrib.seq2seq.gather_tree``."""
    return GatherTree(step_ids, parent_ids, max_sequence_lengths, end_token, name=name)
