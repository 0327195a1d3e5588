"""A line through noisy points: gradients of a Python function by its variables, and an optimizer that applies them."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.eager as tfe

tf.enable_eager_execution()
tf.set_random_seed(1)

points = tf.random_normal([200], seed=2)
labels = points * 3.0 + 2.0 + tf.random_normal([200], seed=3) * 0.1
dataset = tf.data.Dataset.from_tensor_slices((points, labels)).shuffle(200, seed=4).batch(50)

w, b = tfe.Variable(5.0, name="weight"), tfe.Variable(10.0, name="bias")


def loss(x, y):
    return tf.reduce_mean(tf.square(x * w + b - y))


gradients = tfe.implicit_gradients(loss)
optimizer = tf.train.GradientDescentOptimizer(0.1)
step = tf.train.get_or_create_global_step()
for _ in range(15):
    for x, y in tfe.Iterator(dataset):
        optimizer.apply_gradients(gradients(x, y), global_step=step)
assert step.numpy() == 60, step
np.testing.assert_allclose([w.numpy(), b.numpy()], [3.0, 2.0], atol=0.05)
print("ok linear_regression: %.2f %.2f" % (w.numpy(), b.numpy()))
