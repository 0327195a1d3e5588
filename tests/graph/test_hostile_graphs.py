"""GraphDefs that ask for the impossible: small files must not become large in memory, and every error names its node."""
from __future__ import annotations

import tracemalloc

import pytest

import penstock as tf
from penstock.native.config import config
from support.memory import peak_of


def graph_def(**node):
    definition = tf.GraphDef()
    definition.node.add(**node)
    return definition


def importing(definition):
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
    return graph


@pytest.mark.parametrize("kind", ["DT_INT32", "DT_STRING"])
def test_a_large_constant_of_one_value_takes_no_memory(kind):
    definition = graph_def(name="c", op="Const")
    definition.node[0].attr["dtype"].type = tf.as_dtype(kind[3:].lower()).as_datatype_enum
    tensor = definition.node[0].attr["value"].tensor
    tensor.dtype = definition.node[0].attr["dtype"].type
    tensor.tensor_shape.dim.add(size=2**31 - 1)
    tracemalloc.start()
    try:
        graph = importing(definition)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
    assert graph.get_tensor_by_name("c:0").shape.as_list() == [2**31 - 1]


def test_more_inputs_than_there_are():
    definition = graph_def(name="a", op="AddN")
    definition.node[0].attr["N"].i = 2**40
    definition.node[0].attr["T"].type = tf.float32.as_datatype_enum
    with pytest.raises(ValueError, match=r"Node 'a' \(AddN\) has 0 inputs; 'inputs' needs 1099511627776"):
        importing(definition)


def test_more_outputs_than_anybody_needs():
    definition = graph_def(name="x", op="Placeholder")
    definition.node[0].attr["dtype"].type = tf.float32.as_datatype_enum
    definition.node.add(name="u", op="Unpack", input=["x"])
    definition.node[1].attr["num"].i = 2**40
    definition.node[1].attr["T"].type = tf.float32.as_datatype_enum
    with pytest.raises(ValueError, match=r"Node 'u' \(Unpack\) declares 1099511627776 outputs"):
        importing(definition)


def loop():
    with tf.Graph().as_default() as graph:
        tf.identity(tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0]), name="out")
    return graph.as_graph_def()


def test_a_control_edge_that_closes_a_cycle():
    definition = loop()
    nodes = {node.op: node for node in definition.node}
    nodes["Merge"].input.append("^" + nodes["NextIteration"].name)
    with pytest.raises(ValueError, match="closes a cycle"):
        importing(definition)


def test_a_circle_without_a_loop():
    definition = graph_def(name="a", op="NoOp", input=["^b"])
    definition.node.add(name="b", op="NoOp", input=["^a"])
    with pytest.raises(ValueError, match=r"has a cycle through node '[ab]'"):
        importing(definition)


def test_shapes_that_contradict_name_their_node():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0, 2.0], name="c")
    definition = graph.as_graph_def(add_shapes=True)
    definition.node[0].attr["_output_shapes"].list.shape[0].dim[0].size = 3
    with pytest.raises(ValueError, match="'_output_shapes' of node 'c'"):
        importing(definition)


def constant(definition, name, size, values):
    node = definition.node.add(name=name, op="Const")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    tensor = node.attr["value"].tensor
    tensor.dtype = tf.float32.as_datatype_enum
    tensor.tensor_shape.dim.add(size=size)
    tensor.float_val.extend(values)


def refused(definition, match):
    with pytest.raises(ValueError, match=match):
        importing(definition)


def test_a_constant_that_repeats_the_last_of_its_values():
    definition = tf.GraphDef()
    constant(definition, "c", 1 << 29, [1.0, 2.0])
    assert peak_of(lambda: refused(definition, "too much for their file|too many to be honest")) < 10 << 20
    honest = tf.GraphDef()
    constant(honest, "c", 1 << 18, [1.0, 2.0])
    with importing(honest).as_default(), tf.Session() as session:
        value = session.run("c:0")
    assert value[0] == 1.0 and (value[1:] == 2.0).all() and value.shape == (1 << 18,)


def test_many_constants_that_repeat_their_value():
    definition = tf.GraphDef()
    for number in range(200):
        constant(definition, f"c{number}", 1 << 20, [1.0])
    assert peak_of(lambda: refused(definition, "constants of a graph")) < 10 << 20


def test_many_nodes_with_many_outputs():
    definition = tf.GraphDef()
    definition.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    for number in range(200):
        node = definition.node.add(name=f"u{number}", op="Unpack", input=["x"])
        node.attr["T"].type, node.attr["num"].i = tf.float32.as_datatype_enum, 1 << 16
    assert peak_of(lambda: refused(definition, "declares 65536 outputs")) < 150 << 20


