"""``tf.function`` and ``defun``: a Python function that is traced once per signature, and from then on called without Python.

A call of a traced function records the operations of its graph, as if the Python function had been called: tapes see them, they join the segment
under way, and effects keep their order. A function with loops or branches is one operation: see ``whole_calls.py``. Inside of another function, or of
a graph, the operations are added to that.
"""
from __future__ import annotations

import functools
import inspect
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.autograph.conversion import converted_form
from penstock.autograph.features import ConversionOptions
from penstock.graph import dtypes, nest
from penstock.graph.conversion_status import building
from penstock.graph.convert import to_tensor
from penstock.graph.effects import after_effects, wait_for_effects
from penstock.graph.function import FuncGraph, outermost
from penstock.graph.function_copy import add_copy
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opnames import VALID_OP_NAME
from penstock.graph.shape import as_shape
from penstock.graph.tensor_spec import TensorSpec
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.operation import EagerOperation
from penstock.imperative.recorded_blocks import as_block, call_block
from penstock.imperative.tensor import EagerTensor
from penstock.imperative.whole_calls import View, call_whole
from penstock.ops.flow.control_flow import leaf_of, parts_of
from penstock.program.ir import functions_of
from penstock.variables.creators import variable_creator_scope

_numbers = itertools.count()
_VALUES = (int, float, bool, complex, str, bytes, type(None))
_LEAVES = {EagerTensor, *_VALUES}  # arguments that have no structure


