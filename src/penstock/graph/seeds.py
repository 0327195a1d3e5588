"""Seeds of random operations: how the graph's seed and an op's seed become the two seed attributes of a node.

The rules are TensorFlow's, so that the same program draws the same numbers: with both seeds, both count; with the graph's alone, the number
of operations made so far stands for the op's; with the op's alone, a fixed number stands for the graph's; with none, the op is unpredictable.
"""
from __future__ import annotations

from penstock.graph.graph import default_graph

DEFAULT_GRAPH_SEED = 87654321
_LIMIT = 2**31 - 1


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """``tf.get_seed``: the pair of seed attributes for an op that was given ``op_seed``; (None, None) for an unseeded one.

    >>> get_seed(7)
    (87654321, 7)
    """
    graph = default_graph()
    if graph.seed is None:
        if op_seed is None:
            return None, None
        seeds = DEFAULT_GRAPH_SEED, op_seed % _LIMIT
    else:
        seeds = graph.seed % _LIMIT, (graph.next_op_seed() if op_seed is None else op_seed) % _LIMIT
    # Two zeros in a node mean "unseeded", which is not what was asked for here.
    return seeds if seeds != (0, 0) else (0, _LIMIT)


def set_random_seed(seed: int | None) -> None:
    """``tf.set_random_seed``: the graph-level seed of the default graph."""
    default_graph().seed = seed
