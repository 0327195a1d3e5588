"""Random functional models. Under real TensorFlow 1.15 this writes their configurations and predictions: ``random_models.json.gz``.

    python3.7 tests/keras/data/record_random_models.py

A model is made of nothing but a seed: layers of all kinds over vectors, sequences and images, layers that are shared, models as layers, several
inputs and outputs. Weights and inputs depend on the seed and on shapes alone. So both sides have the same model with the same weights.
"""
import gzip
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT = 60
ACTIVATIONS = ("relu", "tanh", "sigmoid", "softplus", "elu", "selu", "linear", "softsign", "hard_sigmoid", "softmax")
VECTOR, SEQUENCE, IMAGE = 2, 3, 4  # ranks of tensors


class Maker:
    """Adds layers that fit to tensors at random."""

    def __init__(self, tf, seed):
        self.layers, self.models = tf.keras.layers, tf.keras.models
        self.input, self.random = tf.keras.Input, np.random.RandomState(seed)

    def one(self, *choices):
        """One of the choices."""
        return choices[self.random.randint(len(choices))]

    def number(self, low, high):
        """A number in this range, both ends included."""
        return int(self.random.randint(low, high + 1))

    def vector_layer(self, shape):
        """A layer over vectors."""
        make, activation = self.layers, self.one(*ACTIVATIONS)
        return self.one(
            lambda: make.Dense(self.number(2, 6), activation=activation, use_bias=self.one(True, False)),
            lambda: make.Dense(self.number(2, 6), kernel_regularizer="l2", kernel_constraint="max_norm"),
            lambda: make.BatchNormalization(momentum=0.9, scale=self.one(True, False)),
            lambda: make.LayerNormalization(),
            lambda: make.Activation(activation),
            lambda: make.Dropout(0.3),
            lambda: make.GaussianNoise(0.1),
            lambda: make.LeakyReLU(0.2),
            lambda: make.PReLU(),
            lambda: make.ELU(0.5),
            lambda: make.ReLU(max_value=1.5, negative_slope=0.1),
            lambda: make.ThresholdedReLU(0.1),
            lambda: make.RepeatVector(self.number(2, 4)),
            lambda: make.Reshape((shape[1], 1)),
            lambda: make.ActivityRegularization(l2=0.01))()

    def sequence_layer(self, shape):
        """A layer over sequences."""
        make, units, several = self.layers, self.number(2, 5), self.one(True, False)
        recurrent = self.one(make.LSTM, make.GRU, make.SimpleRNN)
        return self.one(
            lambda: recurrent(units, return_sequences=several, go_backwards=self.one(True, False), use_bias=self.one(True, False)),
            lambda: make.LSTM(units, return_sequences=several, unit_forget_bias=False, recurrent_activation="sigmoid", implementation=2),
            lambda: make.GRU(units, return_sequences=several, reset_after=self.one(True, False), activation="softsign"),
            lambda: make.Bidirectional(recurrent(units, return_sequences=several), merge_mode=self.one("sum", "mul", "ave", "concat")),
            lambda: make.RNN([make.LSTMCell(units), make.GRUCell(units)], return_sequences=several),
            lambda: make.Conv1D(units, 3, padding=self.one("same", "causal"), activation="relu"),
            lambda: make.SeparableConv1D(units, 2, padding="same"),
            lambda: make.TimeDistributed(make.Dense(units, activation="tanh")),
            lambda: make.LocallyConnected1D(units, 2),
            lambda: make.Masking(0.0),
            lambda: make.SpatialDropout1D(0.2),
            lambda: make.MaxPooling1D(2, padding="same"),
            lambda: make.UpSampling1D(2),
            lambda: make.ZeroPadding1D((0, 1)),
            lambda: make.Permute((2, 1)),
            lambda: make.GlobalMaxPooling1D(),
            lambda: make.GlobalAveragePooling1D(),
            lambda: make.Flatten(),
            lambda: make.Reshape((shape[1], shape[2], 1)))()

    def image_layer(self, shape):
        """A layer over images."""
        make, filters, padding = self.layers, self.number(2, 4), self.one("same", "valid")
        return self.one(
            lambda: make.Conv2D(filters, 2, padding=padding, activation=self.one("relu", "tanh")),
            lambda: make.Conv2D(filters, 3, padding="same", dilation_rate=2),
            lambda: make.Conv2D(filters, (2, 3), strides=(1, 2), padding="same", use_bias=False),
            lambda: make.SeparableConv2D(filters, 2, padding="same", depth_multiplier=2),
            lambda: make.DepthwiseConv2D(2, padding="same", activation="relu"),
            lambda: make.Conv2DTranspose(filters, 2, strides=self.one(1, 2), padding="same"),
            lambda: make.LocallyConnected2D(filters, 2),
            lambda: make.BatchNormalization(axis=-1, center=self.one(True, False)),
            lambda: make.MaxPooling2D(2, padding="same"),
            lambda: make.AveragePooling2D((2, 1), strides=1, padding="same"),
            lambda: make.UpSampling2D((1, 2), interpolation=self.one("nearest", "bilinear")),
            lambda: make.ZeroPadding2D(((0, 1), (1, 0))),
            lambda: make.SpatialDropout2D(0.2),
            lambda: make.PReLU(shared_axes=[1, 2]),
            lambda: make.Permute((2, 1, 3)),
            lambda: make.TimeDistributed(make.Dense(filters)),
            lambda: make.GlobalAveragePooling2D(),
            lambda: make.GlobalMaxPooling2D(),
            lambda: make.Flatten(),
            lambda: make.Reshape((shape[1] * shape[2], shape[3])))()

    def layer(self, shape):
        """A layer for tensors of this shape."""
        if len(shape) == VECTOR:
            return self.vector_layer(shape)
        small = min(shape[1:3]) < 3  # too small for windows that shrink it
        while True:
            made = self.sequence_layer(shape) if len(shape) == SEQUENCE else self.image_layer(shape)
            if not small or type(made).__name__ not in ("LocallyConnected1D", "LocallyConnected2D", "Conv2D"):
                return made

    def merge(self, tensors):
        """A tensor of two that have the same shape."""
        make = self.layers
        return self.one(lambda: make.Add(), lambda: make.Subtract(), lambda: make.Multiply(), lambda: make.Average(), lambda: make.Maximum(),
                        lambda: make.Minimum(), lambda: make.Concatenate())()(tensors)

    def inputs(self):
        """One or two inputs, the second sometimes like the first."""
        shapes = [self.one((3,), (5,), (4, 3), (3, 2), (4, 4, 2), (3, 4, 1)) for _ in range(2)]
        shapes[1] = self.one(*shapes)
        return [self.input(shape) for shape in shapes[:self.number(1, 2)]]

    def nested(self, shape):
        """A model as a layer."""
        start = self.input(shape)
        return self.models.Model(start, self.layer((None,) + shape)(start))

    def model(self):
        """A model; every tensor that no layer uses is an output."""
        inputs = self.inputs()
        ends, size = list(inputs), self.number(3, 7)
        for _ in range(size):
            chosen = self.number(0, len(ends) - 1)
            x, shape = ends[chosen], _shape(ends[chosen])
            if np.prod(shape[1:]) > 150:
                ends[chosen] = self.layers.Dense(3)(self.layers.Flatten()(x)) if len(shape) > VECTOR else self.layers.Dense(3)(x)
                continue
            layer = self.nested(shape[1:]) if self.random.rand() < 0.1 else self.layer(shape)
            like = [index for index, other in enumerate(ends) if index != chosen and _shape(other) == shape]
            if like and self.random.rand() < 0.6:
                if self.random.rand() < 0.5:
                    ends[chosen] = self.merge([x, ends[like[0]]])
                    del ends[like[0]]
                else:  # shared
                    ends[chosen], ends[like[0]] = layer(x), layer(ends[like[0]])
            elif self.random.rand() < 0.2:  # a branch
                ends[chosen] = layer(x)
                ends.append(self.layer(shape)(x))
            else:
                ends[chosen] = layer(x)
        used = [x for x in ends if all(x is not each for each in inputs)]
        return self.models.Model(inputs, used if used else [self.layers.Dense(2)(inputs[0])])


