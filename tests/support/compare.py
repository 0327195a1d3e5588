"""Comparing arrays: exact for integers, bools and strings, by the precision of the type for floats, NaN equals NaN."""
from __future__ import annotations

from typing import Any

import numpy as np

# Relative tolerance per type: some 30 to 100 units in the last place, as sums are added in different orders.
RTOL = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-4, "float64": 1e-9, "complex64": 1e-4, "complex128": 1e-9}


def difference(found: Any, wanted: Any, factor: float = 1.0, rtol: float | None = None, slack: Any = 0.0) -> str | None:
    """What differs between two arrays, as text; None if nothing does. The narrower of the two types decides the tolerance.

    ``slack`` is what elements may be off by besides; where it is infinite, they may be anything.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return f"shape {list(found.shape)} instead of {list(wanted.shape)}"
    names = [array.dtype.name for array in (found, wanted) if array.dtype.name in RTOL]
    if not names:
        wrong = np.asarray(found != wanted) & (slack != np.inf)
        return _first(found, wanted, wrong) if wrong.any() else None
    if rtol is None:
        rtol = factor * max(RTOL[name] for name in names)
    wide = np.complex128 if any(array.dtype.kind == "c" for array in (found, wanted)) else np.float64
    a, b = found.astype(wide), wanted.astype(wide)
    finite = np.abs(b[np.isfinite(b)])
    scale = min(float(finite.max()), 1.0) if finite.size else 1.0  # near 0, the error of the larger terms remains
    wrong = ~np.isclose(a, b, rtol=rtol, atol=rtol * max(scale, 1e-30), equal_nan=True) & (slack != np.inf)
    with np.errstate(invalid="ignore"):  # of two infinities
        wrong &= ~(np.abs(a - b) <= slack)
    return _first(found, wanted, wrong) if wrong.any() else None


def _first(found: np.ndarray, wanted: np.ndarray, wrong: np.ndarray) -> str:
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ, first at {list(where)}: {found[where]!r} instead of {wanted[where]!r}"
