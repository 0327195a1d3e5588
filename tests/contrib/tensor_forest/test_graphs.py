"""Forests keep what they have learnt in checkpoints, and say what is wrong with their input."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.train.resources import initialize_resources, shared_resources

pytestmark = pytest.mark.process
X = np.random.RandomState(1).randn(60, 3).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int32)


def _forest(**options):
    settings = {"num_features": 3, "num_classes": 2, "num_trees": 2, "max_nodes": 30, "split_after_samples": 10, "base_random_seed": 3, **options}
    return tf.contrib.tensor_forest.tensor_forest.RandomForestGraphs(tf.contrib.tensor_forest.tensor_forest.ForestHParams(**settings).fill())


def _started():
    session = tf.Session()
    session.run([tf.global_variables_initializer(), initialize_resources(shared_resources())])
    return session


@pytest.mark.parametrize("options", [{"checkpoint_stats": True}, {"checkpoint_stats": True, "model_name": "all_sparse"},
                                     {"checkpoint_stats": True, "regression": True, "num_classes": 1}])
def test_goes_on_where_a_checkpoint_was_written(tmp_path, options):
    forest = _forest(**options)
    step, predicted = forest.training_graph(X, Y), forest.inference_graph(X)[0]
    saver = tf.train.Saver()
    with _started() as session:
        for _ in range(3):
            session.run(step)
        saver.save(session, str(tmp_path / "model"))
        for _ in range(3):
            session.run(step)
        expected = session.run(predicted)
    with _started() as session:
        saver.restore(session, str(tmp_path / "model"))
        for _ in range(3):
            session.run(step)
        np.testing.assert_array_equal(session.run(predicted), expected)


def test_paths_visit_the_nodes_from_the_root_to_a_leaf():
    from penstock.state.forest_protos import TreePath
    forest = _forest(inference_tree_paths=True)
    step, paths = forest.training_graph(X, Y), forest.inference_graph(X)[1]
    with _started() as session:
        for _ in range(3):
            session.run(step)
        nodes = TreePath.FromString(session.run(paths)[0, 0]).nodes_visited
    assert [node.WhichOneof("node_type") for node in nodes] == ["binary_node"] * (len(nodes) - 1) + ["leaf"]
    assert len(nodes) > 1


def test_examples_without_features_give_no_candidates():
    forest = _forest()
    step = forest.training_graph(tf.SparseTensor([[0, 1], [2, 0]], [-1.0, -2.0], [3, 3]), [0, 1, 1])
    with _started() as session:
        for _ in range(30):
            session.run(step)
        assert session.run(forest.average_size()) > 1


@pytest.mark.parametrize(("labels", "message"), [([0, 1, 2], r"Label 2 is outside of \[0, 2\)"), ([0, 1], "Labels of shape")])
def test_labels_that_do_not_fit(labels, message):
    step = _forest().training_graph(X[:3], labels)
    with _started() as session, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        session.run(step)


def test_an_unknown_number_of_features_is_refused():
    with pytest.raises(ValueError, match=r"give it a shape, as \[None, num_features\]"):
        _forest().inference_graph(tf.placeholder(tf.float32, [None, None]))


def test_early_finishing_needs_a_smallest_number_of_samples():
    step = _forest(split_finish_name="hoeffding").training_graph(X, Y)
    session = tf.Session()
    with session, pytest.raises(tf.errors.InvalidArgumentError, match="min_split_samples"):
        session.run([step, initialize_resources(shared_resources())])
