"""One side of an exchange of models: `exchange_models.py penstock|tensorflow write|read FOLDER`. It runs in either system, on Python 3.7 and later.

The writer trains models of tf.layers, slim and tf.contrib.layers, saves them, and notes what they compute; the reader builds them anew, restores them
and must compute the same, in inference and after one more step of training.
"""
import os
import sys

import numpy as np

IMAGES = np.sin(np.arange(4 * 8 * 8 * 3) * 0.37).reshape(4, 8, 8, 3).astype(np.float32)
LABELS = np.array([0, 2, 1, 2])


def system(name):
    if name == "penstock":
        import penstock as tf
        return tf
    import tensorflow as tf
    return tf


def of_layers(tf, x, training):
    """A network of tf.layers."""
    net = tf.layers.conv2d(x, 4, 3, activation=tf.nn.relu)
    net = tf.layers.batch_normalization(net, training=training, momentum=0.9)
    net = tf.layers.separable_conv2d(net, 4, 3, padding="same")
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.dense(tf.layers.flatten(net), 8, activation=tf.tanh, name="hidden")
    return tf.layers.dense(net, 3, name="logits")


def of_slim(tf, x, training):
    """A network of slim, with a residual unit."""
    slim = tf.contrib.slim
    with slim.arg_scope([slim.conv2d, slim.fully_connected], weights_regularizer=slim.l2_regularizer(0.001)), \
            slim.arg_scope([slim.batch_norm], is_training=training, decay=0.9, scale=True):
        net = slim.repeat(x, 2, slim.conv2d, 4, [3, 3], normalizer_fn=slim.batch_norm, scope="conv")
        net = slim.max_pool2d(net, 2) + slim.conv2d(net, 4, 1, stride=2, scope="shortcut", activation_fn=None)
        return slim.fully_connected(slim.flatten(net), 3, activation_fn=None, scope="logits")


def of_contrib(tf, x, training):
    """A network of tf.contrib.layers; the averages are updated at once."""
    layers = tf.contrib.layers
    net = layers.conv2d(x, 4, 3, normalizer_fn=layers.layer_norm)
    net = layers.batch_norm(net, is_training=training, decay=0.9, updates_collections=None, zero_debias_moving_mean=True)
    net = layers.instance_norm(layers.conv2d_transpose(net, 4, 3, 2))
    return layers.linear(layers.fully_connected(layers.flatten(net), 5), 3)


MODELS = {"layers": of_layers, "slim": of_slim, "contrib": of_contrib}


def build(tf, name):
    """(placeholder that says whether to train, logits, a step of training) of a model."""
    tf.set_random_seed(7)
    training = tf.placeholder(tf.bool, [])
    with tf.variable_scope(name):
        logits = MODELS[name](tf, tf.constant(IMAGES), training)
    tf.losses.sparse_softmax_cross_entropy(LABELS, logits)
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer(0.01).minimize(tf.losses.get_total_loss(), tf.train.get_or_create_global_step())
    return training, logits, train


def note(sess, training, logits, train):
    """What the model computes now, and after one more step."""
    before = sess.run(logits, {training: False})
    sess.run(train, {training: True})
    return before, sess.run(logits, {training: False})


def write(tf, folder):
    for name in MODELS:
        with tf.Graph().as_default(), tf.Session() as sess:
            training, logits, train = build(tf, name)
            sess.run(tf.global_variables_initializer())
            for _ in range(3):
                sess.run(train, {training: True})
            tf.train.Saver().save(sess, os.path.join(folder, name))
            variables = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
            np.savez(os.path.join(folder, name + ".npz"), outputs=np.array(note(sess, training, logits, train)), names=np.array(sorted(variables)),
                     shapes=np.array([str(variables[key]) for key in sorted(variables)]))


def read(tf, folder):
    for name in MODELS:
        noted = np.load(os.path.join(folder, name + ".npz"))
        with tf.Graph().as_default(), tf.Session() as sess:
            training, logits, train = build(tf, name)
            variables = {v.op.name: v.shape.as_list() for v in tf.global_variables()}
            assert sorted(variables) == noted["names"].tolist(), name
            assert [str(variables[key]) for key in sorted(variables)] == noted["shapes"].tolist(), name
            tf.train.Saver().restore(sess, os.path.join(folder, name))
            np.testing.assert_allclose(note(sess, training, logits, train), noted["outputs"], rtol=2e-3, atol=2e-5, err_msg=name)


if __name__ == "__main__":
    {"write": write, "read": read}[sys.argv[2]](system(sys.argv[1]), sys.argv[3])
