"""What all layers of a process agree on: the default type, the small number that avoids divisions by zero, the order of an image's axes."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes

_settings: dict[str, Any] = {"floatx": "float32", "epsilon": 1e-7, "image_data_format": "channels_last"}


def floatx() -> str:
    """``tf.keras.backend.floatx``: the name of the default floating point type."""
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """``tf.keras.backend.set_floatx``."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _settings["floatx"] = str(value)


def epsilon() -> float:
    """``tf.keras.backend.epsilon``."""
    return _settings["epsilon"]


def set_epsilon(value: float) -> None:
    """``tf.keras.backend.set_epsilon``."""
    _settings["epsilon"] = value


def image_data_format() -> str:
    """``tf.keras.backend.image_data_format``: "channels_last" or "channels_first"."""
    return _settings["image_data_format"]


def set_image_data_format(data_format: str) -> None:
    """``tf.keras.backend.set_image_data_format``."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _settings["image_data_format"] = str(data_format)


def cast_to_floatx(x: Any) -> Any:
    """``tf.keras.backend.cast_to_floatx`` of a number or an array."""
    return dtypes.as_dtype(floatx()).as_numpy_dtype(x)
