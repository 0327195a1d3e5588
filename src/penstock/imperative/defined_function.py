"""``Defun`` of ``tensorflow.python.framework.function``: a Python function with declared types, for use in graphs.

TensorFlow makes one node of a call; here a call builds the operations of the function in place, in a scope of the call's name, and the results carry
the names that TensorFlow gives them. Values and gradients are the same, and so are gradients of one's own (``python_grad_func``, ``grad_func``).
``definition`` is the function as a FunctionDef; ``from_definition`` and ``from_library`` read functions back.
"""
from __future__ import annotations

import functools
import hashlib
import inspect
import itertools
import re
import weakref
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary

from penstock.custom_gradient import custom_gradient
from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph
from penstock.graph.function_def import inline, separate_function, to_function_def
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import unknown_shape
from penstock.ops.array.passing import identity_n
from penstock.ops.constant import identity


class Defun:
    """``@Defun(tf.float32, tf.float32)``: declares the types of a function's arguments; without types, those of a call count."""

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = tuple(dtypes.as_dtype(dtype) for dtype in input_types)
        self._options = kwargs

    def __call__(self, func: Callable[..., Any]) -> DefinedFunction:
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        parameters = list(inspect.signature(func).parameters.values())
        if any(each.default is not each.empty or each.kind in (each.VAR_KEYWORD, each.KEYWORD_ONLY) for each in parameters):
            raise ValueError("Functions with argument defaults or keyword arguments are not supported.")
        open_ended = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        count = len(parameters) - open_ended
        given = len(self._input_types)
        if given and (given < count or (given > count and not open_ended)):
            raise ValueError("The function has fewer or more arguments than the number of specified input types.")
        types = self._input_types if given or not parameters else None
        return DefinedFunction(func, types, **self._options)


