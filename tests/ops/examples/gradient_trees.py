"""Examples of gradient boosted trees: an ensemble of a tree with a split of each kind."""
import numpy as np

from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import constant, identity
from penstock.state.gradient_trees.protos import EnsembleProto, LearnerConfig
from support.examples import example

_numbers = iter(range(10**6))
HANDLE = "DecisionTreeEnsembleResourceHandleOp"


def _trees():
    """A finished tree, and one that grows."""
    proto = EnsembleProto(tree_weights=[0.5, 1.0])
    nodes = proto.trees.add().nodes
    rule = nodes.add().dense_float_binary_split
    rule.threshold, rule.left_id, rule.right_id = 0.5, 1, 2
    rule = nodes.add().sparse_float_binary_split_default_right.split
    rule.threshold, rule.left_id, rule.right_id = 1.5, 3, 4
    rule = nodes.add().categorical_id_binary_split
    rule.feature_id, rule.left_id, rule.right_id = 7, 5, 6
    for value in (1.0, 2.0, 3.0, 4.0):
        nodes.add().leaf.vector.value.append(value)
    proto.trees.add().nodes.add().leaf.vector.value.append(0.25)
    proto.tree_metadata.add(num_layers_grown=2, is_finalized=True)
    proto.tree_metadata.add(num_layers_grown=1)
    return proto.SerializeToString()


CONFIG = LearnerConfig(num_classes=2, multi_class_strategy=1, growing_mode=2, pruning_mode=2)
CONFIG.learning_rate_tuner.fixed.learning_rate = 0.5
CONFIG.constraints.max_tree_depth = 2
CONFIG = CONFIG.SerializeToString()
SPARSE = np.array([[0, 0], [2, 0]], np.int64)
FEATURES = ([np.array([[0.1], [0.9], [0.3]], np.float32)], [SPARSE], [np.array([1, 2], np.float32)], [np.array([3, 1], np.int64)],
            [SPARSE], [np.array([7, 3], np.int64)], [np.array([3, 1], np.int64)])
STAMP, PROTO = np.array(1, np.int64), np.array(_trees(), object)


def ensemble():
    handle = REGISTRY[HANDLE](shared_name=f"gradient_trees{next(_numbers)}")
    with control_dependencies([REGISTRY["CreateTreeEnsembleVariable"](handle, constant(1, "int64"), constant(_trees()))]):
        return identity(handle)


def empty():
    return REGISTRY[HANDLE](shared_name=f"no_trees{next(_numbers)}")


example(HANDLE)
example("TreeEnsembleIsInitializedOp", empty)
example("CreateTreeEnsembleVariable", empty, STAMP, PROTO)
example("TreeEnsembleDeserialize", ensemble, STAMP, PROTO)
example("TreeEnsembleSerialize", ensemble)
example("TreeEnsembleStampToken", ensemble)
example("TreeEnsembleStats", ensemble, STAMP)
example("GradientTreesPrediction", ensemble, np.array(0, np.int64), *FEATURES, learner_config=CONFIG, apply_dropout=False, apply_averaging=False,
        center_bias=False, reduce_dim=True, dynamic=True)
example("GradientTreesPartitionExamples", ensemble, *FEATURES)
ONES = np.ones(3, np.float32)
example("_LearnGradientTrees", ensemble, STAMP, *FEATURES, np.zeros(3, np.int32), ONES, ONES, ONES, np.zeros((2, 1), np.float32),
        np.array(-1, np.int32), np.ones((3, 2), bool), np.array(2, np.int64), learner_config=CONFIG, center_bias=False)
example("_SerializeGradientTreeLayer", ensemble)
example("_RestoreGradientTreeLayer", ensemble, np.array(b"", object))
