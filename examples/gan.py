"""A generative adversarial network learns a ring of points: two players, two sets of variables, two optimizers.

    python examples/gan.py
"""
import numpy as np

import penstock as tf


def points_on_ring(count, rng):
    """Points around the unit circle."""
    angles = rng.uniform(0, 2 * np.pi, count)
    return (np.stack([np.cos(angles), np.sin(angles)], 1) + 0.05 * rng.normal(size=(count, 2))).astype(np.float32)


def generator(noise):
    """Points, of noise."""
    with tf.variable_scope("generator"):
        return tf.layers.dense(tf.layers.dense(tf.layers.dense(noise, 32, tf.nn.relu), 32, tf.nn.relu), 2)


def discriminator(points):
    """Whether points are real, as logits."""
    with tf.variable_scope("discriminator", reuse=tf.AUTO_REUSE):
        hidden = tf.layers.dense(points, 32, tf.nn.leaky_relu, name="first")
        return tf.layers.dense(tf.layers.dense(hidden, 32, tf.nn.leaky_relu, name="second"), 1, name="logit")


def main(steps=400):
    """Returns the mean distance of generated points to the ring, before and after training."""
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        real, noise = tf.placeholder(tf.float32, [None, 2]), tf.random_normal([128, 8], seed=1)
        fake = generator(noise)
        verdicts = discriminator(real), discriminator(fake)
        judged = [tf.losses.sigmoid_cross_entropy(tf.ones_like(verdicts[0]), verdicts[0]),
                  tf.losses.sigmoid_cross_entropy(tf.zeros_like(verdicts[1]), verdicts[1])]
        fooled = tf.losses.sigmoid_cross_entropy(tf.ones_like(verdicts[1]), verdicts[1])

        def trained(loss, scope):
            return tf.train.AdamOptimizer(2e-3, beta1=0.5).minimize(loss, var_list=tf.trainable_variables(scope))

        steps_of = [trained(tf.add_n(judged), "discriminator"), trained(fooled, "generator")]
        distance = tf.reduce_mean(tf.abs(tf.norm(fake, axis=1) - 1))
        session.run(tf.global_variables_initializer())
        before = float(session.run(distance))
        for _ in range(steps):
            for train in steps_of:
                session.run(train, {real: points_on_ring(128, rng)})
        after = float(np.mean([session.run(distance) for _ in range(5)]))
    print(f"distance to the ring {before:.2f} before, {after:.2f} after")
    return before, after


if __name__ == "__main__":
    main(steps=3000)
