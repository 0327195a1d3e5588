"""How an ensemble grows: a layer of splits, the bias before the first tree, pruning. Functions of the protocol buffers."""
from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.state.gradient_trees.dropout import dropped_trees, reweighted
from penstock.state.gradient_trees.examples import rule_of
from penstock.state.gradient_trees.handlers import Candidate
from penstock.state.gradient_trees.protos import LearnerConfig, TreeProto

_CENTERED = 0.01  # a bias that moves by less than this is centered


def count_attempt(ensemble: Any) -> None:
    """Another layer is tried; another tree too, if the last one is finished."""
    growing = ensemble.growing_metadata
    growing.num_layers_attempted += 1
    if not ensemble.trees or ensemble.tree_metadata[-1].is_finalized:
        growing.num_trees_attempted += 1


def learning_rate(config: Any) -> float:
    """The rate that the configuration asks for."""
    tuner = config.learning_rate_tuner.WhichOneof("tuner")
    return float(getattr(config.learning_rate_tuner, tuner).learning_rate)


def center_bias(ensemble: Any, deltas: np.ndarray) -> bool:
    """Moves the bias, which is the first tree; False when it hardly moved, and the next tree can begin."""
    if not ensemble.trees:
        count_attempt(ensemble)
        _add_tree(ensemble, 1.0).nodes[0].leaf.vector.value.extend([0.0] * len(deltas))
    values = ensemble.trees[0].nodes[0].leaf.vector.value
    for place, delta in enumerate(deltas.tolist()):
        values[place] += delta
    goes_on = float(np.abs(deltas.astype(np.float32)).sum()) > _CENTERED
    ensemble.tree_metadata[0].is_finalized = not goes_on
    return goes_on


def _add_tree(ensemble: Any, weight: float) -> Any:
    ensemble.tree_weights.append(weight)
    ensemble.tree_metadata.add(num_layers_grown=1)
    tree = ensemble.trees.add()
    tree.nodes.add().leaf.SetInParent()
    return tree


def grow(ensemble: Any, config: Any, candidates: Iterable[tuple[int, Candidate]], rolls: Iterator[float], has_bias: bool) -> None:
    """Adds a layer: the best split of each leaf among the candidates, which come with the number of their handler."""
    count_attempt(ensemble)
    best = _best_splits(candidates, config)
    if not best:
        return
    tree = _growing_tree(ensemble, config)
    if ensemble.tree_metadata[-1].is_finalized and config.learning_rate_tuner.WhichOneof("tuner") == "dropout":
        _share_weights(ensemble, config, rolls, has_bias)
    for leaf, (handler, split) in sorted(best.items()):
        _split(tree, leaf, split, config)
        if handler not in ensemble.growing_metadata.used_handler_ids:
            ensemble.growing_metadata.used_handler_ids[:] = sorted([*ensemble.growing_metadata.used_handler_ids, handler])
    if config.pruning_mode == LearnerConfig.POST_PRUNE and ensemble.tree_metadata[-1].is_finalized:
        _prune(tree)
        if len(tree.nodes) == 1 and tree.nodes[0].node_metadata.gain <= 0:
            for parts in (ensemble.trees, ensemble.tree_weights, ensemble.tree_metadata):
                del parts[-1]


def _best_splits(candidates: Iterable[tuple[int, Candidate]], config: Any) -> dict[int, tuple[int, Candidate]]:
    """Of equal ones the simpler kind of split wins, then the handler with the higher number."""
    best: dict[int, tuple[int, Candidate]] = {}
    for handler, candidate in candidates:
        if config.pruning_mode == LearnerConfig.PRE_PRUNE and candidate.gain < 0:
            continue
        if any(leaf.WhichOneof("leaf") is None for leaf in (candidate.left, candidate.right)):
            continue  # all examples of the leaf would go one way
        held = best.get(candidate.leaf)
        if held is None or _rank(handler, candidate) > _rank(*held):
            best[candidate.leaf] = handler, candidate
    return best


