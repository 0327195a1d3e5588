"""Why NumPy ran something: each fallback in a report says it, and says the truth."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf
from penstock.debug.explain import Explainer
from penstock.native.config import config
from penstock.ops.common import like
from support.plans import regions_of

pytestmark = pytest.mark.process


def explained(fetches, feeds=None, runs=2):
    """The fallbacks of a step, by op type."""
    with Explainer() as explainer, tf.Session() as session:
        for _ in range(runs):
            session.run(fetches, feeds)
    found = {}
    for report in explainer.reports():
        for _, kind, reason in report.fallbacks:
            found.setdefault(kind, set()).add(reason)
        for kernel in report.kernels:
            found.setdefault(f"kernel {kernel.name}", set()).update(kernel.nodes)
    return found


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as made:
        yield made


def test_a_step_that_ran_once(monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    x = tf.placeholder(tf.float32, [4])
    assert explained(tf.exp(x) + tf.tanh(x), {x: np.ones(4)}, runs=1)["Exp"] == {"it ran once only: native code is made when a step runs again"}


def test_types_and_ops_without_native_form():
    x = tf.placeholder(tf.complex64, [4])
    found = explained([tf.abs(x * x), tf.unique(tf.real(x))[0]], {x: np.ones(4)}, runs=3)
    assert "native code does not cover complex64" in found["Mul"]
    assert "its op has no native form" in found["Unique"]


def test_what_handles_the_array_of_a_node_that_is_not_native():
    x = tf.placeholder(tf.float32, [3, 2])
    array = tf.TensorArray(tf.float32, 3, clear_after_read=False).unstack(x)
    total, _ = tf.while_loop(lambda i, _: i < 3, lambda i, value: (i + 1, value + tf.py_func(np.sin, [array.read(i)], tf.float32)),
                             [0, tf.zeros([2])], shape_invariants=[tf.TensorShape([]), tf.TensorShape(None)])
    found = explained([total, array.stack()], {x: np.ones((3, 2))}, runs=3)
    reasons = {reason for reasons in found.values() for reason in reasons}
    assert any("handles the same list or array of tensors" in reason and "While" in reason for reason in reasons)
    assert any("PyFunc" in reason and "it calls Python" in reason for reason in found["While"])


def test_numpy_runs_before_native_code(monkeypatch):
    monkeypatch.setattr(config, "mode", "background")
    x = tf.placeholder(tf.float32, [4])
    y = tf.reduce_sum(tf.exp(x) * tf.tanh(x))
    reason, = explained(y, {x: np.ones(4)}, runs=3)["kernel NumPy"]
    assert "so little work that native code can wait" in reason and "for 2 of 2 runs" in reason


def test_a_variable_without_a_value():
    v = tf.Variable(np.ones(5000, np.float32))
    reason, = explained(tf.assign(v, tf.tanh(tf.fill([5000], 2.0)) * tf.placeholder_with_default(3.0, []), name="first"), runs=1)["kernel NumPy"]
    assert "up to first (a variable had no value yet: NumPy took" in reason and "for 1 of 1 runs)" in reason


def test_inputs_that_are_no_arrays():
    x = tf.placeholder(tf.float32, [4])
    y = tf.exp(x) * tf.tanh(x)
    with Explainer(), tf.Session() as session:
        session.run(y, {x: np.ones(4)})
        region, = regions_of(session)
        np.testing.assert_allclose(region.run([1.0] * 4)[0], np.exp(1.0) * np.tanh(1.0), rtol=1e-6)  # a list: NumPy's kernels take it
        reason, = next(kernel.nodes for kernel in region.describe().kernels if kernel.name == "NumPy")
    assert "neither an array nor a variable ('list' object" in reason


def test_too_many_inputs_for_one_kernel():
    """LLVM would take minutes for some thousand of them."""
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        assert session.run(tf.add_n([x * float(k) for k in range(500)]), {x: np.ones(2)}).tolist() == [499 * 250] * 2
    assert explained(tf.add_n([x * float(k) for k in range(500)]), {x: np.ones(2)})["AddN"] \
        == {"it has no native form for these types, or for so many inputs"}


def test_strides_that_would_be_too_many_products():
    """One product for each remainder of a pixel's coordinates."""
    x, f = tf.placeholder(tf.float32, [1, 2, 2, 1]), tf.ones([1, 1, 1, 1])
    y = tf.nn.conv2d_transpose(x * 2.0, f, [1, 1000, 1000, 1], [1, 600, 600, 1], "VALID") + 1.0
    with tf.Session() as session:
        assert session.run(y, {x: np.ones((1, 2, 2, 1))}).sum() == 1000 * 1000 + 2 * 4
    assert explained(y, {x: np.ones((1, 2, 2, 1))})["Conv2DBackpropInput"] == {"strides of 600 and 600 mean too many products"}


def _raises(b, x):
    raise RuntimeError("of the user's own")


@pytest.mark.parametrize("name, lower, reason", [
    ("Nothing", lambda b, x: None, "`lower` gives nothing where a value is needed"),
    ("Nowhere", lambda b, x: b.add(x, None), "`lower` gives nothing where a value is needed"),
    ("Unknown", lambda b, x: b.sinc(x), "its `lower` fails: AttributeError(\"'sinc' is not in the vocabulary of `lower`\")"),
    ("TooMany", lambda b, x: (x, x), "its `lower` fails: ValueError('zip() argument 2 is shorter than argument 1')"),
    ("Raises", _raises, "its `lower` fails: RuntimeError(\"of the user's own\")")])
def test_a_wrong_lower_of_the_user(name, lower, reason):
    """NumPy runs the op by its kernel, which is right."""
    body = {"elementwise": True, "shape": like("x"), "kernel": lambda x: x * 2, "lower": lower, "__doc__": "Twice x.", "__module__": __name__}
    double = tf.op(f"TestLower{name}", "x: float -> y: float")(type(name, (), body))
    x = tf.placeholder(tf.float32, [3])
    y = tf.exp(double(x + 1.0) * 0.5)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(y, {x: np.zeros(3)}), np.e, rtol=1e-6)
    assert explained(y, {x: np.zeros(3)})[f"TestLower{name}"] == {f"TestLower{name}: {reason}"}
