"""Training loops in imperative style, in the TensorFlow 1 API: runs under Penstock and under TensorFlow 2.21, unchanged.

The models are those of ``tf_models.py`` and ``tf_convnets.py``; a step is what a program writes: a tape, the loss, the gradients, the optimizer,
and a look at the loss.
"""
from __future__ import annotations

import importlib

from models import architectures as sizes
from models import data
from models.architectures import NETS, RATE, Step
from models.tf_convnets import Builder
from models.tf_lstm import lstm_layer


class Parameters:
    """The variables of a model, made when they are first asked for: each in its turn, as a model asks for them."""

    def __init__(self, tf):
        self.tf, self.made, self._next = tf, [], 0

    def again(self):
        """Begins the next step."""
        self._next = 0

    def __call__(self, shape, scale=0.05):
        """The next variable."""
        if self._next == len(self.made):
            tf = self.tf
            self.made.append(tf.Variable(tf.random.uniform(shape, -scale, scale, seed=1) if scale else tf.zeros(shape), use_resource=True))
        self._next += 1
        return self.made[self._next - 1]


class EagerBuilder(Builder):
    """The layers of the convolutional networks, over variables that stay."""

    def __init__(self, tf, parameters):
        super().__init__(tf)
        self.parameters = parameters

    def variable(self, shape, scale=0.02):
        """The next parameter."""
        return self.parameters(shape, scale)


def cross_entropy(tf, logits, labels):
    """The mean over all labels."""
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


def trained(tf, loss, optimizer, clip=None, traced=False):
    """A Step that minimizes ``loss(parameters)``."""
    parameters = Parameters(tf)

    def update():
        parameters.again()
        with tf.GradientTape() as tape:
            value = loss(parameters)
        gradients = tape.gradient(value, parameters.made)
        if clip:
            gradients, _ = tf.clip_by_global_norm(gradients, clip)
        optimizer.apply_gradients(zip(gradients, parameters.made))
        return value

    update()  # makes the variables
    step = tf.function(update) if traced else update
    return Step(lambda: step().numpy(), sum(variable.shape.num_elements() for variable in parameters.made))


def _mlp_loss(tf):
    digits, numbers = data.digits(128)

    def loss(parameters):
        hidden, before = tf.constant(digits), sizes.MLP[0]
        for units in sizes.MLP[1:-1]:
            hidden, before = tf.nn.relu(tf.matmul(hidden, parameters([before, units])) + parameters([units], 0)), units
        logits = tf.matmul(hidden, parameters([before, sizes.MLP[-1]])) + parameters([sizes.MLP[-1]], 0)
        return cross_entropy(tf, logits, tf.constant(numbers))

    return loss


def mlp(tf):
    """Two hidden layers, Adam."""
    return trained(tf, _mlp_loss(tf), tf.train.AdamOptimizer(RATE))


def mlp_function(tf):
    """The same step, traced by tf.function."""
    return trained(tf, _mlp_loss(tf), tf.train.AdamOptimizer(RATE), traced=True)


def lstm(tf):
    """A language model of LSTM cells; the norm of the gradient is clipped."""
    units = sizes.LSTM_UNITS
    words, following = data.words(sizes.LSTM_BATCH, sizes.LSTM_STEPS, sizes.LSTM_WORDS)

    def loss(parameters):
        inputs = tf.unstack(tf.nn.embedding_lookup(parameters([sizes.LSTM_WORDS, units], 0.1), tf.constant(words)), axis=1)
        for _ in range(sizes.LSTM_LAYERS):
            kernel, bias = parameters([2 * units, 4 * units], 0.1), parameters([4 * units], 0)
            inputs = lstm_layer(tf, inputs, kernel, bias)
        hidden = tf.reshape(tf.stack(inputs, 1), [-1, units])
        logits = tf.matmul(hidden, parameters([units, sizes.LSTM_WORDS])) + parameters([sizes.LSTM_WORDS], 0)
        return cross_entropy(tf, logits, tf.constant(following.reshape(-1)))

    return trained(tf, loss, tf.train.GradientDescentOptimizer(RATE), clip=5.0)


def resnet_4(tf):
    """The residual network with batch normalization."""
    images, labels = data.images("resnet_4")
    images, labels = tf.constant(images), tf.constant(labels)

    def loss(parameters):
        return cross_entropy(tf, EagerBuilder(tf, parameters).stack(NETS["resnet"].layers, images), labels)

    return trained(tf, loss, tf.train.GradientDescentOptimizer(RATE))


def dependent(tf):
    """Many small ops, each of which needs the one before it, and the gradient."""
    array = data.normal(16)

    def run():
        x = tf.constant(array)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for index in range(sizes.CHAIN_OPS):
                y = tf.tanh(y) if index % 2 else y * 1.25
        gradient = tape.gradient(y, x)
        return y.numpy(), gradient.numpy()

    return Step(run)


def null(tf):
    """One small op whose value is looked at."""
    return Step(lambda: (tf.constant(2.0) + 1.0).numpy())


MODELS = {function.__name__: function for function in (mlp, mlp_function, lstm, resnet_4, dependent, null)}


def make(case, framework):
    """The step of ``eager_mlp`` under ``penstock`` or ``tensorflow``."""
    tf = importlib.import_module("penstock" if framework == "penstock" else "tensorflow.compat.v1")
    tf.enable_eager_execution()
    return MODELS[case.partition("_")[2]](tf)
