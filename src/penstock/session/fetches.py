"""Nests of fetches and feeds: what to compute, and how the results take the shape of what was asked for."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.composite import CompositeTensor, IndexedSlices, IndexedSlicesValue, SparseTensor, SparseTensorValue
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.ops.state.session_tensors import GetSessionHandle
from penstock.ops.travelling import as_handle, handle_bytes
from penstock.session.handles import TensorHandle, handed_out

Values = dict[Any, Any]  # element -> its result
Rebuild = Callable[[Values], Any]

# (type, how to take one apart for fetching, how to take one apart for feeding)
_user_conversions: list[tuple[type, Callable[[Any], Any], Callable[[Any, Any], Any] | None]] = []


def register_session_run_conversion_functions(tensor_type: type, fetch_function: Callable[[Any], Any],
                                              feed_function: Callable[[Any, Any], Any] | None = None,
                                              feed_function_for_partial_run: Any = None) -> None:
    """Lets ``run`` fetch and feed objects of a user's type: functions give the tensors of one, and (tensor, value) pairs to feed."""
    if any(issubclass(tensor_type, known) for known, _, _ in _user_conversions):
        raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _user_conversions.insert(0, (tensor_type, fetch_function, feed_function))


class Fetches:
    """A nest of fetches, taken apart once: the distinct ``tensors`` and ``targets`` in it, and how to put the results together."""

    def __init__(self, graph: Graph, fetches: Any, session: Any = None) -> None:
        self._graph, self._session = graph, session
        self._handles = False  # does it fetch handles?
        self._elements: dict[Operation | Tensor, None] = {}
        self._rebuild = self._visit(fetches)
        self.tensors = [element for element in self._elements if isinstance(element, Tensor)]
        self.targets = [element for element in self._elements if isinstance(element, Operation)]
        self.is_empty = not self._elements
        self._single = isinstance(fetches, Tensor) and not self._handles
        self._in_order = (type(fetches) is list and len(fetches) == len(self.tensors) and not self._handles
                          and all(map(operator.is_, fetches, self.tensors)))
        self._places = self._flat_places(fetches) if type(fetches) is list and not self._handles else None
        if not self._handles:
            self._session = None
        self.last: Any = None  # (mutations of the graph, feeds, the plan that the back end made for them), for the next run

    def build(self, results: list[Any]) -> Any:
        """The results, one per tensor of ``tensors``, in the form of the fetches."""
        if self._single:
            return results[0]
        if self._in_order:
            return results
        if self._places is not None:
            return [None if place is None else results[place] for place in self._places]
        return self._rebuild(dict(zip(self.tensors, results)))

    def _flat_places(self, fetches: list[Any]) -> list[int | None] | None:
        """For a list of tensors and operations: which result each one is, None for an operation. None for any other nest."""
        if not all(type(fetch) in (Tensor, Operation) for fetch in fetches):
            return None
        place_of = {tensor: place for place, tensor in enumerate(self.tensors)}
        return [place_of.get(fetch) for fetch in fetches]

    def _visit(self, fetch: Any) -> Rebuild:
        if fetch is None:
            raise TypeError("Fetch argument None has invalid type <class 'NoneType'>")
        if isinstance(fetch, (list, tuple)) and not isinstance(fetch, (SparseTensorValue, IndexedSlicesValue)):
            return self._sequence(fetch)
        if isinstance(fetch, Mapping):
            parts = [(key, self._visit(item)) for key, item in fetch.items()]
            kind = type(fetch)
            return lambda values: _mapping(kind, [(key, part(values)) for key, part in parts])
        if isinstance(fetch, SparseTensor):
            return self._composite([fetch.indices, fetch.values, fetch.dense_shape], SparseTensorValue)
        if isinstance(fetch, IndexedSlices):
            if fetch.dense_shape is None:
                return self._composite([fetch.values, fetch.indices], lambda values, indices: IndexedSlicesValue(values, indices, None))
            return self._composite([fetch.values, fetch.indices, fetch.dense_shape], IndexedSlicesValue)
        if isinstance(fetch, CompositeTensor):
            return self._composite(fetch._components(), fetch._value)
        for kind, take_apart, _ in _user_conversions:
            if isinstance(fetch, kind):
                tensors, contract = take_apart(fetch)
                return self._composite(tensors, lambda *values, contract=contract: contract(list(values)))
        return self._element(fetch)

    def _sequence(self, fetch: Any) -> Rebuild:
        parts = [self._visit(item) for item in fetch]
        if hasattr(fetch, "_fields"):  # a namedtuple
            kind = type(fetch)
            return lambda values: kind(*[part(values) for part in parts])
        if isinstance(fetch, tuple):
            return lambda values: tuple([part(values) for part in parts])
        return lambda values: [part(values) for part in parts]

    def _composite(self, tensors: list[Any], build: Callable[..., Any]) -> Rebuild:
        parts = [self._element(tensor) for tensor in tensors]
        return lambda values: build(*[part(values) for part in parts])

    def _element(self, fetch: Any) -> Rebuild:
        try:
            element = self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as error:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}, must be a string or Tensor. ({error})") from None
        except ValueError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        except KeyError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        if not self._graph.is_fetchable(element):
            raise ValueError(f"{element!r} may not be fetched.")
        self._elements[element] = None
        if isinstance(element, Tensor) and element.op.definition is GetSessionHandle and self._session is not None:
            self._handles, dtype, session = True, element.op._inputs[0].dtype.base_dtype, self._session
            return lambda values: handed_out(values[element], dtype, session)
        if isinstance(element, Tensor) and element._dtype is dtypes.resource:
            self._handles = True
            return lambda values: as_handle(values[element])
        return lambda values: values.get(element)


