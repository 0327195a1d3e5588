"""OpDef: an operation's definition, in one place, and the ``@op`` decorator that makes one.

    @op("Relu", "features: T -> activations: T", T=REAL)
    class Relu:
        \"\"\"max(features, 0), elementwise.\"\"\"
        shape = like("features")

        def kernel(features):                 # the specification, in NumPy
            return np.maximum(features, 0)

        def lower(b, features):               # what the compiler fuses
            return b.maximum(features, 0)

        def gradient(op, dy):                 # builds graph, computes nothing
            return ReluGrad(dy, op.outputs[0])

``Relu`` is then an OpDef: calling it, ``Relu(x, name=None)``, adds a node and returns its output Tensor (a list of Tensors if there are
several outputs or a list output, the Operation if there are none).

The signature is written as TensorFlow writes it: see ``signature.py``; ``opcall.py`` is what calling an op does with what it is given. The
functions of the class take what they name: inputs and attributes by their names (a list input as a list), and in a kernel ``ctx``, the kernel
context. ``shape`` gets the input Tensors and returns one shape (anything that TensorShape accepts), or a list of shapes if calling the op gives a
list. Kernels get arrays and return an array, or a tuple for several outputs (flat, if there is a list output). Kernels never write to their inputs.
``static``, if it is there, gets the input Tensors and returns the output's value as far as it is known without running (an int array with -1 for
unknown elements, or None): shapes are computed from it.

``native(emit, ...)``, if it is there, says how the op runs as native code when all shapes are known: see ``native/emitter.py``. ``compose(b, ...)``
says of which simpler ops it is made: see ``native/fusion/composition.py``.

``batched(op, inputs, stacked)``, if it is there, builds what the node ``op`` does for many elements at once: see ``ops/data/vectorised.py``.

``ranks``, if it is there, says which ranks inputs must have: ``ranks = {"axis": 0}``; a range of ranks is a ``range`` (see ``at_least`` in
``ops/common.py``). They are checked before the shape function is called, and again before the kernel is, if they were not known then. Properties,
declared as class attributes, are all that passes may ask: see ``properties.py``. A name in the class that is none of these is an error, unless it
begins with an underscore. Versions of an op inherit what they share from a plain class, ``class FusedBatchNormGradV2(_Backward)``, and constants
that differ begin with an underscore: see ``members.py``.
"""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto

from penstock.errors import KernelError, NotFoundError, OpError
from penstock.graph import attrs as attr_module
from penstock.graph import graph
from penstock.graph.convert import graph_for
from penstock.graph.dtypes import DType
from penstock.graph.members import parameters_of, specialize
from penstock.graph.node import Operation, Tensor
from penstock.graph.opcall import InputConversion, with_keywords
from penstock.graph.properties import PROPERTIES, Properties
from penstock.graph.registry import Registry
from penstock.graph.shape import TensorShape, as_shape, brackets, unknown_shape
from penstock.graph.signature import Signature

OPTIONS = ("epilogue", "into")  # that ``native`` of a product may take: what to do to it before it is stored, and where
REGISTRY: Registry[OpDef] = Registry()  # all of them: those that no program has asked for yet are loaded when they are looked up
_FUNCTIONS = ("shape", "kernel", "lower", "native", "compose", "static", "gradient", "batched")
_SHARED = ("shape", "kernel", "lower", "native", "compose")  # those that versions of an op may share: see ``members.py``
_MISSING = object()


