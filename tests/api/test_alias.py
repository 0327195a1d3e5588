"""``install_as_tensorflow()``, each time in a process of its own: it is for the life of a process."""
from __future__ import annotations

import importlib
import textwrap

import pytest

from penstock.api import paths
from penstock.api._table import resolve
from support.process import python


def run(program: str) -> None:
    python("import penstock\npenstock.install_as_tensorflow()\n" + textwrap.dedent(program))


def test_tensorflow_is_penstock():
    run("""
        import tensorflow as tf, tensorflow.compat.v1 as v1
        penstock.install_as_tensorflow()                       # a second time changes nothing
        assert tf.__version__ == tf.VERSION == "1.15.0" and penstock.__version__ != "1.15.0"
        assert tf.constant is penstock.constant and tf.nn is penstock.nn
        assert v1 is tf is tf.compat.v1 and tf.__name__ == "tensorflow"
    """)


def test_public_namespaces_can_be_imported():
    run("""
        import tensorflow as tf, tensorflow.nn, tensorflow.app.flags, tensorflow.io.gfile, tensorflow.errors
        from tensorflow import gfile, train
        from tensorflow.errors import NotFoundError
        assert tensorflow.nn is tf.nn and tensorflow.app.flags is tf.flags and gfile is tf.gfile and train is tf.train
        from tensorflow.compat.v1 import nn
        import tensorflow.compat.v1.gfile
        assert nn is tf.nn and NotFoundError is tf.errors.NotFoundError
    """)


def test_a_module_inside_tensorflow_tells_its_names():
    run("""
        from tensorflow.python import debug
        assert {"LocalCLIDebugWrapperSession", "DebugDumpDir", "watch_graph"} <= set(dir(debug)) and "Any" not in dir(debug)
    """)


def test_modules_inside_tensorflow():
    run("""
        import tensorflow as tf
        from tensorflow.python.framework import ops, dtypes, tensor_shape, tensor_util, errors, errors_impl, constant_op
        from tensorflow.python.ops import array_ops, math_ops, nn_ops, gen_nn_ops, control_flow_ops, variable_scope, init_ops
        from tensorflow.python.platform import gfile, flags, app, tf_logging, googletest, test
        from tensorflow.python.util import nest, compat, tf_inspect, deprecation
        from tensorflow.python.client import session, device_lib
        from tensorflow.python.lib.io import file_io
        assert ops.convert_to_tensor is tf.convert_to_tensor and ops.get_default_graph is tf.get_default_graph and ops.Tensor is tf.Tensor
        assert dtypes.float32 is tf.float32 and dtypes.bool is tf.bool and dtypes.as_dtype is tf.as_dtype
        assert tensor_shape.TensorShape is tf.TensorShape and tensor_shape.unknown_shape().ndims is None
        assert tensor_util.constant_value(constant_op.constant(3)) == 3
        assert errors.OutOfRangeError is errors_impl.OutOfRangeError is tf.errors.OutOfRangeError
        assert array_ops.identity is tf.identity and math_ops.add is tf.add
        assert gen_nn_ops.relu(tf.constant(1.0)).op.type == "Relu"
        from tensorflow.python.layers import utils
        assert utils.smart_cond(True, lambda: 1, lambda: 2) == 1 and utils.normalize_tuple(3, 2, "strides") == (3, 3)
        assert gen_nn_ops._top_kv2([1.0, 2.0], 1, False).values.op.get_attr("sorted") is False
        assert gfile.Exists is tf.gfile.Exists and flags.FLAGS is tf.flags.FLAGS and app.run is tf.app.run and tf_logging.info is tf.logging.info
        assert test.TestCase is googletest.TestCase is tf.test.TestCase
        assert nest.flatten([1, [2]]) == [1, 2] and compat.as_bytes("x") == b"x" and tf_inspect.getargspec(lambda a: a).args == ["a"]
        assert session.Session is tf.Session and [d.device_type for d in device_lib.list_local_devices()][0] == "CPU"
        assert file_io.file_exists("/") and tf.python.framework.ops is ops
    """)


def test_protocol_buffers():
    run("""
        import tensorflow as tf
        from tensorflow.core.framework import graph_pb2, summary_pb2
        from tensorflow.core.protobuf import config_pb2, rewriter_config_pb2
        from tensorflow.core.util.event_pb2 import Event
        import tensorflow.core.framework.attr_value_pb2
        assert graph_pb2.GraphDef is tf.GraphDef and config_pb2.ConfigProto is tf.ConfigProto and Event is tf.Event
    """)


@pytest.mark.parametrize("statement", ["import tensorflow.contrib.slim", "from tensorflow import contrib", "from tensorflow.python import debug",
                                       "import tensorflow.contrib as c", "from tensorflow.contrib.rnn import LSTMCell"])
def test_missing_parts_say_so(statement):
    part = "debug" if "debug" in statement else "contrib"
    run(f"""
        import penstock.api.root as root
        if {part!r} in root.MISSING or {part!r} == "debug":
            try:
                {statement}
            except ImportError as error:
                assert "not in this version of Penstock" in str(error), error
            else:
                assert {part!r} == "debug"
    """)


