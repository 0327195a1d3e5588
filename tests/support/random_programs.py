"""Random programs for the fuzz test of the compiler: elementwise ops, reductions, products, moves, loops and conditionals, over odd shapes and types.

``random_layers.py`` adds images, sorting, indexing and whole numbers, ``random_corners.py`` what is rarer, ``random_updates.py`` what happens to
variables.
"""
from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as tf

FLOATS = [tf.float32] * 6 + [tf.float64] * 2 + [tf.float16, tf.bfloat16]
EXTENTS = [0, 1, 2, 3, 5, 7, 8, 16, 17, 33, 64, 100]
UNARY = [tf.tanh, tf.sigmoid, tf.exp, tf.abs, tf.negative, tf.square, tf.nn.relu, tf.identity, tf.zeros_like, lambda x: tf.sqrt(tf.abs(x)),
         tf.nn.softplus, tf.nn.elu, lambda x: tf.clip_by_value(x, -1.0, 1.0), tf.stop_gradient, lambda x: x * 0.5, lambda x: 1.0 - x,
         tf.nn.relu6, tf.nn.selu, tf.nn.softsign, tf.nn.leaky_relu, tf.sin, tf.floor, tf.sign, tf.ones_like, lambda x: tf.log1p(tf.abs(x)),
         lambda x: tf.rsqrt(1.0 + tf.square(x)), lambda x: tf.reciprocal(2.0 + tf.abs(x)), tf.erf, lambda x: tf.pow(1.0 + tf.abs(x), 1.5)]
BINARY = [tf.add, tf.subtract, tf.multiply, tf.maximum, tf.minimum, lambda x, y: x / (1.0 + tf.abs(y)), tf.squared_difference,
          lambda x, y: tf.where(tf.greater(x, y), x, y)]
