"""The names that programs of 2016-2019 expect from NumPy and the standard library, and that have gone since.

``penstock run`` activates them; nothing else does. A name is only added where it is missing, to the module that had it. Modules that have gone
(``imp``, ``xml.etree.cElementTree``) are found when they are imported; modules that behave differently now (``h5py``) are changed back then.
"""
from __future__ import annotations

import collections
import collections.abc
import errno
import importlib
import importlib.util
import inspect
import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import numpy as np

from penstock.platform.inspection import ArgSpec, getargspec

QUIET = "PENSTOCK_QUIET"  # environment variable: no line on stderr

_NUMPY: dict[str, Any] = {
    "float": float, "int": int, "bool": bool, "object": object, "str": str, "complex": complex, "long": int, "unicode": str,
    "float_": np.float64, "complex_": np.complex128, "cfloat": np.complex128, "singlecomplex": np.complex64, "longfloat": np.longdouble,
    "clongfloat": np.clongdouble, "longcomplex": np.clongdouble, "string_": np.bytes_, "unicode_": np.str_, "bool8": np.bool_, "int0": np.intp,
    "uint0": np.uintp, "object0": np.object_, "str0": np.str_, "bytes0": np.bytes_, "Inf": np.inf, "Infinity": np.inf, "infty": np.inf,
    "PINF": np.inf, "NINF": -np.inf, "NaN": np.nan, "PZERO": 0.0, "NZERO": -0.0, "product": np.prod,
    "cumproduct": np.cumprod, "alltrue": np.all, "sometrue": np.any,
    "round_": np.round, "mat": np.asmatrix, "row_stack": lambda tup: np.vstack(tup), "alen": len,
    "rank": np.ndim, "typeDict": np.sctypeDict,
    "asscalar": lambda a: a.item(), "in1d": lambda a, b, **options: np.isin(np.ravel(a), b, **options), "msort": lambda a: np.sort(a, axis=0),
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64),
    "trapz": lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis),
    "find_common_type": lambda array_types, scalar_types: np.result_type(*array_types, *scalar_types),
}
_RANDOM: dict[str, Any] = {
    "random_integers": lambda low, high=None, size=None: np.random.randint(*((1, low + 1) if high is None else (low, high + 1)), size=size),
}
_ABSTRACT = {name: getattr(collections.abc, name) for name in collections.abc.__all__}


def _removed_names() -> list[tuple[Any, dict[str, Any]]]:
    """(object, the names that it should have)."""
    import base64  # here, so that only a program that runs with these names pays for the modules
    import fractions

    return [
        (np, _NUMPY),
        (np.random, _RANDOM),
        (collections, _ABSTRACT),
        (inspect, {"getargspec": getargspec, "ArgSpec": ArgSpec}),
        (time, {"clock": time.process_time}),
        (fractions, {"gcd": math.gcd}),
        (threading.Thread, {"isAlive": threading.Thread.is_alive}),
        (base64, {"encodestring": base64.encodebytes, "decodestring": base64.decodebytes}),
        (os, {"errno": errno}),
    ]


class _ModuleAliases:
    """Finds modules that have gone: {its name: the module that stands in for it}."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in self.modules else None

    def create_module(self, spec: ModuleSpec) -> None:
        """None: the import system makes an empty module first."""

    def exec_module(self, module: ModuleType) -> None:
        sys.modules[module.__name__] = importlib.import_module(self.modules[module.__name__])


class _ChangedModules:
    """Changes modules when they are imported: {its name: the module that has a function ``restore`` for it}."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname not in self.modules:
            return None
        restore = importlib.import_module(self.modules.pop(fullname)).restore
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def load_and_restore(module: ModuleType) -> None:
            load(module)
            restore(module)

        spec.loader.exec_module = load_and_restore  # type: ignore[method-assign]
        return spec


_GONE = _ModuleAliases({"imp": "penstock.cli.old_imp", "xml.etree.cElementTree": "xml.etree.ElementTree"})
_EMPTIED = _ModuleAliases({"scipy.misc": "penstock.cli.old_scipy_misc"})  # SciPy still has it, without the functions


_CHANGED = _ChangedModules({"h5py": "penstock.cli.old_h5py", "PIL.Image": "penstock.cli.old_pillow",
                            "scipy.sparse.linalg": "penstock.cli.old_scipy_linalg", "scipy.stats": "penstock.cli.old_scipy_stats"})


_KINDS = {float: np.floating, int: np.integer, complex: np.complexfloating}


