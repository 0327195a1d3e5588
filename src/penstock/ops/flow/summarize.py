"""Tensors as short text, in TensorFlow's two styles.

``summarize`` is what Assert and Print show: the first elements, then dots. ``summarize_ends`` is what ``tf.print`` shows: the elements at both
ends of every axis.
"""
from __future__ import annotations

from typing import Any

import numpy as np

_ESCAPES = {ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", ord('"'): '\\"', ord("'"): "\\'", ord("\\"): "\\\\"}


def c_escape(text: bytes) -> str:
    """Bytes as the inside of a C string literal.

    >>> print(c_escape(b'say "hi"' + bytes([10, 200])))
    say \\"hi\\"\\n\\310
    """
    return "".join(_ESCAPES.get(code) or (chr(code) if 32 <= code < 127 else f"\\{code:03o}") for code in text)


def element(value: Any) -> str:
    """One element: numbers with as many digits as they need, booleans as 0 and 1, strings escaped."""
    if isinstance(value, (bytes, str)):
        return c_escape(value if isinstance(value, bytes) else value.encode())
    kind = getattr(value, "dtype", np.dtype(type(value))).kind
    if kind == "b":
        return str(int(value))
    if kind in "iu":
        return str(int(value))
    if kind == "c" or kind == "O":
        return "?"
    return _double(float(value)) if value.dtype == np.float64 else _float(np.float32(value))


def _float(value: np.float32) -> str:
    short = f"{float(value):.6g}"
    return short if np.float32(short) == value or value != value else f"{float(value):.9g}"


def _double(value: float) -> str:
    short = f"{value:.15g}"
    return short if float(short) == value or value != value else f"{value:.17g}"


def summarize(array: Any, limit: int = 3) -> str:
    """The first ``limit`` elements (all, if it is negative), with brackets around inner rows and dots where something is missing.

    >>> summarize(np.array([[1.5, 2], [3, 4]]))
    '[1.5 2][3...]...'
    """
    array = _as_array(array)
    limit = array.size if limit < 0 else min(limit, array.size)
    if not array.ndim:
        return element(array[()]) if limit else "..."
    left = [limit]
    text = _rows(array, left, True)
    return text + "..." if array.size > limit else text


def _rows(array: np.ndarray, left: list[int], outermost: bool) -> str:
    """The text of an array as far as ``left[0]`` more elements go."""
    if array.ndim == 1:
        shown = [element(value) for value in array[:left[0]]]
        left[0] -= len(shown)
        return " ".join(shown) + ("..." if len(shown) < len(array) and not outermost else "")
    text = ""
    for row in array:
        if left[0] <= 0:
            break
        text += f"[{_rows(row, left, False)}]"
    return text


def summarize_ends(array: Any, ends: int = 3) -> str:
    """``ends`` elements from both ends of every axis (all, if it is negative), strings in quotes.

    >>> summarize_ends(np.arange(10))
    '[0 1 2 ... 7 8 9]'
    """
    array = _as_array(array)
    return _axis(array, 0, array.ndim, ends if ends >= 0 else array.size)


def _axis(array: Any, depth: int, rank: int, ends: int) -> str:
    if depth == rank:
        value = array[()] if isinstance(array, np.ndarray) else array
        return f'"{element(value)}"' if isinstance(value, (bytes, str)) else element(value)
    gap = " " if depth == rank - 1 else "\n" * (rank - depth - 1) + " " * (depth + 1)
    count = len(array)
    shown = [_axis(array[i], depth + 1, rank, ends) for i in range(min(ends, count))]
    if count > 2 * ends:
        shown.append("...")
    shown += [_axis(array[i], depth + 1, rank, ends) for i in range(max(ends, count - ends), count)]
    return "[" + gap.join(shown) + "]"


def _as_array(value: Any) -> np.ndarray:
    return np.asarray(value, object) if isinstance(value, (bytes, str)) else np.asarray(value)
