"""Tapes: what they record and forget, and that their gradients are those of tf.gradients."""
from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from penstock.imperative.tape import GradientTape
from support import build
from support.build import Call
from support.compare import difference
from support.examples import Example, State, load
from support.imperative import imperative

pytestmark = pytest.mark.process

DIFFERENTIABLE = [examples[0] for name, examples in sorted(load().items()) if name in REGISTRY and examples[0].grad and examples[0].run
                  and examples[0].exact and REGISTRY[name].has_gradient and not name.startswith("_") and not REGISTRY[name].stateful]


def _float_inputs(call: Call) -> list[Any]:
    chosen = call.example.grad_inputs
    return [tensor for index, tensors in enumerate(call.arguments) if chosen is None or index in chosen
            for tensor in tensors if tensor.dtype.is_floating]


def _can_run(example: Example) -> bool:
    leaves = [leaf for item in example.inputs for leaf in (item if isinstance(item, (list, tuple)) else [item])]
    definition = REGISTRY[example.op_type]
    if any(isinstance(leaf, State) or callable(leaf) for leaf in leaves) or definition.control_flow or definition.gradient is None:
        return False
    with Graph().as_default():
        call = Call(example, build.as_constant)
    return bool(_float_inputs(call)) and any(tensor.dtype.is_floating for tensor in call.outputs)


@pytest.mark.parametrize("example", [example for example in DIFFERENTIABLE if _can_run(example)], ids=lambda example: example.label)
def test_gradients_are_those_of_a_graph(example):
    with Graph().as_default() as graph:
        call = Call(example, build.as_constant)
        sources = _float_inputs(call)
        targets = [tensor for tensor in call.outputs if tensor.dtype.is_floating]
        built = [None if grad is None else tf.convert_to_tensor(grad) for grad in tf.gradients(targets, sources)]
    with build.session(graph) as running:
        wanted = [None if grad is None else running.run(grad) for grad in built]
    with imperative():
        with GradientTape() as tape:
            called = Call(example, _watched(tape))
            targets = [tensor for tensor in called.outputs if tensor.dtype.is_floating]
        grads = tape.gradient(targets, _float_inputs(called))
        for grad, other in zip(grads, wanted):
            assert (grad is None) == (other is None)
            if grad is not None:
                assert difference(tf.convert_to_tensor(grad).numpy(), other) is None, difference(tf.convert_to_tensor(grad).numpy(), other)


def _watched(tape: GradientTape) -> Any:
    def source(array: np.ndarray) -> Any:
        tensor = build.as_constant(array)
        if tensor.dtype.is_floating:
            tape.watch(tensor)
        return tensor
    return source


def test_variables_are_watched_when_they_are_read():
    with imperative():
        v, fixed = tf.Variable(3.0), tf.Variable(2.0, trainable=False)
        with GradientTape() as tape:
            y = v * v * fixed
        assert tape.watched_variables() == (v,)
        assert tape.gradient(y, [v, fixed])[0].numpy() == 12.0
        with GradientTape(watch_accessed_variables=False) as tape:
            y = v * v
        assert tape.gradient(y, v) is None


def test_a_tape_is_used_once_unless_it_is_persistent():
    with imperative():
        x = tf.constant(2.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = x * x
        assert tape.gradient(y, x).numpy() == 4.0
        with pytest.raises(RuntimeError, match="once on non-persistent"):
            tape.gradient(y, x)
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y, z = x * x, x * 3.0
        assert [tape.gradient(item, x).numpy() for item in (y, z, y)] == [4.0, 3.0, 4.0]


def test_derivatives_of_derivatives():
    with imperative():
        x = tf.constant(2.0)
        with GradientTape() as outer:
            outer.watch(x)
            with GradientTape() as middle:
                middle.watch(x)
                with GradientTape() as inner:
                    inner.watch(x)
                    y = x ** 4
                first = inner.gradient(y, x)
            second = middle.gradient(first, x)
        assert (first.numpy(), second.numpy(), outer.gradient(second, x).numpy()) == (32.0, 48.0, 48.0)


def test_what_is_not_recorded():
    with imperative():
        x = tf.constant(2.0)
        with GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                y = x * x
            z = y * x
        assert tape.gradient(z, x).numpy() == 4.0  # y is a number to it
        with GradientTape() as tape:
            tape.watch(x)
            y = x * 2.0
            tape.reset()
            tape.watch(x)
            z = x * 5.0
        assert tape.gradient([y, z], x).numpy() == 5.0


def test_jacobians():
    with imperative():
        x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        with GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
        np.testing.assert_array_equal(tape.batch_jacobian(y, x), [[[2, 0], [0, 4]], [[6, 0], [0, 8]]])
        assert tape.jacobian(y, x).shape.as_list() == [2, 2, 2, 2]
        np.testing.assert_array_equal(np.einsum("ijij->ij", tape.jacobian(y, x).numpy()), 2 * x.numpy())


def test_gradients_of_ones_own_and_their_variables():
    with imperative():
        v = tf.Variable(3.0)

        @tf.custom_gradient
        def twice(x):
            def grad(dy, variables=None):
                assert variables == [v]
                return dy * 10.0, [dy * 20.0]
            return x * v, grad

        x = tf.constant(1.0)
        with GradientTape() as tape:
            tape.watch(x)
            y = twice(x)
        assert [grad.numpy() for grad in tape.gradient(y, [x, v])] == [10.0, 20.0]


def test_rows_of_a_variable_have_a_sparse_gradient():
    with imperative():
        table = tf.Variable(np.ones((4, 2), np.float32))
        with GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 3, 1]) * 2.0)
        grad = tape.gradient(loss, table)
        assert isinstance(grad, tf.IndexedSlices) and grad.indices.numpy().tolist() == [1, 3, 1]


def test_what_a_tape_recorded_goes_with_it():
    with imperative():
        x = tf.constant(np.ones(1000, np.float32))
        with GradientTape() as tape:
            tape.watch(x)
            middle = x * 2.0
            y = middle * 3.0
        op = weakref.ref(middle._edge[0])
        y.numpy()
        del middle
        assert op() is not None
        del tape
        gc.collect()
        assert op() is None
        assert y.numpy()[0] == 6.0


def test_a_lookup_with_a_combiner():
    """Twice, so that the second one is a plan. (The losses are TensorFlow 1.15's.)"""
    with imperative():
        table, optimizer, losses = tf.Variable(np.arange(12.0).reshape(6, 2) / 10), tf.train.AdagradOptimizer(0.1), []
        for _ in range(3):
            ids = tf.SparseTensor([[0, 0], [0, 1], [2, 0]], np.array([1, 3, 3]), [3, 2])
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.safe_embedding_lookup_sparse(table, ids) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, [table]), [table]))
            losses.append(float(loss))
    np.testing.assert_allclose(losses, [1.2599999999999998, 0.8775118115375391, 0.6671071761261942], rtol=1e-6)


def test_variables_are_watched_in_the_order_in_which_they_were_made():
    with imperative():
        first, second, third = (tf.Variable(float(number), use_resource=True) for number in range(3))
        with tf.GradientTape() as tape:
            tape.watch(second)
            _ = third * first
        assert [variable.numpy() for variable in tape.watched_variables()] == [0.0, 1.0, 2.0]
