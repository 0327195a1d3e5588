"""Small functions of TensorFlow's private ``ops.distributions.util`` that libraries with distributions of their own call."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.shapes import static_or_tensor


def maybe_get_static_value(x: Any, dtype: Any = None) -> Any:
    """The value of ``x`` if it is known while building, of a type if one is given; else None."""
    value = None if x is None else tf.constant_value(tf.convert_to_tensor(x))
    return value if value is None or dtype is None else value.astype(tf.as_dtype(dtype).as_numpy_dtype)


def prefer_static_shape(x: Any) -> Any:
    """The shape of ``x``: an array if it is known, else a tensor."""
    return static_or_tensor(tf.shape(tf.convert_to_tensor(x, name="x")))


def same_dynamic_shape(a: Any, b: Any) -> tf.Tensor:
    """A tensor: whether two tensors have the same shape."""
    a, b = tf.shape(tf.convert_to_tensor(a, name="a")), tf.shape(tf.convert_to_tensor(b, name="b"))
    return tf.cond(tf.equal(tf.size(a), tf.size(b)), lambda: tf.reduce_all(tf.equal(a, b)), lambda: tf.constant(False))


def assert_symmetric(matrix: tf.Tensor) -> tf.Tensor:
    """``matrix``, available when it has been found to be symmetric."""
    return tf.with_dependencies([tf.assert_equal(matrix, tf.matrix_transpose(matrix))], matrix)


def parent_frame_arguments() -> dict[str, Any]:
    """The arguments of the function that calls this one, by name; those of ``*args`` are left out."""
    frame = inspect.currentframe()
    if frame is None or frame.f_back is None:
        raise RuntimeError("This Python does not tell who calls a function.")
    names, _, keywords, values = inspect.getargvalues(frame.f_back)
    given = {name: values[name] for name in names if name != "self"}
    return {**given, **(values[keywords] if keywords else {})}


class AppendDocstring:
    """A decorator that adds ``additional_note``, and what is said of keywords, to the docstring of a function."""

    def __init__(self, additional_note: str = "", kwargs_dict: dict[str, str] | None = None) -> None:
        notes = [f"    `{name}`: {text}" for name, text in sorted((kwargs_dict or {}).items())]
        if any("\n" in text for text in (kwargs_dict or {}).values()):
            raise ValueError("Parameter description for a keyword contains a newline.")
        self._addition = "\n".join([additional_note, *(["", "##### `kwargs`:", "", *notes] if notes else [])])

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` itself, with the longer docstring."""
        function.__doc__ = f"{function.__doc__ or ''}\n{self._addition}"
        return function