@pytest.mark.parametrize("name", ["no_such_part", "python.no_such_package", "python.ops.no_such_ops", "core.framework.no_such_pb2", "nn.no_such"])
def test_unknown_modules(name):
    run(f"""
        try:
            import tensorflow.{name}
        except ModuleNotFoundError as error:
            assert "tensorflow" in str(error)
        else:
            raise AssertionError("found")
    """)


def test_unknown_names_inside():
    run("""
        from tensorflow.python.framework import ops
        try:
            ops.no_such_name
        except AttributeError as error:
            assert "in Penstock" in str(error)
        try:
            from tensorflow.python.framework.ops import no_such_name
        except ImportError:
            print("as it should be")
    """)


def test_refused_when_tensorflow_is_there():
    python("""
        import sys, types
        import penstock
        sys.modules["tensorflow"] = types.ModuleType("tensorflow")
        try:
            penstock.install_as_tensorflow()
        except RuntimeError as error:
            assert "already imported" in str(error) and "penstock run" in str(error)
        else:
            raise AssertionError("installed over TensorFlow")
    """)


@pytest.mark.parametrize("module", sorted({source for sources in paths.MODULES.values() for source in sources.split()} | set(paths.PROTOS.values())))
def test_listed_modules_exist(module):
    importlib.import_module(module)


@pytest.mark.parametrize("origin", sorted(origin for names in paths.NAMES.values() for origin in names.values()))
def test_listed_names_exist(origin):
    assert resolve(origin) is not None


def test_switch_and_merge_of_control_flow_ops():
    run("""
        import tensorflow as tf
        from tensorflow.python.ops import control_flow_ops
        off, on = control_flow_ops.switch(tf.constant(5), tf.constant(True))
        with tf.Session() as session:
            assert session.run(control_flow_ops.merge([off * 10, on * 100])[0]) == 500
    """)


def test_the_registry_of_ops_as_protos():
    from penstock.api.inside import get_registered_ops
    found = get_registered_ops()
    assert found["Conv2D"].name == "Conv2D" and [arg.name for arg in found["MatMul"].input_arg] == ["a", "b"] and found["RandomUniform"].is_stateful


def test_star_imports_and_notes_of_libraries():
    run("""
        from tensorflow.python.ops.rnn_cell import *
        from tensorflow.python.ops.rnn_cell import LSTMCell as by_name
        import tensorflow as tf
        assert LSTMCell is by_name
        x = tf.constant(1.0, name="x")
        x.scope = "notes on a tensor"
        assert x.scope and tf.get_default_graph()._nodes_by_name["x"] is x.op
        assert tf.train.AdamOptimizer.__base__ is tf.train.SyncReplicasOptimizer.__base__ is tf.train.Optimizer
        class Mine(tf.train.AdamOptimizer):
            pass
        assert Mine.__base__ is tf.train.AdamOptimizer
    """)


def test_functions_of_private_modules():
    run("""
        import tempfile, glob
        import numpy as np
        import tensorflow as tf
        from tensorflow.python import pywrap_tensorflow
        from tensorflow.python.framework import ops, constant_op
        from tensorflow.python.ops import gradients_impl, metrics_impl, summary_op_util, control_flow_util
        from tensorflow.python.training import evaluation
        from tensorflow.python.layers import convolutional
        from tensorflow.python.eager import context
        folder = tempfile.mkdtemp()
        writer = pywrap_tensorflow.EventsWriter((folder + "/events").encode())
        writer.WriteEvent(tf.Event(step=3, summary=tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=2.0)])))
        writer.Flush(), writer.Close()
        (path,) = glob.glob(folder + "/*")
        assert [event.step for event in tf.train.summary_iterator(path)] == [0, 3]
        assert ops.prepend_name_scope("loc:@x", "a/") == "loc:@a/x" and ops.prepend_name_scope("^x", "a") == "^a/x"
        assert ops.prepend_name_scope("x", None) == "x"
        x = tf.Variable(3.0)
        assert len(gradients_impl.gradients_v2(x * x, [x])) == 1 and not control_flow_util.GraphOrParentsInXlaContext(tf.get_default_graph())
        assert evaluation._StopAfterNEvalsHook is tf.contrib.training.StopAfterNEvalsHook
        assert convolutional.Convolution2D is tf.layers.Conv2D and context.in_graph_mode() and not context.in_eager_mode()
        assert constant_op._tensor_shape_tensor_conversion_function(tf.TensorShape([2, 3])).shape == (2,)
        from tensorflow import pywrap_tensorflow as at_the_top
        assert at_the_top is tf.pywrap_tensorflow and at_the_top.NewCheckpointReader is pywrap_tensorflow.NewCheckpointReader
        assert not summary_op_util.skip_summary()
        with summary_op_util.summary_scope("loss") as (tag, scope):
            assert tag == "loss"
    """)