class Function:
    """A Python function that is traced: what ``tf.function`` and ``tf.contrib.eager.defun`` return."""

    def __init__(self, python_function: Callable[..., Any], input_signature: Any = None, autograph: bool = True, features: Any = None,
                 makes_variables_once: bool = False) -> None:
        self._function, self._autograph, self._features, self._makes_variables_once = python_function, autograph, features, makes_variables_once
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._traces: dict[Any, TracedFunction] = {}
        self._was_traced = False
        self._methods: weakref.WeakKeyDictionary[Any, Function] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The function itself."""
        return self._function

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """A method: traced per object."""
        if instance is None:
            return self
        bound = self._methods.get(instance)
        if bound is None:
            bound = self._methods[instance] = Function(_bind(self._python_function, weakref.ref(instance)), self._input_signature, False,
                                                             makes_variables_once=self._makes_variables_once)
        return bound

    @functools.cached_property
    def _python_function(self) -> Callable[..., Any]:
        """The function that is traced: with ``autograph``, one whose control flow follows tensors."""
        options = ConversionOptions(True, True, optional_features=self._features)
        return building(converted_form(self._function, options) if self._autograph else self._function, converting=self._autograph)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace, tensors = self._trace(args, kwargs)
        return trace.call(default_graph(), tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> TracedFunction:
        """The trace for arguments like these; a TensorSpec stands for any tensor of its kind. With a signature, no arguments are needed."""
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._trace(args, kwargs)[0]

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[TracedFunction, list[Tensor]]:
        if kwargs or len(args) < self._default_count:
            args = self._with_defaults(args, kwargs)
        is_flat = not kwargs and all(type(arg) in _LEAVES for arg in args)
        leaves = list(args) if is_flat else nest.flatten((args, kwargs))
        if self._input_signature is not None:
            leaves = self._fit_signature(args, kwargs)
        leaves = [to_tensor(leaf) if isinstance(leaf, np.ndarray) else leaf for leaf in leaves]
        key: Any = None  # a signature has one trace
        if self._input_signature is None:
            key = (len(args) if is_flat else _structure_of((args, kwargs)), tuple([_key_of(leaf) for leaf in leaves]))
        trace = self._traces.get(key) if default_graph().imperative else self._trace_in_graph(default_graph(), key)
        if trace is None:
            trace = self._new_trace((args, kwargs), leaves)
            self._keep(trace, key)
        return trace, [part for leaf in leaves if _is_tensor(leaf) for part in parts_of(leaf)]

    def _trace_in_graph(self, graph: Graph, key: Any) -> TracedFunction | None:
        """What was traced for a call in another function or in a graph. TensorFlow, too, traces anew for those."""
        known: TracedFunction | None = graph.traces.get(self, {}).get(key)
        while known is None and isinstance(graph, FuncGraph):
            graph = graph.outer
            known = graph.traces.get(self, {}).get(key)
        return known

    def _keep(self, trace: TracedFunction, key: Any) -> None:
        graph = default_graph()
        if graph.imperative:
            self._traces[key] = trace
        else:  # what uses values of a function around it belongs to that
            place = next((tensor.op.graph for tensor in trace.captured_inputs if isinstance(tensor.op.graph, FuncGraph)), outermost(graph))
            place.traces.setdefault(self, {})[key] = trace

    def _new_trace(self, arguments: Any, leaves: list[Any]) -> TracedFunction:
        """Traces the function. Where it has made variables it is traced once more, and must not make them again: so they are made once."""
        if not self._makes_variables_once:
            return self._traced(arguments, leaves)
        is_first, made = not self._was_traced, False
        self._was_traced = True

        def note(next_creator: Any, **options: Any) -> Any:
            nonlocal made
            if not is_first:
                raise ValueError("tf.function-decorated function tried to create variables on non-first call.")
            made = True
            return next_creator(**options)

        with variable_creator_scope(note):
            trace = self._traced(arguments, leaves)
            if made:
                is_first = False
                trace = self._traced(arguments, leaves)
        return trace

    def _traced(self, arguments: Any, leaves: list[Any]) -> TracedFunction:
        return TracedFunction(self._python_function, arguments, leaves, self._input_signature, self._names_of(arguments))

    def _names_of(self, arguments: Any) -> list[str]:
        """The name of the parameter that each leaf of the arguments belongs to."""
        args, kwargs = arguments
        names = []
        for index, value in enumerate(args):
            parameter = self._parameters[min(index, len(self._parameters) - 1)] if self._parameters else None
            names += [parameter.name if parameter is not None else "args"] * len(nest.flatten(value))
        for name in sorted(kwargs):
            names += [name] * len(nest.flatten(kwargs[name]))
        return names

    @functools.cached_property
    def _parameters(self) -> list[inspect.Parameter]:
        """Those of the function; none if it does not tell."""
        try:
            return list(inspect.signature(self._function).parameters.values())
        except (TypeError, ValueError):
            return []

    @functools.cached_property
    def _default_count(self) -> int:
        """How many arguments there are at least, with defaults: a call with less of them is one that leaves some to their defaults."""
        if self._input_signature is not None:
            return 0
        named = list(itertools.takewhile(lambda parameter: parameter.kind is parameter.POSITIONAL_OR_KEYWORD, self._parameters))
        return len(named) if any(parameter.default is not parameter.empty for parameter in named) else 0

    def _with_defaults(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Positional arguments, with what was given by keyword, and defaults, in their places; the rest stays in ``kwargs``."""
        complete = list(args)
        for parameter in self._parameters[len(args):]:
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD:
                break
            if parameter.name in kwargs:
                complete.append(kwargs.pop(parameter.name))
            elif parameter.default is not parameter.empty and self._input_signature is None:
                complete.append(parameter.default)
            else:
                break
        return tuple(complete)

    def _fit_signature(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments as tensors that the signature allows; ValueError for others."""
        assert self._input_signature is not None
        specs = nest.flatten(self._input_signature)
        leaves = nest.flatten(args)
        if kwargs:
            raise ValueError("Cannot define a TensorFlow function from a Python function with keyword arguments when input_signature is provided.")
        if len(args) > len(self._input_signature):
            raise TypeError(f"When input_signature is provided, only pass arguments covered by it. Received {len(args)} argument(s).")
        if len(leaves) != len(specs):
            raise ValueError(f"Structure of Python function inputs does not match input_signature:\n{_beside(args, self._input_signature)}")
        fitting = [leaf if isinstance(leaf, (TensorSpec, Tensor)) else to_tensor(leaf, spec.dtype) for leaf, spec in zip(leaves, specs)]
        for leaf, spec in zip(fitting, specs):
            if not as_shape(spec.shape).is_compatible_with(leaf.shape) or leaf.dtype.base_dtype is not spec.dtype:
                raise ValueError(f"Python inputs incompatible with input_signature:\n{_beside(fitting, self._input_signature)}")
        return fitting


class TracedFunction:
    """The graph of a function for one signature."""

    def __init__(self, function: Callable[..., Any], arguments: Any, leaves: list[Any], signature: Any, names: list[str]) -> None:
        self._names = [name for name, leaf in zip(names, leaves) if _is_tensor(leaf)]
        self._signature = arguments if signature is None else (signature, {})
        self.graph = FuncGraph(f"{getattr(function, '__name__', 'function')}_{next(_numbers)}", default_graph())
        self.graph._name_stack = ""  # of the scopes around the call nothing is seen inside, as in TensorFlow: nor in names of variables
        specs = nest.flatten(signature) if signature is not None else [None] * len(leaves)
        with self.graph.as_default():
            inner = [self._input(leaf, spec, name) for leaf, spec, name in zip(leaves, specs, names)]
            self._inner = list(inner)
            structure = (signature, {}) if signature is not None else arguments
            args, kwargs = nest.pack_sequence_as(structure, inner)
            self._result = function(*args, **kwargs)
            self._leaves = [self._output(leaf) for leaf in nest.flatten(self._result)]
            self.graph.outputs = [self.graph.capture(part) for leaf in self._leaves if _is_tensor(leaf) for part in parts_of(leaf)]
        self._captured = [_outside(tensor) for tensor in self.graph.captures]
        self._edges = [tensor._edge for tensor in self._captured if isinstance(tensor, EagerTensor)]
        self._replay = _Replay(self.graph)
        self._is_block = not self._replay.has_functions and as_block(self.graph)
        if self._replay.has_functions:
            wait_for_effects(self.graph)
        self._replay = _Replay(self.graph)
        self._block = View(self.graph)

    def _input(self, leaf: Any, spec: Any, name: str) -> Any:
        """The input for an argument: it has the name of its TensorSpec, or of the parameter."""
        if not _is_tensor(leaf):
            return leaf
        told = spec if spec is not None else leaf if isinstance(leaf, TensorSpec) else None
        name = getattr(told, "name", None) or name
        if isinstance(leaf, TensorSpec):
            return self.graph.add_input(leaf.dtype, as_shape(leaf.shape), self._input_name(name))
        return leaf_of(leaf, [self.graph.add_input(part.dtype, part.shape if spec is None else spec.shape, self._input_name(name))
                              for part in parts_of(leaf)])

    def _input_name(self, name: str) -> str:
        """The full name of an input. Inputs of each function begin with names of their own; operations have names that are distinct everywhere, as
        generators of random numbers are known by them."""
        name = name if VALID_OP_NAME.match(name) else "placeholder"
        self.graph.unique_name(name)  # so that no operation gets it
        taken = {tensor.op.name for tensor in self.graph.inputs}
        return next(f"{each}/" for each in itertools.chain([name], (f"{name}_{count}" for count in itertools.count(1))) if each not in taken)

    def _output(self, leaf: Any) -> Any:
        if leaf is None or isinstance(leaf, Operation):
            return None
        return leaf if _is_tensor(leaf) else to_tensor(leaf)

    @property
    def inputs(self) -> list[Tensor]:
        """The inputs of the graph: arguments, then what it captures."""
        return self.graph.inputs

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs of the graph."""
        return self.graph.outputs

    @property
    def structured_outputs(self) -> Any:
        """What the function returned when it was traced: tensors of the graph."""
        return nest.pack_sequence_as(self._result, self._leaves)

    @property
    def structured_input_signature(self) -> Any:
        """(positional arguments, keyword arguments), with a TensorSpec for each tensor."""
        specs = [TensorSpec(leaf.shape, leaf.dtype, leaf.op.name) if isinstance(leaf, Tensor) else leaf for leaf in self._inner]
        return nest.pack_sequence_as(self._signature, specs)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the outputs, in the structure of what the function returns."""
        return nest.map_structure(lambda leaf: leaf.shape if _is_tensor(leaf) else leaf, self.structured_outputs)

    @property
    def output_dtypes(self) -> Any:
        """The types of the outputs, in the structure of what the function returns."""
        return nest.map_structure(lambda leaf: leaf.dtype if _is_tensor(leaf) else leaf, self.structured_outputs)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The values and variables outside of the function that it uses."""
        return list(self._captured)

    @property
    def name(self) -> str:
        """The name of the graph."""
        return self.graph.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph = default_graph()
        leaves = nest.flatten(args)
        if len(leaves) > len(self._names):  # what is not a tensor is a part of the trace
            leaves = [leaf for leaf in leaves if _is_tensor(leaf)]
        for name in dict.fromkeys(self._names[len(leaves):]) if kwargs else ():
            if name not in kwargs:
                raise TypeError(f"{self.graph.name}() has no value for its argument {name!r}; it has {', '.join(map(repr, kwargs))}.")
            leaves += nest.flatten(kwargs[name])
        tensors = [part for leaf in leaves for part in parts_of(leaf if _is_tensor(leaf) else to_tensor(leaf))]
        return self.call(graph, tensors)

    def call(self, graph: Graph, tensors: list[Tensor]) -> Any:
        """What the function returns for these tensors."""
        if not isinstance(graph, EagerGraph):
            return self._structured(self._copy_into(graph, tensors))
        recording = graph.thread.recording
        if self._replay.has_functions:
            outputs = call_whole(graph, self.graph, [*tensors, *self._captured])
        elif self._is_block and not recording.open_tapes and not recording.watchers:
            outputs = call_block(graph, self._block, [tensor._edge for tensor in tensors], self._edges).outputs  # type: ignore[attr-defined]
        else:
            outputs = self._replay.run(graph, [*tensors, *self._captured])
        return self._structured(outputs)

    def _copy_into(self, graph: Graph, tensors: list[Tensor]) -> list[Tensor]:
        """The outputs of a call in another function, or in a graph: the operations stand there in place. They count as one, the call that
        TensorFlow has there."""
        inputs = [graph.capture(tensor) for tensor in (*tensors, *self._captured)]
        first = len(graph._ops)
        with graph.counting_as(1):
            copied = add_copy(self.graph, graph, inputs)
            outputs: list[Tensor] = after_effects(graph, first, [copied[tensor] for tensor in self.graph.outputs])
        return outputs

    def _structured(self, outputs: list[Tensor]) -> Any:
        """Outputs in the structure of what the function returned when it was traced."""
        if isinstance(self._result, Tensor):
            return outputs[0]
        rest = list(outputs)
        built = []
        for leaf in self._leaves:
            count = len(parts_of(leaf)) if _is_tensor(leaf) else 0
            built.append(leaf_of(leaf, rest[:count]) if count else None)
            del rest[:count]
        return nest.pack_sequence_as(self._result, built)


class _Replay:
    """Records the operations of a graph once more, with other inputs.

    As in TensorFlow, each random operation of a trace has a generator of its own, and another one for calls that a tape records.
    """

    def __init__(self, graph: FuncGraph) -> None:
        self._inputs, self._outputs = list(graph.inputs), list(graph.outputs)
        inputs = {tensor.op for tensor in graph.inputs}
        needed = {tensor.op for tensor in graph.outputs}
        for each in reversed(graph._ops):
            if each in needed or each.definition.stateful:
                needed.add(each)
                needed.update(tensor.op for tensor in each._inputs)
                needed.update(each._control_inputs)
        self._operations = [each for each in graph._ops if each in needed and each not in inputs]
        self._drawing = {each: {is_taped: {**each.attrs, "_generator": f"{graph.name}/{each.name}/{is_taped}"} for is_taped in (False, True)}
                         for each in self._operations if "seed2" in each.attrs}
        self._constants: dict[Operation, EagerOperation] = {}
        self.has_functions = any(functions_of(each) for each in self._operations)

    def run(self, graph: EagerGraph, inputs: Sequence[Tensor]) -> list[Tensor]:
        """The outputs for these inputs."""
        values: dict[Tensor, Tensor] = dict(zip(self._inputs, inputs))
        is_taped = bool(graph.thread.recording.open_tapes)
        for each in self._operations:
            made = self._constants.get(each)
            if made is None:
                attributes = each.attrs if each not in self._drawing else self._drawing[each][is_taped]
                made = graph.record(each.definition, each.name, tuple([values[tensor] for tensor in each._inputs]), attributes, each)
                if not each._inputs and not each.definition.stateful:
                    self._constants[each] = made
            for tensor, result in zip(each.outputs, made.outputs):
                values[tensor] = result
        return [values[tensor] for tensor in self._outputs]


def _beside(inputs: Sequence[Any], signature: Sequence[Any]) -> str:
    """Inputs and a signature, for messages."""
    return "\n".join(f"  {what}: (\n    " + ",\n    ".join(str(item) for item in items) + ")"
                     for what, items in (("inputs", inputs), ("input_signature", signature)))


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, TensorSpec)) or hasattr(leaf, "dense_shape") or hasattr(leaf, "with_flow")


