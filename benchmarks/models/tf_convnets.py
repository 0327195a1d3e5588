"""The convolutional networks in the TensorFlow 1 API: runs under Penstock and under TensorFlow, unchanged."""
from __future__ import annotations

from models import data
from models.architectures import NETS, RATE, Conv, Dense, Mean, Parallel, Pool, Step


class Builder:
    """Adds layers to the graph; ``tf`` is Penstock or TensorFlow."""

    def __init__(self, tf):
        self.tf, self.made = tf, 0

    def variable(self, shape, scale=0.02):
        """A new parameter."""
        self.made += 1
        return self.tf.get_variable("p%d" % self.made, shape, initializer=self.tf.random_uniform_initializer(-scale, scale, seed=1))

    def stack(self, layers, x):
        """The layers, one on the other."""
        for layer in layers:
            x = self.layer(layer, x)
        return x

    def layer(self, layer, x):
        """One layer."""
        tf = self.tf
        if isinstance(layer, Conv):
            return self.conv(layer, x)
        if isinstance(layer, Pool):
            return tf.nn.max_pool(x, [1, layer.size, layer.size, 1], [1, layer.stride, layer.stride, 1], layer.padding)
        if isinstance(layer, Mean):
            return tf.reduce_mean(x, [1, 2])
        if isinstance(layer, Dense):
            return self.dense(layer, x)
        if isinstance(layer, Parallel):
            return tf.concat([self.stack(branch, x) for branch in layer.branches], 3)
        return tf.nn.relu(self.stack(layer.body, x) + self.stack(layer.shortcut, x))

    def conv(self, layer, x):
        """Convolution, bias or batch normalization, ReLU."""
        tf = self.tf
        kernel = self.variable([layer.size, layer.size, int(x.shape[3]), layer.filters])
        y = tf.nn.conv2d(x, kernel, [1, layer.stride, layer.stride, 1], layer.padding)
        if layer.norm:
            y = tf.nn.fused_batch_norm(y, self.variable([layer.filters]), self.variable([layer.filters]))[0]
        else:
            y = tf.nn.bias_add(y, self.variable([layer.filters]))
        return tf.nn.relu(y) if layer.relu else y

    def dense(self, layer, x):
        """Matrix product, bias, ReLU."""
        tf = self.tf
        wide = int(x.shape[1]) if len(x.shape) == 2 else int(x.shape[1]) * int(x.shape[2]) * int(x.shape[3])
        y = tf.nn.bias_add(tf.matmul(tf.reshape(x, [-1, wide]), self.variable([wide, layer.units])), self.variable([layer.units]))
        return tf.nn.relu(y) if layer.relu else y


def make(tf, case):
    """The step of ``alexnet_16``, or of ``googlenet_forward_1``, which only computes the logits."""
    images, labels = data.images(case)
    images = tf.get_variable("images", initializer=images, trainable=False)
    logits = Builder(tf).stack(NETS[case.partition("_")[0]].layers, images)
    if "forward" in case:
        fetches = logits
    else:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.constant(labels), logits=logits))
        fetches = [tf.train.GradientDescentOptimizer(RATE).minimize(loss), loss]
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    parameters = sum(variable.shape.num_elements() for variable in tf.trainable_variables())
    return Step(lambda: session.run(fetches), parameters, session.close)
