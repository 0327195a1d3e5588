"""The switches of the 1.x line between its own behaviour and that of TensorFlow 2, and the loaders of C++ libraries.

Penstock is TensorFlow 1: turning a 2.x behaviour off changes nothing, turning one on is refused, except where Penstock works that way already.
"""
from __future__ import annotations

from typing import NoReturn

from penstock.errors import UnimplementedError


def _refuse(what: str) -> NoReturn:
    raise UnimplementedError(None, None, f"{what}: Penstock builds graphs and runs them in sessions, as TensorFlow 1 does by default.")


def enable_v2_behavior() -> None:
    """Raises UnimplementedError."""
    _refuse("There is no TensorFlow 2 behaviour")


def disable_v2_behavior() -> None:
    """Changes nothing."""


def enable_v2_tensorshape() -> None:
    """Raises UnimplementedError."""
    _refuse("The elements of a TensorShape are Dimensions, not integers")


def disable_v2_tensorshape() -> None:
    """Changes nothing."""


def enable_tensor_equality() -> None:
    """Raises UnimplementedError."""
    _refuse("`==` on tensors compares identity; use tf.equal")


def disable_tensor_equality() -> None:
    """Changes nothing."""


def enable_control_flow_v2() -> None:
    """Changes nothing: `tf.cond` and `tf.while_loop` are functional operations already."""


def disable_control_flow_v2() -> None:
    """Changes nothing: what a program can see of `tf.cond` and `tf.while_loop` is the same either way."""


def control_flow_v2_enabled() -> bool:
    """True: `tf.cond` and `tf.while_loop` are functional operations."""
    return True


def load_op_library(library_filename: str) -> NoReturn:
    """Raises UnimplementedError: operations are Python classes here."""
    raise UnimplementedError(None, None, f"{library_filename}: a library of C++ operations cannot be loaded into Penstock. "
                             "An operation of your own is a Python class with a NumPy kernel: see `penstock.graph.opdef.op`.")


def load_library(library_location: str) -> NoReturn:
    """Raises UnimplementedError, as `load_op_library` does."""
    load_op_library(library_location)


load_file_system_library = load_op_library
