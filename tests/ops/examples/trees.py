"""Examples of boosted trees. A handle is a function that makes a resource of its own and fills it."""
import numpy as np

from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import constant, identity
from penstock.state.tree_protos import TreeEnsembleProto
from support.examples import example

_numbers = iter(range(10**6))
BUCKETS = [np.array([0, 2, 1, 2], np.int32), np.array([1, 0, 1, 0], np.int32)]
SUMMARY = np.array([[1, 1, 0, 1], [2, 2, 1, 3], [5, 1, 3, 4]], np.float32)


def _trees():
    """One tree with a split, and a second one that has not grown."""
    proto = TreeEnsembleProto(tree_weights=[1.0, 1.0])
    nodes = proto.trees.add().nodes
    rule = nodes.add().bucketized_split
    rule.threshold, rule.left_id, rule.right_id = 1, 1, 2
    nodes[0].metadata.gain = 0.5
    nodes.add().leaf.scalar, nodes.add().leaf.scalar = 0.25, -0.5
    proto.trees.add().nodes.add().leaf.scalar = 0
    proto.tree_metadata.add(num_layers_grown=1, is_finalized=True)
    proto.tree_metadata.add()
    return proto.SerializeToString()


def ensemble():
    handle = REGISTRY["BoostedTreesEnsembleResourceHandleOp"](shared_name=f"trees{next(_numbers)}")
    with control_dependencies([REGISTRY["BoostedTreesCreateEnsemble"](handle, constant(3, "int64"), constant(_trees()))]):
        return identity(handle)


def streams():
    handle = REGISTRY["BoostedTreesQuantileStreamResourceHandleOp"](shared_name=f"streams{next(_numbers)}")
    with control_dependencies([REGISTRY["BoostedTreesCreateQuantileStreamResource"](handle, 0.1, constant(1, "int64"))]):
        return identity(handle)


def empty(op_type):
    return lambda: REGISTRY[op_type](shared_name=f"empty{next(_numbers)}")


TREES, STREAMS = "BoostedTreesEnsembleResourceHandleOp", "BoostedTreesQuantileStreamResourceHandleOp"
STAMP, PROTO = np.array(1, np.int64), np.array(_trees(), object)
example(TREES)
example("IsBoostedTreesEnsembleInitialized", empty(TREES))
example("BoostedTreesCreateEnsemble", empty(TREES), STAMP, PROTO)
example("BoostedTreesDeserializeEnsemble", ensemble, STAMP, PROTO)
example("BoostedTreesSerializeEnsemble", ensemble)
example("BoostedTreesGetEnsembleStates", ensemble)
example("BoostedTreesPredict", ensemble, BUCKETS, logits_dimension=1)
example("BoostedTreesTrainingPredict", ensemble, np.array([0, 0, 1, 0], np.int32), np.array([-1, 2, 0, 1], np.int32), BUCKETS, logits_dimension=1)
example("BoostedTreesExampleDebugOutputs", ensemble, BUCKETS, logits_dimension=1)
example("BoostedTreesCenterBias", ensemble, *np.array([[[0.5]], [[0.25]]], np.float32), *np.array([0.0, 0.1], np.float32))
example("BoostedTreesMakeStatsSummary", np.array([0, 1, 0, 1], np.int32), *np.array([[[0.5], [1], [-1], [2]], [[1], [1], [2], [2]]], np.float32),
        BUCKETS, max_splits=3, num_buckets=3)
SUMS = np.array([[[1, 1], [-2, 1], [1, 2]], [[0.5, 1], [1, 1], [0, 0]]], np.float32)
example("BoostedTreesCalculateBestGainsPerFeature", np.array([0, 2], np.int32), [SUMS, SUMS[:, ::-1]], *np.array([0, 0.1, 0.2, 0.5], np.float32),
        max_splits=2, dynamic=True)
ONE = np.array([0], np.int32)
example("BoostedTreesUpdateEnsemble", ensemble, ONE, [ONE], [np.array([0.5], np.float32)], [ONE],
        *[[np.array([[value]], np.float32)] for value in (1, 2)], np.array(2, np.int32), np.array(0.1, np.float32), pruning_mode=0)

example(STREAMS)
example("IsBoostedTreesQuantileStreamResourceInitialized", empty(STREAMS))
example("BoostedTreesCreateQuantileStreamResource", empty(STREAMS), np.array(0.1, np.float32), np.array(2, np.int64))
example("BoostedTreesMakeQuantileSummaries", [np.array([1, 3, 2, 1], np.float32)], np.ones(4, np.float32), np.array(0.1, np.float32), dynamic=True)
example("BoostedTreesQuantileStreamResourceAddSummaries", streams, [SUMMARY])
example("BoostedTreesFlushQuantileSummaries", streams, num_features=1, dynamic=True)
example("BoostedTreesQuantileStreamResourceFlush", streams, np.array(3, np.int64))
example("BoostedTreesQuantileStreamResourceDeserialize", streams, [np.array([1, 2], np.float32)])
example("BoostedTreesQuantileStreamResourceGetBucketBoundaries", streams, num_features=1, dynamic=True)
example("BoostedTreesBucketize", [np.array([0.5, 2, 9], np.float32)], [np.array([1, 2, 3], np.float32)])
