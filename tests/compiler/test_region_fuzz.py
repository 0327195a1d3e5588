"""Random programs, native against NumPy: elementwise ops, reductions, products, views, copies, variables and loops, over odd shapes and types.

The arena has guards behind every buffer, outputs have them on both sides.
"""
from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.compiler import table
from penstock.compiler.config import config
from penstock.runtime import region
from support.compare import difference
from support.native import guarded, untouched

pytestmark = pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")  # of the gradient of a gather

FLOATS = [tf.float32, tf.float32, tf.float64]
EXTENTS = [0, 1, 2, 3, 5, 7, 8, 16, 17, 33, 64, 100]
UNARY = [tf.tanh, tf.sigmoid, tf.exp, tf.abs, tf.negative, tf.square, tf.nn.relu, tf.identity, tf.zeros_like, lambda x: tf.sqrt(tf.abs(x)),
         tf.nn.softplus, tf.nn.elu, lambda x: tf.clip_by_value(x, -1.0, 1.0), tf.stop_gradient, lambda x: x * 0.5, lambda x: 1.0 - x]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, lambda x, y: x / (1.0 + tf.abs(y)), tf.squared_difference,
          lambda x, y: tf.where(tf.greater(x, y), x, y)]
REDUCE = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min]


class Maker:
    """Adds random ops to the default graph."""

    def __init__(self, seed: int) -> None:
        self.random, self.values = random.Random(seed), np.random.RandomState(seed)
        self.feeds: dict[Any, np.ndarray] = {}
        self.variables: list[Any] = []
        self.dtype = self.random.choice(FLOATS)
        self.pool = [self.source() for _ in range(self.random.randint(2, 4))]

    def shape(self) -> list[int]:
        return [self.random.choice(EXTENTS) for _ in range(self.random.choice([0, 1, 1, 2, 2, 2, 3, 4]))]

    def array(self, shape: list[int]) -> np.ndarray:
        return self.values.uniform(-2, 2, shape).astype(self.dtype.as_numpy_dtype)

    def source(self) -> Any:
        shape, kind = self.shape(), self.random.random()
        if kind < 0.5:
            tensor = tf.placeholder(self.dtype, [None if self.random.random() < 0.3 else extent for extent in shape])
            self.feeds[tensor] = self.array(shape)
            return tensor
        if kind < 0.8:
            variable = tf.Variable(self.array(shape), use_resource=self.random.random() < 0.5)
            self.variables.append(variable)
            return tf.identity(variable)
        return tf.constant(self.array(shape))

    def pick(self) -> Any:
        return self.random.choice(self.pool[-8:])

    def grow(self) -> None:
        """One more op."""
        how = self.random.choice(["unary"] * 4 + ["binary"] * 4 + ["reduce", "reduce", "softmax", "transpose", "reshape", "slice", "concat", "pad",
                                 "matmul", "gather", "tile", "cast", "gradient", "loop", "cond", "split", "norm"])
        made = getattr(self, how)(self.pick())
        self.pool.extend(made if isinstance(made, list) else [] if made is None else [made])

    def unary(self, x: Any) -> Any:
        return self.random.choice(UNARY)(x)

    def binary(self, x: Any) -> Any:
        y = self.pick()
        if x.shape.ndims is None or y.shape.ndims is None:
            return None
        shapes = [self.feeds.get(tensor, np.zeros([1 if extent is None else extent for extent in tensor.shape.as_list()])).shape for tensor in (x, y)]
        if not x.shape.is_fully_defined() or not y.shape.is_fully_defined():
            return self.random.choice(BINARY)(x, x)
        try:
            np.broadcast_shapes(*shapes)
        except ValueError:
            y = tf.reduce_mean(y)
        if self.random.random() < 0.2:
            return self.random.choice(BINARY[:-1])(x, tf.reduce_sum(x, axis=-1, keepdims=True)) if x.shape.ndims else None
        return self.random.choice(BINARY[:-1] if x.shape.as_list() != y.shape.as_list() else BINARY)(x, y)

    def axes(self, x: Any) -> list[int]:
        return sorted(self.random.sample(range(x.shape.ndims), self.random.randint(0, x.shape.ndims)))

    def reduce(self, x: Any) -> Any:
        return self.random.choice(REDUCE)(x, axis=self.axes(x), keepdims=self.random.random() < 0.4)

    def softmax(self, x: Any) -> Any:
        return self.random.choice([tf.nn.softmax, tf.nn.log_softmax])(x) if x.shape.ndims else None

    def norm(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        mean, variance = tf.nn.moments(x, self.random.choice([[0], [x.shape.ndims - 1]]), keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-2)

    def transpose(self, x: Any) -> Any:
        return tf.transpose(x, self.random.sample(range(x.shape.ndims), x.shape.ndims))

    def reshape(self, x: Any) -> Any:
        shape = self.random.choice([[-1], tf.concat([tf.shape(x), [1]], 0), None])
        return tf.expand_dims(x, 0) if shape is None else tf.reshape(x, shape)

    def slice(self, x: Any) -> Any:
        return x[::self.random.choice([1, 2, -1]), ...] if x.shape.ndims else None

    def concat(self, x: Any) -> Any:
        return tf.concat([x, tf.tanh(x), x], self.random.randrange(x.shape.ndims)) if x.shape.ndims else None

    def split(self, x: Any) -> Any:
        return tf.split(tf.concat([x, x * 2.0], 0), 2)[::-1] if x.shape.ndims else None

    def pad(self, x: Any) -> Any:
        return tf.pad(x, [[self.random.randint(0, 2), self.random.randint(0, 2)] for _ in range(x.shape.ndims)]) if x.shape.ndims else None

    def tile(self, x: Any) -> Any:
        return tf.tile(x, [self.random.randint(1, 2) for _ in range(x.shape.ndims)]) if x.shape.ndims else None

    def matmul(self, x: Any) -> Any:
        if x.shape.ndims != 2:
            return None
        a, b = self.random.random() < 0.5, self.random.random() < 0.5
        return tf.matmul(x, tf.sigmoid(x), transpose_a=a, transpose_b=not a) if b else tf.matmul(x, x, transpose_a=not a, transpose_b=a)

    def gather(self, x: Any) -> Any:
        extent = x.shape.as_list()[0] if x.shape.ndims else None
        return tf.gather(x, self.values.randint(0, extent, self.random.randint(0, 9))) if extent else None

    def cast(self, x: Any) -> Any:
        return tf.cast(tf.cast(x * 3.0, self.random.choice([tf.int32, tf.float64, tf.bool, tf.int64, tf.float16])), self.dtype)

    def gradient(self, x: Any) -> Any:
        sources = [tensor for tensor in self.pool[:4] if tensor is not x]
        found = tf.gradients(tf.reduce_sum(tf.tanh(x)), sources) if sources else []
        return [grad for grad in found if isinstance(grad, tf.Tensor)]

    def loop(self, x: Any) -> Any:
        turns = self.random.randint(0, 4)
        return tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, tf.tanh(v) + 0.1), [0, x])[1]

    def cond(self, x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: tf.abs(x) - 1.0)

    def updates(self) -> list[Any]:
        made = []
        for variable in self.variables:
            value = next((tensor for tensor in reversed(self.pool) if tensor.shape.as_list() == variable.shape.as_list()
                          and tensor.shape.is_fully_defined()), None) if all(t.shape.ndims is not None for t in self.pool) else None
            made.append(variable.assign_add(tf.ones_like(variable) if value is None else value))
        return made


