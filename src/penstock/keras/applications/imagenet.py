"""What goes into a network of ImageNet, and what comes out of it."""
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.keras.utils.files import get_file
from penstock.layers import settings

_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
# {mode: (the divisor of all pixels, whether red and blue change places, the mean of each channel, its standard deviation)}
_MODES: dict[str, tuple[float, bool, Any, Any]] = {
    "caffe": (1.0, True, (103.939, 116.779, 123.68), 1.0),
    "tf": (127.5, False, 1.0, 1.0),
    "torch": (255.0, False, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
}


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """``tf.keras.applications.imagenet_utils.preprocess_input``: images with pixels of 0 to 255, scaled. Arrays of floats are written over."""
    data_format = data_format or settings.image_data_format()
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format {data_format}")
    if mode not in _MODES:
        raise ValueError(f'Unknown mode {mode}: expected one of "caffe", "tf", "torch".')
    divisor, swap, mean, deviation = _MODES[mode]
    rank, first = len(x.shape), data_format == "channels_first"

    def per_channel(values: Any) -> Any:
        return np.reshape(values, (-1, 1, 1)).astype(settings.floatx()) if first and np.ndim(values) else np.asarray(values, settings.floatx())

    if isinstance(x, np.ndarray):
        x = x if np.issubdtype(x.dtype, np.floating) else x.astype(settings.floatx())
        x = np.divide(x, divisor, out=x)
        x = x[_channel_reversal(rank, first)] if swap else x
        x -= per_channel(mean)
        x /= per_channel(deviation)
        return x
    x = x / divisor
    x = x[_channel_reversal(rank, first)] if swap else x
    return (x - per_channel(mean)) / per_channel(deviation)


def _channel_reversal(rank: int, channels_first: bool) -> tuple[slice, ...]:
    """The index that turns the order of channels around."""
    index = [slice(None)] * rank
    index[-3 if channels_first else -1] = slice(None, None, -1)
    return tuple(index)


def _preprocess(mode: str) -> Callable[..., Any]:
    def preprocess(x: Any, data_format: str | None = None) -> Any:
        return preprocess_input(x, data_format, mode)

    preprocess.__name__ = preprocess.__qualname__ = "preprocess_input"
    preprocess.__doc__ = f'Images as these networks were trained with: ``preprocess_input`` with the mode "{mode}".'
    return preprocess


preprocess_caffe, preprocess_tf, preprocess_torch = map(_preprocess, ("caffe", "tf", "torch"))


def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, Any]]]:
    """``tf.keras.applications.imagenet_utils.decode_predictions``: the best classes of each sample, as (WordNet id, description, score)."""
    if len(preds.shape) != 2 or preds.shape[1] != 1000:
        raise ValueError("`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). Found array with shape: "
                         f"{preds.shape}")
    with open(get_file("imagenet_class_index.json", _CLASSES, cache_subdir="models", file_hash="c2c37ea517e94d9795004a39431a14cb"),
              encoding="utf-8") as file:
        classes = json.load(file)
    return [[(*classes[str(index)], scores[index]) for index in scores.argsort()[::-1][:top]] for scores in preds]