class DefinedFunction:
    """A function that ``Defun`` has declared; ``input_types`` are None if each call brings its own."""

    def __init__(self, func: Callable[..., Any], input_types: tuple[dtypes.DType, ...] | None, func_name: str | None = None, grad_func: Any = None,
                 python_grad_func: Callable[..., Any] | None = None, out_names: Any = None, shape_func: Callable[..., Any] | None = None,
                 capture_by_value: bool = False, noinline: bool | None = None, compiled: bool | None = None,
                 separate_compiled_gradients: bool = False, **kwargs: Any) -> None:
        if kwargs:  # the two options before are for XLA: here every step is compiled
            raise TypeError(f"Defun() got an unexpected keyword argument '{sorted(kwargs)[0]}'")
        if grad_func is not None and python_grad_func is not None:
            raise ValueError("Gradient defined twice for function: grad_func and python_grad_func")
        if grad_func is not None and not isinstance(grad_func, DefinedFunction):
            raise TypeError("grad_func must be a function that Defun has declared")
        self._func, self._types = func, input_types
        self._func_name, self._out_names, self._noinline = func_name, out_names, noinline
        self._grad_func: Any = grad_func
        self._python_grad_func, self._shape_func, self._capture_by_value = python_grad_func, shape_func, capture_by_value
        self._instances: dict[tuple[dtypes.DType, ...], DefinedFunction] = {}
        self._definition: FunctionDef | None = None
        self._captured: list[Tensor] = []
        self._base = re.sub(r"\W+", "", getattr(func, "__name__", "function"))
        self._home: Any = lambda: None  # a weak reference to the graph of the first call
        functools.update_wrapper(self, func)

    # --- what it is --------------------------------------------------------------------------------------------------

    @property
    def declared_input_types(self) -> tuple[dtypes.DType, ...]:
        """The types of the arguments."""
        return self._types or ()

    @property
    def name(self) -> str:
        """The name that was given, or that of the Python function and a hash of what it computes."""
        if self._func_name is None and self._types is not None:
            self._func_name = self.definition.signature.name
        return self._func_name or self._base

    @property
    def definition(self) -> FunctionDef:
        """The function as a proto; what it captures are further arguments."""
        if self._definition is None:
            if self._types is None:
                raise ValueError(f"'{self._func.__name__}' has no input types: instantiate it with some first")
            self._definition = self._define()
        return self._definition

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors outside of the function that it uses; those that are taken by value are a part of it."""
        _ = self.definition
        return list(self._captured)

    @property
    def grad_func_name(self) -> str | None:
        """The name of the function that is its gradient, if there is one."""
        return None if self._grad_func is None else self._grad_func.name

    @property
    def python_grad_func(self) -> Callable[..., Any] | None:
        """The Python function that builds its gradient, if there is one."""
        return self._python_grad_func

    def instantiate(self, input_types: Any) -> DefinedFunction:
        """The function for arguments of these types."""
        types = tuple(dtypes.as_dtype(dtype) for dtype in input_types)
        if types not in self._instances:
            gradient = self._grad_func
            self._instances[types] = DefinedFunction(self._func, types, self._func_name, gradient, self._python_grad_func, self._out_names,
                                                     self._shape_func, self._capture_by_value, self._noinline)
        return self._instances[types]

    def _define(self) -> FunctionDef:
        graph = separate_function(self._func_name or self._base, self._home() or default_graph())
        with graph.as_default(), graph.control_dependencies(None):
            result = self._func(*[graph.add_input(dtype, unknown_shape(), f"x{index}") for index, dtype in enumerate(self._types or ())])
            graph.outputs = [graph.capture(to_tensor(each)) for each in self._outputs(result)]
        self._captured = [] if self._capture_by_value else list(graph.captures)
        return self._proto(graph)

    def _proto(self, graph: FuncGraph) -> FunctionDef:
        proto = to_function_def(graph)
        proto.signature.name = ""
        proto.signature.description = self._func.__doc__ or ""
        if self._noinline:
            proto.attr["_noinline"].b = True
        digest = hashlib.sha1(proto.SerializeToString(deterministic=True)).hexdigest()[:11]
        proto.signature.name = self._func_name or f"{self._base}_{digest}"
        return proto

    # --- calling it --------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **options: Any) -> Any:
        name = options.pop("name", None)
        if options:
            raise ValueError(f"Unknown keyword arguments: {', '.join(sorted(options))}")
        if self._types is not None and len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        if self._home() is None:
            self._home = weakref.ref(default_graph())
        with name_scope(name, self._func_name or self._base) as scope:
            tensors = [to_tensor(arg, dtype) for arg, dtype in itertools.zip_longest(args, self._types or ())]
            result = self._call(*tensors) if self._grad_func is None and self._python_grad_func is None else self._with_own_gradient(tensors)
            return self._named(result, scope)

    def _call(self, *inputs: Any) -> Any:
        result = self._func(*inputs)
        outputs = [to_tensor(each) for each in self._outputs(result)]
        if self._shape_func is not None:
            for output, shape in zip(outputs, self._shape_func(_Call(list(inputs), outputs))):
                output.set_shape(shape)
        return type(result)(outputs) if type(result) in (list, tuple) else outputs[0] if outputs else None

    def _outputs(self, result: Any) -> list[Any]:
        """What the function returned, as a list."""
        outputs = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if any(each is None for each in outputs):
            raise ValueError("Function can not return None.")
        if self._out_names and len(self._out_names) != len(outputs):
            raise InvalidArgumentError(None, None, "output names must be either empty or equal in size to outputs. output names size = "
                                       f"{len(self._out_names)} outputs size = {len(outputs)}")
        return outputs

    @staticmethod
    def _named(result: Any, scope: str) -> Any:
        """The results under the name of the call: its outputs."""
        if result is None:
            return None
        if isinstance(result, Tensor):
            return identity(result, name=scope)
        named = identity_n(list(result), name=scope)
        return named[0] if len(named) == 1 else named

    def _with_own_gradient(self, tensors: list[Any]) -> Any:
        @custom_gradient
        def call(*inputs: Any) -> Any:
            result = self._call(*inputs)
            outputs = list(result) if isinstance(result, (list, tuple)) else [result]

            def grad(*dys: Any) -> Any:
                if self._python_grad_func is not None:
                    return self._python_grad_func(_Call(list(inputs), outputs), *dys)
                return self._grad_func(*inputs, *dys)

            return result, grad

        return call(*tensors)


class _Call:
    """What functions for gradients and shapes get in place of the node of a call."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.inputs, self.outputs = inputs, outputs


# --- from protos -----------------------------------------------------------------------------------------------------

def from_definition(fdef: FunctionDef, grad_func: DefinedFunction | None = None) -> DefinedFunction:
    """The function that a FunctionDef defines."""
    def call(*inputs: Any) -> Any:
        outputs = inline(fdef, list(inputs), default_graph().get_name_scope() + "/")
        return outputs[0] if len(outputs) == 1 else outputs

    call.__name__, call.__doc__ = fdef.signature.name, fdef.signature.description
    function = DefinedFunction(call, tuple(dtypes.as_dtype(arg.type) for arg in fdef.signature.input_arg), fdef.signature.name, grad_func)
    function._definition = fdef
    return function


def from_library(lib: FunctionDefLibrary) -> list[DefinedFunction]:
    """The functions of a library, with their gradients."""
    protos = {proto.signature.name: proto for proto in lib.function}
    for name in (name for gradient in lib.gradient for name in (gradient.function_name, gradient.gradient_func)):
        if name not in protos:
            raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef")
    gradient_of = {gradient.function_name: gradient.gradient_func for gradient in lib.gradient}
    functions: dict[str, DefinedFunction] = {}

    def make(name: str, users: tuple[str, ...]) -> DefinedFunction:
        if name in users:
            raise ValueError("FunctionDefLibrary contains cyclic gradient functions!")
        if name not in functions:
            gradient = gradient_of.get(name)
            functions[name] = from_definition(protos[name], None if gradient is None else make(gradient, (*users, name)))
        return functions[name]

    return [make(name, ()) for name in protos]