class OpDef(Signature, Properties):
    """The definition of an op type. See the head of this module."""

    def __init__(self, op_type: str, signature: str, declared: dict[str, Any], body: type) -> None:
        super().__init__(op_type, signature, declared)
        self.__name__, self.__doc__, self.__module__ = op_type, body.__doc__, body.__module__
        members = {name: value for base in reversed(body.__mro__[:-1]) for name, value in vars(base).items()}
        unknown = [name for name in members if not name.startswith("_") and name not in (*_FUNCTIONS, *PROPERTIES, "ranks")]
        if unknown or "shape" not in members:
            raise TypeError(f"op {op_type}: '{unknown[0]}' is neither a function nor a property of ops" if unknown else
                            f"op {op_type} has no shape function")
        for name in PROPERTIES:
            if name in members:
                setattr(self, name, members[name])
        for name in _SHARED:
            if name in members:
                members[name] = specialize(members[name], members, (*self.position, *self.attrs))
        self.shape: Callable[..., Any] = members["shape"]
        self.broadcasts_inputs: bool = getattr(self.shape, "broadcasts", False)  # as ``broadcasting`` of ``ops/common.py`` makes it
        self.kernel: Callable[..., Any] | None = members.get("kernel")
        self.lower: Callable[..., Any] | None = members.get("lower")
        self.native: Callable[..., Any] | None = members.get("native")
        self.compose: Callable[..., Any] | None = members.get("compose")
        self.static: Callable[..., Any] | None = members.get("static")
        self.batched: Callable[..., Any] | None = members.get("batched")
        self._gradient: object = members.get("gradient", _MISSING)
        self._ranks = [(self.position[name], rank) for name, rank in members.get("ranks", {}).items()]
        self._shape_parameters = self.parameters_of(self.shape)

    def parameters_of(self, function: Callable[..., Any]) -> list[int | str]:
        """Per parameter of a function of the class: the index of the input, or the name of the attribute, that it takes."""
        result: list[int | str] = []
        for name in parameters_of(function):
            if name in self.position:
                result.append(self.position[name])
            elif name in self.attrs or name in ("ctx", "b", "emit", *OPTIONS):
                result.append(name)
            else:
                raise TypeError(f"op {self.type}: '{name}' of {getattr(function, '__name__', function)} is neither an input nor an attribute")
        return result

    # --- gradients ---------------------------------------------------------------------------------------------------

    @property
    def has_gradient(self) -> bool:
        """True if the op says how it is differentiated, or that it is not."""
        return self._gradient is not _MISSING

    @property
    def gradient(self) -> Callable[..., Any] | None:
        """The gradient function ``(op, *output_gradients) -> input gradients``; None if the op is not differentiable."""
        if self._gradient is _MISSING:
            raise LookupError(f"No gradient defined for operation type '{self.type}'.")
        function: Callable[..., Any] | None = self._gradient  # type: ignore[assignment]
        return function

    @gradient.setter
    def gradient(self, function: Callable[..., Any] | None) -> None:
        self._gradient = function

    # --- building a node ---------------------------------------------------------------------------------------------

    def __call__(self, *values: Any, name: str | None = None, **given: Any) -> Any:
        target = graph.default_graph()
        if target.imperative:
            return target.call(self, values, given, name)
        op = self.node(values, given, name)
        if self.has_one_output:
            return op.outputs[0]
        return self.unflatten_outputs(op) if self.outputs else op

    def node(self, values: Sequence[Any], given: dict[str, Any], name: str | None = None) -> Operation:
        """Adds a node and returns the Operation."""
        if len(values) != len(self.inputs):
            values = with_keywords(self, values, given)
        target = graph_for(values)
        full_name = target._name_for(name or self.type)
        attributes = self.check_attrs(given)
        for key in self.functions:
            if key in attributes:
                attributes[key] = _function_of(target, attributes[key])
        inputs = InputConversion(self, target, full_name, attributes).inputs(values)
        self.fill_defaults(attributes)
        if target._container and self.stateful and attributes.get("container") == "":
            attributes["container"] = target._container
        return self.add_node(target, full_name, tuple(inputs), attributes)

    def add_node(self, target: Any, full_name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> Operation:
        """Adds a node whose inputs are Tensors and whose attributes are complete; infers types and shapes of the outputs."""
        for tensor in inputs:
            if tensor.op.graph is not target:
                inputs = tuple(target.capture(tensor) for tensor in inputs)
                break
        if target.imperative:
            called: Operation = target.record(self, full_name, inputs, attributes)
            return called
        out_types = self.output_dtypes(attributes)
        out_shapes = self.infer_shapes(full_name, inputs, attributes, len(out_types))
        colocate = [tensor.op for arg, tensors in self.group(inputs, attributes) if arg.is_ref for tensor in tensors] \
            if any(arg.is_ref for arg in self.inputs) else []
        added: Operation = target._add(self, full_name, inputs, attributes, list(zip(out_types, out_shapes)), colocate)
        if self.refers_to is not None:
            dtype, shape = self.refers_to
            added.outputs[0]._handle_data = (attributes[dtype], attributes[shape])
        return added

    def infer_shapes(self, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any], outputs: int) -> list[TensorShape]:
        """The shapes of a node's outputs, as far as they follow from its inputs. ValueError, naming the node, if the inputs do not fit."""
        values = self.arguments(inputs, attributes)
        try:
            for index, rank in self._ranks:
                _check_rank(values[index], rank)
            result = self.shape(*[values[each] if isinstance(each, int) else attributes[each] for each in self._shape_parameters])
            if self.has_one_output:
                return [result if type(result) is TensorShape else as_shape(result)]
            shapes = [as_shape(item) for item in result]
        except ValueError as error:
            shapes_text = ", ".join(brackets(tensor.shape) for tensor in inputs)
            types_text = ", ".join(tensor.dtype.base_dtype.name for tensor in inputs)
            message = _as_of_kernels(error.message if isinstance(error, OpError) else str(error))
            text = f"{message} for '{name}' (op: '{self.type}') with input shapes: {shapes_text} and types: {types_text}."
            raise (type(error)(None, None, text) if isinstance(error, OpError) else ValueError(text)) from None
        if len(shapes) != outputs:
            raise TypeError(f"the shape function of {self.type} gave {len(shapes)} shapes for {outputs} outputs")
        return shapes

    # --- for the runtime and the compiler ----------------------------------------------------------------------------

    def bind(self, op: Any, ctx: Any) -> Callable[..., Any]:
        """The kernel of a node (an Operation, or a Node of a program) as a function of its flat input arrays."""
        if self.kernel is None:
            raise LookupError(f"Op type '{self.type}' of node '{op.name}' has no kernel.")
        parameters = self._kernel_parameters
        first = next((i for i, item in enumerate(parameters) if isinstance(item, int)), len(parameters))  # what stands before the inputs
        value_of = {name: ctx if name == "ctx" else op.attrs[name] for name in parameters if isinstance(name, str)}
        leading = [value_of.pop(name) for name in parameters[:first]]  # type: ignore[arg-type]
        function = functools.partial(self.kernel, *leading, **value_of) if leading or value_of else self.kernel
        order = [item for item in parameters if isinstance(item, int)]
        if not self.has_one_output and len(self.output_dtypes(op.attrs)) == 1:  # a list of one: the kernel's tuple holds the result
            function = functools.partial(_only, function)
        if self.has_lists:
            return lambda *flat: _pick(function, self.arguments(flat, op.attrs), order)
        return function if order == list(range(len(self.inputs))) else lambda *flat: _pick(function, flat, order)

    @functools.cached_property
    def _kernel_parameters(self) -> list[int | str]:
        assert self.kernel is not None
        return self.parameters_of(self.kernel)

    @property
    def needs_context(self) -> bool:
        """True if the kernel asks for ``ctx``: it is more than a function of inputs and attributes."""
        return "ctx" in self._kernel_parameters

    @functools.cached_property
    def native_options(self) -> tuple[str, ...]:
        """Which of OPTIONS ``native`` takes."""
        return () if self.native is None else tuple(name for name in self.parameters_of(self.native) if name in OPTIONS)

    def emit(self, emitter: Any, flat: Sequence[Any], attributes: dict[str, Any], options: dict[str, Any] | None = None) -> list[Any]:
        """Calls ``native`` for flat inputs; the outputs, flat."""
        assert self.native is not None
        values = self.arguments(flat, attributes)
        given = {"emit": emitter, **dict.fromkeys(OPTIONS), **(options or {})}
        result = self.native(*[values[name] if isinstance(name, int) else given[name] if name in given else attributes[name]
                              for name in self.parameters_of(self.native)])
        return list(result) if isinstance(result, (tuple, list)) else [] if result is None else [result]

    @functools.cached_property
    def proto(self) -> OpDefProto:
        """The definition as an OpDef proto."""
        return self.to_proto(is_stateful=self.stateful, is_commutative=self.commutative)

    def __repr__(self) -> str:
        return f"<op {self.type}>"


