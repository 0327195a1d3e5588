"""Random programs with the ops of networks: images, volumes, scans, sorting, indexing, whole numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

import penstock as tf
from support.random_programs import Programs

WHOLE = [tf.int32, tf.int32, tf.int64, tf.uint8, tf.int16]


class Layers(Programs):
    """Adds layers, too."""

    MOVES = {**Programs.MOVES, "convolution": 4, "pooling": 3, "batch_norm": 2, "local_norm": 1, "volume": 1, "resize": 1, "blocks": 1, "scan": 2,
             "sorting": 2, "choice": 1, "gather": 2, "scatter": 2, "segments": 2, "whole": 4, "cross_entropy": 1, "recurrence": 1, "matrix": 1}

    # --- images --------------------------------------------------------------------------------------------------------------------

    def image(self, x: Any, spatial: int = 2) -> tuple[Any, list[int], int, bool]:
        """x as a batch of images (or volumes), their sizes and channels, and whether the channels come first."""
        pick = self.random.choice
        batch, sizes, channels = pick([0, 1, 2, 3]), [pick([1, 2, 3, 4, 5, 7, 8, 9, 12]) for _ in range(spatial)], pick([1, 2, 3, 4, 8, 16, 17])
        first = self.chance(0.4)
        return self.fitted(x, [batch, channels, *sizes] if first else [batch, *sizes, channels]), sizes, channels, first

    def windows(self, sizes: list[int], dilation: int = 1) -> tuple[list[int], list[int], str]:
        """Extents and strides of windows, and how to pad, for images of these sizes."""
        padding = self.random.choice(["SAME", "VALID"])
        extents = [self.random.choice([1, 2, 3, 3, 5]) for _ in sizes]
        if padding == "VALID":
            extents = [min(extent, (size - 1) // dilation + 1) for extent, size in zip(extents, sizes)]
        return extents, [self.random.choice([1, 1, 2, 3]) if dilation == 1 else 1 for _ in sizes], padding

    def convolution(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x)
        form = {"data_format": "NCHW" if first else "NHWC"}
        kind = self.random.choice(["conv2d", "conv2d", "conv2d", "depthwise", "transposed"])
        dilation = 2 if kind == "conv2d" and self.chance(0.15) else 1
        extents, (down, right), padding = self.windows(sizes, dilation)
        strides = [1, 1, down, right] if first else [1, down, right, 1]
        outputs = self.random.choice([1, 2, 3, 8, 16, 19])
        if kind == "depthwise":
            y = tf.nn.depthwise_conv2d_native(x, self.weight([*extents, channels, self.random.choice([1, 2])]), [1, 1, down, down] if first else
                                              [1, down, down, 1], padding, **form)
        elif kind == "transposed":
            result = tf.nn.conv2d(tf.zeros([x.shape[0], outputs, *sizes] if first else [x.shape[0], *sizes, outputs], self.dtype),
                                  weight := self.weight([*extents, outputs, channels]), strides, padding, **form)
            y = tf.nn.conv2d_transpose(self.fitted(x, result.shape.as_list()), weight, [x.shape[0].value, outputs, *sizes] if first else
                                       [x.shape[0].value, *sizes, outputs], strides, padding, **form)
        else:
            dilations = [1, 1, dilation, dilation] if first else [1, dilation, dilation, 1]
            y = tf.nn.conv2d(x, self.weight([*extents, channels, outputs]), strides, padding, dilations=dilations, **form)
        if self.chance():
            y = tf.nn.bias_add(y, self.weight([y.shape.as_list()[1 if first else 3]]), **form)
        return tf.nn.relu(y) if self.chance() else y

    def pooling(self, x: Any) -> Any:
        x, sizes, _, first = self.image(x)
        extents, strides, padding = self.windows(sizes)
        extents, strides = ([1, 1, *extents], [1, 1, *strides]) if first else ([1, *extents, 1], [1, *strides, 1])
        return self.random.choice([tf.nn.max_pool, tf.nn.avg_pool])(x, extents, strides, padding, data_format="NCHW" if first else "NHWC")

    def batch_norm(self, x: Any) -> Any:
        x, _, channels, first = self.image(x)
        scale, offset = self.weight([channels]), self.weight([channels])
        if self.chance(0.3):
            mean, variance = tf.nn.moments(x, [0, 2, 3] if first else [0, 1, 2], keep_dims=True)
            shape = [channels, 1, 1] if first else [channels]
            return tf.nn.batch_normalization(x, mean, variance, tf.reshape(offset, shape), tf.reshape(scale, shape), 1e-2)
        training = self.chance()
        if self.dtype.size > 4 or not x.shape[0].value:  # of float32 and narrower images, at least one
            return x
        scale, offset = tf.cast(scale, tf.float32), tf.cast(offset, tf.float32)
        given = {} if training else {"mean": offset, "variance": tf.abs(scale) + 0.1}
        return tf.nn.fused_batch_norm(x, scale, offset, epsilon=1e-2, is_training=training, data_format="NCHW" if first else "NHWC", **given)[0]

    def local_norm(self, x: Any) -> Any:
        y = tf.cast(self.image(x)[0], tf.float32)
        return tf.cast(tf.nn.lrn(y, self.random.choice([1, 2, 5]), 1.0, self.random.choice([0.1, 1.0]), self.random.choice([0.5, 0.75, 1.0])),
                       self.dtype)

    def volume(self, x: Any) -> Any:
        x, sizes, channels, first = self.image(x, 3)
        if first:
            x = tf.transpose(x, [0, 2, 3, 4, 1])
        extents, strides, padding = self.windows(sizes)
        if self.chance():
            return tf.nn.conv3d(x, self.weight([*extents, channels, self.random.choice([1, 3, 8])]), [1, *strides, 1], padding)
        if self.dtype not in (tf.float32, tf.float16, tf.bfloat16):
            return x
        return self.random.choice([tf.nn.max_pool3d, tf.nn.avg_pool3d])(x, [1, *extents, 1], [1, *strides, 1], padding)

    def resize(self, x: Any) -> Any:
        x, _, _, first = self.image(x)
        if first or not x.shape[0].value:
            return None
        resize = self.random.choice([tf.image.resize_bilinear, tf.image.resize_nearest_neighbor, tf.image.resize_bicubic])
        size = [self.random.choice([1, 3, 6, 11]), self.random.choice([2, 5, 16])]
        return tf.cast(resize(tf.cast(x, tf.float32), size, align_corners=self.chance()), self.dtype)

    def blocks(self, x: Any) -> Any:
        x = self.fitted(x, [self.random.choice([0, 1, 3]), 4, 6, 8])
        return self.random.choice([
            lambda: tf.space_to_depth(x, 2), lambda: tf.depth_to_space(x, 2), lambda: tf.space_to_batch_nd(x, [2, 3], [[1, 1], [0, 3]]),
            lambda: tf.space_to_batch_nd(x, [1, 2], [[0, 0], [2, 0]])])()

    # --- along an axis ---------------------------------------------------------------------------------------------------------------

    def scan(self, x: Any) -> Any:
        if not x.shape.ndims:
            return None
        return self.random.choice([tf.cumsum, tf.cumsum, tf.cumprod])(x, self.random.randrange(x.shape.ndims), self.chance(0.3), self.chance(0.3))

    def sorting(self, x: Any) -> Any:
        extent = x.shape.as_list()[-1] if x.shape.ndims else None
        if not extent:
            return None
        if self.chance(0.3):
            return tf.sort(x, direction=self.random.choice(["ASCENDING", "DESCENDING"]))
        values, indices = tf.nn.top_k(x, self.random.randint(1, extent))
        return [values, tf.cast(indices, self.dtype)]

    def choice(self, x: Any) -> Any:
        if not x.shape.is_fully_defined() or not x.shape.ndims or not x.shape.num_elements():
            return None
        axis = self.random.randrange(x.shape.ndims)
        best = self.random.choice([tf.argmax, tf.argmin])(x, axis, output_type=self.random.choice([tf.int32, tf.int64]))
        depth = self.random.choice([1, 3, x.shape.as_list()[axis]])
        return tf.one_hot(best, depth, dtype=self.dtype, axis=self.random.randint(-1, x.shape.ndims - 1))

    def cross_entropy(self, x: Any) -> Any:
        x = self.fitted(x, [self.random.choice([1, 5, 16]), classes := self.random.choice([1, 2, 10, 33])])
        if self.chance():
            return tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(self.fitted(self.pick(), x.shape.as_list())), logits=x)
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.values.randint(0, classes, x.shape[0].value), logits=x)

    # --- by index --------------------------------------------------------------------------------------------------------------------

    def indices(self, extent: int, *shape: int) -> Any:
        return tf.constant(self.values.randint(0, extent, shape), self.random.choice([tf.int32, tf.int64]))

    def gather(self, x: Any) -> Any:
        if not x.shape.ndims or not x.shape.is_fully_defined():
            return None
        axis = self.random.randrange(x.shape.ndims)
        extent = x.shape.as_list()[axis]
        if not extent:
            return None
        if self.chance(0.3) and x.shape.num_elements():  # of an empty array gather_nd takes nothing
            return tf.gather_nd(x, self.indices(x.shape.as_list()[0], self.random.randint(1, 6), 1))
        return tf.gather(x, self.indices(extent, *[self.random.randint(0, 5) for _ in range(self.random.choice([0, 1, 1, 2]))]), axis=axis)

    def scatter(self, x: Any) -> Any:
        rows, width, extent = self.random.randint(0, 9), self.random.choice([1, 3, 16, 17]), self.random.randint(1, 12)
        updates, where = self.fitted(x, [rows, width]), self.indices(extent, rows, 1)
        if self.chance():
            return tf.scatter_nd(where, updates, tf.constant([extent, width], where.dtype))
        return self.random.choice([tf.tensor_scatter_add, tf.tensor_scatter_sub])(self.fitted(self.pick(), [extent, width]), where, updates)

    def segments(self, x: Any) -> Any:
        rows, width, count = self.random.randint(0, 20), self.random.choice([1, 4, 17]), self.random.randint(1, 8)
        data = self.fitted(x, [rows, width])
        if self.chance():
            op = self.random.choice([tf.unsorted_segment_sum, tf.unsorted_segment_max, tf.unsorted_segment_min, tf.unsorted_segment_prod,
                                     tf.unsorted_segment_mean])
            return tf.clip_by_value(op(data, self.indices(count, rows), count), -1e3, 1e3)  # of nothing, the largest is the lowest number
        numbers = tf.constant(np.sort(self.values.randint(0, count, rows)), tf.int32)
        if self.chance():
            return self.random.choice([tf.segment_sum, tf.segment_mean, tf.segment_max])(data, numbers)
        if not rows or self.dtype not in (tf.float32, tf.float64):
            return None
        op = self.random.choice([tf.sparse_segment_sum, tf.sparse_segment_mean, tf.sparse_segment_sqrt_n])
        return op(data, tf.cast(self.indices(rows, rows), tf.int32), numbers, num_segments=count)

    # --- whole numbers ---------------------------------------------------------------------------------------------------------------

    def whole(self, x: Any) -> Any:
        """A chain of ops on whole numbers that are made of x."""
        kind = self.random.choice(WHOLE)
        low = 0 if kind == tf.uint8 else -40
        n = tf.cast(tf.clip_by_value(tf.where(tf.is_finite(x), x, tf.zeros_like(x)) * 20.0, float(low), 40.0), kind)
        vector = lambda move: lambda: move() if n.shape.ndims else n
        ops = [lambda: n + n, lambda: n * 3, lambda: n // 5, lambda: tf.bitwise.bitwise_and(n, n + 3), lambda: tf.cast(tf.cast(n, tf.int64), kind),
               lambda: tf.bitwise.right_shift(n, tf.ones_like(n)), lambda: tf.where(tf.greater(n, 3), n, n - 1), lambda: tf.transpose(n),
               lambda: tf.cast(tf.logical_xor(n > 2, tf.equal(n, 4)), kind), vector(lambda: tf.reduce_sum(n, -1, keepdims=True)),
               vector(lambda: tf.tile(n, [2] + [1] * (n.shape.ndims - 1))), vector(lambda: tf.cumsum(n, 0)),
               vector(lambda: tf.reduce_max(tf.concat([n, n], 0), 0))]
        if kind.size >= 4:  # as TensorFlow has it
            ops += [lambda: tf.maximum(n, 7), lambda: n % 7, lambda: tf.square(n), lambda: tf.gather(tf.constant(np.arange(100, 190), kind), n % 90)]
        for _ in range(self.random.randint(1, 5)):
            n = self.random.choice(ops)()
        return tf.cast(n, self.dtype)

    # --- several at once -------------------------------------------------------------------------------------------------------------

    def recurrence(self, x: Any) -> Any:
        """A cell over some steps, whose outputs go through an array."""
        steps, batch, width = self.random.randint(0, 4), self.random.choice([1, 3]), self.random.choice([2, 8])
        inputs, weight = self.fitted(x, [steps, batch, width]), self.weight([width, width])
        states = tf.TensorArray(self.dtype, steps, element_shape=[batch, width])
        fed = tf.TensorArray(self.dtype, steps, element_shape=[batch, width]).unstack(inputs)
        _, state, states = tf.while_loop(lambda i, *_: i < steps, lambda i, h, out: (i + 1, (new := tf.tanh(tf.matmul(h, weight) + fed.read(i))),
                                                                                     out.write(i, new)),
                                         [0, tf.zeros([batch, width], self.dtype), states])
        return [state, states.stack()] if steps else state

    def matrix(self, x: Any) -> Any:
        x = self.fitted(x, [2, size := self.random.choice([1, 3, 8]), size])
        return self.random.choice([lambda: tf.matrix_band_part(x, 1, 0), lambda: tf.matrix_diag_part(x), lambda: tf.matrix_diag(x[0]),
                                   lambda: tf.matrix_set_diag(x, x[:, 0])])()
