"""``tf.contrib.compiler``: asks for what Penstock does anyway. Every step is compiled as a whole, so these change names and variables only."""
from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph import nest
from penstock.graph.node import Operation
from penstock.rnn.wrappers import CellWrapper
from penstock.variables.scope import get_variable_scope


def compile(computation: Callable[..., Any], inputs: Any = None) -> Any:
    """``tf.contrib.compiler.xla.compile``: what ``computation(*inputs)`` gives; operations among its results run before any tensor is given.

    Tensors come as a list, also a single one; nests as they are; None and operations alone as one operation.
    """
    if inputs is not None and not isinstance(inputs, Sequence):
        raise TypeError("inputs must be a list")
    flat = [tf.convert_to_tensor(value) for value in nest.flatten(inputs or [])]
    with tf.name_scope("cluster"):
        flat = [tf.identity(value, name=f"input_{index}") for index, value in enumerate(flat)]
        with tf.variable_scope(get_variable_scope(), use_resource=True, auxiliary_name_scope=False):
            outputs = computation(*nest.pack_sequence_as(inputs or [], flat))
    if isinstance(outputs, dict) or (isinstance(outputs, Sequence) and any(isinstance(each, (Sequence, dict)) for each in outputs)):
        if any(isinstance(each, Operation) for each in nest.flatten(outputs)):
            raise ValueError("xla.compile does not support Operation as return value in non-flat output structure. You can set returned Operations "
                             "as control dependencies of returned Tensors so Operations are triggered when Tensors are evaluated.")
        return nest.pack_sequence_as(outputs, _results(nest.flatten(outputs), []))
    values = [] if outputs is None else [*outputs] if isinstance(outputs, Sequence) else [outputs]
    operations = [each for each in values if isinstance(each, Operation)]
    if operations and values[-len(operations):] != operations:
        raise ValueError("XLA computation function must return zero or more Tensor values followed by zero or more Operations.")
    tensors = values[:len(values) - len(operations)]
    return _results(tensors, operations) if tensors else tf.group(*operations, name="output_0")


def _results(values: list[Any], operations: list[Operation]) -> list[tf.Tensor]:
    try:
        tensors = [tf.convert_to_tensor(value) for value in values]
    except Exception as error:
        raise ValueError("XLA computation function return values must all either be Operations or convertible to Tensors. "
                         f'Got error: "{error}"') from error
    with tf.control_dependencies(operations):
        return [tf.identity(tensor, name=f"output_{index}") for index, tensor in enumerate(tensors)]


def estimator_model_fn(target_model_fn: Callable[..., Any] | None = None) -> Any:
    """``tf.contrib.compiler.xla.estimator_model_fn``: a decorator, or a model function that is decorated. Its variables are resources."""
    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def model_fn(*args: Any, **kwargs: Any) -> Any:
            with tf.variable_scope(get_variable_scope(), use_resource=True, auxiliary_name_scope=False):
                return function(*args, **kwargs)
        return model_fn
    return decorated if target_model_fn is None else decorated(target_model_fn)


@contextlib.contextmanager
def experimental_jit_scope(compile_ops: Any = True, separate_compiled_gradients: bool = False) -> Iterator[None]:
    """``tf.contrib.compiler.jit.experimental_jit_scope``: operations made in here are compiled, as all others are."""
    yield


class CompiledWrapper(CellWrapper):
    """``tf.contrib.rnn.CompiledWrapper``: the cell, whose step is compiled, as all are."""

    def __init__(self, cell: Any, compile_stateful: bool = False) -> None:
        super().__init__(cell)

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        return step(inputs, state)
