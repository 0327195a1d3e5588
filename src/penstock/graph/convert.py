"""convert_to_tensor: how Python values, arrays, Variables and users' own types become Tensors.

Conversion functions are kept per type with a priority; ``penstock.ops`` registers the one for plain values, ``penstock.variables``
the one for Variables, users theirs through ``tf.register_tensor_conversion_function``.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph, Tensor, default_graph

Converter = Callable[..., Any]  # (value, dtype=None, name=None, as_ref=False) -> Tensor | NotImplemented

_converters: list[tuple[int, int, Any, Converter]] = []
_by_type: dict[type, list[tuple[Any, Converter]]] = {}


def register_tensor_conversion_function(base_type: Any, conversion_func: Converter, priority: int = 100) -> None:
    """Makes values of ``base_type`` acceptable wherever a Tensor is; a lower priority is tried earlier."""
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    _converters.append((priority, len(_converters), base_type, conversion_func))
    _converters.sort(key=lambda entry: entry[:2])
    _by_type.clear()


def convert_to_tensor(value: Any, dtype: Any = None, name: str | None = None, preferred_dtype: Any = None, dtype_hint: Any = None) -> Tensor:
    """A Tensor for ``value``: itself if it is one, a constant for Python and NumPy values, the current value of a Variable."""
    preferred_dtype = dtype_hint if preferred_dtype is None else preferred_dtype
    return to_tensor(value, None if dtype is None else dtypes.as_dtype(dtype), name,
                     preferred=None if preferred_dtype is None else dtypes.as_dtype(preferred_dtype))


def to_tensor(value: Any, dtype: DType | None = None, name: str | None = None, as_ref: bool = False,
              preferred: DType | None = None) -> Tensor:
    """``convert_to_tensor`` with ``as_ref`` (a Variable's reference instead of its value) and types already checked."""
    if isinstance(value, Tensor):
        if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype):
            raise ValueError(f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {value.dtype.name}: {value!r}")
        return value
    if preferred is not None and dtype is None:
        try:
            return _convert(value, preferred, name, as_ref)
        except (TypeError, ValueError):
            return _convert(value, None, name, as_ref)
    return _convert(value, dtype, name, as_ref)


def _convert(value: Any, dtype: DType | None, name: str | None, as_ref: bool) -> Tensor:
    for base_type, converter in _converters_for(type(value)):
        result = converter(value, dtype=dtype, name=name, as_ref=as_ref)
        if result is NotImplemented:
            continue
        if not isinstance(result, Tensor):
            raise RuntimeError(f"The conversion function {converter} for type {base_type} returned {result!r}, which is not a Tensor")
        if dtype is not None and not dtype.base_dtype.is_compatible_with(result.dtype):
            raise RuntimeError(f"The conversion function {converter} for type {base_type} returned type {result.dtype.name}, "
                               f"requested was {dtype.name}")
        return result
    raise TypeError(f"Cannot convert {value!r} with type {type(value)} to Tensor: no conversion function registered.")


def _converters_for(value_type: type) -> list[tuple[Any, Converter]]:
    converters = _by_type.get(value_type)
    if converters is None:
        converters = _by_type[value_type] = [(base, function) for _, _, base, function in _converters if issubclass(value_type, base)]
    return converters


def graph_for(values: Any) -> Any:
    """The graph of the first Tensor, Operation or Variable among ``values``, else the default graph; ValueError if two differ, TypeError for
    a tensor that has left the function in which it was made."""
    current = default_graph()
    graph, first = None, None
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if getattr(item, "imperative", False):  # values become constants of any graph
                continue
            if isinstance(item, Tensor):
                its_graph: Any = item.op.graph
            else:
                its_graph = getattr(item, "graph", None)
                if its_graph is None or not isinstance(its_graph, Graph) or its_graph.imperative:
                    continue
            if its_graph is not current and current.can_capture(its_graph):
                its_graph = current  # inside a function body: what comes from outside is captured
            if graph is None:
                graph, first = its_graph, item
            elif its_graph is not graph:
                raise ValueError(f"{item} must be from the same graph as {first}.")
    if graph is not None and current.imperative and graph.building_function:
        raise TypeError(f"An op outside of the function building code is being passed a \"Graph\" tensor: {first} stands for a value while a "
                        "function is traced, and has none afterwards. Return it from the function.")
    return current if graph is None else graph


def convert_n_to_tensor(values: Any, dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """``convert_to_tensor`` for each of a list."""
    return [convert_to_tensor(value, dtype, None if name is None else f"{name}_{index}") for index, value in enumerate(values)]