def _outside(tensor: Tensor) -> Tensor:
    """What a captured tensor is outside of all functions; one that a function around this one computes is itself."""
    graph = tensor.op.graph
    outer = graph.outer_tensor(tensor)
    return tensor if outer is None else _outside(outer)


def _key_of(leaf: Any) -> Any:
    """What of an argument decides which trace is called: type and shape of tensors, the value of numbers, the identity of objects."""
    if isinstance(leaf, TensorSpec):
        return leaf.dtype, as_shape(leaf.shape).extents
    if _is_tensor(leaf):
        return type(leaf).__name__, tuple([(part.dtype, part.shape.extents) for part in parts_of(leaf)])
    return (type(leaf), leaf) if isinstance(leaf, (*_VALUES, dtypes.DType)) else ("object", id(leaf))


def _structure_of(arguments: Any) -> Any:
    return str(nest.map_structure(lambda leaf: 0, arguments))


def _bind(function: Callable[..., Any], instance: Any) -> Callable[..., Any]:
    @functools.wraps(function)
    def method(*args: Any, **kwargs: Any) -> Any:
        return function(instance(), *args, **kwargs)

    parameters = list(inspect.signature(function).parameters.values())[1:]
    method.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return method


def function(func: Callable[..., Any] | None = None, input_signature: Any = None, autograph: bool = True, experimental_autograph_options: Any = None,
             experimental_relax_shapes: bool = False, experimental_compile: bool | None = None) -> Any:
    """``tf.function``: traces a Python function once per signature of its arguments, and calls the graph from then on."""
    def decorate(inner: Callable[..., Any]) -> Function:
        return Function(inner, input_signature, autograph, experimental_autograph_options, makes_variables_once=True)

    return decorate if func is None else decorate(func)


def defun(func: Callable[..., Any] | None = None, input_signature: Any = None, autograph: bool = True, experimental_autograph_options: Any = None,
          experimental_relax_shapes: bool = False) -> Any:
    """``tf.contrib.eager.defun``: ``tf.function`` by its older name."""
    def decorate(inner: Callable[..., Any]) -> Function:
        return Function(inner, input_signature, autograph, experimental_autograph_options)

    return decorate if func is None else decorate(func)
