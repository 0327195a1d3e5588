"""Shape functions reject the ranks that TensorFlow's reject: what is wrong is said while the graph is built.

The reference is ``data/ranks.json.gz``: per op and argument the ranks that TensorFlow 1.15 accepts, when nothing is known of the other arguments.
It is recorded by ``support/rank_probe.py``, from the example table.
"""
from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import penstock as tf
from penstock.graph.opdef import REGISTRY
from support import rank_probe

DATA = Path(__file__).parent / "data" / "ranks.json.gz"

# Where TensorFlow's own rule is not one to follow, with the reason.
OTHERWISE = {
    "EmptyTensorList": "-1 stands for elements of any rank, as in later TensorFlow; second gradients of loops need it",
    "GatherV2": "a scalar has no axis to gather along; TensorFlow says so when it runs, if indices are unknown",
    "Substr": "TensorFlow accepts no rank at all as long as the rank of the other arguments is unknown",
    "QueueClose": "references to queues are scalars here, two strings in TensorFlow",
    "QueueSize": "references to queues are scalars here, two strings in TensorFlow",
}


def _cases():
    with gzip.open(DATA, "rt") as file:
        accepted = json.load(file)
    nodes = [(op_type, node, types) for op_type, node, types in rank_probe.example_nodes() if op_type in accepted]
    return [pytest.param(node, types, accepted[op_type], id=op_type) for op_type, node, types in nodes if op_type not in OTHERWISE]


@pytest.mark.parametrize("node, types, accepted", _cases())
def test_ranks_that_tensorflow_rejects_are_rejected(node, types, accepted):
    names = [arg.name for arg in REGISTRY[node.op].inputs]
    for argument, ranks in enumerate(accepted):
        for rank in set(rank_probe.RANKS) - set(ranks):
            assert not rank_probe.accepts(tf, tf.GraphDef(versions={"producer": 134}), node, types, argument, rank), \
                f"{names[argument]} may not have rank {rank}: TensorFlow accepts {ranks}"
