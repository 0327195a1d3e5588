"""An example in other types: does the op run with all that its signature allows, and does it agree with itself in the widest type?"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph
from penstock.graph.opdef import REGISTRY
from support import build
from support.build import Call
from support.compare import RTOL, difference
from support.examples import Example, State, plain

_USUAL = [dtypes.as_dtype(name) for name in (
    "float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64", "complex128",
    "bool", "string")]


def check(example: Example) -> list[str]:
    """What goes wrong, one line per type."""
    problems: list[str] = []
    for attr in REGISTRY[example.op_type].attrs:
        for dtype in _types(example, attr):
            cast = to_type(example, attr, dtype)
            if cast is not None:
                problems.extend(f"{example.label} with {attr}={dtype.name}: {text}" for text in _run_both(example, cast, attr, dtype))
    return problems


def narrow_floats(example: Example) -> list[Example]:
    """The example in float32 and in small integers, where that is a change."""
    found = []
    for attr in REGISTRY[example.op_type].attrs:
        for dtype in _types(example, attr):
            if dtype in (dtypes.float32, dtypes.int32, dtypes.int64) and (cast := to_type(example, attr, dtype)) is not None:
                found.append(cast)
    return found


def _types(example: Example, attr: str) -> list[DType]:
    """The types to try for an attribute: those that inputs determine and that are not given by the example."""
    definition = REGISTRY[example.op_type]
    if attr in example.attrs or definition.attrs[attr].kind != "type" or not any(arg.type_attr == attr for arg in definition.inputs):
        return []
    allowed = definition.attrs[attr].allowed
    wanted = None if example.types is None else [dtypes.as_dtype(name) for name in example.types]
    return [d for d in _USUAL if (allowed is None or d in allowed) and (wanted is None or d in wanted)]


def to_type(example: Example, attr: str, dtype: DType) -> Example | None:
    """The example with the inputs of a type attribute cast; None if that cannot be done or changes nothing."""
    arguments = {index for index, arg in enumerate(REGISTRY[example.op_type].inputs) if arg.type_attr == attr}
    sample = _leaves([example.inputs[index] for index in arguments])
    if any(callable(leaf) for leaf in sample):
        return None
    kinds = {_array(leaf).dtype for leaf in sample}
    if kinds == {dtype.np} or (kinds and _loses_meaning(kinds, dtype)):
        return None
    convert = _caster(dtype)
    inputs = tuple(_map(value, convert) if index in arguments or _holds(value, kinds) else value for index, value in enumerate(example.inputs))
    return replace(example, inputs=inputs)


def _holds(value: Any, kinds: set[Any]) -> bool:
    """True for a resource variable whose value goes together with the inputs that are cast: its type is in no signature."""
    return isinstance(value, State) and value.is_resource and value.value.dtype in kinds


def _loses_meaning(kinds: set[Any], dtype: DType) -> bool:
    """Strings and bools only go into themselves; indices stay integers (they are small, so any integer type holds them)."""
    letters = {kind.kind for kind in kinds}
    return bool(letters & {"O", "b"}) or (dtype is dtypes.string)


def _caster(dtype: DType) -> Callable[[np.ndarray], np.ndarray]:
    def cast(array: np.ndarray) -> np.ndarray:
        if dtype.is_bool:
            return array.real > 0
        if dtype.is_integer and array.dtype.kind in "fcV":
            return (1 + np.floor(np.abs(array))).astype(dtype.np)  # positive: no division by 0, no negative powers
        if dtype.is_integer:
            return np.clip(array, dtype.min, dtype.max).astype(dtype.np)
        return array.astype(dtype.np) if dtype.is_complex else array.real.astype(dtype.np)
    return cast


def _array(leaf: Any) -> np.ndarray:
    return leaf.value if isinstance(leaf, State) else plain(leaf)


def _leaves(values: list[Any]) -> list[Any]:
    return [leaf for value in values for leaf in (value if isinstance(value, (list, tuple)) else [value])]


def _map(value: Any, function: Callable[[np.ndarray], np.ndarray]) -> Any:
    if isinstance(value, (list, tuple)):
        return [_map(item, function) for item in value]
    if isinstance(value, State):
        return State(function(value.value), value.is_resource)
    return function(plain(value))


def _run_both(example: Example, cast: Example, attr: str, dtype: DType) -> list[str]:
    """Runs the cast example, and again in the widest type with the very same numbers."""
    wide = _widest(dtype)
    allowed = REGISTRY[example.op_type].attrs[attr].allowed
    reference = to_type(cast, attr, wide) if wide is not None and (allowed is None or wide in allowed) else None
    try:
        with Graph().as_default() as graph:
            calls = [Call(one, build.as_constant) for one in (cast, reference) if one is not None]
        with build.session(graph) as running:
            results = [call.run(running) for call in calls]
    except Exception as error:
        return [f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"]
    problems = []
    for index, tensor in enumerate(build.fetchable(calls[0].outputs)):
        found = np.asarray(results[0][index], object if isinstance(results[0][index], bytes) else None)
        if found.dtype != tensor.dtype.base_dtype.np:
            problems.append(f"output {index} is {found.dtype}, but the graph says {tensor.dtype.name}")
        elif reference is not None and example.exact and tensor.dtype.base_dtype.name in (*RTOL, *_INTEGERS):
            problem = _compare(found, np.asarray(results[1][index]), RTOL.get(dtype.name, 0.0) * example.precision)
            problems.extend([f"output {index}, against {wide.name}: {problem}"] if problem else [])
    return problems


_INTEGERS = [dtype.name for dtype in _USUAL if dtype.is_integer]


def _widest(dtype: DType) -> DType | None:
    if dtype in (dtypes.float64, dtypes.int64, dtypes.complex128):
        return None
    return dtypes.float64 if dtype.is_floating else dtypes.complex128 if dtype.is_complex else dtypes.int64 if dtype.is_integer else None


def _compare(found: np.ndarray, wanted: np.ndarray, rtol: float) -> str | None:
    if found.dtype.kind in "iu":
        limits = np.iinfo(found.dtype)
        if wanted.size and (wanted.min() < limits.min or wanted.max() > limits.max):
            return None  # the narrow type overflows, as it should
        return difference(found, wanted.astype(found.dtype))
    return difference(found, wanted, rtol=max(rtol, RTOL.get(found.dtype.name, 0.0)))
