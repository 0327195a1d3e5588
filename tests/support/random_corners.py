"""Random programs with what is rarer: numbers that are not plain, convolutions of all kinds, control flow inside of control flow, variables that are
read and written in one step, rows by index that occur twice, shapes that follow from data."""
from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf
from support.random_layers import Layers

ODD = [np.nan, np.inf, -np.inf, -0.0, 1e-40, -1e-42, 3e38, -1e-8, 65504.0, 1e-5]
PAIRS = [tf.floordiv, tf.floormod, tf.math.atan2, tf.truediv, tf.math.xdivy, tf.math.divide_no_nan, tf.math.pow, tf.minimum, tf.maximum]
SINGLE = [tf.math.expm1, tf.math.log1p, tf.rsqrt, tf.reciprocal, tf.sqrt, tf.log, tf.exp, tf.round, tf.ceil, tf.rint, tf.cos, tf.tan, tf.atan,
          tf.asinh, tf.sinh, tf.cosh, tf.atanh, tf.erfc, tf.lgamma, tf.math.softplus, tf.nn.swish, lambda x: tf.pow(x, 3.0), lambda x: tf.pow(x, 0.5)]
MIXED = [tf.float64, tf.float32, tf.float16, tf.bfloat16]


class Corners(Layers):
    """Adds what is rarer, too."""

    MOVES = {**Layers.MOVES, "odd": 2, "single": 2, "pair": 2, "broadcast": 2, "mixed": 2, "large_window": 2, "separable": 1, "transposed_volume": 1,
             "line": 1, "explicit": 1, "patches": 1, "inner_control": 2, "while_data": 1, "folded": 1, "read_and_written": 2, "part_assigned": 1,
             "embedding": 2, "batch_gather": 2, "fed_segments": 2, "chosen": 1, "parted": 1, "products": 2, "sequence": 1, "dropped": 1, "losses": 2,
             "norms": 2, "sparse_product": 1, "second_order": 1}

    def fed(self, array: np.ndarray, known: bool = True) -> Any:
        """A placeholder for the array."""
        tensor = tf.placeholder(tf.as_dtype(array.dtype), array.shape if known else [None] * array.ndim)
        self.feeds[tensor] = array
        return tensor

    def maybe_float32(self, x: Any) -> Any:
        """x as TensorFlow has it for ops of float32 and float64 only."""
        return x if self.dtype in (tf.float32, tf.float64) else tf.cast(x, tf.float32)

    # --- numbers -----------------------------------------------------------------------------------------------------------------------

    def odd(self, x: Any) -> Any:
        """A source with some numbers that are not plain."""
        shape = self.shape()
        array = self.array(shape)
        if array.size:
            flat = array.reshape(-1)
            with np.errstate(over="ignore"):  # of half precision some are infinite
                for _ in range(self.random.randint(1, 3)):
                    flat[self.random.randrange(flat.size)] = np.array(self.random.choice(ODD)).astype(array.dtype)
        return self.fed(array, self.chance())

    def single(self, x: Any) -> Any:
        return self.random.choice(SINGLE)(x)

    def pair(self, x: Any) -> Any:
        op = self.random.choice(PAIRS)
        if op in (tf.math.atan2, tf.math.xdivy, tf.math.divide_no_nan):
            x = self.maybe_float32(x)
        return tf.cast(op(x, tf.reverse(x, [0]) + 0.5 if x.shape.ndims else x - 1.0), self.dtype)

    def broadcast(self, x: Any) -> Any:
        """With axes of 1, with axes of 0, and to more axes."""
        if not x.shape.is_fully_defined():
            return None
        shape = x.shape.as_list()
        other = [self.random.choice([1, extent]) if extent != 1 else self.random.choice([1, 0, 3, 17]) for extent in shape]
        if self.chance(0.3):
            other = [self.random.choice([0, 1, 2]), *other]
        if np.prod(np.broadcast_shapes(shape, other)) > 100_000:
            return None
        if self.chance(0.3):
            return tf.broadcast_to(x, np.broadcast_shapes(shape, other))
        y = self.weight(other)
        both = np.broadcast_shapes(shape, other)
        return self.random.choice([lambda: x * y, lambda: y - x, lambda: tf.maximum(x, y), lambda: tf.squared_difference(y, x),
                                   lambda: tf.where(tf.broadcast_to(x, both) > 0.0, tf.broadcast_to(y, both), tf.zeros(both, self.dtype)),
                                   lambda: tf.exp(-tf.square(y)) / (2.0 + x)])()

    def mixed(self, x: Any) -> Any:
        """A chain through several widths."""
        for _ in range(self.random.randint(2, 4)):
            x = tf.cast(x, self.random.choice(MIXED))
            x = self.random.choice([lambda x: x * 1.5, tf.sigmoid,
                                    lambda x: x + tf.cast(tf.cast(tf.clip_by_value(x, -9.0, 9.0), tf.int32) // 2, x.dtype),
                                    lambda x: tf.reduce_sum(x, -1, keepdims=True) if x.shape.ndims else x,
                                    lambda x: x + tf.cast(x > 0.5, x.dtype)])(x)
        return tf.cast(x, self.dtype)

    # --- convolutions ------------------------------------------------------------------------------------------------------------------

    def large_window(self, x: Any) -> Any:
        """Images that are large enough for Winograd, of 3x3 and 5x5."""
        batch, side, channels, outputs = self.random.choice([1, 2]), self.random.choice([10, 14, 17, 28]), self.random.choice([8, 16, 32]), \
            self.random.choice([8, 16, 24])
        first, window = self.chance(0.3), self.random.choice([3, 5])
        x = self.fitted(x, [batch, channels, side, side] if first else [batch, side, side, channels])
        y = tf.nn.conv2d(x, self.weight([window, window, channels, outputs]), [1, 1, 1, 1], self.random.choice(["SAME", "VALID"]),
                         data_format="NCHW" if first else "NHWC")
        return self.random.choice([tf.nn.relu, tf.identity, tf.tanh])(y)

    def separable(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x)
        if first:
            x = tf.transpose(x, [0, 2, 3, 1])
        rate = self.random.choice([1, 1, 2, 3])
        extents, (stride, _), padding = self.windows(sizes, rate)
        stride = stride if rate == 1 else 1
        window = self.weight([*extents, channels, multiplier := self.random.choice([1, 2, 3])])
        if self.chance():
            return tf.nn.depthwise_conv2d(x, window, [1, stride, stride, 1], padding, rate=[rate, rate])
        mixed = self.weight([1, 1, channels * multiplier, self.random.choice([1, 8, 17])])
        return tf.nn.separable_conv2d(x, window, mixed, [1, stride, stride, 1], padding, rate=[rate, rate])

    def transposed_volume(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x, 3)
        if first:
            x = tf.transpose(x, [0, 2, 3, 4, 1])
        extents, strides, padding = self.windows(sizes)
        outputs = self.random.choice([1, 3, 8])
        grown = [size * stride if padding == "SAME" else (size - 1) * stride + extent for size, stride, extent in zip(sizes, strides, extents)]
        return tf.nn.conv3d_transpose(x, self.weight([*extents, outputs, channels]), [x.shape[0].value, *grown, outputs], [1, *strides, 1], padding)

    def line(self, x: Any) -> Any:
        """One spatial axis: convolution, causal or dilated."""
        batch, steps, channels = self.random.choice([0, 1, 3]), self.random.choice([1, 5, 16, 33]), self.random.choice([1, 4, 17])
        x, window = self.fitted(x, [batch, steps, channels]), self.random.choice([1, 2, 3, 5])
        dilation = self.random.choice([1, 2, 4])
        if self.chance():
            x = tf.pad(x, [[0, 0], [(window - 1) * dilation, 0], [0, 0]])
            return tf.nn.convolution(x, self.weight([window, channels, 8]), "VALID", dilation_rate=[dilation])
        return tf.nn.conv1d(x, self.weight([window, channels, self.random.choice([1, 16])]), self.random.choice([1, 2, 3]), "SAME")

    def explicit(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x)
        pads = [[self.random.randint(0, 2), self.random.randint(0, 3)] for _ in sizes]
        padding = [[0, 0], [0, 0], *pads] if first else [[0, 0], *pads, [0, 0]]
        window = [min(self.random.choice([1, 2, 3, 5]), size + sum(pad)) for size, pad in zip(sizes, pads)]
        down, right = self.random.choice([1, 1, 2, 3]), self.random.choice([1, 1, 2, 3])
        window = self.weight([*window, channels, self.random.choice([1, 8, 19])])
        return tf.nn.conv2d(x, window, [1, 1, down, right] if first else [1, down, right, 1], padding, data_format="NCHW" if first else "NHWC")

    def patches(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x)
        if first or not x.shape[0].value:
            return None
        extents, strides, padding = self.windows(sizes)
        if self.chance():
            return tf.image.extract_image_patches(x, [1, *extents, 1], [1, *strides, 1], [1, 1, 1, 1], padding)
        if self.chance():
            y, window = self.maybe_float32(x), self.maybe_float32(self.weight([*extents, channels]))
            return tf.cast(tf.nn.dilation2d(y, window, [1, *strides, 1], [1, 1, 1, 1], padding), self.dtype)
        return tf.nn.max_pool_with_argmax(x, [1, *extents, 1], [1, *strides, 1], padding)[0] if self.dtype == tf.float32 else None

    # --- control flow ------------------------------------------------------------------------------------------------------------------

    def inner_control(self, x: Any) -> Any:
        """A conditional in a loop, a loop in a conditional, a loop in a loop."""
        turns, w = self.random.randint(0, 3), self.weight([])
        half = lambda v: tf.cond(tf.reduce_sum(v) > 1.0, lambda: v * 0.5 + w, lambda: tf.while_loop(
            lambda i, u: i < 2, lambda i, u: (i + 1, tf.tanh(u) * w), [0, v])[1])
        if self.chance():
            return tf.while_loop(lambda i, v: i < turns, lambda i, v: (i + 1, half(v)), [0, x])[1]
        return tf.cond(tf.reduce_mean(x) > w, lambda: [half(x), x], lambda: [x, tf.sin(half(x))])

    def while_data(self, x: Any) -> Any:
        """As many turns as the data say, at most five."""
        def body(i: Any, v: Any, total: Any) -> Any:
            new = v * 0.5
            return i + 1, new, total + tf.reduce_sum(tf.abs(new))
        start = tf.clip_by_value(x, -3.0, 3.0)
        largest = lambda v: tf.reduce_max(tf.concat([[0.0], tf.cast(tf.reshape(v, [-1]), tf.float32)], 0))
        _, v, total = tf.while_loop(lambda i, v, _: tf.logical_and(i < 5, largest(v) > 0.4), body, [0, start, tf.zeros([], self.dtype)])
        return [v, total]

    def folded(self, x: Any) -> Any:
        if not x.shape.is_fully_defined() or not x.shape.ndims or not 0 < x.shape.as_list()[0] < 18:
            return None
        w = self.weight([])
        return self.random.choice([lambda: tf.map_fn(lambda row: tf.tanh(row * w), x), lambda: tf.scan(lambda a, row: a * 0.5 + row * w, x),
                                   lambda: tf.foldl(lambda a, row: a * w + row, x)])()

    # --- variables ---------------------------------------------------------------------------------------------------------------------

    def read_and_written(self, x: Any) -> Any:
        """A variable that is read, written and read again in one step, perhaps in a loop."""
        shape = [self.random.choice([1, 3, 17]) for _ in range(self.random.randint(0, 2))]
        variable = tf.Variable(self.array(shape), use_resource=True)
        before, value = variable.read_value(), self.fitted(x, shape)
        with tf.control_dependencies([before]):
            change = self.random.choice([variable.assign_add, variable.assign_sub, variable.assign])(tf.tanh(value), read_value=False)
        with tf.control_dependencies([change]):
            after = variable.read_value()
        if self.chance(0.4):
            with tf.control_dependencies([after]):
                def body(i: Any, total: Any) -> Any:
                    with tf.control_dependencies([variable.assign_add(total * 0.25, read_value=False)]):
                        return i + 1, total + variable.read_value() * 0.5
                looped = tf.while_loop(lambda i, _: i < 3, body, [0, after * 1.0])[1]
            return [before, after, looped]
        return [before, after * before]

    def part_assigned(self, x: Any) -> Any:
        """A slice of a variable is assigned, its rows are scattered, and it is read after that."""
        rows, width = self.random.choice([2, 5, 9]), self.random.choice([1, 4, 17])
        variable = tf.Variable(self.array([rows, width]), use_resource=self.chance())
        before = tf.identity(variable.read_value()) * 1.0
        with tf.control_dependencies([before]):
            assigned = variable[1:, ::2].assign(self.fitted(x, [rows - 1, (width + 1) // 2]))
        with tf.control_dependencies([assigned]):
            where = self.indices(rows, 4)
            changed = tf.scatter_add(variable, where, self.fitted(x, [4, width]))
        with tf.control_dependencies([changed]):
            return [before, variable.read_value() + 0.0]

    def embedding(self, x: Any) -> Any:
        """Rows of tables, many of them twice, with gradients that optimizers may be given."""
        rows, width, count = self.random.choice([1, 4, 50]), self.random.choice([1, 8, 17]), self.random.choice([0, 1, 7, 40])
        table = tf.Variable(self.array([rows, width]), use_resource=self.chance())
        self.variables.append(table)
        ids = self.fed(self.values.randint(0, rows, count).astype(self.random.choice([np.int32, np.int64])), self.chance())
        found = tf.nn.embedding_lookup(table, ids)
        if self.chance() and count:
            found = found * tf.gather(table, tf.reverse(ids, [0]))
        self.pool.append(tf.gradients(tf.reduce_sum(tf.sin(found)), table)[0] + tf.zeros_like(table))
        return found

    # --- by index ----------------------------------------------------------------------------------------------------------------------

    def batch_gather(self, x: Any) -> Any:
        batch, rows, width, count = (self.random.choice(sizes) for sizes in ([0, 1, 3], [1, 4, 9], [1, 5, 16], [0, 1, 6]))
        x = self.fitted(x, [batch, rows, width])
        if self.chance(0.3):
            return tf.gather(x, self.fed(self.values.randint(0, width, [batch, count]).astype(np.int32)), axis=2, batch_dims=1)
        if self.chance(0.3) and batch:
            return tf.gather_nd(x, self.fed(self.values.randint(0, rows, [batch, count, 1]).astype(np.int32)), batch_dims=1)
        return tf.gather(x, self.fed(self.values.randint(0, rows, [batch, count]).astype(np.int32), self.chance()), batch_dims=1)

    def fed_segments(self, x: Any) -> Any:
        """Sorted ids that are known in the step only, and so is the number of rows of the result."""
        rows, width, count = self.random.choice([0, 1, 9, 40]), self.random.choice([1, 4, 17]), self.random.randint(1, 8)
        ids = np.sort(self.values.randint(0, count, rows)).astype(self.random.choice([np.int32, np.int64]))
        shape = [rows, width] if self.chance(0.7) else [rows, 3, width] if self.chance() else [rows]
        op = self.random.choice([tf.segment_sum, tf.segment_mean, tf.segment_max, tf.segment_min, tf.segment_prod, tf.unsorted_segment_sum,
                                 tf.unsorted_segment_max, tf.unsorted_segment_mean])
        data, numbers = self.fitted(x, shape), self.fed(ids, self.chance())
        if "unsorted" in op.__name__:
            limit = self.fed(np.int32(count)) if self.chance() else count
            y = tf.clip_by_value(op(data, tf.random_shuffle(numbers, seed=3), limit), -1e3, 1e3)
        else:
            y = op(data, numbers)
        self.pool.append(tf.gradients(tf.reduce_sum(tf.tanh(y)), data)[0])
        return y if self.chance() else tf.gather(y, numbers)

    def chosen(self, x: Any) -> Any:
        """Rows that a mask or a condition chooses."""
        if not x.shape.ndims:
            return None
        mask = tf.reduce_sum(x, list(range(1, x.shape.ndims))) > 0.0
        return tf.reduce_sum(tf.boolean_mask(x, tf.reshape(mask, [-1])), 0) if self.chance() else \
            tf.reduce_sum(tf.gather(x, tf.reshape(tf.where(mask), [-1])), 0)

    def parted(self, x: Any) -> Any:
        """Rows that are dealt out and put together again."""
        rows, width, parts = self.random.choice([0, 1, 6, 20]), self.random.choice([1, 5]), self.random.choice([1, 2, 3])
        x, who = self.fitted(x, [rows, width]), self.fed(self.values.randint(0, parts, rows).astype(np.int32))
        pieces, places = tf.dynamic_partition(x, who, parts), tf.dynamic_partition(tf.range(rows), who, parts)
        return tf.dynamic_stitch(places, [piece * float(number + 1) for number, piece in enumerate(pieces)])

    # --- products and compositions -----------------------------------------------------------------------------------------------------

    def products(self, x: Any) -> Any:
        a, b, c, d = (self.random.choice([0, 1, 2, 5, 17]) for _ in range(4))
        x = self.fitted(x, [a, b, c])
        return self.random.choice([
            lambda: tf.einsum("abc,cd->abd", x, self.weight([c, d])), lambda: tf.einsum("abc,abd->acd", x, self.weight([a, b, d])),
            lambda: tf.tensordot(x, self.weight([b, c, d]), [[1, 2], [0, 1]]), lambda: tf.matmul(x, self.weight([1, c, d])),
            lambda: tf.matmul(self.weight([3, 1, d, b]), x), lambda: tf.matmul(x, self.weight([a, d, c]), adjoint_b=True),
            lambda: tf.matmul(tf.reshape(x, [a * b, c]), self.weight([c, d])) + self.weight([d]),
            lambda: tf.reduce_sum(x[:, :, :, None] * self.weight([c, d]), 2)])()

    def sequence(self, x: Any) -> Any:
        batch, steps, width = self.random.choice([1, 3]), self.random.choice([1, 4, 7]), self.random.choice([2, 5])
        x, lengths = self.fitted(x, [batch, steps, width]), self.fed(self.values.randint(0, steps + 1, batch).astype(np.int32))
        mask = tf.sequence_mask(lengths, steps, dtype=self.dtype)
        if self.chance():
            return tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0) * mask[:, :, None]
        weight = self.weight([2 * width, width])
        def body(t: Any, h: Any) -> Any:
            new = tf.tanh(tf.matmul(tf.concat([x[:, t], h], 1), weight))
            return t + 1, tf.where(t < lengths, new, h)
        return tf.while_loop(lambda t, _: t < tf.reduce_max(lengths), body, [0, tf.zeros([batch, width], self.dtype)])[1]

    def dropped(self, x: Any) -> Any:
        return tf.nn.dropout(x, rate=self.random.choice([0.0, 0.3, 0.9]), seed=self.random.randrange(1, 1000))

    def losses(self, x: Any) -> Any:
        x = self.fitted(x, shape := [self.random.choice([0, 1, 5]), self.random.choice([1, 2, 10, 33])])
        labels = tf.sigmoid(self.fitted(self.pick(), shape))
        return self.random.choice([
            lambda: tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=x), lambda: tf.nn.l2_loss(x),
            lambda: tf.nn.weighted_cross_entropy_with_logits(labels, x, 2.0), lambda: tf.nn.log_poisson_loss(labels, tf.clip_by_value(x, -5.0, 5.0)),
            lambda: tf.losses.huber_loss(labels, x) if self.dtype == tf.float32 else None,
            lambda: tf.losses.hinge_loss(labels, x) if self.dtype == tf.float32 else None,
            lambda: -tf.reduce_sum(labels * tf.nn.log_softmax(x), -1), lambda: tf.reduce_logsumexp(x, 0)])()

    def norms(self, x: Any) -> Any:
        x = self.fitted(x, [self.random.choice([1, 4]), self.random.choice([1, 3, 8]), width := self.random.choice([2, 8, 16])])
        def grouped() -> Any:
            groups = tf.reshape(x, [x.shape[0], x.shape[1], 2, width // 2])
            mean, variance = tf.nn.moments(groups, [1, 3], keep_dims=True)
            return tf.reshape((groups - mean) * tf.rsqrt(variance + 1e-2), x.shape)
        def layer() -> Any:
            mean, variance = tf.nn.moments(x, [2], keep_dims=True)
            return tf.nn.batch_normalization(x, mean, variance, self.weight([width]), self.weight([width]), 1e-2)
        return self.random.choice([grouped, layer, lambda: tf.nn.l2_normalize(x, 2, epsilon=1e-3), lambda: tf.clip_by_norm(x, 0.7),
                                   lambda: tf.clip_by_global_norm([x, tf.tanh(x)], 0.5)[0]])()

    def sparse_product(self, x: Any) -> Any:
        rows, columns, width, count = (self.random.choice(sizes) for sizes in ([1, 6], [1, 9], [1, 8, 17], [0, 1, 7]))
        if self.dtype not in (tf.float32, tf.float64):
            return None
        x = self.fitted(x, [columns, width])
        where = np.unravel_index(np.sort(self.values.choice(rows * columns, min(count, rows * columns), replace=False)), (rows, columns))
        values = self.fed(self.array([len(where[0])]))
        return tf.sparse_tensor_dense_matmul(tf.SparseTensor(np.stack(where, 1).reshape(-1, 2).astype(np.int64), values, [rows, columns]), x)

    def second_order(self, x: Any) -> Any:
        """The gradient of a norm of a gradient, as gradient penalties have it."""
        w = self.weight([width := self.random.choice([1, 3, 8]), 5])
        x = self.fitted(x, [self.random.choice([1, 4]), width])
        hidden = self.random.choice([tf.tanh, tf.sigmoid, tf.nn.softplus, tf.square])(tf.matmul(x, w))
        slope = tf.gradients(hidden, x)[0]
        return tf.gradients(tf.reduce_sum(tf.square(tf.sqrt(tf.reduce_sum(tf.square(slope), 1) + 1e-2) - 1.0)), w)[0]