def check(seed: int, monkeypatch: Any) -> None:
    """Builds a program of this seed, runs it twice in both ways, and compares."""
    results = {}
    memories: list[np.ndarray] = []

    def with_guards(shape: Any, dtype: Any) -> np.ndarray:
        array, memory = guarded(shape, dtype)
        memories.append(memory)
        return array

    monkeypatch.setattr(region, "empty", with_guards)
    monkeypatch.setattr(table, "GUARD", 128 if seed % 2 else 0)
    for mode in ("off", "eager"):
        monkeypatch.setattr(config, "mode", mode)
        with tf.Graph().as_default():
            maker = Maker(seed)
            for _ in range(maker.random.randint(3, 25)):
                maker.grow()
            fetched = maker.random.sample(maker.pool, min(len(maker.pool), 6))
            with tf.control_dependencies(fetched):
                updates = maker.updates()
            with tf.Session() as session:
                session.run(tf.global_variables_initializer())
                for _ in range(2):
                    results[mode] = session.run(fetched, maker.feeds)
                    session.run(updates, maker.feeds)
                results[mode] += session.run(maker.variables)
    assert all(map(untouched, memories)), f"seed {seed}: something was written outside of an output"
    for index, (found, wanted) in enumerate(zip(results["eager"], results["off"])):
        problem = difference(found, wanted, factor=50)
        assert problem is None, f"seed {seed}, result {index}: {problem}"


def watch_arena(monkeypatch: Any) -> None:
    """Has every run look at the guards of its arena."""
    run = table.Instance.run

    def watched(self: Any, arrays: Any) -> int:
        failed = run(self, arrays)
        assert not (table.GUARD and self.overrun()), "a kernel wrote beyond the end of a buffer"
        return failed

    monkeypatch.setattr(table.Instance, "run", watched)


@pytest.mark.parametrize("start", range(0, 300, 25))
def test_random_programs(start, monkeypatch):
    watch_arena(monkeypatch)
    for seed in range(start, start + 25):
        check(seed, monkeypatch)


@pytest.mark.nightly
@pytest.mark.parametrize("start", range(1000, 6000, 100))
def test_many_random_programs(start, monkeypatch):
    watch_arena(monkeypatch)
    for seed in range(start, start + 100):
        check(seed, monkeypatch)
