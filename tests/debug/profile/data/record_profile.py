"""Records what tf.profiler of real TensorFlow 1.15.5 counts: the float operations of single ops, and of a small convnet.

Usage: python3.7 record_profile.py > profile.json     (the functions run unchanged under Penstock too: test_profiler.py)
"""
from __future__ import annotations

import importlib
import json


def _placeholders(tf, *shapes):
    return [tf.placeholder(tf.float32, shape) for shape in shapes]


def single_ops(tf):
    """Builds one op after the other; yields its name."""
    a, b, row = _placeholders(tf, [2, 3], [2, 3], [3])
    image, filters, depth, wide = _placeholders(tf, [2, 9, 8, 3], [3, 2, 3, 5], [3, 2, 3, 4], [2, 7, 6, 5, 3])
    gradient, volume, dilation = _placeholders(tf, [2, 5, 4, 5], [3, 2, 2, 3, 4], [3, 2, 3])
    pool = dict(ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    yield from (tf.reciprocal(a), tf.square(a), tf.rsqrt(a), tf.log(a), tf.negative(a), tf.nn.softmax(a), tf.nn.l2_loss(a))
    yield from (tf.raw_ops.RsqrtGrad(y=a, dy=b), tf.raw_ops.BatchMatMul(x=tf.ones([4, 2, 3]), y=tf.ones([4, 3, 5])))
    yield from (tf.add(a, row), tf.raw_ops.Add(x=a, y=row), tf.subtract(a, row), tf.multiply(row, a), tf.divide(a, b), tf.maximum(a, b),
                tf.minimum(a, b), tf.pow(a, b), tf.squared_difference(a, row), tf.greater(a, b), tf.greater_equal(a, b), tf.less(a, b),
                tf.less_equal(a, b), tf.equal(a, b), tf.not_equal(a, b), tf.add_n([a, b, a]))
    yield from (tf.reduce_mean(a, 0), tf.reduce_sum(a, 1), tf.reduce_sum(a), tf.argmax(a, 0), tf.argmin(a, 1))
    yield from (tf.matmul(a, b, transpose_b=True), tf.matmul(a, b, transpose_a=True), tf.matmul(tf.tile(a[None], [4, 1, 1]), tf.ones([4, 3, 5])))
    yield from (tf.nn.conv2d(image, filters, [1, 2, 2, 1], "SAME"), tf.nn.conv2d(image, filters, [1, 1, 1, 1], "VALID"),
                tf.nn.depthwise_conv2d_native(image, depth, [1, 2, 2, 1], "SAME"), tf.nn.conv3d(wide, volume, [1, 1, 1, 1, 1], "SAME"),
                tf.nn.dilation2d(image, dilation, [1, 1, 1, 1], [1, 2, 2, 1], "SAME"))
    yield from (tf.nn.conv2d_backprop_input([2, 9, 8, 3], filters, gradient, [1, 2, 2, 1], "SAME"),
                tf.nn.conv2d_backprop_filter(image, [3, 2, 3, 5], gradient, [1, 2, 2, 1], "SAME"))
    yield from (tf.nn.bias_add(a, row), tf.nn.avg_pool(image, **pool), tf.nn.max_pool(image, **pool))
    for pooling in (tf.nn.avg_pool, tf.nn.max_pool):
        yield tf.gradients(pooling(image, **pool), image)[0]
    yield tf.gradients(tf.nn.bias_add(a, row), row)[0]
    variable = tf.Variable(tf.zeros([2, 3]))
    yield from (tf.assign_add(variable, a), tf.assign_sub(variable, a), tf.tanh(a))


def convnet(tf):
    """A network with everything that is counted in it."""
    image, label = tf.placeholder(tf.float32, [8, 16, 16, 3], name="x"), tf.placeholder(tf.int64, [8], name="y")
    with tf.variable_scope("conv1"):
        kernel, bias = tf.get_variable("w", [3, 3, 3, 8]), tf.get_variable("b", [8])
        hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"), bias))
        hidden = tf.nn.max_pool(hidden, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    with tf.variable_scope("conv2"):
        kernel, bias = tf.get_variable("w", [3, 3, 8, 16]), tf.get_variable("b", [16])
        hidden = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(hidden, kernel, [1, 2, 2, 1], "VALID"), bias))
    with tf.variable_scope("fc"):
        flat = tf.reshape(hidden, [8, -1])
        logits = tf.matmul(flat, tf.get_variable("w", [flat.shape[1].value, 10])) + tf.get_variable("b", [10])
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=label, logits=logits), name="loss")


def quiet(options, **more):
    """Options that print nothing."""
    return dict(options, output="none", **more)


def profile_single_ops(tf):
    """[type, float operations] of each single op."""
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph:
        ops = [tensor.op for tensor in single_ops(tf)]
        found = tf.profiler.profile(graph, options=quiet(builder.float_operation()))
    counts, waiting = {}, [found]
    while waiting:
        node = waiting.pop()
        counts[node.name] = node.float_ops
        waiting.extend(node.children)
    return [[op.type, counts.get(op.name, 0)] for op in ops]


def profile_convnet(tf, train):
    """Its totals, and the tree of its parameters."""
    builder = tf.profiler.ProfileOptionBuilder
    with tf.Graph().as_default() as graph:
        loss = convnet(tf)
        if train:
            tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
        parameters = tf.profiler.profile(graph, options=quiet(builder.trainable_variables_parameter()))
        operations = tf.profiler.profile(graph, options=quiet(builder.float_operation()))
        by_type = tf.profiler.profile(graph, cmd="op", options=quiet(builder.float_operation()))
    types, node = {}, by_type
    while node.children:
        node = node.children[0]
        types[node.name] = node.float_ops
    scopes = [[child.name, child.total_parameters, [[leaf.name, leaf.parameters] for leaf in child.children]] for child in parameters.children]
    return {"parameters": parameters.total_parameters, "float_ops": operations.total_float_ops, "types": types, "scopes": scopes}


def record(tf):
    """All of it."""
    return {"single": profile_single_ops(tf), "forward": profile_convnet(tf, False), "train": profile_convnet(tf, True)}


if __name__ == "__main__":
    print(json.dumps(record(importlib.import_module("tensorflow")), indent=1))
