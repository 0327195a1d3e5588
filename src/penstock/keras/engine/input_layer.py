"""Input: a placeholder as the output of a layer, so that a graph of layers has a beginning."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.imperative.symbolic import graph_for_symbols
from penstock.keras.engine import op_layers as _op_layers  # noqa: F401 (what comes from an input has a history from the beginning)
from penstock.layers import settings
from penstock.layers.base import Layer
from penstock.layers.naming import name_counts
from penstock.layers.nodes import KerasHistory, Node, history_of
from penstock.layers.sessions import track_variable
from penstock.ops.constant import placeholder
from penstock.ops.sparse.sparse_functions import sparse_placeholder


def get_uid(prefix: str = "") -> int:
    """``tf.keras.backend.get_uid``: how many names with this prefix the default graph has had, this one included."""
    counts, key = name_counts(), ("uid", prefix)
    counts[key] = counts.get(key, 0) + 1
    return counts[key]


class InputLayer(Layer):
    """``tf.keras.layers.InputLayer``: it has no inputs, and one output."""

    def __init__(self, input_shape: Any = None, batch_size: int | None = None, dtype: Any = None, input_tensor: Any = None, sparse: bool = False,
                 name: str | None = None, ragged: bool = False, **kwargs: Any) -> None:
        if ragged:
            raise NotImplementedError("Ragged inputs are not supported; pad the sequences and use a Masking layer.")
        shape = kwargs.pop("batch_input_shape", None)
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if shape is None and input_shape is not None:
            shape = (batch_size, *([input_shape] if isinstance(input_shape, int) else input_shape))
        if dtype is None:
            dtype = settings.floatx() if input_tensor is None else input_tensor.dtype.base_dtype
        elif input_tensor is not None and input_tensor.dtype.base_dtype != dtypes.as_dtype(dtype):
            raise ValueError(f"`input_tensor.dtype` differs from `dtype`: {input_tensor.dtype} vs. {dtype}")
        super().__init__(dtype=dtype, name=name or f"input_{get_uid('input')}")
        self.built, self.sparse, self.ragged, self.batch_size, self.supports_masking = True, sparse, ragged, batch_size, True
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            input_tensor = _placeholder(shape, self._dtype, self.name, sparse)
        elif hasattr(input_tensor, "initialized_value"):
            track_variable(input_tensor)
            input_tensor = to_tensor(input_tensor)  # the variable's value
        elif not isinstance(input_tensor, Tensor) and not hasattr(input_tensor, "dense_shape"):
            raise ValueError(f"You can only build an InputLayer on a tensor, not on {input_tensor!r}")
        self._batch_input_shape: Any = tuple(shape) if shape is not None else _tuple(input_tensor)
        input_tensor._keras_mask = None
        Node(self, [], [], [], [input_tensor], [input_tensor])
        input_tensor._keras_history = KerasHistory(self, 0, 0)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return {"batch_input_shape": self._batch_input_shape, "dtype": self.dtype, "sparse": self.sparse, "ragged": self.ragged, "name": self.name}


def _placeholder(shape: Any, dtype: Any, name: str, sparse: bool) -> Any:
    with graph_for_symbols().as_default():
        if sparse:
            return sparse_placeholder(dtype, shape=None if shape is None or None in shape else shape, name=name)
        return placeholder(dtype, shape=shape, name=name)


def _tuple(tensor: Any) -> tuple[int | None, ...] | None:
    return None if tensor.shape.ndims is None else tuple(tensor.shape.as_list())


def Input(shape: Any = None, batch_size: int | None = None, name: str | None = None, dtype: Any = None, sparse: bool = False,
          tensor: Any = None, ragged: bool = False, **kwargs: Any) -> Any:
    """``tf.keras.Input``: a tensor that a model can begin with. ``shape`` leaves out the batch; ``batch_shape`` has it."""
    batch_shape = kwargs.pop("batch_shape", None)
    if batch_shape is not None and shape is not None:
        raise ValueError("Only provide the `shape` OR `batch_input_shape` argument to Input, not both at the same time.")
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    if shape is None and tensor is None and batch_shape is None:
        raise ValueError("Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` does not include the batch dimension.")
    given = {"batch_input_shape": batch_shape} if batch_shape is not None else {"input_shape": shape, "batch_size": batch_size}
    layer = InputLayer(name=name, dtype=dtype, sparse=sparse, ragged=ragged, input_tensor=tensor, **given)
    return layer._inbound_nodes[0].output_tensors[0]


def is_keras_tensor(tensor: Any) -> bool:
    """``tf.keras.backend.is_keras_tensor``: whether a layer of a model returned the tensor."""
    if not isinstance(tensor, Tensor) and not hasattr(tensor, "dtype"):
        raise ValueError(f"Unexpectedly found an instance of type `{type(tensor)}`. Expected a symbolic tensor instance.")
    return history_of(tensor) is not None
