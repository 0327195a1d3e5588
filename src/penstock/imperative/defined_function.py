"""``Defun`` of ``tensorflow.python.framework.function``: a Python function with declared types, for use in graphs.

The function is traced once per graph, becomes known to the graph by its name, and a call is one node of that type, as in TensorFlow: GraphDefs have
the function in their library, and its gradient is a ``SymbolicGradient``, unless it has one of its own (``python_grad_func``, ``grad_func``).
``definition`` is the function as a FunctionDef; ``from_definition`` and ``from_library`` read functions back. In imperative style, where there are no
nodes, a call runs the Python function.
"""
from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.function_pb2 import FunctionDef, FunctionDefLibrary
from tensorboard.compat.proto.graph_pb2 import GraphDef

from penstock.custom_gradient import custom_gradient
from penstock.errors import InvalidArgumentError
from penstock.graph import dtypes
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph, FunctionSignature, is_effect, outermost
from penstock.graph.function_calls import add_function, call_node
from penstock.graph.function_def import FunctionLibrary, MissingFunction, inline, named_function, to_function_def
from penstock.graph.graph import Graph, default_graph
from penstock.graph.graph_to_function import ArgumentNames
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import unknown_shape


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


class DefinedGraph(FuncGraph):
    """The graph of a function that ``Defun`` has declared. What it uses from outside becomes further arguments or, ``by_value``, a part of it."""

    by_value = False

    def can_capture(self, graph: Graph) -> bool:
        """By value, tensors of any graph."""
        return self.by_value or super().can_capture(graph)

    def capture(self, tensor: Tensor) -> Tensor:
        """The tensor of this graph that stands for ``tensor``."""
        if not self.by_value or tensor.op.graph is self:
            return super().capture(tensor)
        if tensor not in self._copies:
            inputs = tuple(self.capture(each) for each in tensor.op._inputs)
            made = tensor.op.definition.add_node(self, self.unique_name(tensor.op.name), inputs, tensor.op.attrs)
            self._copies.update(zip(tensor.op.outputs, made.outputs))
        return self._copies[tensor]

    @functools.cached_property
    def _copies(self) -> dict[Tensor, Tensor]:
        return {}

    def _control_op(self, item: Any) -> Operation:
        op = super()._control_op(item)
        if op.graph is not self:  # a call has no such edge
            raise ValueError(f"{op!r} is not an element of this graph.")
        return op


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
        self._last: FuncGraph | None = None  # the graph of the last trace
        self._definition: FunctionDef | None = None
        self._devices = default_graph()._state.devices[-1:]  # around the definition: those around a call are the call's
        self._base = re.sub(r"\W+", "", getattr(func, "__name__", "function"))
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
            self._definition = to_function_def(self._trace())
        return self._definition

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors outside of the function that it uses; those that are taken by value are a part of it."""
        return list((self._last or self._trace()).captures)

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
        types = tuple(dtypes.as_dtype(dtype).base_dtype for dtype in input_types)
        if self._types is not None:
            return self
        if types not in self._instances:
            name = self._func_name and "_".join([self._func_name, *(dtype.name for dtype in types)])
            self._instances[types] = DefinedFunction(self._func, types, name, self._grad_func, self._python_grad_func, self._out_names,
                                                     self._shape_func, self._capture_by_value, self._noinline)
        return self._instances[types]

    # --- its graph ---------------------------------------------------------------------------------------------------

    def _trace(self) -> FuncGraph:
        """The function in the current graph; it is traced where it was not before."""
        graph, last = outermost(default_graph()), self._last
        if last is not None and outermost(last) is graph:
            return last
        known = None if self._definition is None else graph._functions.get(self._definition.signature.name)
        if known is None or to_function_def(known) != self._definition:
            known = self._new_trace()
        self._last = known
        return known

    def _new_trace(self) -> FuncGraph:
        graph = named_function(self._func_name or self._base, default_graph(), DefinedGraph)
        assert isinstance(graph, DefinedGraph)
        graph.by_value = self._capture_by_value
        graph._state.devices = list(self._devices)
        with graph.as_default(), graph.control_dependencies(None):
            result = self._func(*[graph.add_input(dtype, unknown_shape(), name) for dtype, name in zip(self._types or (), self._argument_names())])
            graph.outputs = [graph.capture(to_tensor(each)) for each in self._outputs(result)]
        graph.effects = [op for op in graph._ops if is_effect(op)]
        names = ArgumentNames()
        arguments = [names.new(tensor.op.name.removeprefix(graph.scope + "/")) for tensor in graph.inputs]
        results = list(self._out_names) if self._out_names else list(map(ArgumentNames().new, _last_parts(graph.outputs)))
        graph.signature = FunctionSignature(arguments, _distinct(results), self._func.__doc__ or "", bool(self._noinline),
                                            python_gradient=self._python_grad_func)
        graph.name = self._func_name or self._hashed_name(graph)
        return graph

    def _argument_names(self) -> list[str]:
        parameters = inspect.signature(self._func).parameters.values()
        names = [each.name for each in parameters if each.kind is not each.VAR_POSITIONAL]
        return names + [f"arg{index}" for index in range(len(names), len(self._types or ()))]

    def _hashed_name(self, graph: FuncGraph) -> str:
        """A name by what the function computes, the same in every process."""
        graph.name = ""
        proto = to_function_def(graph)
        gradient = self._grad_func.name if self._grad_func is not None else ""
        return f"{self._base}_{hashlib.sha1(proto.SerializeToString(deterministic=True) + gradient.encode()).hexdigest()[:11]}"

    def function_graph(self) -> FuncGraph:
        """The function, known to the current graph; another one of the same name that does the same counts as this one."""
        function = self._trace()
        same = default_graph()._functions.get(function.name)
        if same is not None and same is not function and to_function_def(same) == to_function_def(function):
            return same
        add_function(default_graph(), function)
        if self._grad_func is not None and function.signature is not None:
            types = [tensor.dtype.base_dtype for tensor in (*function.inputs, *function.outputs)]
            function.signature.gradient = self._grad_func.instantiate(types).function_graph()
        return function

    # --- calling it --------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **options: Any) -> Any:
        name = options.pop("name", None)
        if options:
            raise ValueError(f"Unknown keyword arguments: {', '.join(sorted(options))}")
        if self._types is None:
            tensors = [to_tensor(arg) for arg in args]
            return self.instantiate([tensor.dtype for tensor in tensors])(*tensors, name=name)
        if len(args) != len(self._types):
            raise ValueError(f"Expected number of arguments: {len(self._types)}, received: {len(args)}")
        if default_graph().imperative:
            return self._at_once([to_tensor(arg, dtype) for arg, dtype in zip(args, self._types)])
        function = self.function_graph()
        inputs = [to_tensor(arg, dtype) for arg, dtype in zip(args, self._types)]
        node = call_node(function, [*inputs, *self._trace().captures], name or self._func_name or self._base)
        if self._shape_func is not None:
            for output, shape in zip(node.outputs, self._shape_func(node)):
                output.set_shape(shape)
        return node if not node.outputs else node.outputs[0] if len(node.outputs) == 1 else list(node.outputs)

    def _outputs(self, result: Any) -> list[Any]:
        """What the function returned, as a list."""
        outputs = [] if result is None else list(result) if isinstance(result, (list, tuple)) else [result]
        if any(each is None for each in outputs):
            raise ValueError("Function can not return None.")
        if self._out_names and len(self._out_names) != len(outputs):
            raise InvalidArgumentError(None, None, "output names must be either empty or equal in size to outputs. output names size = "
                                       f"{len(self._out_names)} outputs size = {len(outputs)}")
        return outputs

    def _at_once(self, tensors: list[Any]) -> Any:
        """The call in imperative style."""
        if self._grad_func is None and self._python_grad_func is None:
            return self._func(*tensors)

        @custom_gradient
        def call(*inputs: Any) -> Any:
            result = self._func(*inputs)
            outputs = list(result) if isinstance(result, (list, tuple)) else [result]

            def grad(*dys: Any) -> Any:
                if self._python_grad_func is not None:
                    return self._python_grad_func(_Call(list(inputs), outputs), *dys)
                return self._grad_func(*inputs, *dys)

            return result, grad

        return call(*tensors)


def _last_parts(tensors: list[Tensor]) -> list[str]:
    return [tensor.op.name.rpartition("/")[2] for tensor in tensors]


def _distinct(names: list[str]) -> list[str]:
    taken = ArgumentNames()
    return names if len(set(names)) == len(names) else [taken.new(name) for name in names]


def _current() -> FuncGraph | None:
    graph = default_graph()
    return graph if isinstance(graph, DefinedGraph) else None


def get_extra_inputs() -> list[Tensor]:
    """The tensors outside of the function that is being defined that it has used so far."""
    graph = _current()
    return [] if graph is None else list(graph.captures)


def get_extra_args() -> list[Tensor]:
    """The arguments that stand for these in the function."""
    graph = _current()
    return [] if graph is None else list(graph.captures.values())


def get_extra_vars() -> list[Any]:
    """The variables among them."""
    graph: Graph = default_graph()
    variables = [*graph.get_collection(GraphKeys.GLOBAL_VARIABLES), *graph.get_collection(GraphKeys.LOCAL_VARIABLES)]
    captured = {op for tensor in get_extra_inputs() for op in (tensor.op, *(source.op for source in tensor.op.inputs))}  # or what reads it
    return [variable for variable in variables if variable.op in captured]


class _Call:
    """What a gradient function gets in place of the node of a call, in imperative style."""

    def __init__(self, inputs: list[Any], outputs: list[Any]) -> None:
        self.inputs, self.outputs = inputs, outputs


# --- from protos -----------------------------------------------------------------------------------------------------

class ReadFunction(DefinedFunction):
    """A function that a FunctionDef defines; functions that it calls are in ``library``."""

    def __init__(self, fdef: FunctionDef, grad_func: DefinedFunction | None, library: FunctionDefLibrary) -> None:
        def call(*inputs: Any) -> Any:  # in imperative style
            outputs = inline(fdef, list(inputs), default_graph().get_name_scope() + "/")
            return outputs[0] if len(outputs) == 1 else outputs

        call.__name__, call.__doc__ = fdef.signature.name, fdef.signature.description
        super().__init__(call, tuple(dtypes.as_dtype(arg.type) for arg in fdef.signature.input_arg), fdef.signature.name, grad_func)
        self._definition, self._library = fdef, library

    def _new_trace(self) -> FuncGraph:
        function = FunctionLibrary(GraphDef(library=self._library), default_graph()).get(self.definition.signature.name)
        if isinstance(function, MissingFunction):
            raise ValueError(f"the function {function!r} cannot be used: {function.reason}")
        function.name = self.definition.signature.name
        return function


def from_definition(fdef: FunctionDef, grad_func: DefinedFunction | None = None) -> DefinedFunction:
    """The function that a FunctionDef defines."""
    return ReadFunction(fdef, grad_func, FunctionDefLibrary(function=[fdef]))


def from_library(lib: FunctionDefLibrary) -> list[DefinedFunction]:
    """The functions of a library, with their gradients."""
    protos = {proto.signature.name: proto for proto in lib.function}
    for name in (name for gradient in lib.gradient for name in (gradient.function_name, gradient.gradient_func)):
        if name not in protos:
            raise ValueError(f"FunctionDefLibrary missing '{name}' FunctionDef")
    gradient_of = {gradient.function_name: gradient.gradient_func for gradient in lib.gradient}
    functions: dict[str, DefinedFunction] = {}
    without_gradients = FunctionDefLibrary(function=lib.function)

    def make(name: str, users: tuple[str, ...]) -> DefinedFunction:
        if name in users:
            raise ValueError("FunctionDefLibrary contains cyclic gradient functions!")
        if name not in functions:
            gradient = gradient_of.get(name)
            functions[name] = ReadFunction(protos[name], None if gradient is None else make(gradient, (*users, name)), without_gradients)
        return functions[name]

    return [make(name, ()) for name in protos]
