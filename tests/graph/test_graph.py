"""Graphs: elements, defaults, finalising, collections, versions."""
from __future__ import annotations

import threading

import pytest

import penstock as tf


def test_operations_are_listed_in_order():
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    graph = tf.get_default_graph()
    assert graph.get_operations() == [a.op, b.op]
    assert [op.type for op in graph.get_operations()] == ["Const", "Identity"]


def test_elements_are_found_by_name():
    graph = tf.get_default_graph()
    a = tf.constant(1.0, name="a")
    assert graph.get_tensor_by_name("a:0") is a
    assert graph.get_operation_by_name("a") is a.op
    assert graph.as_graph_element("a:0") is a
    assert graph.as_graph_element("a") is a.op
    assert graph.as_graph_element(a) is a
    assert graph.as_graph_element(a.op) is a.op


@pytest.mark.parametrize("name, error", [
    ("b", ValueError), ("b:0", KeyError), ("a:1", KeyError), ("a:x", ValueError), (3, TypeError), ("a", ValueError)])
def test_get_tensor_by_wrong_name(name, error):
    tf.constant(1.0, name="a")
    with pytest.raises(error):
        tf.get_default_graph().get_tensor_by_name(name)


@pytest.mark.parametrize("name, error", [("b", KeyError), ("a:0", ValueError), (3, TypeError)])
def test_get_operation_by_wrong_name(name, error):
    tf.constant(1.0, name="a")
    with pytest.raises(error):
        tf.get_default_graph().get_operation_by_name(name)


def test_elements_of_other_graphs_are_rejected():
    with tf.Graph().as_default():
        other = tf.constant(1.0)
    with pytest.raises(ValueError):
        tf.get_default_graph().as_graph_element(other)


def test_inputs_of_two_graphs_do_not_mix():
    a = tf.constant(1.0)
    with tf.Graph().as_default():
        b = tf.constant(2.0)
        with pytest.raises(ValueError, match="same graph"):
            tf.add(a, b)


def test_default_graph_nests():
    outer = tf.get_default_graph()
    graph = tf.Graph()
    with graph.as_default() as entered:
        assert entered is graph is tf.get_default_graph()
        assert tf.constant(0).graph is graph
    assert tf.get_default_graph() is outer


def test_reset_inside_a_nested_graph():
    with tf.Graph().as_default():
        with pytest.raises(AssertionError):
            tf.reset_default_graph()


def test_default_graph_is_per_thread():
    graph, seen = tf.Graph(), []
    with graph.as_default():
        thread = threading.Thread(target=lambda: seen.append(tf.get_default_graph()))
        thread.start()
        thread.join()
    assert seen[0] is not graph


def test_finalized_graph_takes_no_ops():
    graph = tf.get_default_graph()
    tf.constant(0)
    graph.finalize()
    assert graph.finalized
    with pytest.raises(RuntimeError, match="finalized"):
        tf.constant(1)


def test_tensor_knows_its_consumers():
    a = tf.constant(1.0)
    b, c = tf.identity(a), tf.identity(a)
    assert a.consumers() == [b.op, c.op]


def test_op_properties():
    a = tf.constant(1.0, name="a")
    b = tf.identity(a, name="b")
    assert (b.op.name, b.op.type, list(b.op.inputs), b.op.outputs, b.op.control_inputs) == ("b", "Identity", [a], [b], [])
    assert (b.name, b.value_index, b.dtype, b.graph, b.device) == ("b:0", 0, tf.float32, tf.get_default_graph(), "")
    assert b.op.get_attr("T") == tf.float32
    assert b.op.values() == (b,)
    with pytest.raises(ValueError):
        b.op.get_attr("nothing")


def test_text_of_elements():
    a = tf.placeholder(tf.float32, [None, 2], name="a")
    assert repr(a) == "<tf.Tensor 'a:0' shape=(?, 2) dtype=float32>"
    assert str(a) == 'Tensor("a:0", shape=(?, 2), dtype=float32)'
    assert str(tf.placeholder(tf.float32, name="u")) == 'Tensor("u:0", dtype=float32)'
    assert repr(a.op) == "<tf.Operation 'a' type=Placeholder>"


def test_tensors_have_no_truth_value_and_cannot_be_iterated():
    a = tf.constant([1, 2])
    with pytest.raises(TypeError):
        bool(a)
    with pytest.raises(TypeError):
        list(a)
    with pytest.raises(TypeError):
        len(a)
    with pytest.raises(TypeError):
        int(a)


def test_tensors_are_compared_by_identity():
    a, b = tf.constant(1), tf.constant(1)
    assert a == a and a != b and len({a, b}) == 2


def test_set_shape_adds_what_is_known():
    a = tf.placeholder(tf.float32)
    a.set_shape([None, 3])
    a.set_shape([2, None])
    assert a.shape.as_list() == [2, 3]
    with pytest.raises(ValueError):
        a.set_shape([4, 3])


def test_version_grows():
    graph = tf.get_default_graph()
    before = graph.version
    tf.constant(0)
    assert graph.version > before


def test_collections():
    graph = tf.get_default_graph()
    for value in ("x", "y"):
        tf.add_to_collection("c", value)
    assert tf.get_collection("c") == ["x", "y"]
    tf.get_collection("c").append("lost")
    tf.get_collection_ref("c").append("z")
    assert tf.get_collection("c") == ["x", "y", "z"]
    assert tf.get_collection("none") == []
    graph.clear_collection("c")
    assert tf.get_collection("c") == []


def test_collection_filtered_by_scope():
    with tf.name_scope("a"):
        inside = tf.constant(0, name="x")
    outside = tf.constant(0, name="b")
    for item in (inside, outside, "no name"):
        tf.add_to_collection("c", item)
    assert tf.get_collection("c", scope="a") == [inside]
    assert tf.get_collection("c", scope="x") == []
    assert tf.get_collection("c", scope=".*x") == [inside]


def test_several_collections_at_once():
    tf.add_to_collections(["a", "b", "a"], 1)
    tf.add_to_collections("text", 2)
    assert tf.get_collection("a") == [1] and tf.get_collection("b") == [1] and tf.get_collection("text") == [2]


def test_collections_of_a_finalized_graph():
    graph = tf.get_default_graph()
    graph.finalize()
    with pytest.raises(RuntimeError):
        tf.add_to_collection("c", 1)


def test_create_op_by_type():
    a = tf.constant(1.0)
    op = tf.get_default_graph().create_op("Identity", [a], [tf.float32], name="made")
    assert (op.name, op.type, op.outputs[0].dtype) == ("made", "Identity", tf.float32)


def test_gradient_override_map_marks_ops():
    graph = tf.get_default_graph()
    with graph.gradient_override_map({"Identity": "Other"}):
        a = tf.identity([1.0])
    assert a.op.get_attr("_gradient_op_type") == b"Other"
    with pytest.raises(TypeError):
        with graph.gradient_override_map("Identity"):
            pass


def test_ten_thousand_ops():
    value = tf.constant(0.0)
    for _ in range(9999):
        value = tf.identity(value)
    graph = tf.get_default_graph()
    assert len(graph.get_operations()) == 10000
    assert value.op.name == "Identity_9998"
    assert len(graph.as_graph_def().node) == 10000


def test_threads_build_one_graph():
    graph = tf.Graph()

    def build():
        with graph.as_default():
            for _ in range(100):
                tf.constant(0)

    threads = [threading.Thread(target=build) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [op.name for op in graph.get_operations()]
    assert len(names) == len(set(names)) == 400
