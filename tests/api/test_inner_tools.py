"""Tools inside TensorFlow that programs import: graphs made ready for inference, checkpoints printed, patterns of operations."""
from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import penstock as tf
from penstock.contrib.quantize.graph_matcher import GraphMatcher, OneofPattern, OpTypePattern
from penstock.saved_model.graph_transforms import TransformGraph
from penstock.saved_model.inference_graphs import fold_batch_norms, optimize_for_inference, strip_unused
from penstock.saved_model.tf_optimizer import OptimizeGraph

IMAGES = np.random.RandomState(0).rand(2, 6, 6, 3).astype(np.float32)


def convnet(depthwise: bool = False, training: bool = False) -> tf.GraphDef:
    """A frozen graph from x to y: a convolution with batch norm, and an identity."""
    random = np.random.RandomState(1)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        filters = tf.constant(random.rand(3, 3, 3, 2).astype(np.float32), name="filters")
        h = tf.nn.depthwise_conv2d(x, filters, [1, 1, 1, 1], "SAME", name="conv") if depthwise else tf.nn.conv2d(
            x, filters, [1, 1, 1, 1], "SAME", name="conv")
        channels = 6 if depthwise else 2
        scale, offset, mean, variance = (random.rand(channels).astype(np.float32) for _ in range(4))
        given = {} if training else {"mean": mean, "variance": variance}
        h, _, _ = tf.nn.fused_batch_norm(h, scale, offset, **given, is_training=training, name="norm")
        tf.nn.relu(tf.identity(h, name="same"), name="y")
    return graph.as_graph_def()


def result(graph_def: tf.GraphDef) -> np.ndarray:
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as session:
            return session.run("y:0", {"x:0": IMAGES})


@pytest.mark.parametrize("depthwise", [False, True])
def test_batch_norms_are_folded(depthwise):
    graph_def = convnet(depthwise)
    folded = optimize_for_inference(graph_def, ["x"], ["y"], tf.float32.as_datatype_enum)
    types = [node.op for node in folded.node]
    assert "Identity" not in types and not any("BatchNorm" in each for each in types) and types.count("BiasAdd") == 1
    np.testing.assert_allclose(result(folded), result(graph_def), rtol=1e-5, atol=1e-6)


def test_batch_norms_that_need_their_batch_stay(caplog):
    graph_def = convnet(training=True)
    assert fold_batch_norms(graph_def) == graph_def


def test_unused_nodes_go_and_inputs_become_placeholders():
    stripped = strip_unused(convnet(), ["norm"], ["y"], tf.float32.as_datatype_enum)
    assert [(node.name, node.op) for node in stripped.node] == [("norm", "Placeholder"), ("same", "Identity"), ("y", "Relu")]
    with pytest.raises(ValueError, match="Tensor"):
        strip_unused(convnet(), ["norm:0"], ["y"], 1)
    with pytest.raises(KeyError, match="nowhere"):
        strip_unused(convnet(), ["nowhere"], ["y"], 1)