def _function_of(target: Any, value: Any) -> Any:
    """The function that an attribute means: one that the graph knows by this name, or one that was defined by itself and is made known to it."""
    if hasattr(value, "function_graph"):
        return value.function_graph()
    return target._functions.get(value, value) if isinstance(value, str) else value


def _pick(function: Callable[..., Any], values: Sequence[Any], order: list[int]) -> Any:
    return function(*[values[index] for index in order])


def _only(function: Callable[..., Any], *inputs: Any, **attributes: Any) -> Any:
    (result,) = function(*inputs, **attributes)
    return result


_RANK_ERROR = re.compile(r"Shape \((.*)\) must have rank (at least |at most )?(\d+)")


def _as_of_kernels(message: str) -> str:
    """What TensorShape says of a rank, in the words that TensorFlow's shape functions have for it."""
    def words(found: re.Match[str]) -> str:
        rank = len(found[1].rstrip(",").split(",")) if found[1] else 0
        return f"Shape must be {found[2] or ''}rank {found[3]} but is rank {rank}"

    return _RANK_ERROR.sub(words, message)


def _check_rank(value: Any, wanted: int | range) -> None:
    allowed = wanted if isinstance(wanted, range) else range(wanted, wanted + 1)
    for tensor in value if isinstance(value, list) else (value,):
        rank = tensor.shape.ndims
        if rank is not None and rank not in allowed:
            how = "" if len(allowed) == 1 else "at least " if rank < allowed.start else "at most "
            raise ValueError(f"Shape must be {how}rank {min(max(rank, allowed.start), allowed.stop - 1)} but is rank {rank}")


