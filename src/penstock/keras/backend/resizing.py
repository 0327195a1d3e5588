"""Larger images and sequences: functions of ``tf.keras.backend``."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.layers.options import normalize_data_format
from penstock.ops.array.pack import concat, split, stack
from penstock.ops.array.pad import pad
from penstock.ops.array.permute import tile, transpose
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.constant import constant
from penstock.ops.image.image_resize import resize_bilinear, resize_nearest_neighbor


def _check(data_format: str) -> None:
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid `data_format` argument: {data_format}")


def resize_images(x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest") -> Any:
    """``tf.keras.backend.resize_images``."""
    _check(data_format)
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    first = data_format == "channels_first"
    rows, columns = (2, 3) if first else (1, 2)
    extents = x.shape.as_list()
    size = shape(x)[rows:columns + 1] * constant([height_factor, width_factor], dtypes.int32)
    resize = resize_nearest_neighbor if interpolation == "nearest" else resize_bilinear
    resized = resize(transpose(x, [0, 2, 3, 1]) if first else x, size, half_pixel_centers=True)
    resized = transpose(resized, [0, 3, 1, 2]) if first else resized
    new = list(extents)
    for axis, factor in ((rows, height_factor), (columns, width_factor)):
        new[axis] = None if extents[axis] is None else extents[axis] * factor
    resized.set_shape(new)
    return resized


def resize_volumes(x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str) -> Any:
    """``tf.keras.backend.resize_volumes``."""
    _check(data_format)
    first = 2 if data_format == "channels_first" else 1
    for axis, factor in enumerate((depth_factor, height_factor, width_factor), first):
        x = repeat_elements(x, factor, axis=axis)
    return x


def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """``tf.keras.backend.repeat_elements``: each element ``rep`` times along an axis."""
    length = x.shape.as_list()[axis]
    if length is not None:
        return concat([part for part in split(x, length, axis=axis) for _ in range(rep)], axis)
    before, inner = shape(x), axis + 1
    repeated = tile(expand_dims(x, inner), stack([rep if i == inner else 1 for i in range(x.shape.ndims + 1)]))
    merged = reshape(repeated, stack([before[i] * rep if i == axis else before[i] for i in range(x.shape.ndims)]))
    merged.set_shape(x.shape.as_list()[:axis] + [None] + x.shape.as_list()[axis + 1:])
    return merged


def repeat(x: Any, n: int) -> Any:
    """``tf.keras.backend.repeat``: (batch, features) becomes (batch, n, features)."""
    return tile(expand_dims(x, 1), stack([1, n, 1]))


def temporal_padding(x: Any, padding: Any = (1, 1)) -> Any:
    """``tf.keras.backend.temporal_padding``."""
    return pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """``tf.keras.backend.spatial_2d_padding``."""
    return _spatial_padding(x, padding, data_format)


def spatial_3d_padding(x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None) -> Any:
    """``tf.keras.backend.spatial_3d_padding``."""
    return _spatial_padding(x, padding, data_format)


def _spatial_padding(x: Any, padding: Any, data_format: str | None) -> Any:
    inner = [list(pair) for pair in padding]
    return pad(x, [[0, 0], [0, 0], *inner] if normalize_data_format(data_format) == "channels_first" else [[0, 0], *inner, [0, 0]])
