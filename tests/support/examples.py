"""The example table: for every op type at least one call with inputs on which it can be checked.

A file of ``tests/ops/examples`` holds the examples of a family::

    from support.examples import example, integers, normal

    example("MatMul", normal(2, 3), normal(3, 4))
    example("Gather", normal(5, 2), integers(3, high=5), grad_inputs=(0,))

``tests/ops/test_registry.py`` runs all checks on all of them. Generators give arrays (float64 where they are floats), and the same arrays on
every run: the numbers of an example depend on the file and the op type of the example before it, so adding one disturbs only its neighbour.
"""
from __future__ import annotations

import importlib.util
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent / "ops" / "examples"


@dataclass(eq=False)
class State:
    """An input that is a variable holding ``value`` when the op runs."""

    value: np.ndarray
    is_resource: bool


@dataclass(eq=False)
class Example:
    """One call of an op type, and what may be expected of it. See ``example``."""

    op_type: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    label: str
    grad: bool = True
    grad_inputs: tuple[int, ...] | None = None
    second: bool = True
    tolerance: float = 1e-5
    precision: float = 1.0
    dynamic: bool = False
    run: bool = True
    types: Any = None
    exact: bool = True
    unknown: bool = True
    extra: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.label


EXAMPLES: dict[str, list[Example]] = defaultdict(list)
LOAD_ERRORS: dict[str, BaseException] = {}
_random = np.random.RandomState(0)


def example(op_type: str, *inputs: Any, grad: bool = True, grad_inputs: tuple[int, ...] | None = None, second: bool = True,
            tolerance: float = 1e-5, precision: float = 1.0, dynamic: bool = False, run: bool = True, types: Any = None, exact: bool = True,
            unknown: bool = True, **attrs: Any) -> Example:
    """Adds a call to the table.

    An input is an array, a list of arrays where the op takes a list, ``variable(...)``, ``resource(...)``, or a function without parameters that
    builds a Tensor. ``attrs`` are the op's attributes. Expectations:

    - ``grad=False``: no gradient check; ``grad_inputs``: only for these arguments; ``second=False``: the second order is not smooth;
    - ``tolerance``: relative, of the gradient checks; ``precision``: a factor on the tolerance of the check of narrow types;
    - ``dynamic=True``: the shape of the result depends on values, so constants do not tell it;
    - ``unknown=False``: some input has to be a constant, or has to have a known shape (TensorFlow demands it as well);
    - ``types``: the types (names) of the type check, () for none; otherwise all that the signature allows;
    - ``exact=False``: two runs give different values (time, unseeded random numbers);
    - ``run=False``: the op cannot run by itself, it is only built.
    """
    made = EXAMPLES[op_type]
    label = f"{op_type}#{len(made) + 1}" if made else op_type
    made.append(Example(op_type, inputs, attrs, label, grad, grad_inputs, second, tolerance, precision, dynamic, run, types, exact, unknown))
    _random.seed(zlib.crc32(label.encode()))
    return made[-1]


# --- generators ------------------------------------------------------------------------------------------------------

def normal(*shape: int) -> np.ndarray:
    """Normally distributed float64, none closer to 0 than 0.05 (most kinks are at 0)."""
    values = np.asarray(_random.standard_normal(shape))
    return np.where(np.abs(values) < 0.05, values + np.where(values < 0, -0.1, 0.1), values)


def uniform(*shape: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Uniform float64 in [low, high)."""
    return np.asarray(_random.uniform(low, high, shape))


def positive(*shape: int) -> np.ndarray:
    """Uniform float64 in [0.5, 2)."""
    return uniform(*shape, low=0.5, high=2.0)


def integers(*shape: int, low: int = 0, high: int = 10, dtype: Any = np.int32) -> np.ndarray:
    """Integers in [low, high)."""
    return np.asarray(_random.randint(low, high, shape)).astype(dtype)


def distinct(*shape: int) -> np.ndarray:
    """Float64 in [-1, 1] with clear gaps between any two: for maxima and sorting, whose kinks are at ties."""
    count = int(np.prod(shape))
    return _random.permutation(np.linspace(-1, 1, max(count, 1))[:count]).reshape(shape)


def ints(*values: int, dtype: Any = np.int32) -> np.ndarray:
    """A vector of just these integers."""
    return np.array(values, dtype)


def bools(*shape: int) -> np.ndarray:
    """Random truth values."""
    return np.asarray(_random.uniform(size=shape) < 0.5)


def strings(*values: Any) -> np.ndarray:
    """A vector of these strings; ``strings(2, 3)`` makes some up for the shape [2, 3]."""
    if values and all(isinstance(value, (str, bytes)) for value in values):
        items: list[Any] = [value.encode() if isinstance(value, str) else value for value in values]
        shape: tuple[int, ...] = (len(items),)
    else:
        shape = values
        items = [bytes(_random.choice(list(b"abcxyz 019"), _random.randint(1, 6)).tolist()) for _ in range(int(np.prod(shape)))]
    result = np.empty(len(items), object)
    result[:] = items
    return result.reshape(shape)


def variable(value: Any) -> State:
    """A reference variable (VariableV2) that holds this value."""
    return State(plain(value), is_resource=False)


def resource(value: Any) -> State:
    """A resource variable (VarHandleOp) that holds this value."""
    return State(plain(value), is_resource=True)


def plain(value: Any) -> np.ndarray:
    """A value as an array: Python floats are float64, Python ints int32, text bytes."""
    if isinstance(value, np.ndarray):
        return value
    array = np.asarray(value)
    if array.dtype == np.int64 and not isinstance(value, np.generic):
        return array.astype(np.int32)
    if array.dtype.kind in "SU":
        flat = [item.encode() if isinstance(item, str) else item for item in array.astype(object).ravel().tolist()]
        result = np.empty(len(flat), object)
        result[:] = flat
        return result.reshape(array.shape)
    return array


# --- loading ---------------------------------------------------------------------------------------------------------

def load(folder: Path = FOLDER) -> dict[str, list[Example]]:
    """The whole table. A file that cannot be loaded is noted in LOAD_ERRORS: it must not hide the others."""
    if not EXAMPLES and not LOAD_ERRORS:
        for path in sorted(folder.glob("*.py")):
            if not path.name.startswith("_"):
                _load_file(path)
    return EXAMPLES


def _load_file(path: Path) -> None:
    name = f"op_examples_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    _random.seed(zlib.crc32(path.stem.encode()))
    execute: Callable[[Any], None] = spec.loader.exec_module
    try:
        execute(module)
    except Exception as error:
        LOAD_ERRORS[path.name] = error
