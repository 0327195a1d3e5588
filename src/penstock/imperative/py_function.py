"""``tf.py_function``: a Python function of values, as an operation. It has a gradient, by a tape around the function."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.custom_gradient import custom_gradient
from penstock.errors import OpError
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.imperative.context import ensure_eager_graph
from penstock.imperative.tape import GradientTape
from penstock.ops.array.fill import zeros_like
from penstock.ops.flow.py_func import class_and_message, py_func


def py_function(func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None = None) -> Any:
    """Calls ``func`` with tensors that have values, when it runs; ``Tout`` is the type of its result, or a list of types ([] for none).

    The gradient calls the function again: a function with effects has them again then.
    """
    several = isinstance(Tout, (list, tuple))
    types = [dtypes.as_dtype(item) for item in (Tout if several else [Tout])]
    if default_graph().imperative:
        try:
            results = _call_eagerly(func, [to_tensor(item) for item in inp], types)
        except OpError:
            raise
        except Exception as error:
            kind, message = class_and_message(error)
            raise kind(None, None, message) from error
        return results if several else results[0] if results else None
    tensors = [to_tensor(item) for item in inp]
    if not types or not any(dtype.is_floating for dtype in types):
        return py_func(_on_arrays(func, types), tensors, list(types) if several else types[0], name=name)
    outputs = _differentiable(func, tensors, types, name)
    return list(outputs) if several else outputs[0]


def _differentiable(func: Callable[..., Any], tensors: list[Tensor], types: list[dtypes.DType], name: str | None) -> Sequence[Tensor]:
    @custom_gradient
    def call(*inputs: Tensor) -> Any:
        outputs = py_func(_on_arrays(func, types), list(inputs), list(types), name=name)

        def grad(*dys: Tensor) -> list[Tensor]:
            floats = [tensor for tensor in inputs if tensor.dtype.is_floating]
            grads = py_func(_gradient_on_arrays(func, types, len(inputs)), [*inputs, *dys], [tensor.dtype.base_dtype for tensor in floats])
            for tensor, grad in zip(floats, grads):
                grad.set_shape(tensor.shape)
            rest = list(grads)
            return [rest.pop(0) if tensor.dtype.is_floating else zeros_like(tensor) for tensor in inputs]

        return tuple(outputs), grad

    result: Sequence[Tensor] = call(*tensors)
    return result


def _call_eagerly(func: Callable[..., Any], tensors: Sequence[Tensor], types: Sequence[dtypes.DType]) -> list[Tensor]:
    result = func(*tensors)
    if not types:
        return []
    items = list(result) if isinstance(result, (list, tuple)) and len(types) != 1 else [result[0] if isinstance(result, (list, tuple)) else result]
    return [to_tensor(item, dtype) for item, dtype in zip(items, types)]


def _on_arrays(func: Callable[..., Any], types: Sequence[dtypes.DType]) -> Callable[..., Any]:
    """``func`` as a function of arrays, which runs it in imperative style."""
    def run(*arrays: Any) -> Any:
        with ensure_eager_graph().as_default():
            results = [item.numpy() for item in _call_eagerly(func, [to_tensor(array) for array in arrays], types)]  # type: ignore[attr-defined]
        return results[0] if len(types) == 1 else results

    return run


def _gradient_on_arrays(func: Callable[..., Any], types: Sequence[dtypes.DType], inputs: int) -> Callable[..., Any]:
    """The gradients of the inputs that are floats, as a function of inputs and the gradients of outputs."""
    def run(*arrays: Any) -> Any:
        with ensure_eager_graph().as_default():
            tensors = [to_tensor(array) for array in arrays[:inputs]]
            sources = [tensor for tensor in tensors if tensor.dtype.is_floating]
            with GradientTape() as tape:
                tape.watch(sources)
                results = _call_eagerly(func, tensors, types)
            dys = [to_tensor(array, result.dtype) for array, result in zip(arrays[inputs:], results)]
            grads = tape.gradient(results, sources, dys)
            return [np.asarray(zeros_like(source) if grad is None else to_tensor(grad)) for source, grad in zip(sources, grads)]

    return run