def test_the_outputs_of_a_node_in_a_function_are_counted_not_listed():
    definition = tf.GraphDef()
    function = definition.library.function.add()
    function.signature.name = "f"
    function.signature.output_arg.add(name="y", type=tf.float32.as_datatype_enum)
    for name in ("a", "b"):
        split = function.node_def.add(name=name, op="Split", input=["a:output:0", "b:output:0"])
        split.attr["T"].type, split.attr["num_split"].i = tf.float32.as_datatype_enum, 1 << 40
    function.ret["y"] = "a:output:0"
    definition.node.add(name="c", op="Placeholder").attr["dtype"].type = tf.bool.as_datatype_enum
    node = definition.node.add(name="call", op="If", input=["c"])
    node.attr["then_branch"].func.name = node.attr["else_branch"].func.name = "f"
    node.attr["Tcond"].type = tf.bool.as_datatype_enum
    node.attr["Tin"].list.SetInParent()
    node.attr["Tout"].list.type.append(tf.float32.as_datatype_enum)

    def run():
        refused(definition, "the function 'f'")

    assert peak_of(run) < 10 << 20


def nested_conditionals(levels):
    """Each level is a function whose two branches are one function, that of the level below."""
    definition = tf.GraphDef()
    floating, boolean = tf.float32.as_datatype_enum, tf.bool.as_datatype_enum

    def add_if(nodes, name, condition, below):
        node = nodes.add(name=name, op="If", input=[condition, "x"])
        node.attr["Tcond"].type = boolean
        for attribute in ("Tin", "Tout"):
            node.attr[attribute].list.type.append(floating)
        for attribute in ("then_branch", "else_branch"):
            node.attr[attribute].func.name = below

    def add_condition(nodes):
        node = nodes.add(name="c", op="Const")
        node.attr["dtype"].type = node.attr["value"].tensor.dtype = boolean
        node.attr["value"].tensor.bool_val.append(True)

    for level in range(levels):
        function = definition.library.function.add()
        function.signature.name = f"f{level}"
        function.signature.input_arg.add(name="x", type=floating)
        function.signature.output_arg.add(name="y", type=floating)
        if level:
            add_condition(function.node_def)
            add_if(function.node_def, "i", "c:output:0", f"f{level - 1}")
        else:
            function.node_def.add(name="n", op="Neg", input=["x"]).attr["T"].type = floating
        function.ret["y"] = "i:output:0" if level else "n:y:0"
    definition.node.add(name="x", op="Placeholder").attr["dtype"].type = floating
    add_condition(definition.node)
    add_if(definition.node, "out", "c", f"f{levels - 1}")
    return definition


@pytest.mark.parametrize("mode", ["off", "eager"])
def test_conditionals_that_share_their_branches(monkeypatch, mode):
    """The ways through them double with every level; the time must not: there are 2 ** 60."""
    monkeypatch.setattr(config, "mode", mode)
    graph = importing(nested_conditionals(60))
    with graph.as_default(), tf.Session() as session:
        for _ in range(3):
            assert session.run("out:0", {"x:0": 2.0}) == -2.0
    with pytest.raises(tf.errors.UnimplementedError, match="is the branch or body of several ops"):
        graph.as_graph_def()


def test_the_shape_of_what_no_int32_counts():
    """Another shape function that asks for the shape while building gets numbers; running it is an error of the op."""
    x = tf.placeholder(tf.float32, [None, 2**62])
    assert tf.reshape(tf.placeholder(tf.float32), tf.shape(x)).shape.as_list() == [None, 2**62]


def test_a_cycle_of_control_edges_is_an_error_of_the_step():
    with tf.Graph().as_default() as graph:
        x, y = tf.constant(1), tf.constant(2)
        y.op._add_control_input(x.op)
        x.op._add_control_input(y.op)
    with tf.Session(graph=graph) as session, pytest.raises(tf.errors.InvalidArgumentError, match="contains a cycle with 2 nodes, including: Const"):
        session.run(x)


def test_placeholders_of_old_graphs_have_no_shape():
    """Up to version 21 a GraphDef said [] of a placeholder whose shape is not known."""
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [], name="x")
    definition = graph.as_graph_def()
    for producer, shape in ((0, None), (21, None), (22, 0), (24, 0)):
        definition.versions.producer = producer
        with tf.Graph().as_default():
            (x,) = tf.import_graph_def(definition, return_elements=["x:0"])
            assert x.shape.ndims == shape
