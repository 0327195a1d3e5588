"""Layers of several inputs: sums, products, concatenations."""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.shape import TensorShape
from penstock.keras.backend.products import batch_dot
from penstock.layers.base import Layer
from penstock.ops.array.fill import ones_like
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import expand_dims
from penstock.ops.math import elementwise
from penstock.ops.math.reduce import reduce_all
from penstock.ops.nn.nn_ops import l2_normalize

Extents = list[Any]


def _extents(shapes: Any) -> list[Extents | None]:
    """The shapes of several inputs, as lists."""
    return [None if shape is None or TensorShape(shape).ndims is None else TensorShape(shape).as_list() for shape in shapes]


def _broadcast(first: Extents | None, second: Extents | None) -> Extents | None:
    """The shape of an elementwise operation, without the batch."""
    if first is None or second is None:
        return None
    if len(first) < len(second):
        first, second = second, first
    if not second:
        return first
    result = first[:len(first) - len(second)]
    for a, b in zip(first[len(first) - len(second):], second):
        if a is not None and b is not None and a != b and 1 not in (a, b):
            raise ValueError(f"Operands could not be broadcast together with shapes {tuple(first)} {tuple(second)}")
        result.append(None if a is None or b is None else b if a == 1 else a)
    return result


class Merge(Layer):
    """What elementwise layers of several inputs share. Inputs of lower rank get axes behind the batch."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True

    def _merge_function(self, inputs: list[Any]) -> Any:
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Checks the shapes."""
        if not isinstance(input_shape, list):
            raise ValueError("A merge layer should be called on a list of inputs.")
        if len(input_shape) < 2:
            raise ValueError(f"A merge layer should be called on a list of at least 2 inputs. Got {len(input_shape)} inputs.")
        shapes = _extents(input_shape)
        if len({shape[0] for shape in shapes if shape} - {None}) > 1:
            raise ValueError(f"Can not merge tensors with different batch sizes. Got tensors with shapes : {input_shape}")
        functools.reduce(_broadcast, [shape and shape[1:] for shape in shapes])
        self._reshape_required = None in shapes or len({len(shape) for shape in shapes if shape is not None}) > 1
        self.built = True

    def call(self, inputs: Any) -> Any:
        """The inputs, merged."""
        if not isinstance(inputs, (list, tuple)):
            raise ValueError("A merge layer should be called on a list of inputs.")
        return self._merge_function(self._same_ranks(list(inputs)) if self._reshape_required else list(inputs))

    def _same_ranks(self, inputs: list[Any]) -> list[Any]:
        ranks = [tensor.shape.ndims for tensor in inputs]
        if None in ranks:
            raise ValueError(f"Layer {self.name} needs inputs of known rank; got {[tensor.shape for tensor in inputs]}. Use tensor.set_shape.")
        made = []
        for tensor, rank in zip(inputs, ranks):
            for _ in range(max(ranks) - rank):
                tensor = expand_dims(tensor, axis=1)
            made.append(tensor)
        return made

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The shape of an elementwise operation."""
        shapes = _extents(input_shape)
        inner = functools.reduce(_broadcast, [shape and shape[1:] for shape in shapes])
        batches = {shape[0] for shape in shapes if shape} - {None}
        return TensorShape(None) if inner is None else TensorShape([batches.pop() if len(batches) == 1 else None, *inner])

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """What counts in all inputs."""
        masks = self._checked_masks(inputs, mask)
        if masks is None:
            return None
        return reduce_all(concat([expand_dims(each, axis=0) for each in masks if each is not None], axis=0), axis=0)

    def _checked_masks(self, inputs: Any, mask: Any) -> list[Any] | None:
        if mask is None:
            return None
        if not isinstance(mask, list):
            raise ValueError("`mask` should be a list.")
        if not isinstance(inputs, list):
            raise ValueError("`inputs` should be a list.")
        if len(mask) != len(inputs):
            raise ValueError("The lists `inputs` and `mask` should have the same length.")
        return None if all(each is None for each in mask) else mask


class Add(Merge):
    """``tf.keras.layers.Add``."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(lambda a, b: a + b, inputs)


class Subtract(Merge):
    """``tf.keras.layers.Subtract``: the first of two inputs minus the second."""

    def build(self, input_shape: Any) -> None:
        """Checks that there are two."""
        super().build(input_shape)
        if len(input_shape) != 2:
            raise ValueError("A `Subtract` layer should be called on exactly 2 inputs")

    def _merge_function(self, inputs: list[Any]) -> Any:
        return inputs[0] - inputs[1]


class Multiply(Merge):
    """``tf.keras.layers.Multiply``."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(lambda a, b: a * b, inputs)


class Average(Merge):
    """``tf.keras.layers.Average``."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(lambda a, b: a + b, inputs) / len(inputs)


