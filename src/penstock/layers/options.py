"""What layers are told of each of their weights (initializer, regularizer, constraint), and of the geometry of windows."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.graph.shape import TensorShape
from penstock.layers import constraints, initializers, regularizers, settings

# --- weights ---------------------------------------------------------------------------------------------------------


def set_weight_options(layer: Any, weight: str, initializer: Any, regularizer: Any = None, constraint: Any = None) -> None:
    """Sets ``layer.kernel_initializer`` and so on, for the weight ``kernel``."""
    setattr(layer, f"{weight}_initializer", initializers.get(initializer))
    setattr(layer, f"{weight}_regularizer", regularizers.get(regularizer))
    setattr(layer, f"{weight}_constraint", constraints.get(constraint))


def add_weight(layer: Any, weight: str, shape: Sequence[int], options: str | None = None) -> Any:
    """The variable ``weight`` of a layer, with its options (or those of another weight)."""
    options = options or weight
    return layer.add_weight(weight, shape=shape, initializer=getattr(layer, f"{options}_initializer"),
                            regularizer=getattr(layer, f"{options}_regularizer"), constraint=getattr(layer, f"{options}_constraint"),
                            dtype=layer.dtype, trainable=True)


def weight_config(layer: Any, *weights: str) -> dict[str, Any]:
    """The options of weights, as a layer's config has them."""
    config: dict[str, Any] = {}
    for kind, serialize in (("initializer", initializers.serialize), ("regularizer", regularizers.serialize), ("constraint", constraints.serialize)):
        config.update({f"{weight}_{kind}": serialize(getattr(layer, f"{weight}_{kind}")) for weight in weights})
    return config


_ORDER = ("activation", "recurrent_activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
          "embeddings_initializer", "unit_forget_bias", "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "embeddings_regularizer",
          "activity_regularizer", "kernel_constraint", "recurrent_constraint", "bias_constraint", "embeddings_constraint", "depth_multiplier")


def ordered_config(config: dict[str, Any]) -> dict[str, Any]:
    """A layer's config in the order of TensorFlow's, so that JSON texts of models are equal: common options stand where the first of them does."""
    keys = list(config)
    first = next((index for index, key in enumerate(keys) if key in _ORDER), len(keys))
    in_order = [*keys[:first], *(key for key in _ORDER if key in config), *(key for key in keys[first:] if key not in _ORDER)]
    return {key: config[key] for key in in_order}


# --- windows ---------------------------------------------------------------------------------------------------------


def normalize_tuple(value: Any, n: int, name: str) -> tuple[int, ...]:
    """``n`` integers, from one or from as many."""
    if isinstance(value, int):
        return (value,) * n
    problem = f"The `{name}` argument must be a tuple of {n} integers. Received: {value}"
    try:
        values = tuple(value)
    except TypeError:
        raise ValueError(problem) from None
    if len(values) != n:
        raise ValueError(problem)
    for single in values:
        try:
            int(single)
        except (ValueError, TypeError):
            raise ValueError(f"{problem} including element {single} of type {type(single)}") from None
    return values


def normalize_data_format(value: str | None) -> str:
    """"channels_last" or "channels_first"."""
    value = settings.image_data_format() if value is None else value
    if value.lower() not in ("channels_first", "channels_last"):
        raise ValueError(f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}')
    return value.lower()


def normalize_padding(value: Any) -> Any:
    """"valid", "same" or "causal"; explicit paddings are left as they are."""
    if isinstance(value, (list, tuple)):
        return value
    if value.lower() not in ("valid", "same", "causal"):
        raise ValueError('The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
                         f"Received: {value.lower()}")
    return value.lower()


def op_format(data_format: str, rank: int) -> str:
    """What the ops call a data format, for this many spatial axes."""
    inner = {1: "W", 2: "HW", 3: "DHW"}[rank]
    return f"NC{inner}" if data_format == "channels_first" else f"N{inner}C"


def output_length(length: int | None, window: int, padding: str, stride: int, dilation: int = 1) -> int | None:
    """How many places a window has along an axis."""
    if length is None:
        return None
    dilated = window + (window - 1) * (dilation - 1)
    places = {"same": length, "causal": length, "valid": length - dilated + 1, "full": length + dilated - 1}[padding]
    return (places + stride - 1) // stride


def transposed_length(length: Any, window: int, padding: str, output_padding: int | None, stride: int, dilation: int = 1) -> Any:
    """The length of which a convolution makes ``length``, a number, a tensor or None."""
    if length is None:
        return None
    window += (window - 1) * (dilation - 1)
    if output_padding is None:
        longer = length * stride
        return {"valid": lambda: longer + max(window - stride, 0), "full": lambda: longer - (stride + window - 2), "same": lambda: longer}[padding]()
    pad = {"same": window // 2, "valid": 0, "full": window - 1}[padding]
    return (length - 1) * stride + window - 2 * pad + output_padding


def input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of which windows have so many places."""
    if output_length is None:
        return None
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def convert_data_format(data_format: str, ndim: int) -> str:
    """What the ops call a data format, for tensors of this rank."""
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Invalid data_format: {data_format}")
    if ndim not in (3, 4, 5):
        raise ValueError(f"Input rank not supported: {ndim}")
    return op_format(data_format, ndim - 2)


def windowed_shape(input_shape: Any, data_format: str, lengths: Any, channels: int | None = None) -> TensorShape:
    """The shape of what windows make of inputs: ``lengths(i, length)`` is the new length of spatial axis i; None keeps the channels."""
    extents = TensorShape(input_shape).as_list()
    first = data_format == "channels_first"
    inner = extents[2:] if first else extents[1:-1]
    depth = (extents[1] if first else extents[-1]) if channels is None else channels
    new = [lengths(axis, length) for axis, length in enumerate(inner)]
    return TensorShape([extents[0], depth, *new] if first else [extents[0], *new, depth])


def channel_axis(layer: Any) -> int:
    """The axis of the channels: 1 or -1."""
    return 1 if layer.data_format == "channels_first" else -1


def input_channels(layer: Any, input_shape: Any) -> int:
    """The number of channels of the inputs; ValueError if it is not known."""
    channels = TensorShape(input_shape).as_list()[channel_axis(layer)]
    if channels is None:
        raise ValueError("The channel dimension of the inputs should be defined. Found `None`.")
    return int(channels)