def _shape(x):
    return tuple(x.shape.as_list())


def weights(model, seed):
    """Values for all weights."""
    random = np.random.RandomState(seed + 1000)
    return [random.random_sample(weight.shape.as_list()) + (0.5 if "variance" in weight.name else -0.5) for weight in model.weights]


def batch(model, seed):
    """Inputs."""
    random = np.random.RandomState(seed + 2000)
    return [random.random_sample((2,) + _shape(x)[1:]) * 2 - 1 for x in model.inputs]


def build(tf, seed):
    """(the model of a seed, inputs for it)."""
    model = Maker(tf, seed).model()
    model.set_weights(weights(model, seed))
    return model, batch(model, seed)


def outputs(model, inputs):
    """The predictions, as one vector."""
    found = model.predict(inputs)
    return np.concatenate([each.ravel() for each in (found if isinstance(found, list) else [found])])


def main():
    """Writes the file next to this one."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = []
    for seed in range(COUNT):
        tf.keras.backend.clear_session()
        model, inputs = build(tf, seed)
        predicted = outputs(model, inputs)
        recorded.append({"config": json.loads(model.to_json()), "predictions": ["%.6g" % value for value in predicted[:30]],
                         "count": len(predicted), "mean": float(np.mean(np.abs(predicted)))})
    with gzip.GzipFile(os.path.join(HERE, "random_models.json.gz"), "w", mtime=0) as file:
        file.write(json.dumps(recorded, sort_keys=True).encode())


if __name__ == "__main__":
    main()
