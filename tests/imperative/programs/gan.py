"""Two networks against each other: two tapes at once, and an optimizer for each."""
import numpy as np
import tensorflow as tf

tf.enable_eager_execution()
tf.set_random_seed(1)

generate = [tf.layers.Dense(16, tf.nn.relu), tf.layers.Dense(1)]
judge = [tf.layers.Dense(16, tf.nn.relu), tf.layers.Dense(1)]


def run(layers, x):
    for layer in layers:
        x = layer(x)
    return x


def entropy(logits, target):
    return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(logits=logits, labels=tf.ones_like(logits) * target))


optimizers = tf.train.AdamOptimizer(0.01), tf.train.AdamOptimizer(0.01)
for _ in range(150):
    noise = tf.random_normal([64, 4])
    real = tf.random_normal([64, 1]) * 0.5 + 3.0
    with tf.GradientTape() as tape_g, tf.GradientTape() as tape_j:
        fake = run(generate, noise)
        on_fake, on_real = run(judge, fake), run(judge, real)
        loss_g = entropy(on_fake, 1.0)
        loss_j = entropy(on_real, 0.9) + entropy(on_fake, 0.0)
    for tape, loss, layers, optimizer in ((tape_g, loss_g, generate, optimizers[0]), (tape_j, loss_j, judge, optimizers[1])):
        variables = [variable for layer in layers for variable in layer.variables]
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
made = run(generate, tf.random_normal([500, 4])).numpy()
assert np.isfinite(made).all() and 1.0 < made.mean() < 5.0, made.mean()
print("ok gan: mean %.2f" % made.mean())