def _mapping(kind: type, items: list[tuple[Any, Any]]) -> Any:
    try:
        return kind(items)
    except TypeError:  # a mapping that is not built from pairs: defaultdict, ...
        return dict(items)


# --- feeds -----------------------------------------------------------------------------------------------------------

def expand_feeds(graph: Graph, feed_dict: Any) -> dict[Tensor, Any]:
    """``feed_dict`` as {tensor: array}: names and composites resolved, values converted and checked."""
    feeds: dict[Tensor, Any] = {}
    unfeedable = graph._unfeedable
    for key, value in feed_dict.items():
        if type(key) is Tensor and key.op.graph is graph:
            kind = type(value)  # first the two common cases, for which no function of Python is called
            if kind is np.ndarray and value.dtype is key._dtype.np and value.shape == key._shape._dims and not (unfeedable and key in unfeedable):
                feeds[key] = value
            elif kind is float and key._dtype.np.kind == "f" and key._shape._dims == () and not (unfeedable and key in unfeedable):
                feeds[key] = np.asarray(value, key._dtype.np)
            else:
                feeds[key] = feed_value(graph, key, value)
            continue
        for element, part in _feed_parts(key, value):
            tensor = _feed_tensor(graph, element)
            feeds[tensor] = feed_value(graph, tensor, part)
    return feeds


def _feed_parts(key: Any, value: Any) -> list[tuple[Any, Any]]:
    if isinstance(key, SparseTensor):
        return list(zip([key.indices, key.values, key.dense_shape], value))
    if isinstance(key, IndexedSlices):
        keys = [key.values, key.indices] + ([key.dense_shape] if key.dense_shape is not None else [])
        return list(zip(keys, value))
    if isinstance(key, CompositeTensor):
        return list(zip(key._components(), key._value_components(value)))
    for kind, _, feed in _user_conversions:
        if isinstance(key, kind) and feed is not None:
            return list(feed(key, value))
    if isinstance(key, tuple) and len(key) == 1 and isinstance(value, np.ndarray):  # one leaf each, as nests of TensorFlow see it
        return _feed_parts(key[0], value)
    if isinstance(key, tuple) and isinstance(value, (tuple, list)) and len(key) == len(value):
        return [pair for item, part in zip(key, value) for pair in _feed_parts(item, part)]
    return [(key, value)]


def _feed_tensor(graph: Graph, key: Any) -> Tensor:
    try:
        element = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
    except (KeyError, ValueError, TypeError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None  # a KeyError's own text has quotes
    assert isinstance(element, Tensor)
    return element


_PLAIN = frozenset((np.ndarray, float, int, bool, np.float32, np.float64, np.int32, np.int64))


def feed_value(graph: Graph, tensor: Tensor, value: Any) -> Any:
    """The array to feed for ``tensor``; TypeError or ValueError, naming it, if the value does not fit."""
    if type(value) not in _PLAIN and (isinstance(value, Tensor) or hasattr(value, "_as_graph_element")):
        raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, strings, lists, "
                        f"numpy ndarrays, or TensorHandles. For reference, the tensor object was {value} which was passed to the feed with key "
                        f"{tensor}.")
    if tensor in graph._unfeedable:
        raise ValueError(f"Tensor {tensor} may not be fed.")
    if isinstance(value, TensorHandle):
        value = value.eval()
    dtype = tensor._dtype.base_dtype
    if dtype is dtypes.resource:
        return handle_bytes(value)
    if dtype is dtypes.variant:
        return value
    if type(value) is float and dtype.np.kind == "f":
        array = np.asarray(value, dtype.np)
    else:
        array = value if type(value) is np.ndarray and value.dtype is dtype.np else _feed_array(tensor, dtype, value)
    extents = tensor._shape._dims
    if extents is not None and extents != array.shape and not _fits(array.shape, extents):
        raise ValueError(f"Cannot feed value of shape {array.shape!r} for Tensor {tensor.name!r}, which has shape {str(tensor._shape)!r}")
    return array


def _fits(shape: tuple[int, ...], extents: tuple[int | None, ...]) -> bool:
    if len(shape) != len(extents):
        return False
    for extent, known in zip(shape, extents):  # noqa: SIM110 (for each feed of each step: a generator takes twice as long)
        if known is not None and known != extent:
            return False
    return True


def _feed_array(tensor: Tensor, dtype: dtypes.DType, value: Any) -> np.ndarray:
    if dtype is dtypes.string:
        source = np.asarray(value, dtype=object)
        result = np.empty(source.shape, object)
        flat = result.reshape(-1)
        for index, item in enumerate(source.flat):
            if not isinstance(item, (str, bytes)):
                raise TypeError(f"Cannot feed {item!r} for Tensor {tensor.name!r}: a string is needed")
            flat[index] = item.encode() if isinstance(item, str) else item
        return result
    if isinstance(value, int) and dtype.is_integer and not dtype.min <= value <= dtype.max:
        raise TypeError(f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type {dtype.as_numpy_dtype}. "
                        "Try explicitly setting the type of the feed tensor to a larger type (e.g. int64).")
    if dtype.is_quantized and isinstance(value, np.ndarray):
        value = dtypes.plain_array(value)
    try:
        return np.asarray(value, dtype=dtype.np)
    except (ValueError, TypeError) as error:
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"Cannot feed {_short(value)} for Tensor {tensor.name!r} of type {dtype.name}: {error}") from None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