# --- registering and looking up --------------------------------------------------------------------------------------

def op(op_type: str, signature: str, **declared: Any) -> Callable[[type], OpDef]:
    """Registers an op type; the decorated class holds its functions. See the head of this module.

    >>> from penstock.ops.common import FLOATS, like
    >>> @op("DocTwice", "x: T -> y: T", T=FLOATS)
    ... class Twice:
    ...     \"\"\"x + x.\"\"\"
    ...     shape = like("x")
    ...     def kernel(x):
    ...         return x + x
    >>> Twice
    <op DocTwice>
    """
    def register(body: type) -> OpDef:
        if op_type in REGISTRY.loaded:
            raise ValueError(f"op type {op_type} is registered already, in {REGISTRY[op_type].__module__}")
        definition = REGISTRY[op_type] = OpDef(op_type, signature, declared, body)
        return definition
    return register


def lookup(op_type: str) -> OpDef:
    """The definition of an op type; LookupError if there is none."""
    definition = REGISTRY.get(op_type)
    if definition is None:
        raise LookupError(f"Op type not registered '{op_type}'.")
    return definition


class DeclaredOp(OpDef):
    """An op with a signature and nothing else: graphs can hold it, sessions cannot run it, and nothing is known of its shapes."""

    def __init__(self, op_type: str, signature: str, declared: dict[str, Any], is_stateful: bool = False) -> None:
        class Body:
            """Declared, not implemented."""

            stateful = is_stateful
            _type = op_type

            def shape() -> None:  # type: ignore[misc]
                """Nothing is known."""

            def kernel(_type: str) -> None:  # type: ignore[misc]
                raise KernelError(NotFoundError, f"Op type not registered '{_type}': it is declared, and has no kernel")

        super().__init__(op_type, signature, declared, Body)

    def infer_shapes(self, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any], outputs: int) -> list[TensorShape]:
        """Nothing is known."""
        return [unknown_shape() for _ in range(outputs)]


def _create_by_type(target: Any, op_type: str, inputs: list[Any], outputs: list[DType] | None, taken_as: list[DType] | None,
                    name: str | None, given: dict[str, Any]) -> Operation:
    """A node of any type; ``outputs`` and ``taken_as``, the types of its outputs and inputs, are its signature if the type is not registered."""
    definition = REGISTRY.get(op_type)
    if definition is None:
        if outputs is None:
            raise LookupError(f"Op type not registered '{op_type}'.")
        definition = _declared_for(op_type, taken_as or [tensor.dtype.base_dtype for tensor in inputs], outputs)
    plain = {key: attr_module.from_proto(definition.attrs[key].kind, value) if isinstance(value, AttrValue) else value
             for key, value in given.items() if key in definition.attrs}
    values: list[Any] = []
    rest = list(inputs)
    for arg in definition.inputs:
        if not arg.is_list:
            values.append(rest.pop(0))
            continue
        length = arg.length(plain) if (arg.type_list_attr or arg.number_attr) in plain else len(rest)
        values.append(rest[:length])
        del rest[:length]
    with target.as_default():
        node = definition.node(values, plain, name)
    for key, value in given.items():
        if key not in definition.attrs:
            node._set_attr(key, value)
    return node


def _declared_for(op_type: str, inputs: Sequence[DType], outputs: Sequence[DType]) -> DeclaredOp:
    sides = (", ".join(f"{side}_{number}: {'Ref({})' if dtype.is_ref else '{}'}".format(dtype.base_dtype.name) for number, dtype in enumerate(types))
             for side, types in (("input", inputs), ("output", outputs)))
    return DeclaredOp(op_type, " -> ".join(sides), {}, is_stateful=True)


graph._Later.create_op = staticmethod(_create_by_type)
