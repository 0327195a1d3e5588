"""A convolutional network on small images, as a class with layers; accuracy by a metric that is an object."""
import numpy as np
import tensorflow as tf
import tensorflow.contrib.eager as tfe

tf.enable_eager_execution()
tf.set_random_seed(0)


class Net:
    def __init__(self):
        self.conv = tf.layers.Conv2D(8, 3, activation=tf.nn.relu)
        self.norm = tf.layers.BatchNormalization()
        self.pool = tf.layers.MaxPooling2D(2, 2)
        self.dense = tf.layers.Dense(2)

    @property
    def variables(self):
        return self.conv.variables + self.norm.trainable_variables + self.dense.variables

    def __call__(self, images, training):
        x = self.pool(self.norm(self.conv(images), training=training))
        return self.dense(tf.layers.flatten(x))


rng = np.random.RandomState(0)
labels = rng.randint(0, 2, 256)
images = rng.normal(size=(256, 10, 10, 1)).astype(np.float32)
images[labels == 1, 3:7, 3:7] += 1.5
dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)

net, optimizer = Net(), tf.train.AdamOptimizer(0.01)
for _ in range(8):
    for batch, wanted in dataset:
        with tf.GradientTape() as tape:
            loss = tf.losses.sparse_softmax_cross_entropy(wanted, net(batch, training=True))
        gradients = tape.gradient(loss, net.variables)
        optimizer.apply_gradients(zip(gradients, net.variables), tf.train.get_or_create_global_step())

accuracy = tfe.metrics.Accuracy()
for batch, wanted in dataset:
    accuracy(wanted, tf.argmax(net(batch, training=False), axis=1))
assert len(net.variables) == 6 and net.variables[0].name == "conv2d/kernel:0", [v.name for v in net.variables]
assert accuracy.result().numpy() > 0.9, accuracy.result()
print("ok convnet: accuracy %.2f" % accuracy.result().numpy())
