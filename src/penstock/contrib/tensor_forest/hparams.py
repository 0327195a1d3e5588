"""ForestHParams: the parameters of a forest, as TensorFlow's class and as the protocol buffer that operations take."""
from __future__ import annotations

import math
import numbers
import random
from typing import Any

from google.protobuf import text_format

from penstock.state.forest_protos import ForestParams

# {name: (how leaves are stored, how statistics are)}, {name: number}: TensorFlow's numbers.
CLASSIFICATION_LEAF_MODEL_TYPES = {"all_dense": (0, 0), "all_sparse": (1, 1), "sparse_then_dense": (3, 3)}
REGRESSION_MODEL_TYPE = (2, 2, 0)
FINISH_TYPES = {"basic": 0, "hoeffding": 2, "bootstrap": 3}
PRUNING_TYPES = {"none": 0, "half": 1, "quarter": 2, "10_percent": 3, "hoeffding": 4}
SPLIT_TYPES = {"less_or_equal": 0, "less": 1}


def parse_number_or_string_to_proto(proto: Any, param: Any) -> None:
    """Sets a parameter that may depend on the depth of a leaf: a number, its digits, or the text of a protocol buffer."""
    if isinstance(param, numbers.Number) or param.isdigit():
        proto.constant_value = float(param)
    else:
        text_format.Merge(param, proto)


def build_params_proto(params: Any) -> Any:
    """The protocol buffer of parameters that are filled."""
    proto = ForestParams(
        num_trees=params.num_trees, max_nodes=params.max_nodes, is_regression=params.regression, num_outputs=params.num_classes,
        num_features=params.num_features, leaf_type=params.leaf_model_type, stats_type=params.stats_model_type,
        inequality_test_type=params.split_type, collate_examples=params.collate_examples, checkpoint_stats=params.checkpoint_stats,
        use_running_stats_method=params.use_running_stats_method, initialize_average_splits=params.initialize_average_splits,
        inference_tree_paths=params.inference_tree_paths)
    proto.pruning_type.type, proto.finish_type.type = params.pruning_type, params.finish_type
    parse_number_or_string_to_proto(proto.pruning_type.prune_every_samples, params.prune_every_samples)
    parse_number_or_string_to_proto(proto.finish_type.check_every_steps, params.early_finish_check_every_samples)
    parse_number_or_string_to_proto(proto.split_after_samples, params.split_after_samples)
    parse_number_or_string_to_proto(proto.num_splits_to_consider, params.num_splits_to_consider)
    proto.dominate_fraction.constant_value = params.dominate_fraction
    if params.param_file:
        with open(params.param_file, encoding="utf-8") as file:
            text_format.Merge(file.read(), proto)
    return proto


class ForestHParams:
    """The parameters of a forest; ``num_classes`` (for regression the number of outputs) and ``num_features`` must be among them."""

    num_classes: int
    num_features: int

    def __init__(self, num_trees: int = 100, max_nodes: int = 10000, bagging_fraction: float = 1.0, num_splits_to_consider: Any = 0,
                 feature_bagging_fraction: float = 1.0, max_fertile_nodes: int = 0, split_after_samples: Any = 250, valid_leaf_threshold: int = 1,
                 dominate_method: str = "bootstrap", dominate_fraction: float = 0.99, model_name: str = "all_dense", split_finish_name: str = "basic",
                 split_pruning_name: str = "none", prune_every_samples: Any = 0, early_finish_check_every_samples: Any = 0,
                 collate_examples: bool = False, checkpoint_stats: bool = False, use_running_stats_method: bool = False,
                 initialize_average_splits: bool = False, inference_tree_paths: bool = False, param_file: str | None = None,
                 split_name: str = "less_or_equal", **kwargs: Any) -> None:
        self.num_trees, self.max_nodes = num_trees, max_nodes
        self.bagging_fraction, self.feature_bagging_fraction = bagging_fraction, feature_bagging_fraction
        self.num_splits_to_consider, self.max_fertile_nodes = num_splits_to_consider, max_fertile_nodes
        self.split_after_samples, self.valid_leaf_threshold = split_after_samples, valid_leaf_threshold
        self.dominate_method, self.dominate_fraction, self.model_name = dominate_method, dominate_fraction, model_name
        self.split_finish_name, self.split_pruning_name = split_finish_name, split_pruning_name
        self.collate_examples, self.checkpoint_stats = collate_examples, checkpoint_stats
        self.use_running_stats_method, self.initialize_average_splits = use_running_stats_method, initialize_average_splits
        self.inference_tree_paths, self.param_file, self.split_name = inference_tree_paths, param_file, split_name
        self.early_finish_check_every_samples, self.prune_every_samples = early_finish_check_every_samples, prune_every_samples
        for name, value in kwargs.items():
            setattr(self, name, value)

    def values(self) -> dict[str, Any]:
        """All parameters by name."""
        return self.__dict__

    def fill(self) -> ForestHParams:
        """Computes what was not given; returns itself."""
        _require("num_classes", self), _require("num_features", self)
        self.bagged_num_features = int(self.feature_bagging_fraction * self.num_features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            self.bagged_features = [random.sample(range(self.num_features), self.bagged_num_features) for _ in range(self.num_trees)]
        self.regression = getattr(self, "regression", False)
        self.num_outputs = self.num_classes if self.regression else 1
        self.num_output_columns = self.num_classes + 1
        self.num_splits_to_consider = self.num_splits_to_consider or min(max(10, math.floor(math.sqrt(self.num_features))), 1000)
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        kinds = REGRESSION_MODEL_TYPE[:2] if self.regression else _chosen("model_name", self.model_name, CLASSIFICATION_LEAF_MODEL_TYPES)
        self.leaf_model_type, self.stats_model_type = kinds
        self.finish_type = FINISH_TYPES["basic"] if self.regression else _chosen("split_finish_name", self.split_finish_name, FINISH_TYPES)
        self.pruning_type = _chosen("split_pruning_name", self.split_pruning_name, PRUNING_TYPES)
        self.prune_every_samples = self._every("prune_every_samples", self.pruning_type, 2)
        self.early_finish_check_every_samples = self._every("early_finish_check_every_samples", self.finish_type, 4)
        self.split_type = _chosen("split_name", self.split_name, SPLIT_TYPES)
        return self

    def _every(self, name: str, used: int, part: int) -> Any:
        """How many examples lie between two checks: this part of those that a leaf waits for, if nothing else is said."""
        given = getattr(self, name)
        if not used:
            return 0
        if not given and not isinstance(self.split_after_samples, numbers.Number) and not self.split_after_samples.isdigit():
            raise ValueError(f"{name} must be given if split_after_samples depends on the depth: {self.split_after_samples!r}")
        return given or int(self.split_after_samples) / part


def _require(name: str, params: Any) -> None:
    if not hasattr(params, name):
        raise AttributeError(f"'ForestHParams' object has no attribute '{name}': give it, as ForestHParams({name}=...)")


def _chosen(name: str, value: str, choices: dict[str, Any]) -> Any:
    if value not in choices:
        raise KeyError(f"{name}={value!r} is none of {', '.join(choices)}")
    return choices[value]
