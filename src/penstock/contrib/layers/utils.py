"""Small helpers of ``tf.contrib.layers``: named outputs in collections, decisions while building, sizes of windows."""
from __future__ import annotations

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph.node import Tensor
from penstock.graph.scopes import add_to_collections, get_collection, get_collection_ref
from penstock.graph.shape import TensorShape
from penstock.graph.static import constant_value as static_value
from penstock.ops.flow.control_flow import cond

NamedOutputs = namedtuple("NamedOutputs", ["name", "outputs"])


# --- outputs ---------------------------------------------------------------------------------------------------------

def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """``outputs``, which get a further name and are added to collections, if there are any."""
    if collections:
        append_tensor_alias(outputs, alias)
        add_to_collections(collections, outputs)
    return outputs


def append_tensor_alias(tensor: Any, alias: str) -> Any:
    """``tensor``, with a further name."""
    tensor.aliases = [*getattr(tensor, "aliases", []), alias[:-1] if alias.endswith("/") else alias]
    return tensor


def get_tensor_aliases(tensor: Any) -> list[str]:
    """The further names of a tensor; without any, its own."""
    return getattr(tensor, "aliases", None) or [tensor.op.name if tensor.name.endswith(":0") else tensor.name]


def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """The further names of some tensors."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


def convert_collection_to_dict(collection: str, clear_collection: bool = False) -> OrderedDict[str, Any]:
    """{further name: tensor} of a collection, which is emptied on demand."""
    output = OrderedDict((alias, tensor) for tensor in get_collection(collection) for alias in get_tensor_aliases(tensor))
    if clear_collection:
        get_collection_ref(collection).clear()
    return output


def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections of the variable ``name``: they may be given for all, or by name in a dict."""
    return variables_collections.get(name) if isinstance(variables_collections, dict) else variables_collections


# --- decisions -------------------------------------------------------------------------------------------------------

def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value itself, that of a constant tensor, or None if it is not known while building."""
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    is_variable = hasattr(value, "initialized_value")
    if not is_variable and not isinstance(value, Tensor):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if is_variable else static_value(value)


def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """The result of the function that a Python value chooses."""
    for name, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{name} must be callable.")
    return fn1() if pred else fn2()


def smart_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None) -> Any:
    """The result of one of the functions: chosen now if ``pred`` is known, else when the graph runs."""
    known = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


# --- sizes -----------------------------------------------------------------------------------------------------------

def _dimension(shape: TensorShape, axis: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    extent = shape.as_list()[axis]
    if extent is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return extent


def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """The number of channels, which stand first or last."""
    return _dimension(shape, 1 if data_format == "channels_first" else -1, min_rank)


def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """The extent of the last axis."""
    return _dimension(shape, -1, min_rank)


def two_element_tuple(int_or_tuple: Any) -> tuple[Any, Any]:
    """A pair of numbers, of one or two."""
    if isinstance(int_or_tuple, (list, tuple)):
        if len(int_or_tuple) != 2:
            raise ValueError(f"Must be a list with 2 elements: {int_or_tuple}")
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, TensorShape) and len(int_or_tuple) == 2:
        return int_or_tuple[0], int_or_tuple[1]
    raise ValueError("Must be an int, a list with 2 elements or a TensorShape of length 2")


def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """``n`` positive numbers, of one or of ``n``."""
    if int(n) < 1 or int(n) != n:
        raise ValueError("n must be a positive integer")
    try:
        numbers: tuple[int, ...] = (int(value),) * int(n)
    except (TypeError, ValueError):
        try:
            numbers = tuple(int(each) for each in value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}") from error
    if len(numbers) != int(n):
        raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}")
    for number in numbers:
        if number < 1:
            raise ValueError(f"expected positive integer, but received {number}")
    return numbers
