"""Writes what real TensorFlow 1.15 makes of ``tf.keras.applications``: ``applications.json.gz``.

    python3.7 tests/keras/data/record_applications.py

Recorded are the layers of each network (name, class, shape of the output), its parameters, a hash of the names and shapes of its weights, and, for
one of each family, predictions for a small image, with weights that ``seeded`` makes of numbers which depend on nothing but their shapes.
"""
import gzip
import hashlib
import json
import os

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
NETWORKS = ("DenseNet121", "DenseNet169", "DenseNet201", "InceptionResNetV2", "InceptionV3", "MobileNet", "MobileNetV2", "NASNetLarge",
            "NASNetMobile", "ResNet50", "ResNet101", "ResNet152", "ResNet50V2", "ResNet101V2", "ResNet152V2", "VGG16", "VGG19", "Xception")
SMALL = {  # {network: arguments}, for predictions
    "DenseNet121": dict(input_shape=(32, 32, 3), classes=7),
    "InceptionResNetV2": dict(input_shape=(75, 75, 3), classes=7),
    "InceptionV3": dict(input_shape=(75, 80, 3), include_top=False, pooling="max"),
    "MobileNet": dict(input_shape=(32, 32, 3), alpha=0.25, classes=7),
    "MobileNetV2": dict(input_shape=(33, 32, 3), alpha=0.35, classes=7),
    "NASNetMobile": dict(input_shape=(32, 32, 3), classes=7),
    "ResNet50": dict(input_shape=(32, 32, 1), classes=7),
    "ResNet50V2": dict(input_shape=(32, 32, 3), include_top=False, pooling="avg"),
    "VGG16": dict(input_shape=(32, 32, 3), include_top=False),
    "Xception": dict(input_shape=(71, 71, 3), classes=7),
}


def definition(model):
    """What a model is, without its weights."""
    lines = ["{} {}".format(weight.name, tuple(weight.shape.as_list())) for weight in model.weights]
    return {
        "name": model.name,
        "layers": [[layer.name, type(layer).__name__, _shape(layer)] for layer in model.layers],
        "parameters": model.count_params(),
        "weights": hashlib.sha256("\n".join(lines).encode()).hexdigest(),
    }


def _shape(layer):
    shape = layer.output_shape
    return list(shape[0] if isinstance(shape, list) else shape)


def seeded(model):
    """Values for all weights, by which activations neither vanish nor grow."""
    random, values = np.random.RandomState(0), []
    for weight in model.weights:
        shape = weight.shape.as_list()
        noise = random.random_sample(shape).astype(np.float32) - np.float32(0.5)
        scale = "variance" in weight.name or "gamma" in weight.name
        values.append(noise + 1 if scale else noise * 0.2 if len(shape) == 1 else noise * np.float32((24.0 / np.prod(shape[:-1])) ** 0.5))
    return values


def predictions(tf, name):
    """The outputs of a small network for one image."""
    model = getattr(tf.keras.applications, name)(weights=None, **SMALL[name])
    model.set_weights(seeded(model))
    image = np.random.RandomState(1).random_sample((1,) + SMALL[name]["input_shape"]) * 2 - 1
    return model.predict(image).ravel()


def main():
    """Writes the file next to this one."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf
    tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    recorded = {}
    for name in NETWORKS:
        tf.keras.backend.clear_session()
        recorded[name] = definition(getattr(tf.keras.applications, name)(weights=None))
        if name in SMALL:
            tf.keras.backend.clear_session()
            recorded[name]["predictions"] = ["%.7g" % value for value in predictions(tf, name)[:50]]
        print(name, recorded[name]["parameters"], recorded[name].get("predictions", [])[:3], flush=True)
    with gzip.GzipFile(os.path.join(HERE, "applications.json.gz"), "w", mtime=0) as file:
        file.write(json.dumps(recorded).encode())


if __name__ == "__main__":
    main()
