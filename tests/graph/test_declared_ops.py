"""Op types that are declared and not implemented."""
from __future__ import annotations

import pytest
from google.protobuf import text_format
from tensorboard.compat.proto.op_def_pb2 import OpList

import penstock as tf
from penstock.graph.declared_ops import register_op_list
from penstock.graph.opdef import REGISTRY

DECLARATIONS = """
op { name: 'DeclaredSource'  output_arg { name: 'a' type: DT_INT32 }  output_arg { name: 'b' type: DT_FLOAT is_ref: true } }
op { name: 'DeclaredSum'  input_arg { name: 'terms' number_attr: 'N' type_attr: 'T' }  output_arg { name: 'sum' type_attr: 'T' }
     attr { name: 'N' type: 'int' has_minimum: true minimum: 1 }  attr { name: 'T' type: 'type' }
     attr { name: 'scale' type: 'float' default_value { f: 2.5 } } }
"""


@pytest.fixture(autouse=True)
def declarations():
    known = set(REGISTRY)
    register_op_list(text_format.Merge(DECLARATIONS, OpList()))
    yield
    for op_type in set(REGISTRY) - known:
        del REGISTRY[op_type]


def imported(text, *names):
    return tf.import_graph_def(text_format.Merge(text, tf.GraphDef()), return_elements=names, name="")


def test_nodes_of_declared_types():
    source, total = imported("""
        node { name: 'x' op: 'DeclaredSource' }
        node { name: 'y' op: 'DeclaredSum' input: 'x' input: 'x:0' attr { key: 'N' value { i: 2 } } attr { key: 'T' value { type: DT_INT32 } } }
    """, "x", "y")
    assert [tensor.dtype for tensor in source.outputs] == [tf.int32, tf.float32._as_ref]
    assert total.get_attr("scale") == 2.5 and total.outputs[0].shape.ndims is None
    assert total._input_types == [tf.int32, tf.int32] and total._output_types == [3]
    assert total.node_def.input == ["x", "x"] and source.op_def.name == "DeclaredSource"
    with pytest.raises(ValueError, match="less than minimum 1"):
        imported("node { name: 'z' op: 'DeclaredSum' attr { key: 'N' value { i: 0 } } attr { key: 'T' value { type: DT_INT32 } } }")


def test_registering_again():
    register_op_list(text_format.Merge(DECLARATIONS, OpList()))
    relu = REGISTRY["Relu"]
    register_op_list(text_format.Merge("op { name: 'Relu' }", OpList()))
    assert REGISTRY["Relu"] is relu
    with pytest.raises(TypeError, match="not an op_def_pb2"):
        register_op_list([])


def test_create_op_takes_any_type():
    graph = tf.get_default_graph()
    source = graph.create_op("Unheard", [], [tf.float32, tf.string._as_ref], name="source")
    sink = graph.create_op("Sink", [source.outputs[0], source.outputs[1]], [], input_types=[tf.float32, tf.string._as_ref],
                           attrs={"depth": tf.AttrValue(i=3)})
    assert [source.type, source.name, sink.name] == ["Unheard", "source", "Sink"]
    assert [tensor.dtype for tensor in source.outputs] == [tf.float32, tf.string._as_ref]
    assert sink._input_types == [tf.float32, tf.string._as_ref] and sink.get_attr("depth") == 3 and source.outputs[0].consumers() == [sink]
    with pytest.raises(tf.errors.NotFoundError, match="Op type not registered 'Unheard'"), tf.Session() as session:
        session.run(source.outputs[0])
    with pytest.raises(LookupError, match="Op type not registered 'Unheard'"):
        graph.create_op("Unheard", [])


def test_versions_count_operations():
    graph = tf.get_default_graph()
    first = tf.constant(1.0)
    version = graph.version
    second = tf.constant(2.0)
    assert [first.op._id, second.op._id] == [version, version + 1] and graph._last_id == graph.version == version + 1
    assert [node.name for node in graph.as_graph_def(from_version=version).node] == [second.op.name]