class Maximum(Merge):
    """``tf.keras.layers.Maximum``."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(elementwise.maximum, inputs)


class Minimum(Merge):
    """``tf.keras.layers.Minimum``."""

    def _merge_function(self, inputs: list[Any]) -> Any:
        return functools.reduce(elementwise.minimum, inputs)


class Concatenate(Merge):
    """``tf.keras.layers.Concatenate``: along ``axis``."""

    _reshape_required = False

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        """Checks that all other extents are equal."""
        if not isinstance(input_shape, list) or len(input_shape) < 2:
            raise ValueError("A `Concatenate` layer should be called on a list of at least 2 inputs")
        others = set()
        for extents in _extents(input_shape):
            if extents is not None:
                del extents[self.axis]
                others.add(tuple(extents))
        if len(others) > 1:
            shapes = [None if shape is None else tuple(shape) for shape in _extents(input_shape)]
            raise ValueError("A `Concatenate` layer requires inputs with matching shapes except for the concat axis. Got inputs shapes: "
                             f"{shapes}")
        self.built = True

    def _merge_function(self, inputs: list[Any]) -> Any:
        return concat(inputs, self.axis % inputs[0].shape.ndims if self.axis < 0 and inputs[0].shape.ndims else self.axis)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The extents along ``axis`` are added up."""
        shapes = [extents for extents in _extents(input_shape) if extents is not None]
        result, joined = list(shapes[0]), [extents[self.axis] for extents in shapes]
        result[self.axis] = None if None in joined else sum(joined)
        return TensorShape(result)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """What counts in each input."""
        masks = self._checked_masks(inputs, mask)
        if masks is None:
            return None

        def full(tensor: Any, each: Any) -> Any:
            if each is None:
                return ones_like(tensor, dtype=dtypes.bool_)
            return expand_dims(each, axis=-1) if each.shape.ndims < tensor.shape.ndims else each

        return reduce_all(concat([full(tensor, each) for tensor, each in zip(inputs, masks)], axis=self.axis), axis=-1)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "axis": self.axis}


class Dot(Merge):
    """``tf.keras.layers.Dot``: products of samples, summed over one axis of each."""

    _reshape_required = False

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, (list, tuple)):
                raise TypeError("Invalid type for `axes` - should be a list or an int.")
            if len(axes) != 2:
                raise ValueError("Invalid format for `axes` - should contain two elements.")
            if not all(isinstance(axis, int) for axis in axes):
                raise ValueError('Invalid format for `axes` - list elements should be "int".')
        self.axes, self.normalize = axes, normalize

    def _positive_axes(self, ranks: list[int]) -> list[int]:
        axes = [self.axes] * 2 if isinstance(self.axes, int) else self.axes
        return [axis % rank if axis < 0 else axis for axis, rank in zip(axes, ranks)]

    def build(self, input_shape: Any) -> None:
        """Checks that the extents of the two axes are equal."""
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = _extents(input_shape)
        if first is not None and second is not None:
            axes = self._positive_axes([len(first), len(second)])
            if first[axes[0]] != second[axes[1]]:
                raise ValueError(f"Dimension incompatibility {first[axes[0]]} != {second[axes[1]]}. Layer shapes: {tuple(first)}, {tuple(second)}")
        self.built = True

    def _merge_function(self, inputs: list[Any]) -> Any:
        axes = self._positive_axes([tensor.shape.ndims for tensor in inputs])
        if self.normalize:
            inputs = [l2_normalize(tensor, axis=axis) for tensor, axis in zip(inputs, axes)]
        return batch_dot(inputs[0], inputs[1], axes)

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The extents that are left."""
        if not isinstance(input_shape, list) or len(input_shape) != 2:
            raise ValueError("A `Dot` layer should be called on a list of 2 inputs.")
        first, second = _extents(input_shape)
        assert first is not None and second is not None
        axes = self._positive_axes([len(first), len(second)])
        left = [extent for axis, extent in enumerate(first) if axis != axes[0]] + [extent for axis, extent in enumerate(second)
                                                                                  if axis not in (0, axes[1])]
        return TensorShape(left if len(left) > 1 else [*left, 1])

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None: sums have no steps."""

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "axes": self.axes, "normalize": self.normalize}


# --- functions -------------------------------------------------------------------------------------------------------


def _function(cls: type[Merge], name: str) -> Callable[..., Any]:
    def function(inputs: Any, **kwargs: Any) -> Any:
        return cls(**kwargs)(inputs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``tf.keras.layers.{name}``: a new layer {cls.__name__}, called on ``inputs``."
    return function


add, subtract, multiply = _function(Add, "add"), _function(Subtract, "subtract"), _function(Multiply, "multiply")
average, maximum, minimum = _function(Average, "average"), _function(Maximum, "maximum"), _function(Minimum, "minimum")


def concatenate(inputs: Any, axis: int = -1, **kwargs: Any) -> Any:
    """``tf.keras.layers.concatenate``: a new layer Concatenate, called on ``inputs``."""
    return Concatenate(axis=axis, **kwargs)(inputs)


def dot(inputs: Any, axes: Any, normalize: bool = False, **kwargs: Any) -> Any:
    """``tf.keras.layers.dot``: a new layer Dot, called on ``inputs``."""
    return Dot(axes=axes, normalize=normalize, **kwargs)(inputs)
