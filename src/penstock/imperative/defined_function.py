"""``Defun`` of ``tensorflow.python.framework.function``: a Python function with declared types, for use in graphs.

TensorFlow makes one node of a call; here a call builds the operations of the function in place, under the function's name. Values and gradients are
the same, and so are gradients of one's own (``python_grad_func``, ``grad_func``).
"""
from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

from penstock.custom_gradient import custom_gradient
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope


class Defun:
    """``@Defun(tf.float32, tf.float32)``: declares the types of a function's arguments; without types, those of a call count."""

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = [dtypes.as_dtype(dtype) for dtype in input_types]
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        return DefinedFunction(func, self._input_types, **self._options)


class DefinedFunction:
    """A function that ``Defun`` has declared."""

    def __init__(self, func: Callable[..., Any], input_types: list[dtypes.DType], func_name: str | None = None, grad_func: Any = None,
                 python_grad_func: Callable[..., Any] | None = None, out_names: Any = None, shape_func: Callable[..., Any] | None = None,
                 capture_by_value: bool = False, noinline: bool | None = None, **kwargs: Any) -> None:
        if kwargs:
            raise TypeError(f"Defun() got an unexpected keyword argument '{sorted(kwargs)[0]}'")
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("Gradient defined twice for function: grad_func and python_grad_func")
        if grad_func is not None and not isinstance(grad_func, DefinedFunction):
            raise TypeError("grad_func must be a function that Defun has declared")
        self._func, self._types = func, input_types
        self._grad_func: Any = grad_func
        self._python_grad_func, self._shape_func = python_grad_func, shape_func
        self.name = func_name or func.__name__
        functools.update_wrapper(self, func)

    @property
    def declared_input_types(self) -> list[dtypes.DType]:
        """The types of the arguments."""
        return list(self._types)

    def __call__(self, *args: Any, name: str | None = None) -> Any:
        if self._types and len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        with name_scope(name, self.name):
            tensors = [to_tensor(arg, dtype) for arg, dtype in itertools.zip_longest(args, self._types)]
            if self._grad_func is None and self._python_grad_func is None:
                return self._shaped(self._func(*tensors), tensors)
            return self._with_own_gradient(tensors)

    def _with_own_gradient(self, tensors: list[Any]) -> Any:
        @custom_gradient
        def call(*inputs: Any) -> Any:
            result = self._shaped(self._func(*inputs), inputs)
            outputs = list(result) if isinstance(result, (list, tuple)) else [result]

            def grad(*dys: Any) -> Any:
                if self._python_grad_func is not None:
                    return self._python_grad_func(_Call(list(inputs), outputs), *dys)
                return self._grad_func(*inputs, *dys)

            return result, grad

        return call(*tensors)

    def _shaped(self, result: Any, inputs: Any) -> Any:
        if self._shape_func is not None:
            outputs = list(result) if isinstance(result, (list, tuple)) else [result]
            for output, shape in zip(outputs, self._shape_func(_Call(list(inputs), outputs))):
                output.set_shape(shape)
        return result


class _Call:
    """What functions for gradients and shapes get in place of the node of a call."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.inputs, self.outputs = inputs, outputs
