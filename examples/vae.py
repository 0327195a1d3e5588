"""A variational autoencoder of digits, with tf.distributions: the bound on the likelihood rises, and new digits can be drawn.

    python examples/vae.py
"""
import numpy as np

import penstock as tf
from penstock.datasets import load_digits


def main(steps=300):
    """Returns the evidence lower bound (nats per image) before and after training."""
    images_of = load_digits().train_images.reshape(-1, 64)
    rng = np.random.RandomState(0)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(0)
        images = tf.placeholder(tf.float32, [None, 64])
        decoder_hidden, decoder_logits = tf.layers.Dense(64, tf.nn.relu), tf.layers.Dense(64)
        hidden = tf.layers.dense(images, 64, tf.nn.relu)
        posterior = tf.distributions.Normal(tf.layers.dense(hidden, 4), tf.nn.softplus(tf.layers.dense(hidden, 4)) + 1e-3)
        prior = tf.distributions.Normal(tf.zeros([4]), tf.ones([4]))
        code = posterior.sample(seed=1)
        pixels = tf.distributions.Bernoulli(logits=decoder_logits(decoder_hidden(code)))
        likelihood = -tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=images, logits=pixels.logits), 1)
        bound = tf.reduce_mean(likelihood - tf.reduce_sum(tf.distributions.kl_divergence(posterior, prior), 1))
        train = tf.train.AdamOptimizer(3e-3).minimize(-bound)
        drawn = tf.sigmoid(decoder_logits(decoder_hidden(prior.sample(2, seed=2))))
        session.run(tf.global_variables_initializer())
        before = float(session.run(bound, {images: images_of}))
        for _ in range(steps):
            session.run(train, {images: images_of[rng.choice(len(images_of), 128)]})
        after, made = session.run([bound, drawn], {images: images_of})
    print(f"bound {before:.1f} before, {after:.1f} after; a new digit:")
    for row in made[0].reshape(8, 8):
        print("".join(" .:*#"[int(value * 4.99)] * 2 for value in row))
    return before, float(after)


if __name__ == "__main__":
    main(steps=2000)
