"""Examples of random forests. A handle is a function that makes a resource of its own and fills it."""
import numpy as np

from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import control_dependencies
from penstock.ops.constant import identity
from penstock.state.forest_protos import ForestParams
from support.examples import example

_numbers = iter(range(10**6))
_PARAMS = ForestParams(num_trees=1, max_nodes=9, num_features=2, num_outputs=2, leaf_type=0, stats_type=0)
_PARAMS.num_splits_to_consider.constant_value, _PARAMS.split_after_samples.constant_value = 2, 3
PARAMS = _PARAMS.SerializeToString()
_PARAMS.is_regression = True
NUMBERS = _PARAMS.SerializeToString()
SPEC = b"dense_features_size: 2 dense: [{name: x original_type: 0 size: 2}] sparse: []"
FEATURES, NONE, NO_INDEX = np.array([[0.5, 1], [2, 0], [1, 1]], np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64)
INPUTS = (FEATURES, NO_INDEX, NONE, NO_INDEX)
LABELS, LEAVES, EMPTY = np.array([0, 1, 1], np.float32), np.zeros(3, np.int32), np.array(b"", object)


def _made(handle, create):
    def make():
        resource = REGISTRY[handle](shared_name=f"forest{next(_numbers)}")
        with control_dependencies([REGISTRY[create](resource, "", params=PARAMS)]):
            return identity(resource)
    return make


def empty(handle):
    return lambda: REGISTRY[handle](shared_name=f"empty forest{next(_numbers)}")


TREE, STATS = "DecisionTreeResourceHandleOp", "FertileStatsResourceHandleOp"
tree, stats = _made(TREE, "CreateTreeVariable"), _made(STATS, "CreateFertileStatsVariable")
example(TREE)
example(STATS)
example("TreeIsInitializedOp", empty(TREE))
example("FertileStatsIsInitializedOp", empty(STATS))
example("CreateTreeVariable", empty(TREE), EMPTY, params=PARAMS)
example("CreateFertileStatsVariable", empty(STATS), EMPTY, params=PARAMS)
example("TreeDeserialize", tree, EMPTY, params=PARAMS)
example("FertileStatsDeserialize", stats, EMPTY, params=PARAMS)
example("TreeSerialize", tree)
example("FertileStatsSerialize", stats, params=PARAMS)
example("TreeSize", tree)
example("FeatureUsageCounts", tree, params=PARAMS, dynamic=True)
example("TraverseTreeV4", tree, *INPUTS, input_spec=SPEC, params=PARAMS, dynamic=True)
example("TreePredictionsV4", tree, *INPUTS, input_spec=SPEC, params=PARAMS, dynamic=True)
example("UpdateModelV4", tree, LEAVES, LABELS, NONE, params=PARAMS)
example("ProcessInputV4", tree, stats, *INPUTS, LABELS, NONE, LEAVES, random_seed=1, input_spec=SPEC, params=PARAMS, dynamic=True)
example("GrowTreeV4", tree, stats, NO_INDEX.astype(np.int32), params=PARAMS)
example("FinalizeTree", tree, stats, params=NUMBERS)
example("ReinterpretStringToFloat", np.array([b"a", b"forest"], object))
