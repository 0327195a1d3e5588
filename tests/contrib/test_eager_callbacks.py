"""``tf.contrib.eager``: functions that are called after each operation."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.contrib.eager.callbacks import InfOrNanError
from support.imperative import imperative

pytestmark = pytest.mark.process
tfe = tf.contrib.eager


@pytest.fixture
def graph():
    with imperative() as graph:
        yield graph
        tfe.clear_execution_callbacks()


def test_each_operation_is_told(graph):
    seen = []

    def note(op_type, inputs, attrs, outputs, op_name):
        seen.append((op_type, [value.numpy() for value in inputs], attrs, [(value * 1.0).numpy() for value in outputs], op_name))

    x = tf.constant(2.0)
    for _ in range(3):
        y = x * 3.0
    tfe.add_execution_callback(note)
    y = tf.tanh(x * 0.0)
    tfe.clear_execution_callbacks()
    assert (y * 1.0).numpy() == 0.0
    assert seen == [("Mul", [2.0, 0.0], ("T", 1), [0.0], "mul"), ("Tanh", [0.0], ("T", 1), [0.0], None)]
    with pytest.raises(TypeError, match="must be a function"):
        tfe.add_execution_callback("note")


def test_infinities_and_nans(graph):
    assert tfe.seterr(inf_or_nan="raise") == {"inf_or_nan": tfe.ExecutionCallback.IGNORE}
    with pytest.raises(InfOrNanError, match=r"Output 1 of 1 of TFE operation Log \(name: None\) contains 1 inf\(s\) and 1 nan\(s\) out of a"):
        tf.log(tf.constant([0.0, -1.0, 1.0]))
    assert tfe.seterr(inf_or_nan=tfe.ExecutionCallback.IGNORE) == {"inf_or_nan": tfe.ExecutionCallback.RAISE}
    assert tf.log(0.0).numpy() == -float("inf")
    with tfe.errstate(inf_or_nan="raise"), pytest.raises(InfOrNanError):
        tf.log(0.0)
    assert tf.log(0.0).numpy() == -float("inf")
    with pytest.raises(ValueError, match="not a valid"):
        tfe.seterr(inf_or_nan="shout")


def test_only_one_of_them(graph, capsys):
    tfe.add_execution_callback(tfe.inf_callback)
    tf.log(-1.0)
    with pytest.raises(InfOrNanError):
        tf.log(0.0)
    tfe.clear_execution_callbacks()
    tfe.add_execution_callback(tfe.nan_callback)
    tf.log(0.0)
    with pytest.raises(InfOrNanError):
        tf.log(-1.0)
    tfe.seterr(inf_or_nan="print")
    with pytest.raises(InfOrNanError):
        tf.log(-1.0)
    assert "contains 1 nan" not in capsys.readouterr().out  # the first callback has raised
