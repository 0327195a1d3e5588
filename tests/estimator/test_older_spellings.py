"""Columns and model functions by the names that TensorFlow had for them before 1.13, which programs of that time define and call."""
import importlib

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def private():
    tf.install_as_tensorflow(era=False)
    return importlib.import_module("tensorflow.python.feature_column.feature_column")


def test_a_column_of_ones_own_by_the_old_names(private):
    class Doubled(private._DenseColumn):
        name = "doubled"
        _parse_example_spec = {"x": tf.FixedLenFeature([1], tf.float32)}
        _variable_shape = tf.TensorShape([1])

        def _transform_feature(self, inputs):
            return inputs.get("x") * 2.0

        def _get_dense_tensor(self, inputs, weight_collections=None, trainable=None):
            return inputs.get(self)

    class Weighted(private._CategoricalColumn):
        name, _num_buckets, _parse_example_spec = "weighted", 3, {}

        def _transform_feature(self, inputs):
            return inputs.get("ids"), inputs.get("weights")

        def _get_sparse_tensors(self, inputs, weight_collections=None, trainable=None):
            return private._CategoricalColumn.IdWeightPair(*inputs.get(self))

    entries = {"indices": [[0, 0], [1, 0]], "dense_shape": [2, 1]}
    features = {"x": [[1.0], [3.0]], "ids": tf.SparseTensorValue(values=np.array([0, 2]), **entries),
                "weights": tf.SparseTensorValue(values=np.array([0.5, 4.0], np.float32), **entries)}
    layer = tf.feature_column.input_layer(features, [Doubled(), tf.feature_column.indicator_column(Weighted())])
    with tf.Session() as sess:
        np.testing.assert_array_equal(sess.run(layer), [[2, 0.5, 0, 0], [6, 0, 0, 4]])
    assert tf.feature_column.make_parse_example_spec([Doubled()]) == Doubled._parse_example_spec


def test_the_columns_of_the_library_by_the_old_names(private):
    ids = tf.feature_column.categorical_column_with_identity("ids", 4)
    embedding = tf.feature_column.embedding_column(ids, 2, initializer=tf.ones_initializer())
    assert ids._num_buckets == 4 and embedding._variable_shape == tf.TensorShape([2])
    assert ids._parse_example_spec == embedding._parse_example_spec == {"ids": tf.VarLenFeature(tf.int64)}
    builder = private._LazyBuilder({"ids": [[1, -1], [3, 3]]})
    found = ids._get_sparse_tensors(builder, weight_collections=("my",)).id_tensor
    dense = embedding._get_dense_tensor(builder)
    transformed = private._transform_features({"ids": [[1, -1], [3, 3]]}, [ids, embedding])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(found).values.tolist() == [1, 3, 3]
        np.testing.assert_array_equal(sess.run(dense), np.ones((2, 2)))
        assert sess.run(transformed[embedding]).values.tolist() == [1, 3, 3]


def test_an_indicator_of_weighted_words_that_are_not_in_the_vocabulary():
    words = tf.feature_column.categorical_column_with_vocabulary_list("words", ["a", "b"])
    column = tf.feature_column.indicator_column(tf.feature_column.weighted_categorical_column(words, "weights"))
    layer = tf.feature_column.input_layer({"words": [["b", "unknown", "a"]], "weights": [[2.0, 4.0, 6.0]]}, [column])
    with tf.Session() as sess:
        sess.run(tf.tables_initializer())
        np.testing.assert_array_equal(sess.run(layer), [[6.0, 2.0]])


def test_ids_whose_rank_is_not_known():
    ids = tf.sparse_placeholder(tf.int64)
    found = tf.nn.safe_embedding_lookup_sparse([tf.constant([[1.0], [2.0]])], ids, combiner="sum")
    with tf.Session() as sess:
        value = tf.SparseTensorValue([[0, 0, 0], [1, 1, 0], [1, 1, 1]], [1, 0, 1], [2, 2, 2])
        np.testing.assert_array_equal(sess.run(found, {ids: value})[..., 0], [[2, 0], [0, 3]])


def test_a_model_function_is_called_with_all_its_settings(private):
    dnn = importlib.import_module("tensorflow.python.estimator.canned.dnn")
    columns = [tf.feature_column.numeric_column("x")]
    tf.train.create_global_step()
    spec = dnn._dnn_model_fn(features={"x": [[1.0], [2.0]]}, labels=tf.constant([[1.0], [0.0]]), mode=tf.estimator.ModeKeys.TRAIN,
                             head=tf.contrib.estimator.regression_head(), hidden_units=[3], feature_columns=columns,
                             optimizer=tf.train.GradientDescentOptimizer(0.1))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        before = sess.run(spec.loss)
        for _ in range(3):
            sess.run(spec.train_op)
        assert sess.run(spec.loss) < before


def test_shapes_that_do_not_fit_in_a_step_have_the_words_of_kernels():
    x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
    cases = [(x + y, r"Incompatible shapes: \[3,1\] vs. \[2,1\]"), (tf.add_n([x, y]), "must have the same size and shape"),
             (tf.greater(x, y), r"Incompatible shapes: \[3,1\] vs. \[2,1\]")]
    with tf.Session() as sess:
        for fetch, words in cases:
            for _ in range(2):
                with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                    sess.run(fetch, {x: np.ones((3, 1)), y: np.ones((2, 1))})
