"""The switches of the 1.x line between its own behaviour and that of TensorFlow 2, and the loaders of C++ libraries.

Control flow works as in TensorFlow 2 already.
"""
from __future__ import annotations

from typing import NoReturn

from penstock.errors import UnimplementedError
from penstock.graph import version2
from penstock.graph.shape import give_integers
from penstock.imperative.context import disable_eager_execution, enable_eager_execution
from penstock.variables.equality import compare_elements
from penstock.variables.scope import disable_resource_variables, enable_resource_variables


def enable_v2_behavior() -> None:
    """Imperative style, resource variables, integers in shapes, ``==`` by elements: what TensorFlow 2 does by default. To be called at the start."""
    version2.set_enabled(True)
    enable_eager_execution()
    enable_resource_variables()
    enable_v2_tensorshape()
    enable_tensor_equality()


def disable_v2_behavior() -> None:
    """Back to TensorFlow 1's, for what is made from now on."""
    version2.set_enabled(False)
    disable_eager_execution()
    disable_resource_variables()
    disable_v2_tensorshape()
    disable_tensor_equality()


def enable_v2_tensorshape() -> None:
    """From now on the elements of a TensorShape are integers and None."""
    give_integers(True)


def disable_v2_tensorshape() -> None:
    """From now on the elements of a TensorShape are Dimensions."""
    give_integers(False)


def enable_tensor_equality() -> None:
    """From now on ``==`` and ``!=`` compare the elements of tensors and variables, in imperative style and in its functions."""
    compare_elements(True)


def disable_tensor_equality() -> None:
    """From now on ``==`` tells whether two tensors, or variables, are one object."""
    compare_elements(False)


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
