"""RandomForestGraphs: the graphs that train a forest and predict by it, one part per tree, each on the device of its tree."""
from __future__ import annotations

from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.framework.variables import VariableDeviceChooser
from penstock.contrib.tensor_forest.data import ParseDataTensorOrDict, ParseLabelTensorOrDict
from penstock.contrib.tensor_forest.hparams import build_params_proto
from penstock.contrib.tensor_forest.resources import fertile_stats_variable, tree_variable
from penstock.graph.scopes import device
from penstock.ops.trees import forests
from penstock.platform import logging
from penstock.state.forest_protos import ForestParams
from penstock.variables.initialization import local_variables
from penstock.variables.scope import get_variable


def get_epoch_variable() -> Any:
    """The number of the epoch, if the input counts them."""
    return next((tf.reshape(variable, [1]) for variable in local_variables() if "limit_epochs/epoch" in variable.op.name), [0])


class TreeVariables:
    """The resources of one tree: the tree, and its statistics while it grows."""

    def __init__(self, params: Any, tree_num: int, training: bool, tree_config: Any = "", tree_stat: Any = "") -> None:
        if not isinstance(getattr(params, "params_proto", None), ForestParams):
            params.params_proto = build_params_proto(params)
        params.serialized_params_proto = params.params_proto.SerializeToString()
        self.stats = fertile_stats_variable(params, tree_stat, self.get_tree_name("stats", tree_num)) if training else None
        self.tree = tree_variable(params, tree_config, self.stats, self.get_tree_name("tree", tree_num))

    def get_tree_name(self, name: str, num: int) -> str:
        """``tree-3``."""
        return f"{name}-{num}"


class ForestVariables:
    """The resources of all trees. An empty variable per tree says which device ``device_assigner`` wants it on."""

    def __init__(self, params: Any, device_assigner: Any, training: bool = True, tree_variables_class: Any = TreeVariables, tree_configs: Any = None,
                 tree_stats: Any = None) -> None:
        with device(device_assigner):
            self.device_dummies = [get_variable(f"device_dummy_{tree}", shape=0) for tree in range(params.num_trees)]
        self.variables = []
        for tree, place in enumerate(self.device_dummies):
            given = {name: values[tree] for name, values in (("tree_config", tree_configs), ("tree_stat", tree_stats)) if values is not None}
            with device(place.device):
                self.variables.append(tree_variables_class(params, tree, training, **given))

    def __setitem__(self, tree: int, value: Any) -> None:
        self.variables[tree] = value

    def __getitem__(self, tree: int) -> Any:
        return self.variables[tree]