def _rank(handler: int, candidate: Candidate) -> tuple[float, int, int]:
    kind = candidate.node.DESCRIPTOR.fields_by_name[candidate.node.WhichOneof("node")].number
    return float(candidate.gain), -kind, handler


def _growing_tree(ensemble: Any, config: Any) -> Any:
    """The last tree, with a layer more, or a new one."""
    depth = config.constraints.max_tree_depth
    if ensemble.trees and not ensemble.tree_metadata[-1].is_finalized:
        metadata = ensemble.tree_metadata[-1]
        metadata.num_layers_grown += 1
        metadata.is_finalized = metadata.num_layers_grown >= depth
        return ensemble.trees[-1]
    tree = _add_tree(ensemble, learning_rate(config))
    ensemble.tree_metadata[-1].is_finalized = depth <= 1
    ensemble.tree_metadata[-1].num_tree_weight_updates = 1
    return tree


def _share_weights(ensemble: Any, config: Any, rolls: Iterator[float], has_bias: bool) -> None:
    current = len(ensemble.trees) - 1
    dropped = dropped_trees(rolls, config.learning_rate_tuner.dropout, ensemble.tree_weights, {current, *([0] if has_bias else [])})
    for tree, weight in reweighted(ensemble.tree_weights, dropped, current).items() if dropped else ():
        ensemble.tree_weights[tree] = weight
        ensemble.tree_metadata[tree].num_tree_weight_updates += 1


def _split(tree: Any, leaf_id: int, split: Candidate, config: Any) -> None:
    """A leaf becomes a node with two leaves. Layer by layer, a leaf adds to what its parent was."""
    before = tree.nodes[leaf_id].leaf
    rule = rule_of(split.node)
    rule.left_id, rule.right_id = len(tree.nodes), len(tree.nodes) + 1
    for leaf in (split.left, split.right):
        if config.growing_mode != LearnerConfig.WHOLE_TREE:
            _add_leaf(before, leaf)
        tree.nodes.add().leaf.CopyFrom(leaf)
    split.node.node_metadata.gain = float(split.gain)
    if config.pruning_mode == LearnerConfig.POST_PRUNE:
        split.node.node_metadata.original_leaf.CopyFrom(tree.nodes[leaf_id].leaf)
    tree.nodes[leaf_id].CopyFrom(split.node)


def _add_leaf(source: Any, target: Any) -> None:
    """Adds the values of a leaf to those of another."""
    kind = source.WhichOneof("leaf")
    if kind is not None:
        theirs, ours = getattr(source, kind), getattr(target, kind)
        for place, value in enumerate(theirs.value):
            ours.value[place] = float(np.float32(ours.value[place]) + np.float32(value))


def _prune(tree: Any) -> None:
    """Splits that lose, and whose children are leaves, become leaves again, from the bottom up; nodes are numbered anew."""
    _prune_below(tree, 0)
    pruned, places = TreeProto(), [0]
    pruned.nodes.add().CopyFrom(tree.nodes[0])
    for new, old in enumerate(places):  # it grows
        if tree.nodes[old].WhichOneof("node") != "leaf":
            rule, rewritten = rule_of(tree.nodes[old]), rule_of(pruned.nodes[new])
            for side in ("left_id", "right_id"):
                places.append(getattr(rule, side))
                setattr(rewritten, side, len(pruned.nodes))
                pruned.nodes.add().CopyFrom(tree.nodes[places[-1]])
    tree.CopyFrom(pruned)


def _prune_below(tree: Any, node_id: int) -> None:
    node = tree.nodes[node_id]
    if node.WhichOneof("node") == "leaf":
        return
    rule = rule_of(node)
    children = rule.left_id, rule.right_id
    for child in children:
        _prune_below(tree, child)
    if node.node_metadata.gain < 0 and all(tree.nodes[child].WhichOneof("node") == "leaf" for child in children):
        leaf = type(node.node_metadata.original_leaf)()
        leaf.CopyFrom(node.node_metadata.original_leaf)
        node.Clear()
        node.leaf.CopyFrom(leaf)
        node.leaf.SetInParent()
    else:
        node.node_metadata.ClearField("original_leaf")
