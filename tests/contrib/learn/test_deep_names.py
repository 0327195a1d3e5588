"""Canned networks of tf.contrib.learn: their variables, and those of their optimizers, are called as TensorFlow 1.15 calls them."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process
learn, layers = tf.contrib.learn, tf.contrib.layers

# What ``get_variable_names`` gives under TensorFlow 1.15.5. It cuts the first letters off the names of slots; so do checkpoints.
NAMES = {
    "dnn": [
        "dnn/binary_logistic_head/dnn/learning_rate",
        "dnn/hiddenlayer_0/biases",
        "dnn/hiddenlayer_0/biases//hiddenlayer_0/biases/part_0/Adagrad",
        "dnn/hiddenlayer_0/weights",
        "dnn/hiddenlayer_0/weights/hiddenlayer_0/weights/part_0/Adagrad",
        "dnn/hiddenlayer_1/biases",
        "dnn/hiddenlayer_1/biases//hiddenlayer_1/biases/part_0/Adagrad",
        "dnn/hiddenlayer_1/weights",
        "dnn/hiddenlayer_1/weights/hiddenlayer_1/weights/part_0/Adagrad",
        "dnn/input_from_feature_columns/word_embedding/weights",
        "dnn/input_from_feature_columns/word_embedding/weights/ord_embedding/weights/part_0/Adagrad",
        "dnn/logits/biases",
        "dnn/logits/biases/dnn/dnn/logits/biases/part_0/Adagrad",
        "dnn/logits/weights",
        "dnn/logits/weights/nn/dnn/logits/weights/part_0/Adagrad",
        "global_step"],
    "dnn centered bias": [
        "dnn/hiddenlayer_0/biases",
        "dnn/hiddenlayer_0/weights",
        "dnn/hiddenlayer_1/biases",
        "dnn/hiddenlayer_1/weights",
        "dnn/input_from_feature_columns/word_embedding/weights",
        "dnn/logits/biases",
        "dnn/logits/weights",
        "dnn/multi_class_head/centered_bias_weight",
        "dnn/multi_class_head/dnn/learning_rate",
        "dnn/multi_class_head/dnn/multi_class_head/centered_bias_weight/Adagrad",
        "global_step"],
    "combined": [
        "dnn/hiddenlayer_0/biases",
        "dnn/hiddenlayer_0/biases/ayer_0/biases/part_0/Adagrad",
        "dnn/hiddenlayer_0/weights",
        "dnn/hiddenlayer_0/weights/yer_0/weights/part_0/Adagrad",
        "dnn/input_from_feature_columns/word_embedding/weights",
        "dnn/input_from_feature_columns/word_embedding/weights/dding/weights/part_0/Adagrad",
        "dnn/logits/biases",
        "dnn/logits/biases/logits/biases/part_0/Adagrad",
        "dnn/logits/weights",
        "dnn/logits/weights/ogits/weights/part_0/Adagrad",
        "global_step",
        "linear/bias_weight",
        "linear/bias_weight/near/bias_weight/part_0/Ftrl",
        "linear/bias_weight/near/bias_weight/part_0/Ftrl_1",
        "linear/word/weights",
        "linear/word/weights/ear/word/weights/part_0/Ftrl",
        "linear/word/weights/ear/word/weights/part_0/Ftrl_1",
        "linear/x/weight",
        "linear/x/weight//linear/x/weight/part_0/Ftrl",
        "linear/x/weight//linear/x/weight/part_0/Ftrl_1",
        "multi_class_head/dnn/learning_rate",
        "multi_class_head/linear/learning_rate"],
}


def inputs(classes):
    rows = list(range(12))
    features = {"x": tf.constant([[number / 6.0 - 1.0] for number in rows]), "word": tf.constant([["abcd"[number % 4]] for number in rows])}
    return features, tf.constant([[number % classes] for number in rows])


def wide():
    return [layers.real_valued_column("x"), layers.sparse_column_with_keys("word", ["a", "b", "c", "d"])]


def deep():
    return [layers.bucketized_column(layers.real_valued_column("x"), [-0.5, 0.0, 0.5]), layers.embedding_column(wide()[1], 2)]


MODELS = {
    "dnn": lambda: (learn.DNNClassifier([3, 2], deep()), 2),
    "dnn centered bias": lambda: (learn.DNNClassifier(
        [3, 2], deep(), n_classes=3, enable_centered_bias=True, optimizer=lambda: tf.train.GradientDescentOptimizer(0.1)), 3),
    "combined": lambda: (learn.DNNLinearCombinedClassifier(
        n_classes=3, linear_feature_columns=wide(), dnn_feature_columns=deep(), dnn_hidden_units=[3]), 3),
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_names(name):
    model, classes = MODELS[name]()
    model.fit(input_fn=lambda: inputs(classes), steps=2)
    assert sorted(model.get_variable_names()) == NAMES[name]
    assert model.get_variable_value("global_step") == (4 if name == "combined" else 2)  # both parts of a combined model count the step
