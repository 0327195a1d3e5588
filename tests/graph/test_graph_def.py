"""GraphDefs: what is written, and how it is read back: scopes, input maps, return elements, errors."""
from __future__ import annotations

import re

import pytest
from google.protobuf import text_format

import penstock as tf


def small_graph():
    """x -> y = identity(x) -> z = identity(y), and a constant c that waits for y."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2], name="x")
        y = tf.identity(x, name="y")
        tf.identity(y, name="z")
        with tf.control_dependencies([y]):
            tf.constant(5.0, name="c")
    return graph.as_graph_def()


def edited(change):
    """The small graph after ``change(node by name)``."""
    graph_def = small_graph()
    change({node.name: node for node in graph_def.node})
    return graph_def


def test_nodes_as_written():
    nodes = {node.name: node for node in small_graph().node}
    assert list(nodes) == ["x", "y", "z", "c"]
    assert (nodes["y"].op, list(nodes["y"].input), nodes["y"].attr["T"].type) == ("Identity", ["x"], 1)
    assert list(nodes["c"].input) == ["^y"]
    assert [dim.size for dim in nodes["x"].attr["shape"].shape.dim] == [2]


def test_device_and_colocation_are_written():
    with tf.Graph().as_default() as graph:
        with tf.device("/cpu:1"):
            a = tf.constant(0, name="a")
        with tf.colocate_with(a.op):
            tf.constant(0, name="b")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    assert nodes["a"].device == nodes["b"].device == "/device:CPU:1"
    assert list(nodes["b"].attr["_class"].list.s) == [b"loc:@a"]


def test_versions_and_shapes():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [2, None], name="x")
    written = graph.as_graph_def(add_shapes=True)
    assert written.versions.producer == 134
    assert [dim.size for dim in written.node[0].attr["_output_shapes"].list.shape[0].dim] == [2, -1]


def test_import_under_the_default_scope():
    assert tf.import_graph_def(small_graph()) is None
    assert [op.name for op in tf.get_default_graph().get_operations()] == ["import/x", "import/y", "import/z", "import/c"]


def test_import_twice_makes_scopes_unique():
    tf.import_graph_def(small_graph(), name="a")
    tf.import_graph_def(small_graph(), name="a")
    names = [op.name for op in tf.get_default_graph().get_operations()]
    assert names[4:] == ["a_1/x", "a_1/y", "a_1/z", "a_1/c"]


def test_import_without_a_scope():
    tf.import_graph_def(small_graph(), name="")
    assert tf.get_default_graph().get_operation_by_name("z").inputs[0].name == "y:0"
    tf.import_graph_def(small_graph(), name="")
    assert tf.get_default_graph().get_operation_by_name("z_1").inputs[0].name == "y_1:0"


def test_import_inside_a_name_scope():
    with tf.name_scope("outer"):
        tf.import_graph_def(small_graph(), name="inner")
    assert tf.get_default_graph().get_operation_by_name("outer/inner/y")


def test_names_stay_taken_after_an_import():
    tf.import_graph_def(small_graph(), name="a")
    with tf.name_scope("a/"):
        assert tf.constant(0, name="c").op.name == "a/c_1"


def test_control_inputs_survive():
    tf.import_graph_def(small_graph(), name="a")
    op = tf.get_default_graph().get_operation_by_name("a/c")
    assert [other.name for other in op.control_inputs] == ["a/y"]


def test_return_elements():
    z, op = tf.import_graph_def(small_graph(), return_elements=["z:0", "y"], name="a")
    assert z.name == "a/z:0" and op.name == "a/y" and op.type == "Identity"


@pytest.mark.parametrize("element", ["nothing", "z:1", "z:x", "nothing:0"])
def test_unknown_return_elements(element):
    with pytest.raises(ValueError):
        tf.import_graph_def(small_graph(), return_elements=[element])


@pytest.mark.parametrize("key", ["x:0", "x"])
def test_input_map(key):
    mine = tf.constant([1.0, 2.0], name="mine")
    y, = tf.import_graph_def(small_graph(), input_map={key: mine}, return_elements=["y:0"], name="a")
    assert y.op.inputs[0] is mine
    with tf.Session() as session:
        assert session.run(y).tolist() == [1, 2]


def test_input_map_converts_values():
    y, = tf.import_graph_def(small_graph(), input_map={"x": [3.0, 4.0]}, return_elements=["y:0"], name="a")
    with tf.Session() as session:
        assert session.run(y).tolist() == [3, 4]


def test_input_map_cuts_in_the_middle():
    z, = tf.import_graph_def(small_graph(), input_map={"y": tf.constant([7.0, 8.0])}, return_elements=["z:0"], name="a")
    with tf.Session() as session:
        assert session.run(z).tolist() == [7, 8]


def test_input_map_of_a_wrong_type():
    with pytest.raises(ValueError):
        tf.import_graph_def(small_graph(), input_map={"x": tf.constant([1, 2])})


def test_input_map_of_an_unknown_name():
    with pytest.raises(ValueError):
        tf.import_graph_def(small_graph(), input_map={"nothing:0": tf.constant([1.0, 2.0])})


@pytest.mark.parametrize("arguments", [
    {"input_map": [1]}, {"input_map": {1: 2}}, {"return_elements": [3]},
])
def test_wrong_arguments(arguments):
    with pytest.raises(TypeError):
        tf.import_graph_def(small_graph(), **arguments)


def test_not_a_graph_def():
    with pytest.raises(TypeError):
        tf.import_graph_def("text")


@pytest.mark.parametrize("change", [
    lambda n: n["y"].input.__setitem__(0, "missing"),
    lambda n: n["y"].input.__setitem__(0, "x:1"),
    lambda n: n["y"].input.append("x"),
    lambda n: n["y"].ClearField("input"),
    lambda n: n["y"].attr["T"].__setattr__("type", 3),
    lambda n: n["y"].attr.pop("T"),
    lambda n: setattr(n["y"], "name", "x"),
    lambda n: setattr(n["y"], "name", "_y"),
    lambda n: n["y"].input.append("^missing"),
    lambda n: n["y"].input.__setitem__(0, "z"),
    lambda n: n["x"].attr["dtype"].__setattr__("b", True),
], ids=["missing input", "no such output", "too many inputs", "too few inputs", "wrong type", "no attribute", "two of a name",
        "invalid name", "missing control input", "cycle", "attribute of a wrong kind"])
def test_damaged_graphs(change):
    with pytest.raises(ValueError):
        tf.import_graph_def(edited(change))


def test_unknown_ops_are_reported_together():
    def change(nodes):
        nodes["y"].op, nodes["z"].op = "NoSuchOp", "NorThis"
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.import_graph_def(edited(change))
    assert "NoSuchOp" in str(caught.value)


def test_failed_import_adds_nothing():
    before = len(tf.get_default_graph().get_operations())
    with pytest.raises(ValueError):
        tf.import_graph_def(edited(lambda n: n["z"].input.__setitem__(0, "missing")))
    assert len(tf.get_default_graph().get_operations()) == before


def test_order_of_nodes_does_not_matter():
    graph_def = small_graph()
    nodes = list(graph_def.node)
    del graph_def.node[:]
    graph_def.node.extend(reversed(nodes))
    z, = tf.import_graph_def(graph_def, return_elements=["z:0"])
    with tf.Session() as session:
        assert session.run(z, {"import/x:0": [1.0, 2.0]}).tolist() == [1, 2]


def test_defaults_are_filled_in():
    def change(nodes):
        del nodes["x"].attr["shape"]
    tf.import_graph_def(edited(change), name="a")
    assert tf.get_default_graph().get_tensor_by_name("a/x:0").shape.ndims is None


def test_unknown_attributes_are_kept():
    def change(nodes):
        nodes["y"].attr["_mine"].i = 7
    tf.import_graph_def(edited(change), name="a")
    assert tf.get_default_graph().get_operation_by_name("a/y").get_attr("_mine") == 7


def test_colocation_follows_the_scope():
    def change(nodes):
        nodes["z"].attr["_class"].list.s.append(b"loc:@y")
    tf.import_graph_def(edited(change), name="a")
    assert tf.get_default_graph().get_operation_by_name("a/z").colocation_groups() == [b"loc:@a/y"]


def test_device_scopes_hold_for_imported_ops():
    def change(nodes):
        nodes["y"].device = "/device:CPU:1"
    with tf.device("/job:ps"):
        tf.import_graph_def(edited(change), name="a")
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("a/y").device == "/job:ps/device:CPU:1"
    assert graph.get_operation_by_name("a/z").device == "/job:ps"


def test_round_trip_is_exact():
    graph_def = small_graph()
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    assert graph.as_graph_def() == graph_def


# --- as TensorFlow imports ---------------------------------------------------------------------------------------------

PLACEHOLDER = "node { name: 'F' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }"


def relu(inputs, attrs=""):
    return f"{PLACEHOLDER} node {{ name: 'R' op: 'Relu6' {inputs} attr {{ key: 'T' value {{ type: DT_FLOAT }} }} {attrs} }}"


@pytest.mark.parametrize("text, message", [
    (relu("input: 'F' input: 'F'"), "NodeDef expected inputs 'float' do not match 2 inputs specified"),
    (relu(""), "NodeDef expected inputs 'float' do not match 0 inputs specified"),
    (relu("input: 'A:0'"), "Node 'R': Unknown input node 'A:0'"),
    (relu("input: 'F' input: '^X'"), "Node 'R': Unknown input node '^X'"),
    (relu("input: 'F:1'"), "Node 'R': Connecting to invalid output 1 of source node F which has 1 outputs."),
    (relu("input: 'F:b'"), "Cannot convert 'F:b' to a tensor name."),
    (relu("input: 'F'", "attr { key: '_class' value { list { s: 'loc:@Z' } } }"), "Node 'R' expects to be colocated with unknown node 'Z'"),
    ("versions { producer: -1 }", "GraphDef producer version -1 below min producer 0"),
    ("versions { min_consumer: 100000 }", "GraphDef min consumer version 100000 above current version 134"),
])
def test_what_is_wrong_with_a_graph_def(text, message):
    with tf.Graph().as_default(), pytest.raises(ValueError, match=re.escape(message)):
        tf.import_graph_def(text_format.Merge(text, tf.GraphDef()))


def test_colocation_and_versions_survive():
    text = relu("input: 'F' device: '/cpu:1'", "attr { key: '_class' value { list { s: 'loc:@F' } } }") + " versions { producer: 20 min_consumer: 3 }"
    graph_def = text_format.Merge(text, tf.GraphDef())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.device("/cpu:0"):
            (again,) = tf.import_graph_def(graph_def, name="", return_elements=["R"])
        assert again.colocation_groups() == [b"loc:@F_1"] and again.device == "/device:CPU:0"  # not its own: that of F_1
        assert graph.graph_def_versions.producer == 20 and graph.graph_def_versions.min_consumer == 3
        assert not graph.as_graph_def().HasField("library")


def test_maps_of_other_values():
    graph_def = text_format.Merge(relu("input: 'F'"), tf.GraphDef())
    with tf.Graph().as_default(), tf.Session() as session:
        (result,) = tf.import_graph_def(graph_def, {"F:0": 7.0}, ["R:0"])
        assert session.run(result) == 6.0 and result.op.inputs[0].name == "import/_inputs/Const:0"
        with pytest.raises(ValueError, match="requires a non-empty `name`"):
            tf.import_graph_def(graph_def, {"F:0": 7.0}, name="")
        with pytest.raises(ValueError, match=re.escape("not found in graph_def: [F:2]")):
            tf.import_graph_def(graph_def, {"F:2": tf.constant(1.0)})


def test_in_loops_what_reads_invariants_only_waits_for_the_body():
    """Otherwise it runs once more than the body does: in TensorFlow's executor, and between tasks."""
    queue = tf.FIFOQueue(5, tf.float32, shapes=[()])
    tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + queue.dequeue(name="taken")), [0, 0.0])
    taken = next(node for node in tf.get_default_graph().as_graph_def().node if node.name.endswith("taken"))
    assert taken.input[1:] == ["^while/Identity"]
