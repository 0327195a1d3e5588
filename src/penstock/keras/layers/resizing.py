"""Cropping, zero padding and upsampling over one, two and three spatial axes."""
from __future__ import annotations

from typing import Any

from penstock.graph.shape import TensorShape
from penstock.keras.backend.resizing import repeat_elements, resize_images, resize_volumes
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import normalize_data_format, normalize_tuple
from penstock.ops.array.pad import pad

Pairs = tuple[tuple[int, int], ...]


def _pairs(value: Any, rank: int, name: str) -> Pairs:
    """Two numbers for each axis: from one number, from one per axis, or as given."""
    if isinstance(value, int):
        return ((value, value),) * rank
    if not hasattr(value, "__len__") or len(value) != rank:
        raise ValueError(f"`{name}` should have {rank} elements. Found: {value}")
    return tuple(normalize_tuple(each, 2, f"{index + 1}. entry of {name}") for index, each in enumerate(value))  # type: ignore[misc]


class _Spatial(Layer):
    """A layer that changes the lengths of the spatial axes. Sequences have their channels last."""

    rank = 1

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec = InputSpec(ndim=self.rank + 2)
        self.data_format = "channels_last" if self.rank == 1 else normalize_data_format(data_format)

    def _first(self) -> int:
        """The first spatial axis."""
        return 2 if self.data_format == "channels_first" else 1

    def _length(self, axis: int, length: int) -> int:
        raise NotImplementedError

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """With other lengths."""
        extents = TensorShape(input_shape).as_list()
        for axis in range(self.rank):
            length = extents[self._first() + axis]
            extents[self._first() + axis] = None if length is None else self._length(axis, length)
        return TensorShape(extents)

    def _config(self, **own: Any) -> dict[str, Any]:
        return {**super().get_config(), **own, **({} if self.rank == 1 else {"data_format": self.data_format})}


class _Cropping(_Spatial):
    def __init__(self, cropping: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.cropping: Any = normalize_tuple(cropping, 2, "cropping") if self.rank == 1 else _pairs(cropping, self.rank, "cropping")

    def _all(self) -> Any:
        return (self.cropping,) if self.rank == 1 else self.cropping

    def _length(self, axis: int, length: int) -> int:
        return length - sum(self._all()[axis])

    def call(self, inputs: Any) -> Any:
        """The inner part."""
        kept = tuple(slice(before, -after if after else None) for before, after in self._all())
        return inputs[(slice(None),) * self._first() + kept]

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return self._config(cropping=self.cropping)


class Cropping1D(_Cropping):
    """``tf.keras.layers.Cropping1D``."""

    def __init__(self, cropping: Any = (1, 1), **kwargs: Any) -> None:
        super().__init__(cropping, **kwargs)


class Cropping2D(_Cropping):
    """``tf.keras.layers.Cropping2D``."""

    rank = 2

    def __init__(self, cropping: Any = ((0, 0), (0, 0)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class Cropping3D(_Cropping):
    """``tf.keras.layers.Cropping3D``."""

    rank = 3

    def __init__(self, cropping: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(cropping, data_format, **kwargs)


class _ZeroPadding(_Spatial):
    def __init__(self, padding: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.padding: Any = normalize_tuple(padding, 2, "padding") if self.rank == 1 else _pairs(padding, self.rank, "padding")

    def _all(self) -> Any:
        return (self.padding,) if self.rank == 1 else self.padding

    def _length(self, axis: int, length: int) -> int:
        return length + sum(self._all()[axis])

    def call(self, inputs: Any) -> Any:
        """The inputs, with zeros around them."""
        widths = [[0, 0]] * self._first() + [list(pair) for pair in self._all()]
        return pad(inputs, widths + [[0, 0]] * (self.rank + 2 - len(widths)))

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return self._config(padding=self.padding)


class ZeroPadding1D(_ZeroPadding):
    """``tf.keras.layers.ZeroPadding1D``."""

    def __init__(self, padding: Any = 1, **kwargs: Any) -> None:
        super().__init__(padding, **kwargs)


class ZeroPadding2D(_ZeroPadding):
    """``tf.keras.layers.ZeroPadding2D``."""

    rank = 2

    def __init__(self, padding: Any = (1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class ZeroPadding3D(_ZeroPadding):
    """``tf.keras.layers.ZeroPadding3D``."""

    rank = 3

    def __init__(self, padding: Any = (1, 1, 1), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(padding, data_format, **kwargs)


class _UpSampling(_Spatial):
    def __init__(self, size: Any, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.size: Any = int(size) if self.rank == 1 else normalize_tuple(size, self.rank, "size")

    def _length(self, axis: int, length: int) -> int:
        return length * (self.size if self.rank == 1 else self.size[axis])

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return self._config(size=self.size)


class UpSampling1D(_UpSampling):
    """``tf.keras.layers.UpSampling1D``: each step ``size`` times."""

    def __init__(self, size: int = 2, **kwargs: Any) -> None:
        super().__init__(size, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The repeated steps."""
        return repeat_elements(inputs, self.size, axis=1)


class UpSampling2D(_UpSampling):
    """``tf.keras.layers.UpSampling2D``: pixels repeated, or interpolated."""

    rank = 2

    def __init__(self, size: Any = (2, 2), data_format: str | None = None, interpolation: str = "nearest", **kwargs: Any) -> None:
        super().__init__(size, data_format, **kwargs)
        if interpolation not in ("nearest", "bilinear"):
            raise ValueError('`interpolation` argument should be one of `"nearest"` or `"bilinear"`.')
        self.interpolation = interpolation

    def call(self, inputs: Any) -> Any:
        """The larger images."""
        return resize_images(inputs, self.size[0], self.size[1], self.data_format, interpolation=self.interpolation)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {**super().get_config(), "interpolation": self.interpolation}


class UpSampling3D(_UpSampling):
    """``tf.keras.layers.UpSampling3D``."""

    rank = 3

    def __init__(self, size: Any = (2, 2, 2), data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(size, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The larger volumes."""
        depth, height, width = self.size
        return resize_volumes(inputs, depth, height, width, self.data_format)
