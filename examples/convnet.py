"""A convolutional network with batch normalisation and dropout, from tf.layers, trained by a monitored session that saves itself.

    python examples/convnet.py [MODEL_DIR]

Started again with the same folder, it goes on where it was.
"""
import sys

import penstock as tf
from penstock.datasets import load_digits


def network(images, training):
    """Logits of ten classes."""
    net = tf.layers.conv2d(images, 16, 3, padding="same", use_bias=False)
    net = tf.nn.relu(tf.layers.batch_normalization(net, training=training))
    net = tf.layers.max_pooling2d(net, 2, 2)
    net = tf.layers.conv2d(net, 32, 3, padding="same", activation=tf.nn.relu)
    net = tf.layers.dropout(tf.layers.flatten(net), 0.3, training=training)
    return tf.layers.dense(net, 10)


def main(steps=200, model_dir=None):
    """Returns the accuracy on digits that were held out."""
    digits = load_digits()
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        training = tf.placeholder_with_default(False, [])
        dataset = tf.data.Dataset.from_tensor_slices((digits.train_images[..., None], digits.train_labels)).shuffle(2000).repeat().batch(64)
        batch = dataset.make_one_shot_iterator().get_next()
        images = tf.placeholder_with_default(batch[0], [None, 8, 8, 1])
        labels = tf.placeholder_with_default(batch[1], [None])
        logits = network(images, training)
        loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
        step = tf.train.get_or_create_global_step()
        with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
            train = tf.train.AdamOptimizer(2e-3).minimize(loss, step)
        correct = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), tf.cast(labels, tf.int64)), tf.float32))
        hooks = [tf.train.NanTensorHook(loss)]
        accuracy = 0.0
        with tf.train.MonitoredTrainingSession(checkpoint_dir=model_dir, hooks=hooks, log_step_count_steps=None) as session:
            while session.run(step) < steps:
                session.run(train, {training: True})
            accuracy = float(session.run(correct, {images: digits.test_images[..., None], labels: digits.test_labels}))
    print(f"accuracy on new digits: {accuracy:.3f}")
    return accuracy


if __name__ == "__main__":
    main(model_dir=sys.argv[1] if len(sys.argv) > 1 else None)