class RandomForestGraphs:
    """Builds the graphs of a forest with the parameters ``params`` (``ForestHParams(...).fill()``)."""

    def __init__(self, params: Any, tree_configs: Any = None, tree_stats: Any = None, device_assigner: Any = None, variables: Any = None,
                 tree_variables_class: Any = TreeVariables, tree_graphs: Any = None, training: bool = True) -> None:
        self.params, self.device_assigner = params, device_assigner or VariableDeviceChooser()
        logging.info("Constructing forest with params = ")
        logging.info(self.params.__dict__)
        self.variables = variables or ForestVariables(params, self.device_assigner, training, tree_variables_class, tree_configs, tree_stats)
        self.trees = [(tree_graphs or RandomTreeGraphs)(self.variables[tree], params, tree) for tree in range(params.num_trees)]

    def _on_tree(self, tree: int) -> Any:
        return device(self.variables.device_dummies[tree].device)

    def _bag_features(self, tree_num: int, input_data: Any) -> Any:
        columns = tf.split(input_data, self.params.num_features, axis=1)
        return tf.concat([columns[feature] for feature in self.params.bagged_features[tree_num]], 1)

    def get_all_resource_handles(self) -> list[Any]:
        """The handles of all trees, then of their statistics."""
        return [self.variables[tree].tree for tree in range(len(self.trees))] + [self.variables[tree].stats for tree in range(len(self.trees))]

    def training_graph(self, input_data: Any, input_labels: Any, num_trainers: int = 1, trainer_id: int = 0, **tree_kwargs: Any) -> Any:
        """An op that learns from a batch; with several trainers each has a share of the trees."""
        dense, sparse, spec = ParseDataTensorOrDict(input_data)
        labels = ParseLabelTensorOrDict(input_labels)
        share = self.params.num_trees / num_trainers
        steps = []
        for tree in range(int(trainer_id * share), int((trainer_id + 1) * share)):
            with self._on_tree(tree):
                seed = self.params.base_random_seed and self.params.base_random_seed + tree
                data, tree_labels = dense, labels
                if self.params.bagging_fraction < 1.0:
                    _refuse_sparse(sparse, "Bagging")
                    drawn = tf.random_uniform(tf.shape(dense)[:1], seed=seed)
                    rows = tf.squeeze(tf.where_v2(tf.less(drawn, tf.ones_like(drawn) * self.params.bagging_fraction)), axis=[1])
                    data, tree_labels = tf.gather(dense, rows), tf.gather(labels, rows)
                if self.params.bagged_features:
                    _refuse_sparse(sparse, "Feature bagging")
                    data = self._bag_features(tree, data)
                steps.append(self.trees[tree].training_graph(data, tree_labels, seed, data_spec=self._bagged_spec(spec), sparse_features=sparse,
                                                             **tree_kwargs))
        return tf.group(*steps, name="train")

    def inference_graph(self, input_data: Any, **inference_args: Any) -> tuple[Any, Any, Any]:
        """(the mean of what the trees predict, the paths of the examples through them, the variance between trees)."""
        dense, sparse, spec = ParseDataTensorOrDict(input_data)
        predictions, paths = [], []
        for tree in range(self.params.num_trees):
            with self._on_tree(tree):
                data = dense
                if self.params.bagged_features:
                    _refuse_sparse(sparse, "Feature bagging")
                    data = self._bag_features(tree, data)
                predicted, path = self.trees[tree].inference_graph(data, self._bagged_spec(spec), sparse_features=sparse, **inference_args)
                predictions.append(predicted)
                paths.append(path)
        with self._on_tree(0):
            together = tf.stack(predictions, axis=1)
            mean = tf.div(tf.reduce_sum(together, 1), self.params.num_trees, name="probabilities")
            squares = tf.div(tf.reduce_sum(together * together, 1), self.params.num_trees)
            return mean, tf.stack(paths, axis=1), tf.maximum(0.0, squares - mean * mean)

    def _bagged_spec(self, spec: Any) -> Any:
        """The description of what a tree gets: with bagged features, so many columns of the one there was."""
        if self.params.bagged_features:
            spec.dense_features_size = self.params.bagged_num_features
            if spec.dense.size() == 1:
                spec.dense.cols[0].size = self.params.bagged_num_features
        return spec

    def average_size(self) -> Any:
        """The mean number of nodes."""
        sizes = []
        for tree, graphs in enumerate(self.trees):
            with self._on_tree(tree):
                sizes.append(graphs.size())
        return tf.reduce_mean(tf.cast(tf.stack(sizes), tf.float32))

    def training_loss(self, features: Any, labels: Any, name: str = "training_loss") -> Any:
        """Minus the mean size: what falls while the forest grows."""
        return tf.negative(self.average_size(), name=name)

    def validation_loss(self, features: Any, labels: Any) -> Any:
        """The same."""
        return tf.negative(self.average_size())

    def average_impurity(self) -> Any:
        """Not in TensorFlow either, whose trees of version 4 have no such operation."""
        raise AttributeError("'RandomTreeGraphs' object has no attribute 'average_impurity'")

    def feature_importances(self) -> Any:
        """The share of the nodes that ask for each feature."""
        counts = tf.reduce_sum(tf.stack([graphs.feature_usage_counts() for graphs in self.trees], 0), 0)
        return counts / tf.reduce_sum(counts)


class RandomTreeGraphs:
    """Builds the graphs of one tree."""

    def __init__(self, variables: Any, params: Any, tree_num: int) -> None:
        self.variables, self.params, self.tree_num = variables, params, tree_num

    def training_graph(self, input_data: Any, input_labels: Any, random_seed: int, data_spec: Any, sparse_features: Any = None,
                       input_weights: Any = None) -> Any:
        """An op that learns from a batch: leaves are updated, and those that have seen enough are split."""
        inputs, weights = _inputs(input_data, sparse_features), [] if input_weights is None else input_weights
        params, spec = self.params.serialized_params_proto, data_spec.SerializeToString()
        leaves = forests.TraverseTreeV4(self.variables.tree, *inputs, input_spec=spec, params=params)
        update = forests.UpdateModelV4(self.variables.tree, leaves, input_labels, weights, params=params)
        finished = forests.ProcessInputV4(self.variables.tree, self.variables.stats, *inputs, input_labels, weights, leaves,
                                          random_seed=random_seed, input_spec=spec, params=params)
        with tf.control_dependencies([update]):
            return forests.GrowTreeV4(self.variables.tree, self.variables.stats, finished, params=params)

    def inference_graph(self, input_data: Any, data_spec: Any, sparse_features: Any = None) -> Any:
        """(predictions, paths)."""
        return forests.TreePredictionsV4(self.variables.tree, *_inputs(input_data, sparse_features), input_spec=data_spec.SerializeToString(),
                                         params=self.params.serialized_params_proto)

    def size(self) -> Any:
        """The number of nodes."""
        return forests.TreeSize(self.variables.tree)

    def feature_usage_counts(self) -> Any:
        """How many nodes ask for each feature."""
        return forests.FeatureUsageCounts(self.variables.tree, params=self.params.serialized_params_proto)


def _inputs(dense: Any, sparse: Any) -> list[Any]:
    parts = [[], [], []] if sparse is None else [sparse.indices, sparse.values, sparse.dense_shape]
    return [[] if dense is None else dense, *parts]


def _refuse_sparse(sparse: Any, what: str) -> None:
    if sparse is not None:
        raise NotImplementedError(f"{what} not supported with sparse features.")
