"""``tf.contrib.predictor``: a SavedModel as a function."""
from __future__ import annotations

import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.fixture
def model(tmp_path):
    """A model that adds a variable to its input, and multiplies."""
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.float32, [], name="x"), tf.placeholder_with_default(3.0, [], name="y")
        bias = tf.Variable(2.0)
        total, product = tf.add(x, bias, name="total"), tf.multiply(x, y, name="product")
        session.run(tf.global_variables_initializer())
        info = tf.saved_model.utils.build_tensor_info
        signatures = {key: tf.saved_model.signature_def_utils.build_signature_def(
            {"x": info(x), "y": info(y)}, {"result": info(result)}, "predict") for key, result in (("serving_default", total), ("times", product))}
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=signatures)
        builder.save()
    return folder


def test_signatures(model):
    predict = tf.contrib.predictor.from_saved_model(model)
    assert predict({"x": 5.0}) == {"result": 7.0}
    assert predict.graph is predict.session.graph and predict.feed_tensors["x"].name == "x:0"
    times = tf.contrib.predictor.from_saved_model(model, signature_def_key="times")
    assert times({"x": 5.0}) == {"result": 15.0} and times({"x": 5.0, "y": 2.0}) == {"result": 10.0}


def test_names(model):
    predict = tf.contrib.predictor.from_saved_model(model, input_names={"in": "x:0"}, output_names={"a": "total:0", "b": "product:0"})
    assert predict({"in": 1.0}) == {"a": 3.0, "b": 3.0}


def test_what_is_refused(model):
    predict = tf.contrib.predictor.from_saved_model
    with pytest.raises(ValueError, match="Got unexpected keys"):
        predict(model)({"z": 1.0})
    with pytest.raises(ValueError, match="Available signatures"):
        predict(model, signature_def_key="none")
    with pytest.raises(ValueError, match="both be specified"):
        predict(model, input_names={})
    with pytest.raises(ValueError, match="at most one"):
        predict(model, signature_def_key="times", input_names={}, output_names={})
