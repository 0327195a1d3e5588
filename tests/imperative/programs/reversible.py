"""A reversible network: a gradient of one's own that computes activations again instead of keeping them."""
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.set_random_seed(0)


class Block:
    def __init__(self, units):
        self.f, self.g = tf.layers.Dense(units, tf.nn.tanh), tf.layers.Dense(units, tf.nn.tanh)

    def forward(self, x1, x2):
        y1 = x1 + self.f(x2)
        return y1, x2 + self.g(y1)

    def backward(self, y1, y2, dy1, dy2):
        """The inputs again, and the gradients of inputs and variables."""
        x2 = y2 - self.g(y1)
        x1 = y1 - self.f(x2)
        with tf.GradientTape() as tape:
            tape.watch([x1, x2])
            z1, z2 = self.forward(x1, x2)
        variables = self.f.variables + self.g.variables
        found = tape.gradient([z1, z2], [x1, x2] + variables, output_gradients=[dy1, dy2])
        return x1, x2, found[0], found[1], list(zip(found[2:], variables))


blocks = [Block(4) for _ in range(3)]
x1, x2 = tf.random_normal([8, 4], seed=1), tf.random_normal([8, 4], seed=2)
with tf.GradientTape() as tape:
    y1, y2 = x1, x2
    for block in blocks:
        y1, y2 = block.forward(y1, y2)
    loss = tf.reduce_sum(y1 * y1 + y2)
variables = [v for block in blocks for v in block.f.variables + block.g.variables]
wanted = tape.gradient(loss, variables)

dy1, dy2, found = 2.0 * y1, tf.ones_like(y2), []
for block in reversed(blocks):
    y1, y2, dy1, dy2, pairs = block.backward(y1, y2, dy1, dy2)
    found = pairs + found
np.testing.assert_allclose(y1.numpy(), x1.numpy(), atol=1e-5)
for (gradient, variable), other in zip(found, wanted):
    np.testing.assert_allclose(gradient.numpy(), other.numpy(), rtol=1e-3, atol=1e-4, err_msg=variable.name)
print("ok reversible: %d gradients" % len(found))
