"""Parts of graphs as functions: operations that run in every call."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.graph.graph_to_function import graph_to_function

pytestmark = pytest.mark.graph


def test_control_outputs_have_names_and_stand_in_the_body():
    x, other = tf.placeholder(tf.float32, [], "x"), tf.placeholder(tf.float32, [], "other")
    y, side = tf.negative(x, "y"), tf.square(x, "side")
    proto = graph_to_function(tf.get_default_graph(), "f", [y.op, side.op], [x], [y], None, "", {"aside": side.op, "y": y.op})
    assert list(proto.signature.control_output) == ["aside", "y"]
    assert dict(proto.control_ret) == {"aside": "side", "y": "y"}
    with pytest.raises(tf.errors.InvalidArgumentError, match="'other' is not in the body of the function 'g'"):
        graph_to_function(tf.get_default_graph(), "g", [y.op], [x], [y], None, "", {"other": other.op})
