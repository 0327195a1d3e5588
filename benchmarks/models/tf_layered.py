"""Some models again, made of ``tf.layers`` or of slim: they should take the time of those that are written by hand (tf_models.py, tf_convnets.py)."""
from __future__ import annotations

from models import architectures as sizes
from models import data, tf_convnets
from models.architectures import NETS, RATE

STYLES = ("layers", "slim")


def dense(tf, style, x, units, relu=False):
    """A fully connected layer."""
    activation, uniform = tf.nn.relu if relu else None, tf.random_uniform_initializer(-0.05, 0.05, seed=1)
    if style == "layers":
        return tf.layers.dense(x, units, activation=activation, kernel_initializer=uniform)
    return tf.contrib.slim.fully_connected(x, units, activation_fn=activation, weights_initializer=uniform)


def mlp(tf, style):
    """(loss, optimizer, feeds) of two hidden layers, fed."""
    digits, numbers = data.digits(128)
    x, y = tf.placeholder(tf.float32, [None, 784]), tf.placeholder(tf.int32, [None])
    hidden = x
    for units in sizes.MLP[1:-1]:
        hidden = dense(tf, style, hidden, units, relu=True)
    logits = dense(tf, style, hidden, sizes.MLP[-1])
    return tf.losses.sparse_softmax_cross_entropy(labels=y, logits=logits), tf.train.AdamOptimizer(RATE), {x: digits, y: numbers}


def lstm(tf, style):
    """(loss, optimizer, feeds) of a language model of unrolled cells; slim's is trained by its own operation, which clips gradients one by one."""
    uniform = tf.random_uniform_initializer(-0.1, 0.1, seed=1)
    words, following = data.words(sizes.LSTM_BATCH, sizes.LSTM_STEPS, sizes.LSTM_WORDS)
    x, y = tf.placeholder(tf.int32, words.shape), tf.placeholder(tf.int32, words.shape)
    with tf.variable_scope("model", initializer=uniform):
        embedded = tf.nn.embedding_lookup(tf.get_variable("embedding", [sizes.LSTM_WORDS, sizes.LSTM_UNITS]), x)
        cells = tf.nn.rnn_cell.MultiRNNCell([tf.nn.rnn_cell.BasicLSTMCell(sizes.LSTM_UNITS) for _ in range(sizes.LSTM_LAYERS)])
        outputs, _ = tf.nn.static_rnn(cells, tf.unstack(embedded, axis=1), dtype=tf.float32)
    hidden = tf.reshape(tf.stack(outputs, 1), [-1, sizes.LSTM_UNITS])
    loss = tf.losses.sparse_softmax_cross_entropy(labels=tf.reshape(y, [-1]), logits=dense(tf, style, hidden, sizes.LSTM_WORDS))
    return loss, tf.train.GradientDescentOptimizer(RATE), {x: words, y: following}


class Builder(tf_convnets.Builder):
    """Convolutional networks of layers; batch normalisation has moving averages, which are updated in each step."""

    def __init__(self, tf, style):
        super().__init__(tf)
        self.style = style

    def conv(self, layer, x):
        """Convolution, bias or batch normalization, ReLU."""
        tf, uniform = self.tf, self.tf.random_uniform_initializer(-0.02, 0.02, seed=1)
        activation = tf.nn.relu if layer.relu else None
        if self.style == "slim":
            normalizer = {"normalizer_fn": tf.contrib.slim.batch_norm, "normalizer_params": {"scale": True}} if layer.norm else {}
            return tf.contrib.slim.conv2d(x, layer.filters, layer.size, layer.stride, layer.padding, activation_fn=activation,
                                          weights_initializer=uniform, **normalizer)
        y = tf.layers.conv2d(x, layer.filters, layer.size, layer.stride, layer.padding, use_bias=not layer.norm, kernel_initializer=uniform,
                             activation=None if layer.norm else activation)
        if layer.norm:
            y = tf.layers.batch_normalization(y, training=True)
            y = tf.nn.relu(y) if layer.relu else y
        return y

    def dense(self, layer, x):
        """Matrix product, bias, ReLU."""
        tf = self.tf
        flat = x if len(x.shape) == 2 else tf.layers.flatten(x) if self.style == "layers" else tf.contrib.slim.flatten(x)
        return dense(tf, self.style, flat, layer.units, layer.relu)


def convnet(tf, style, case):
    """(loss, optimizer, feeds) of one of the networks."""
    images, labels = data.images(case)
    images = tf.get_variable("images", initializer=images, trainable=False)
    logits = Builder(tf, style).stack(NETS[case.partition("_")[0]].layers, images)
    return tf.losses.sparse_softmax_cross_entropy(labels=tf.constant(labels), logits=logits), tf.train.GradientDescentOptimizer(RATE), None


def model(tf, case, style):
    """(fetches, feeds): a step of training, as programs write it with either library."""
    loss, optimizer, feeds = mlp(tf, style) if case.startswith("mlp") else lstm(tf, style) if case.startswith("lstm") else convnet(tf, style, case)
    clip = 5.0 if case.startswith("lstm") else 0.0
    if style == "slim":
        return tf.contrib.slim.learning.create_train_op(loss, optimizer, clip_gradient_norm=clip), feeds
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        gradients, variables = zip(*optimizer.compute_gradients(loss))
        gradients = tf.clip_by_global_norm(gradients, clip)[0] if clip else gradients
        return [optimizer.apply_gradients(zip(gradients, variables)), loss], feeds
