"""tf_slim 1.1.0 of PyPI on Penstock: argument scopes, layers, a training loop with checkpoints, restoring by name.

    make libraries
"""
import tempfile

import numpy as np
import tensorflow as tf
import tf_slim as slim

rng = np.random.RandomState(0)
labels = rng.randint(2, size=200)
images = (rng.rand(200, 8, 8, 1) + labels[:, None, None, None] * np.linspace(0, 1, 8)[:, None, None]).astype(np.float32)


def network(inputs, is_training):
    with slim.arg_scope([slim.conv2d], normalizer_fn=slim.batch_norm, normalizer_params={"is_training": is_training, "decay": 0.9}):
        net = slim.conv2d(inputs, 8, [3, 3], scope="conv1")
        net = slim.max_pool2d(net, [2, 2], scope="pool1")
        net = slim.flatten(net)
    return slim.fully_connected(net, 2, activation_fn=None, scope="logits")


with tempfile.TemporaryDirectory() as folder:
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        dataset = tf.data.Dataset.from_tensor_slices((images, labels)).repeat().shuffle(200, seed=1).batch(20)
        batch, targets = dataset.make_one_shot_iterator().get_next()
        loss = tf.losses.sparse_softmax_cross_entropy(targets, network(batch, is_training=True))
        train_op = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.01))
        final = slim.learning.train(train_op, folder, number_of_steps=60, log_every_n_steps=30, save_summaries_secs=None)

    with tf.Graph().as_default():
        predicted = tf.argmax(network(images, is_training=False), 1)
        restore = slim.assign_from_checkpoint_fn(tf.train.latest_checkpoint(folder), slim.get_model_variables())
        with tf.Session() as session:
            restore(session)
            accuracy = np.mean(session.run(predicted) == labels)

print("tf_slim: loss %.3f, accuracy %.2f after restoring" % (final, accuracy))
assert accuracy > 0.9
