"""``tf.keras.initializers``: initializers by name, and those whose defaults Keras chose itself."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.layers.objects import deserialize_object, getter_of, serialize_object
from penstock.variables import initializers as plain


class TruncatedNormal(plain.TruncatedNormal):
    """``tf.keras.initializers.TruncatedNormal``."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(mean, stddev, seed, dtype)


class RandomUniform(plain.RandomUniform):
    """``tf.keras.initializers.RandomUniform``."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(minval, maxval, seed, dtype)


class RandomNormal(plain.RandomNormal):
    """``tf.keras.initializers.RandomNormal``."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: int | None = None, dtype: Any = dtypes.float32) -> None:
        super().__init__(mean, stddev, seed, dtype)


_MAKERS = {name: getattr(plain, name) for name in ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")}
_CLASSES = {"Zeros": plain.Zeros, "Ones": plain.Ones, "Constant": plain.Constant, "RandomUniform": RandomUniform, "RandomNormal": RandomNormal,
            "TruncatedNormal": TruncatedNormal, "VarianceScaling": plain.VarianceScaling, "Orthogonal": plain.Orthogonal,
            "Identity": plain.Identity, "GlorotUniform": plain.GlorotUniform, "GlorotNormal": plain.GlorotNormal,
            "UniformUnitScaling": plain.UniformUnitScaling, "Initializer": plain.Initializer}
_SHORT = {"zero": "Zeros", "zeros": "Zeros", "one": "Ones", "ones": "Ones", "constant": "Constant", "uniform": "RandomUniform",
          "random_uniform": "RandomUniform", "normal": "RandomNormal", "random_normal": "RandomNormal", "truncated_normal": "TruncatedNormal",
          "identity": "Identity", "orthogonal": "Orthogonal", "glorot_normal": "GlorotNormal", "glorot_uniform": "GlorotUniform"}
_OBJECTS = {**_CLASSES, **{short: _CLASSES[name] for short, name in _SHORT.items()}, **_MAKERS}


def serialize(initializer: Any) -> Any:
    """``tf.keras.initializers.serialize``."""
    return serialize_object(initializer)


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """``tf.keras.initializers.deserialize``."""
    return deserialize_object(config, _OBJECTS, custom_objects, "initializer")


get = getter_of(deserialize, _MAKERS, "initializer")