def _restore_issubdtype() -> None:
    """``np.issubdtype(np.float32, float)`` is True again, as it was up to NumPy 1.13: Python's types stood for all types of their kind."""
    current = np.issubdtype
    if current.__module__ == __name__:
        return

    def issubdtype(arg1: Any, arg2: Any) -> bool:
        return bool(current(arg1, _KINDS.get(arg2, arg2) if isinstance(arg2, type) else arg2))

    issubdtype.__doc__ = current.__doc__
    np.issubdtype = issubdtype


def _restore_arrays() -> None:
    """What NumPy made of values up to 1.23, and refuses today: arrays of objects of ragged lists, integers that wrap around, stacks of iterators."""
    for name in ("array", "asarray"):
        current = getattr(np, name)
        if getattr(current, "__module__", None) != __name__:
            setattr(np, name, _lenient_array(current))
    for names, change in (("vstack hstack dstack stack column_stack", _of_iterators), ("max min amax amin size shape ndim", _of_ragged_lists)):
        for name in names.split():
            current = getattr(np, name)
            if getattr(current, "__module__", None) != __name__:
                setattr(np, name, change(current))


def _lenient_array(make: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """``np.array([[1], [2, 3]])`` is an array of objects, and ``np.array([-1], np.uint8)`` is [255]."""
    def array(*args: Any, **options: Any) -> np.ndarray:
        try:
            return make(*args, **options)
        except (ValueError, OverflowError) as error:
            caller = sys._getframe(1).f_globals.get("__name__", "")  # Penstock itself tells users of such values
            dtype = args[1] if len(args) > 1 else options.get("dtype")
            if caller.startswith("penstock."):
                raise
            if isinstance(error, OverflowError) and dtype is not None and np.issubdtype(dtype, np.integer):
                return make(args[0], **{**options, "dtype": object}).astype(np.int64).astype(dtype)
            if "inhomogeneous" not in str(error) or dtype is not None:
                raise
            return make(*args, **{**options, "dtype": object})

    array.__name__, array.__doc__ = make.__name__, make.__doc__
    return array


def _of_iterators(stack: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """``np.vstack(row for row in rows)``."""
    def stack_all(arrays: Any, *args: Any, **options: Any) -> np.ndarray:
        return stack(arrays if hasattr(arrays, "__getitem__") else list(arrays), *args, **options)

    stack_all.__name__, stack_all.__doc__ = stack.__name__, stack.__doc__
    return stack_all


def _of_ragged_lists(function: Callable[..., Any]) -> Callable[..., Any]:
    """``np.max([[1], [2, 3]])`` is the greater list."""
    def of_list(a: Any, *args: Any, **options: Any) -> Any:
        try:
            return function(a, *args, **options)
        except ValueError as error:
            if "inhomogeneous" not in str(error):
                raise
            return function(np.asarray(a, dtype=object), *args, **options)

    of_list.__name__, of_list.__doc__ = function.__name__, function.__doc__
    return of_list


def activate() -> list[str]:
    """Adds the names, and says so in one line on stderr. Returns what was added: ``numpy.float``, ..."""
    added = []
    for owner, names in _removed_names():
        for name, value in names.items():
            if name not in vars(owner):  # not hasattr(): that would call a module's __getattr__, which warns
                setattr(owner, name, value)
                added.append(f"{getattr(owner, '__qualname__', owner.__name__)}.{name}")
    _restore_issubdtype()
    _restore_arrays()
    if _GONE not in sys.meta_path:
        sys.meta_path.append(_GONE)  # last: a module that is there wins
        sys.meta_path[:0] = [_EMPTIED, _CHANGED]
    for name in [name for name in _CHANGED.modules if name in sys.modules]:  # imported before: Keras imports h5py before TensorFlow
        importlib.import_module(_CHANGED.modules.pop(name)).restore(sys.modules[name])
    if not sys.warnoptions:  # an old program would get a warning at every step; `python -W default` brings them back
        for category in (DeprecationWarning, PendingDeprecationWarning, FutureWarning, SyntaxWarning):
            warnings.simplefilter("ignore", category)
    if added and not os.environ.get(QUIET):
        print(_summary(added), file=sys.stderr)
    return added


def _summary(added: list[str]) -> str:
    of_numpy = sum(name.startswith("numpy.") for name in added)
    return (f"penstock run: {len(added)} names that programs of 2016-2019 expect are back, {of_numpy} of them numpy's "
            f"(--no-era: without them; {QUIET}=1: without this line)")