def test_transforms():
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 6, 6, 3], name="x")
        scale = tf.sqrt(tf.constant([4.0]) * 4.0, name="scale")
        with tf.device("/cpu:0"):
            tf.identity(tf.multiply(tf.identity(x), scale), name="y")
        tf.square(x, name="unused")
    graph_def = graph.as_graph_def()
    transformed = TransformGraph(graph_def, ["x"], ["y"], [
        "strip_unused_nodes(type=float, shape=\"2,6,6,3\")", "remove_nodes(op=Identity, op=CheckNumerics)", "fold_constants(ignore_errors=true)",
        "remove_device", "sort_by_execution_order"])
    assert [(node.name, node.op, node.device) for node in transformed.node] == [
        ("x", "Placeholder", ""), ("scale", "Const", ""), ("Mul_1", "Mul", ""), ("y", "Identity", "")]
    assert [extent.size for extent in transformed.node[0].attr["shape"].shape.dim] == [2, 6, 6, 3]
    np.testing.assert_array_equal(result(transformed), IMAGES * 4)
    with pytest.raises(tf.errors.UnimplementedError, match="quantize_weights"):
        TransformGraph(graph_def, ["x"], ["y"], ["quantize_weights"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a transform"):
        TransformGraph(graph_def, ["x"], ["y"], ["fold("])


def test_patterns_tell_what_they_match():
    with tf.Graph().as_default() as graph:
        a, b = tf.placeholder(tf.float32, name="a"), tf.constant(2.0, name="b")
        tf.nn.relu(b * a, name="relu")
        tf.nn.relu(b + b, name="other")
    factor = OpTypePattern("Placeholder", name="factor")
    product = OpTypePattern("Mul", inputs=[factor, "Const"], ordered_inputs=False)
    match, = GraphMatcher(OpTypePattern("Relu|Relu6", inputs=[product])).match_graph(graph)
    assert match.get_op("factor").name == match.get_op(factor).name == "a"
    assert match.get_tensor(product).name == "mul:0" and match.get_op("nothing") is None
    assert not list(GraphMatcher(OpTypePattern("Relu", inputs=[OpTypePattern("Mul", inputs=[factor, "Const"])])).match_graph(graph))
    either = OneofPattern([OpTypePattern("Sub"), OpTypePattern("*", inputs=["Const", None])])
    assert [op.name for op in graph.get_operations() if GraphMatcher(either).match_op(op)] == ["mul", "add"]


def test_graphs_are_optimised_by_sessions():
    with tf.Graph().as_default() as graph:
        tf.add(1.0, 2.0)
    meta_graph = tf.train.export_meta_graph(graph=graph)
    assert OptimizeGraph(tf.ConfigProto(), meta_graph) == meta_graph.graph_def
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.auto_parallel.enable = True
    for given in (config, config.graph_options.rewrite_options):
        with pytest.raises(tf.errors.UnimplementedError, match="AutoParallel"):
            OptimizeGraph(given, meta_graph)


@pytest.fixture
def checkpoint(tmp_path):
    with tf.Graph().as_default():
        tf.get_variable("w", initializer=[[1.0, 2.0]])
        tf.get_variable("adam/m", initializer=3)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            return tf.train.Saver().save(session, str(tmp_path / "model"))


def inspected(checkpoint, *flags):
    module = "tensorflow.python.tools.inspect_checkpoint"
    return subprocess.run([sys.executable, "-m", "penstock", "run", "--no-era", "-m", module, f"--file_name={checkpoint}", *flags],
                          capture_output=True, text=True, timeout=120, check=True).stdout


def test_checkpoints_are_printed(checkpoint):
    assert inspected(checkpoint) == "adam/m (DT_INT32) []\nw (DT_FLOAT) [1,2]\n\n# Total number of params: 3\n"
    assert inspected(checkpoint, "--all_tensors") == "tensor_name:  adam/m\n3\ntensor_name:  w\n[[1. 2.]]\n# Total number of params: 3\n"
    assert inspected(checkpoint, "--tensor_name=w", "--count_exclude_pattern=adam") == (
        "tensor_name:  w\n[[1. 2.]]\n# Excluding 1 tensors (1 params) that match adam when counting.\n# Total number of params: 2\n")
    assert "Try: --file_name=" in inspected(checkpoint + ".index")


def test_modules_are_where_programs_look_for_them():
    code = """if True:
        import penstock
        penstock.install_as_tensorflow()
        import tensorflow as tf
        from tensorflow.contrib.keras.python.keras.layers import Dense
        from tensorflow.contrib.keras.api.keras.models import Sequential
        from tensorflow.contrib import keras
        from tensorflow.python.keras.api._v1.keras.layers import Conv2D
        assert Dense is keras.layers.Dense is tf.keras.layers.Dense and Sequential is tf.keras.Sequential and Conv2D is tf.keras.layers.Conv2D
        from tensorflow.contrib.predictor.predictor_factories import from_saved_model
        from tensorflow.contrib.quantize.python import graph_matcher
        from tensorflow.python.distribute.mirrored_strategy import MirroredStrategyV1
        from tensorflow.python.grappler import tf_optimizer
        from tensorflow.python.ops.ragged import ragged_conversion_ops, ragged_factory_ops
        from tensorflow.python.ops.signal import window_ops
        from tensorflow.python.profiler import model_analyzer, option_builder
        from tensorflow.python.profiler.profile_context import ProfileContext
        from tensorflow.python.pywrap_tensorflow import EqualGraphDefWrapper
        from tensorflow.python.tools import freeze_graph, inspect_checkpoint, optimize_for_inference_lib, saved_model_utils, strip_unused_lib
        from tensorflow.python.util import decorator_utils, keyword_args, object_identity
        assert decorator_utils.get_qualified_name(tf.Session.run).endswith("Session.run")
        noted = decorator_utils.add_notice_to_docstring("\\n  Brief\\n\\n  More.", "Instead.", "None", "(old)", ["Note"])
        assert noted == "Brief (old)\\n\\nNote\\nInstead.\\n\\nMore.", noted
        assert decorator_utils.add_notice_to_docstring(None, "Instead.", "None", "(old)", ["Note"]) == "None\\n\\nNote\\nInstead."
        from tensorflow.tools.graph_transforms import TransformGraph
        assert MirroredStrategyV1 is tf.distribute.MirroredStrategy and window_ops.hann_window is tf.signal.hann_window
        assert EqualGraphDefWrapper(b"", b"") == b"" and b"differ" in EqualGraphDefWrapper(tf.GraphDef(node=[{"name": "n"}]).SerializeToString(), b"")
    """
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
