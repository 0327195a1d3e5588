"""``Dataset.from_generator``: elements that a Python generator yields.

One dataset of a single dummy element is flat-mapped into a GeneratorDataset, whose functions are py_funcs: the first starts the generator and gives
it a number, the second asks the generator of that number for its next element, the third forgets it.
"""
from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.data import element_nest, structure
from penstock.data.traced_function import ElementFunction
from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.shape import TensorShape
from penstock.ops.common import strings
from penstock.ops.data.dataset_sources import GeneratorDataset
from penstock.ops.flow.py_func import py_func


class _Generators:
    """The generators that are under way, by number."""

    def __init__(self, start: Callable[..., Any]) -> None:
        self._start, self._numbers, self._lock = start, itertools.count(), threading.Lock()
        self._generators: dict[int, Any] = {}

    def start(self, *arguments: Any) -> np.int64:
        """Starts a generator; its number."""
        with self._lock:
            number = next(self._numbers)
        self._generators[number] = iter(self._start(*arguments))
        return np.int64(number)

    def next(self, number: Any) -> Any:
        """The next element of a generator."""
        return next(self._generators[int(number)])

    def finish(self, number: Any) -> np.int64:
        """Forgets a generator."""
        self._generators.pop(int(number), None)
        return np.int64(0)


def from_generator(dataset_class: Any, generator: Callable[..., Any], output_types: Any, output_shapes: Any, arguments: Any) -> Any:
    """See ``Dataset.from_generator``."""
    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    specs = structure.from_legacy(output_types, output_shapes)
    given = tuple(to_tensor(value, name="args") for value in (arguments or ()))
    generators = _Generators(generator)
    leaves = element_nest.flatten(specs)

    def next_components(number: Any) -> list[Any]:
        return _components(generators.next(number), specs, leaves)

    def make(_: Any) -> Any:
        number = structure.TensorSpec(dt.int64, TensorShape(()))
        begin = ElementFunction(lambda: py_func(generators.start, given, dt.int64), "Dataset.from_generator()")
        step = ElementFunction(lambda state: py_func(next_components, [state], [spec.dtype for spec in leaves]), "Dataset.from_generator()", number)
        finish = ElementFunction(lambda state: py_func(generators.finish, [state], dt.int64), "Dataset.from_generator()", number)
        variant = GeneratorDataset(begin.captures, step.captures, finish.captures, init_func=begin.graph, next_func=step.graph,
                                   finalize_func=finish.graph, **structure.output_attrs(specs))
        return dataset_class(variant, specs)

    return dataset_class.from_tensors(0).flat_map(make)


def _components(value: Any, specs: Any, leaves: list[Any]) -> list[Any]:
    """What a generator yielded as arrays of the declared types; what does not fit is an error that says so."""
    try:
        flat = element_nest.flatten_up_to(specs, value)
    except (TypeError, ValueError):
        raise TypeError(f"`generator` yielded an element that did not match the expected structure. The expected structure was "
                        f"{element_nest.map_structure(lambda spec: spec.dtype, specs)}, but the yielded element was {value}.") from None
    return [_array(part, spec, value) for part, spec in zip(flat, leaves)]


def _array(part: Any, spec: Any, value: Any) -> np.ndarray:
    try:
        array = _strings(part) if spec.dtype is dt.string else np.asarray(part, spec.dtype.as_numpy_dtype)
    except (TypeError, ValueError):
        raise TypeError(f"`generator` yielded an element that could not be converted to the expected type. The expected type was {spec.dtype.name}, "
                        f"but the yielded element was {value}.") from None
    if array.shape != spec.shape.extents and not spec.shape.is_compatible_with(array.shape):
        raise ValueError(f"`generator` yielded an element of shape {array.shape} where an element of shape {spec.shape} was expected.")
    return array


def _strings(part: Any) -> np.ndarray:
    array = np.asarray(part, object)
    return strings((item.encode() if isinstance(item, str) else item for item in array.reshape(-1)), array.shape)
