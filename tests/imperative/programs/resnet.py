"""A residual network with batch normalisation, trained by a function that is traced twice, as its first trace makes the optimizer's variables."""
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.set_random_seed(0)


class Residual:
    def __init__(self, filters):
        self.convs = [tf.layers.Conv2D(filters, 3, padding="same", use_bias=False) for _ in range(2)]
        self.norms = [tf.layers.BatchNormalization() for _ in range(2)]

    def __call__(self, x, training):
        y = tf.nn.relu(self.norms[0](self.convs[0](x), training=training))
        return tf.nn.relu(x + self.norms[1](self.convs[1](y), training=training))


class ResNet:
    def __init__(self):
        self.stem, self.blocks, self.head = tf.layers.Conv2D(8, 3, padding="same"), [Residual(8), Residual(8)], tf.layers.Dense(3)

    def __call__(self, x, training):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x, training)
        return self.head(tf.reduce_mean(x, axis=[1, 2]))

    @property
    def trainable_variables(self):
        layers = [self.stem, self.head] + [layer for block in self.blocks for layer in block.convs + block.norms]
        return [variable for layer in layers for variable in layer.trainable_variables]


net, optimizer, traced = ResNet(), tf.train.MomentumOptimizer(0.05, 0.9), []


@tf.function
def train(images, labels):
    traced.append(1)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=net(images, training=True)))
    variables = net.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss


rng = np.random.RandomState(0)
labels = rng.randint(0, 3, 48)
images = rng.normal(size=(48, 8, 8, 3)).astype(np.float32) * 0.3
images[np.arange(48), :, :, labels] += 1.0
net(tf.constant(images), training=True)
losses = [float(train(tf.constant(images), tf.constant(labels))) for _ in range(20)]
assert len(traced) == 2 and losses[-1] < 0.2 * losses[0], losses
print("ok resnet: loss %.2f -> %.3f" % (losses[0], losses[-1]))