ONCE = {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"}  # TensorFlow has no gradients of these
REDUCE = [tf.reduce_sum, tf.reduce_mean, tf.reduce_max, tf.reduce_min, tf.reduce_prod, tf.reduce_logsumexp]


class Programs:
    """Adds random ops to the default graph. ``rounded`` changes the numbers of sources: see ``rounding.py``."""

    MOVES = {"unary": 8, "binary": 8, "reduce": 4, "softmax": 2, "norm": 2, "matmul": 2, "transpose": 2, "reshape": 2, "slice": 2, "concat": 2,
             "split": 2, "pad": 2, "tile": 2, "stack": 2, "cast": 2, "gradient": 3, "loop": 2, "cond": 2}

    def __init__(self, seed: int, rounded: Callable[[np.ndarray], np.ndarray] = np.asarray) -> None:
        self.random, self.values, self.rounded = random.Random(seed), np.random.RandomState(seed), rounded
        self.feeds: dict[Any, np.ndarray] = {}
        self.variables: list[Any] = []
        self.weights: list[Any] = []  # sources of the layers
        self.dtype = self.random.choice(FLOATS)
        self.moves = [name for name, often in self.MOVES.items() for _ in range(often)]
        self.pool = [self.source(self.shape()) for _ in range(self.random.randint(2, 4))]

    def shape(self) -> list[int]:
        rank = self.random.choice([0, 1, 1, 2, 2, 2, 3, 4])
        if self.random.random() < 0.03:
            return [[], [70_001], [301, 517], [33, 40, 65], [9, 8, 31, 40]][rank]  # enough for several threads
        return [self.random.choice(EXTENTS[:9] if rank > 3 else EXTENTS) for _ in range(rank)]

    def array(self, shape: list[int]) -> np.ndarray:
        return self.rounded(self.values.uniform(-2, 2, shape).astype(self.dtype.as_numpy_dtype))

    def source(self, shape: list[int]) -> Any:
        kind = self.random.random()
        if kind < 0.5:
            tensor = tf.placeholder(self.dtype, [None if self.random.random() < 0.3 else extent for extent in shape])
            self.feeds[tensor] = self.array(shape)
            return tensor
        if kind < 0.8:
            variable = tf.Variable(self.array(shape), use_resource=self.random.random() < 0.5)
            self.variables.append(variable)
            return tf.identity(variable)
        return tf.constant(self.array(shape))

    def weight(self, shape: list[int]) -> Any:
        """A source of a known shape, which gradients may be asked for."""
        self.weights.append(self.source(shape))
        self.weights[-1].set_shape(shape)
        return self.weights[-1]

    def fitted(self, x: Any, shape: list[int]) -> Any:
        """The elements of x, some of them or with others behind them, in this shape."""
        size = int(np.prod(shape))
        return tf.reshape(tf.concat([tf.reshape(x, [-1]), tf.constant(self.array([size]))], 0)[:size], shape)

    def pick(self) -> Any:
        return self.random.choice(self.pool[-8:])

    def chance(self, often: float = 0.5) -> bool:
        return self.random.random() < often

    def grow(self) -> None:
        """One more op."""
        made = getattr(self, self.random.choice(self.moves))(self.pick())
        self.pool.extend(made if isinstance(made, list) else [] if made is None else [made])

    # --- elementwise, and reductions -------------------------------------------------------------------------------------------------

    def unary(self, x: Any) -> Any:
        return self.random.choice(UNARY)(x)

    def binary(self, x: Any) -> Any:
        y = self.pick()
        if not x.shape.is_fully_defined() or not y.shape.is_fully_defined():
            return self.random.choice(BINARY)(x, x)
        if self.chance(0.2):
            return self.random.choice(BINARY[:-1])(x, tf.reduce_sum(x, axis=-1, keepdims=True)) if x.shape.ndims else None
        try:
            np.broadcast_shapes(x.shape.as_list(), y.shape.as_list())
        except ValueError:
            y = tf.reduce_mean(y)
        return self.random.choice(BINARY[:-1] if x.shape.as_list() != y.shape.as_list() else BINARY)(x, y)

    def reduce(self, x: Any) -> Any:
        axes = sorted(self.random.sample(range(x.shape.ndims), self.random.randint(0, x.shape.ndims)))
        return self.random.choice(REDUCE)(x, axis=axes, keepdims=self.chance(0.4))

    def softmax(self, x: Any) -> Any:
        return self.random.choice([tf.nn.softmax, tf.nn.log_softmax])(x) if x.shape.ndims else None

    def norm(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        mean, variance = tf.nn.moments(x, self.random.choice([[0], [x.shape.ndims - 1]]), keep_dims=True)
        return (x - mean) * tf.rsqrt(variance + 1e-2)

    def matmul(self, x: Any) -> Any:
        if x.shape.ndims in (3, 4):
            return tf.matmul(x, tf.sigmoid(x), transpose_a=(a := self.chance()), transpose_b=not a)
        if x.shape.ndims != 2:
            return None
        a = self.chance()
        if self.chance(0.3) and x.shape.is_fully_defined():
            return tf.matmul(x, self.weight([x.shape.as_list()[0 if a else 1], self.random.choice(EXTENTS)]), transpose_a=a)
        return tf.matmul(x, tf.sigmoid(x), transpose_a=a, transpose_b=not a) if self.chance() else tf.matmul(x, x, transpose_a=not a, transpose_b=a)

    # --- moves -----------------------------------------------------------------------------------------------------------------------

    def transpose(self, x: Any) -> Any:
        return tf.transpose(x, self.random.sample(range(x.shape.ndims), x.shape.ndims))

    def reshape(self, x: Any) -> Any:
        shape = self.random.choice([[-1], tf.concat([tf.shape(x), [1]], 0), None])
        return tf.expand_dims(x, 0) if shape is None else tf.reshape(x, shape)

    def slice(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        parts = [self.random.choice([slice(None), slice(1, None), slice(None, -1), slice(None, None, 2), slice(None, None, -1), slice(5, None, -2)])
                 for _ in range(self.random.randint(1, x.shape.ndims))]
        extent = x.shape.as_list()[0]
        if self.chance(0.2) and extent:
            parts[0] = self.random.randrange(extent)
        return x[(*parts, ..., *([tf.newaxis] if self.chance(0.1) else []))]

    def concat(self, x: Any) -> Any:
        return tf.concat([x, tf.tanh(x), x], self.random.randrange(x.shape.ndims)) if x.shape.ndims else None

    def split(self, x: Any) -> Any:
        return tf.split(tf.concat([x, x * 2.0], 0), 2)[::-1] if x.shape.ndims else None

    def stack(self, x: Any) -> Any:
        axis = self.random.randint(0, x.shape.ndims)
        return tf.unstack(tf.stack([x, tf.square(x), x], axis), axis=axis)[1:] if self.chance() else tf.stack([x, -x], axis)

    def pad(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        if x.shape.is_fully_defined() and all(extent > 2 for extent in x.shape.as_list()) and self.chance(0.4):
            mode = self.random.choice(["REFLECT", "SYMMETRIC"])
        else:
            mode = "CONSTANT"
        return tf.pad(x, [[self.random.randint(0, 2), self.random.randint(0, 2)] for _ in range(x.shape.ndims)], mode)

    def tile(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        axis = self.random.randrange(x.shape.ndims)
        return self.random.choice([lambda: tf.tile(x, [self.random.randint(1, 2) for _ in range(x.shape.ndims)]), lambda: tf.reverse(x, [axis]),
                                   lambda: tf.roll(x, self.random.randint(-3, 3), axis)])()

    def cast(self, x: Any) -> Any:
        kind = self.random.choice([tf.int32, tf.float64, tf.float32, tf.bool, tf.int64, tf.float16, tf.bfloat16])
        return tf.cast(tf.cast(x * 3.0, kind), self.dtype)

    # --- gradients and control flow --------------------------------------------------------------------------------------------------

    def gradient(self, x: Any) -> Any:
        sources = [tensor for tensor in self.pool[:4] + self.weights[-3:] if tensor is not x]
        return [grad for grad in self.gradients(x, sources) if isinstance(grad, tf.Tensor)]

    def gradients(self, x: Any, sources: list[Any]) -> list[Any]:
        """Gradients of a function of x; None for each source if there are none."""
        seen, waiting = set(), [x.op]
        while waiting:
            op = waiting.pop()
            if op not in seen:
                seen.add(op)
                waiting += [tensor.op for tensor in op.inputs]
        return tf.gradients(tf.reduce_sum(tf.tanh(x)), sources) if sources and ONCE.isdisjoint(op.type for op in seen) else [None] * len(sources)

    def loop(self, x: Any) -> Any:
        turns = self.random.randint(0, 4)
        return tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, tf.tanh(v) + 0.1), [0, x])[1]

    def cond(self, x: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * 2.0, lambda: tf.abs(x) - 1.0)
