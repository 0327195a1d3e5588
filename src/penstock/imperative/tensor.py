"""EagerTensor: a tensor of imperative style, which has a value."""
from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from penstock.graph import raw_ops
from penstock.graph.device import device_type
from penstock.graph.dtypes import DType
from penstock.graph.node import Tensor
from penstock.graph.source import INSIDE
from penstock.imperative.placing import HOST
from penstock.ops.constant import constant


def _internal(value: Any) -> Any:
    """A property that only Penstock's own code may ask for."""
    def get(tensor: Any) -> Any:
        if INSIDE[sys._getframe(1).f_code.co_filename]:
            return value(tensor)
        raise AttributeError  # ``__getattr__`` says why

    return property(get)


class EagerTensor(Tensor):
    """A tensor with a value, which is computed when it is looked at."""

    imperative = True
    __slots__ = ("_index", "_producer", "assign")  # which output of which operation; the slice of a variable has ``assign``, which writes it

    __init__ = object.__init__  # its maker sets what it has: see ``EagerOperation.output``

    def __getattr__(self, name: str) -> Any:
        if name == "_id":  # what is seldom asked for is made then
            self._id = self._producer.graph._next_id()
            return self._id
        if name == "_consumers":
            return ()  # not kept: a value may be used without end
        if name in ("graph", "name", "op", "value_index"):
            raise AttributeError(f"Tensor.{name} is meaningless when eager execution is enabled.")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    # Programs are told that a value has no operation; Penstock itself treats it as any other tensor.
    op = _internal(lambda tensor: tensor._producer)
    value_index = _internal(lambda tensor: tensor._index)
    graph = _internal(lambda tensor: tensor._producer.call.graph)
    name = _internal(lambda tensor: f"{tensor._producer.name}:{tensor._index}")

    @property
    def _edge(self) -> tuple[Any, int]:
        """The operation, and which of its outputs this is. A pair that each tensor keeps would be one object in three of what a loop makes."""
        return self._producer, self._index

    @property
    def _handle_data(self) -> Any:
        handles = self._producer._handles
        return None if handles is None else handles.get(self._index)

    @_handle_data.setter
    def _handle_data(self, data: Any) -> None:
        if data is not None:
            self._producer._handles = {**(self._producer._handles or {}), self._index: data}

    def _value(self) -> Any:
        return self._producer.value(self._index)

    def numpy(self) -> Any:
        """The value as a NumPy array of its own; a NumPy scalar (or bytes) for rank 0."""
        value = self._value()
        if not self._shape.extents:
            return value[()] if isinstance(value, np.ndarray) else value
        return np.array(value)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape.extents or ())

    @property
    def device(self) -> str:
        """The device that holds the value."""
        return self._producer.device

    @property
    def backing_device(self) -> str:
        """The device whose memory holds the value: the host, to which a segment gives its results."""
        return HOST

    def cpu(self) -> EagerTensor:
        """The value as one of the host's."""
        return self if device_type(self.device) == "CPU" else self._on("/device:CPU:0")

    def gpu(self, gpu_index: int = 0) -> EagerTensor:
        """The value as one of a GPU's; RuntimeError if there is no such GPU."""
        return self._on(f"/device:GPU:{gpu_index}")

    def _on(self, device: str) -> EagerTensor:
        with self._producer.graph.device(device):
            copy: EagerTensor = raw_ops.Identity(self)
        return copy

    def consumers(self) -> NoReturn:
        """NotImplementedError: what uses a value is not kept."""
        raise NotImplementedError("Tensor.consumers is meaningless when eager execution is enabled.")

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """NotImplementedError: the value is there."""
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .numpy() what you're looking for?")

    def set_shape(self, shape: Any) -> None:
        """Checks that the shape is compatible with ``shape``."""
        if not self._shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self._shape} is not compatible with supplied shape {shape}")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(self._value(), dtype=dtype)

    def __bool__(self) -> bool:
        return bool(self._value())

    __nonzero__ = __bool__

    def _number(self) -> Any:
        """The one element; NumPy's error if there are more."""
        value = np.asarray(self._value())
        return value.reshape(())[()] if value.size == 1 else value

    def __int__(self) -> int:
        return int(self._number())

    def __float__(self) -> float:
        return float(self._number())

    def __complex__(self) -> complex:
        return complex(self._number())

    def __index__(self) -> int:
        value = np.asarray(self._value())
        return value.__index__() if value.ndim else int(value)

    def __len__(self) -> int:
        if not self._shape.extents:
            raise TypeError("Scalar tensor has no `len()`")
        return self._shape.extents[0]  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Any]:
        if not self._shape.extents:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[index] for index in range(self._shape.extents[0]))  # type: ignore[arg-type]

    def __format__(self, format_spec: str) -> str:
        return format(self.numpy(), format_spec)

    def __reduce__(self) -> Any:
        return _from_array, (np.array(self._value()), self._dtype)

    def __copy__(self) -> EagerTensor:
        return self

    def __deepcopy__(self, memo: Any) -> EagerTensor:
        return self

    def __str__(self) -> str:
        return f"tf.Tensor({_text(self, str)}, shape={self._shape}, dtype={self._dtype.name})"

    def __repr__(self) -> str:
        return f"<tf.Tensor: id={self._id}, shape={self._shape}, dtype={self._dtype.name}, numpy={_text(self, repr)}>"


def _text(tensor: EagerTensor, form: Any) -> str:
    if not tensor.dtype.is_numpy_compatible:
        return "<unprintable>"
    value = tensor.numpy()
    text = str(value) if form is str or not tensor.shape.extents else repr(value)
    return "\n" + text if "\n" in text else text


def _from_array(array: np.ndarray, dtype: DType) -> Tensor:
    return constant(array, dtype)
