"""TFExampleDecoder: items of tf.Example records, each made of some features by a handler."""
from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

from penstock.contrib.slim.data.data_decoder import DataDecoder
from penstock.graph import composite, dtypes
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.permute import transpose
from penstock.ops.array.shape_ops import expand_dims, reshape, shape
from penstock.ops.array.slicing import slice_
from penstock.ops.flow.control_flow import case, cond
from penstock.ops.flow.functional_loops import map_fn
from penstock.ops.image.image_codec import decode_image, decode_jpeg, is_jpeg
from penstock.ops.math.compare import equal, logical_or
from penstock.ops.math.reduce import reduce_prod
from penstock.ops.sparse.sparse_functions import sparse_reshape, sparse_tensor_to_dense
from penstock.ops.text.decoding import decode_raw
from penstock.ops.text.parsing import FixedLenFeature, parse_single_example


class ItemHandler(abc.ABC):
    """Makes an item of the tensors of some features, its ``keys``."""

    def __init__(self, keys: Any) -> None:
        self._keys = keys if isinstance(keys, (list, tuple)) else [keys]

    keys = property(lambda self: self._keys, doc="The names of the features.")

    @abc.abstractmethod
    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item."""


class ItemHandlerCallback(ItemHandler):
    """The item is what a function makes of {key: tensor}."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._func = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """What the function returns."""
        return self._func(keys_to_tensors)


class BoundingBox(ItemHandler):
    """Four lists of sides as a matrix with a box in each row."""

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        keys = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(keys) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(keys)}")
        super().__init__([prefix + key for key in keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The boxes."""
        sides = [keys_to_tensors[key] for key in self._keys]
        sides = [side.values if isinstance(side, composite.SparseTensor) else side for side in sides]
        return transpose(concat([expand_dims(side, 0) for side in sides], 0))


class Tensor(ItemHandler):
    """A feature as a dense tensor, in a shape that is given or that other features say."""

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._tensor_key, self._shape, self._default_value = tensor_key, shape, default_value
        self._shape_keys = [shape_keys] if shape_keys and not isinstance(shape_keys, list) else shape_keys
        super().__init__([tensor_key, *(self._shape_keys or [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The tensor."""
        tensor, extents = keys_to_tensors[self._tensor_key], self._shape
        if self._shape_keys:
            extents = reshape(stack([_dense(keys_to_tensors[key]) for key in self._shape_keys]), [-1])
        if isinstance(tensor, composite.SparseTensor):
            tensor = tensor if extents is None else sparse_reshape(tensor, extents)
            return sparse_tensor_to_dense(tensor, self._default_value)
        return tensor if extents is None else reshape(tensor, extents)


def _dense(tensor: Any) -> Any:
    return sparse_tensor_to_dense(tensor) if isinstance(tensor, composite.SparseTensor) else tensor


class LookupTensor(Tensor):
    """A feature whose elements are looked up in a table."""

    def __init__(self, tensor_key: str, table: Any, shape_keys: Any = None, shape: Any = None, default_value: Any = "") -> None:
        self._table = table
        super().__init__(tensor_key, shape_keys, shape, default_value)

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """What the table has for the elements."""
        return self._table.lookup(super().tensors_to_item(keys_to_tensors))


class BackupHandler(ItemHandler):
    """The item of one handler; if it is empty, that of another."""

    def __init__(self, handler: ItemHandler, backup: ItemHandler) -> None:
        for what, given in (("Primary", handler), ("Backup", backup)):
            if not isinstance(given, ItemHandler):
                raise ValueError(f"{what} handler is of type {type(given)} instead of ItemHandler")
        self._handler, self._backup = handler, backup
        super().__init__([*handler.keys, *backup.keys])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The item."""
        item = self._handler.tensors_to_item(keys_to_tensors)
        return cond(pred=equal(reduce_prod(shape(item)), 0), true_fn=lambda: self._backup.tensors_to_item(keys_to_tensors),
                    false_fn=lambda: item)


class SparseTensor(ItemHandler):
    """A sparse tensor whose last indices and whose values are features."""

    def __init__(self, indices_key: str | None = None, values_key: str | None = None, shape_key: str | None = None, shape: Any = None,
                 densify: bool = False, default_value: Any = 0) -> None:
        self._indices_key, self._values_key, self._shape_key = indices_key or "indices", values_key or "values", shape_key
        self._shape, self._densify, self._default_value = shape, densify, default_value
        super().__init__([self._indices_key, self._values_key, *([shape_key] if shape_key else [])])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The sparse tensor, or a dense one on demand."""
        indices, values = keys_to_tensors[self._indices_key], keys_to_tensors[self._values_key]
        extents = _dense(keys_to_tensors[self._shape_key]) if self._shape_key else self._shape or indices.dense_shape
        rank = shape(indices.indices)[1]
        outer = slice_(indices.indices, [0, 0], stack([-1, rank - 1]))
        places = concat([outer, reshape(cast(indices.values, dtypes.int64), [-1, 1])], 1)
        tensor = composite.SparseTensor(places, values.values, extents)
        return sparse_tensor_to_dense(tensor, self._default_value) if self._densify else tensor


class Image(ItemHandler):
    """An encoded image, or raw pixels; one feature holds the bytes, another names the format."""

    def __init__(self, image_key: str | None = None, format_key: str | None = None, shape: Any = None, channels: int | None = 3,
                 dtype: Any = dtypes.uint8, repeated: bool = False, dct_method: str = "") -> None:
        self._image_key, self._format_key = image_key or "image/encoded", format_key or "image/format"
        super().__init__([self._image_key, self._format_key])
        self._shape, self._channels, self._dtype, self._repeated, self._dct_method = shape, channels, dtype, repeated, dct_method

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        """The image, or several."""
        data, image_format = keys_to_tensors[self._image_key], keys_to_tensors[self._format_key]
        if self._repeated:
            return map_fn(lambda one: self._decode(one, image_format), data, dtype=self._dtype)
        return self._decode(data, image_format)

    def _decode(self, data: Any, image_format: Any) -> Any:
        def encoded() -> Any:
            return cond(is_jpeg(data),
                        lambda: cast(decode_jpeg(data, channels=self._channels, dct_method=self._dct_method), self._dtype),
                        lambda: cast(decode_image(data, channels=self._channels), self._dtype), name="cond_jpeg")

        is_raw = logical_or(equal(image_format, "raw"), equal(image_format, "RAW"))
        image = case([(is_raw, lambda: decode_raw(data, out_type=self._dtype))], default=encoded, exclusive=True)
        image.set_shape([None, None, self._channels])
        return image if self._shape is None else reshape(image, self._shape)


class TFExampleDecoder(DataDecoder):
    """Parses a tf.Example by {key: feature}, and makes items by {item: handler}."""

    def __init__(self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, ItemHandler]) -> None:
        self._keys_to_features, self._items_to_handlers = keys_to_features, items_to_handlers

    def list_items(self) -> list[str]:
        """The names of all items."""
        return list(self._items_to_handlers)

    def decode(self, serialized_example: Any, items: Any = None) -> list[Any]:
        """The tensors of ``items``, all of them if None."""
        example = parse_single_example(serialized_example, self._keys_to_features)
        for key in sorted(self._keys_to_features):
            feature = self._keys_to_features[key]
            if isinstance(feature, FixedLenFeature):
                example[key] = reshape(example[key], feature.shape)
        handlers = [self._items_to_handlers[item] for item in items or self._items_to_handlers]
        return [handler.tensors_to_item({key: example[key] for key in handler.keys}) for handler in handlers]
