"""Names of ops: uniqueness, scopes, what is allowed."""
from __future__ import annotations

import pytest

import penstock as tf


def test_names_are_made_unique():
    names = [tf.constant(0, name="x").op.name for _ in range(3)]
    assert names == ["x", "x_1", "x_2"]


def test_names_are_compared_without_case():
    assert [tf.constant(0, name=name).op.name for name in ("a", "A", "a")] == ["a", "A_1", "a_2"]


def test_a_taken_number_is_skipped():
    assert [tf.constant(0, name=name).op.name for name in ("x", "x_1", "x")] == ["x", "x_1", "x_2"]
    assert [tf.constant(0, name=name).op.name for name in ("y_1", "y", "y")] == ["y_1", "y", "y_2"]


def test_default_name_is_the_op_type():
    assert tf.constant(0).op.name == "Const"
    assert tf.placeholder(tf.float32).op.name == "Placeholder"
    assert tf.identity([1.0]).op.name == "Identity"


def test_converted_inputs_are_named_after_the_argument():
    tensor = tf.identity([1.0], name="i")
    assert tensor.op.inputs[0].name == "i/input:0"


def test_name_scopes_nest_and_are_made_unique():
    with tf.name_scope("a") as outer:
        with tf.name_scope("b") as inner:
            assert tf.constant(0, name="c").name == "a/b/c:0"
    with tf.name_scope("a") as again:
        assert tf.constant(0, name="c").name == "a_1/c:0"
    assert (outer, inner, again) == ("a/", "a/b/", "a_1/")


def test_scope_that_ends_in_a_slash_is_entered_as_it_is():
    with tf.name_scope("a") as scope:
        tf.constant(0, name="c")
    with tf.name_scope("other"):
        with tf.name_scope(scope):
            assert tf.constant(0, name="c").name == "a/c_1:0"


@pytest.mark.parametrize("name", ["", None])
def test_empty_scope_goes_to_the_root(name):
    graph = tf.get_default_graph()
    with graph.name_scope("a"):
        with graph.name_scope(name) as scope:
            assert scope == ""
            assert tf.constant(0, name="c").name == "c:0"


def test_name_that_ends_in_a_slash_is_taken_as_it_is():
    with tf.name_scope("scope") as scope:
        assert tf.identity([1], name=scope).op.name == "scope"


@pytest.mark.parametrize("name", ["_x", "-x", "/x", "x y", "x:0", "ä"])
def test_invalid_names(name):
    with pytest.raises(ValueError):
        tf.constant(0, name=name)


@pytest.mark.parametrize("name", ["x", "X.y", "0", "a-b", "a_b/c", ".a"])
def test_valid_names(name):
    assert tf.constant(0, name=name).op.name == name


@pytest.mark.parametrize("name", ["_x", "-x", "a b", "a:0"])
def test_invalid_scopes_at_the_root(name):
    with pytest.raises(ValueError):
        with tf.name_scope(name):
            tf.constant(0)


@pytest.mark.parametrize("name", ["_x", "-x", ".x"])
def test_scopes_inside_scopes_may_start_with_more(name):
    with tf.name_scope("a"):
        with tf.name_scope(name) as scope:
            assert scope == "a/" + name + "/"


def test_ops_inside_scopes_may_start_with_an_underscore():
    with tf.name_scope("a"):
        assert tf.constant(0, name="_x").op.name == "a/_x"


def test_unique_name_marks_the_name():
    graph = tf.get_default_graph()
    assert [graph.unique_name("u") for _ in range(2)] == ["u", "u_1"]
    assert [graph.unique_name("v", mark_as_used=False) for _ in range(2)] == ["v", "v"]
    assert tf.constant(0, name="u").op.name == "u_2"


def test_scope_with_values_uses_their_graph():
    other = tf.Graph()
    with other.as_default():
        value = tf.constant(1.0)
    with tf.name_scope(None, "default", [value]) as scope:
        assert tf.get_default_graph() is other
        assert scope == "default/"
    assert tf.get_default_graph() is not other


def test_scope_name_wins_over_default_name():
    with tf.name_scope("given", "default") as scope:
        assert scope == "given/"
    with tf.name_scope(None, "default") as scope:
        assert scope == "default/"


def test_name_scope_of_the_graph_can_be_read():
    graph = tf.get_default_graph()
    assert graph.get_name_scope() == ""
    with tf.name_scope("a"), tf.name_scope("b"):
        assert graph.get_name_scope() == "a/b"


def test_scope_and_op_share_names():
    tf.constant(0, name="a")
    with tf.name_scope("a") as scope:
        assert scope == "a_1/"


def test_a_full_name_is_used_once():
    tf.constant(0, name="a/")
    with pytest.raises(ValueError, match="Duplicate node name in graph: 'a'"):
        tf.constant(0, name="a/")
