"""The names that NumPy has removed since, and what stood behind them."""
from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

_KINDS = {"int": "int8 int16 int32 int64", "uint": "uint8 uint16 uint32 uint64", "float": "float16 float32 float64 longdouble",
          "complex": "complex64 complex128 clongdouble"}
_SCALARS = {kind: [getattr(np, name) for name in names.split()] for kind, names in _KINDS.items()}
_TYPES = [*(each for kind in _SCALARS.values() for each in kind), np.bool_, np.object_, np.bytes_, np.str_, np.void]



class _Casts(dict[Any, Callable[[Any], np.ndarray]]):
    """``np.cast["float32"](values)``, by all that names a type."""

    def __missing__(self, key: Any) -> Callable[[Any], np.ndarray]:
        return lambda x: np.asarray(x).astype(key)


_NUMPY: dict[str, Any] = {
    "float": float, "int": int, "bool": bool, "object": object, "str": str, "complex": complex, "long": int, "unicode": str,
    "float_": np.float64, "complex_": np.complex128, "cfloat": np.complex128, "singlecomplex": np.complex64, "longfloat": np.longdouble,
    "clongfloat": np.clongdouble, "longcomplex": np.clongdouble, "string_": np.bytes_, "unicode_": np.str_, "bool8": np.bool_, "int0": np.intp,
    "uint0": np.uintp, "object0": np.object_, "str0": np.str_, "bytes0": np.bytes_, "Inf": np.inf, "Infinity": np.inf, "infty": np.inf,
    "PINF": np.inf, "NINF": -np.inf, "NaN": np.nan, "NAN": np.nan, "PZERO": 0.0, "NZERO": -0.0, "product": np.prod,
    "cumproduct": np.cumprod, "alltrue": np.all, "sometrue": np.any,
    "round_": np.round, "mat": np.asmatrix, "row_stack": lambda tup: np.vstack(tup), "alen": len,
    "rank": np.ndim, "typeDict": np.sctypeDict, "math": math,
    "asscalar": lambda a: a.item(), "in1d": lambda a, b, **options: np.isin(np.ravel(a), b, **options), "msort": lambda a: np.sort(a, axis=0),
    "asfarray": lambda a, dtype=np.float64: np.asarray(a, dtype if np.issubdtype(dtype, np.inexact) else np.float64),
    "trapz": lambda y, x=None, dx=1.0, axis=-1: np.trapezoid(y, x, dx, axis),
    "find_common_type": lambda array_types, scalar_types: np.result_type(*array_types, *scalar_types),
    "sctypes": {**_SCALARS, "others": [bool, object, bytes, str, np.void]}, "nbytes": {each: np.dtype(each).itemsize for each in _TYPES},
    "cast": _Casts(),
    "obj2sctype": lambda rep, default=None: np.dtype(rep).type, "sctype2char": lambda sctype: np.dtype(sctype).char,
    "issubsctype": lambda arg1, arg2: issubclass(np.dtype(arg1).type, np.dtype(arg2).type),
    "issubclass_": lambda arg1, arg2: isinstance(arg1, type) and issubclass(arg1, arg2),
    "maximum_sctype": lambda t: _SCALARS.get(np.dtype(t).type.__name__.rstrip("0123456789"), [np.dtype(t).type])[-1],
    "safe_eval": ast.literal_eval, "disp": lambda mesg, device=None, linefeed=True: print(mesg, file=device, end="\n" if linefeed else ""),
    "deprecate": lambda function=None, *args, **options: function if callable(function) else (lambda given: given),
    "recfromcsv": lambda fname, **options: np.genfromtxt(fname, **{"delimiter": ",", "names": True, "dtype": None, **options}).view(np.recarray),
    "recfromtxt": lambda fname, **options: np.genfromtxt(fname, **{"dtype": None, **options}).view(np.recarray),
    "byte_bounds": np.lib.array_utils.byte_bounds, "add_newdoc": np.lib.add_newdoc, "tracemalloc_domain": np.lib.tracemalloc_domain,
}
_RANDOM: dict[str, Any] = {
    "random_integers": lambda low, high=None, size=None: np.random.randint(*((1, low + 1) if high is None else (low, high + 1)), size=size),
}
_LIB: dict[str, Any] = {"pad": np.pad, "tile": np.tile, "meshgrid": np.meshgrid, "polyfit": np.polyfit}

# (module, the names that it should have)
REMOVED: tuple[tuple[Any, dict[str, Any]], ...] = (
    (np, _NUMPY), (np.random, _RANDOM), (np.lib, _LIB), (np.linalg, {"linalg": np.linalg}), (np.fft, {"fftpack": np.fft}),
)
