"""Post-pruning of a finished tree: splits without gain whose children are leaves become leaves again, from the bottom up.

Nodes get new numbers then. What the ensemble remembers of the old ones (``post_pruned_nodes_meta``) tells examples that stood at a node where they
stand now, and by how much their logits change.
"""
from __future__ import annotations

from typing import Any

import numpy as np


def prune(tree: Any, metadata: Any) -> None:
    """Prunes a tree in place."""
    nodes = tree.nodes
    parents: dict[int, tuple[int, np.float32]] = {}  # of each node that goes: its parent, and how the logit changes on the way there
    _mark(nodes, 0, parents)
    if not parents:
        return
    stays = [index for index in range(len(nodes)) if index not in parents]
    new_ids = {old: new for new, old in enumerate(stays)}
    for index in range(len(nodes)):
        change = np.float32(0)
        while index in parents:
            index, step = parents[index]
            change += step
        metadata.post_pruned_nodes_meta.add(new_node_id=new_ids[index], logit_change=[float(change)])
    for index in stays:
        if nodes[index].HasField("bucketized_split"):
            rule = nodes[index].bucketized_split
            rule.left_id, rule.right_id = new_ids[rule.left_id], new_ids[rule.right_id]
    kept = [type(nodes[index]).FromString(nodes[index].SerializeToString()) for index in stays]
    del nodes[:]
    nodes.extend(kept)


def _mark(nodes: Any, node_id: int, parents: dict[int, tuple[int, np.float32]]) -> None:
    """Collects the nodes below this one that go."""
    node = nodes[node_id]
    if node.HasField("leaf"):
        return
    children = node.bucketized_split.left_id, node.bucketized_split.right_id
    for child in children:
        _mark(nodes, child, parents)
    if node.metadata.gain < 0 and all(nodes[child].HasField("leaf") for child in children):
        value = node.metadata.original_leaf.scalar
        node.leaf.scalar = value
        node.ClearField("metadata")
        for child in children:
            parents[child] = node_id, np.float32(value) - np.float32(nodes[child].leaf.scalar)
