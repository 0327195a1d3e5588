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

The signature is written as TensorFlow writes it: ``values: N * T`` is a list of one type, ``input: Tin`` with ``Tin=TYPES`` a list of mixed
types, ``ref: Ref(T)`` a reference to a variable. The functions of the class take what they name: inputs and attributes by their names (a list
input as a list), and in a kernel ``ctx``, the kernel context. ``shape`` gets the input Tensors and returns one shape (anything that
TensorShape accepts), or a list of shapes if calling the op gives a list. Kernels get arrays and return an array, or a tuple for several outputs
(flat, if there is a list output). Kernels never write to their inputs. ``static``, if it is there, gets the input Tensors and returns the output's
value as far as it is known without running (an int array with -1 for unknown elements, or None): shapes are computed from it.

``native(emit, ...)``, if it is there, says how the op runs as native code when all shapes are known: see ``compiler/emitter.py``. ``compose(b, ...)``
says of which simpler ops it is made: see ``compiler/fusion/composition.py``.

``ranks``, if it is there, says which ranks inputs must have: ``ranks = {"axis": 0}``; a range of ranks is a ``range`` (see ``at_least`` in
``ops/common.py``). They are checked before the shape function is called, and again before the kernel is, if they were not known then. Versions of an
op inherit what they share from a plain class, ``class FusedBatchNormGradV2(_Backward)``. Properties, declared as class attributes, are all that
passes may ask: see ``PROPERTIES``.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto

from penstock.graph import attrs as attr_module
from penstock.graph import dtypes, graph
from penstock.graph.attrs import REQUIRED, Attr
from penstock.graph.convert import graph_for, to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.node import Operation, Tensor
from penstock.graph.shape import TensorShape, as_shape

PROPERTIES = {
    "stateful": False,  # reads or changes state, or draws random numbers: never folded, merged or dropped
    "elementwise": False,  # element i of each output depends on element i of the (broadcast) inputs alone
    "commutative": False,  # the order of the inputs does not matter
    "associative": "",  # sum, product: (x * y) * z is x * (y * z), but for rounding
    "blocking": False,  # the kernel may wait or call into Python code of the user: it gets a thread of its own
    "heeds_step": False,  # a blocking kernel that gives up as soon as its step ends: if nothing could go on meanwhile, the caller's thread will do
    "aliases": False,  # the output may share the memory of the first input
    "rearranges": False,  # the output's elements are copies of the first arguments' elements (others say where they go)
    "control_flow": "",  # switch, merge, enter, exit, next, trigger: scheduled by frames and dead tensors
    "forwards_reference": False,  # given a reference, it hands it on: whoever uses its output reads the variable then
    "passes_references": False,  # an input may be a reference: the kernel reads it where it wants the value
    "borrows": False,  # of an input that is a reference the kernel needs the value only while it runs: no output shares its memory
    "calls_later": False,  # the functions in its attributes run when its kernel has returned: a dataset is made now, its elements later
    "allows_uninitialized": False,  # a Ref input may point at a variable without a value
    "shape_only": False,  # the outputs depend on the inputs' shapes, not on their elements
    "unforeseen": False,  # the outputs' shapes depend on the inputs' elements: they change from step to step
    "draws": "",  # the op type that draws the same random numbers, given their generator as its first input
    "snapshot": False,  # the output is the value that the variable (its first input) has at this moment
    "reduces": "",  # sum, mean, prod, max, min, and, or: the first input is folded over the axes that the second one gives
    "forwards": False,  # the output is the first input, always, or if this function of attributes says so
    "neutral": {},  # input position -> the float that, as that input, makes the op of two inputs give back the other one, bit for bit
    "involution": False,  # applied twice it gives back its input, bit for bit
    "idempotent": False,  # applied twice it gives what it gives once, bit for bit
    "permutes": False,  # the output is the first input with its axes in the order that the second input tells
    "pictures": (),  # names of the inputs and outputs whose axes stand in the order that its attribute data_format tells
    "per_axis": (),  # names of inputs and attributes with an entry (or a row) per axis of its pictures; or of its first argument, if it has none
    "axes": "",  # name of the input that holds numbers of axes of its first argument
    "keeps_order": False,  # the output has the elements of the first input in the same order, in a shape that may differ
    "touches": "",  # files, python: what the kernel gets at outside of the task; or the function of attributes that tells
    "repeats": False,  # runs its function ``body`` as long as its function ``cond`` says so
    "list_role": "",  # of an op on lists of tensors: empty, push, pop
    "array_role": "",  # of an op on arrays of tensors: create, gradient, write, scatter, read, gather, size
    "broadcasts": "",  # name of an input: the output is that, broadcast to a shape that other inputs give
    "flops": None,  # how many floating point operations it takes: a function of the lists of arrays that go in and come out
    "watches": False,  # it is there to find mistakes: hands on its first input, or has no output
    "joins": "",  # name of an input, a list: its tensors stand side by side in the output, along one axis
    "finishes": "",  # what it does to a product that it alone uses: add something, floor it at 0, descend (a variable) along it
    "sums": False,  # the output is the sum of all inputs, which have its shape
    "inner": None,  # of a product of two: the axis of each factor that goes away, a function of attributes; joined along these, factors give a sum
    "updates": (),  # names of the inputs (references, resources) whose variables it writes; ``lower`` gives their new elements, in this order
}

OPTIONS = ("epilogue", "into")  # that ``native`` of a product may take: what to do to it before it is stored, and where
REGISTRY: dict[str, OpDef] = {}
_MISSING = object()
_MAX_OUTPUTS = 1 << 16  # of one op: a number beyond that is a mistake, and would fill the memory with Tensors


@dataclass(frozen=True)
class Arg:
    """One argument of a signature."""

    name: str
    dtype: DType | None = None  # a fixed type,
    type_attr: str | None = None  # or the attribute that holds it,
    type_list_attr: str | None = None  # or the attribute that holds the types of a list
    number_attr: str | None = None  # the attribute that holds the length of a list of one type
    is_ref: bool = False

    @property
    def is_list(self) -> bool:
        """True if the argument takes a list of tensors."""
        return self.number_attr is not None or self.type_list_attr is not None


class OpDef:
    """The definition of an op type. See the head of this module."""

    def __init__(self, op_type: str, signature: str, declared: dict[str, Any], body: type) -> None:
        self.type = self.__name__ = op_type
        self.__doc__ = body.__doc__
        self.__module__ = body.__module__
        self.attrs: dict[str, Attr] = {name: attr_module.as_attr(value) for name, value in declared.items()}
        inputs, _, outputs = signature.partition("->")
        self.inputs = tuple(self._parse(text) for text in inputs.split(",") if text.strip())
        self.outputs = tuple(self._parse(text) for text in outputs.split(",") if text.strip())
        members = {name: value for base in reversed(body.__mro__[:-1]) for name, value in vars(base).items()}
        self.kernel: Callable[..., Any] | None = members.get("kernel")
        self.lower: Callable[..., Any] | None = members.get("lower")
        self.native: Callable[..., Any] | None = members.get("native")
        self.compose: Callable[..., Any] | None = members.get("compose")
        self.static: Callable[..., Any] | None = members.get("static")
        self._gradient: object = members.get("gradient", _MISSING)
        for name, default in PROPERTIES.items():
            setattr(self, name, members.get(name, default))
        self._input_index = {arg.name: index for index, arg in enumerate(self.inputs)}
        self._inferred = {attr for arg in (*self.inputs,) for attr in (arg.type_attr, arg.type_list_attr, arg.number_attr) if attr}
        self._single = len(self.outputs) == 1 and not self.outputs[0].is_list
        self._simple = all(not arg.is_list for arg in self.inputs)  # one tensor per argument
        if "shape" not in members:
            raise TypeError(f"op {op_type} has no shape function")
        self._ranks = [(self._input_index[name], rank) for name, rank in members.get("ranks", {}).items()]
        self.shape = members["shape"]
        self._shape_getters = self._parameters(self.shape)

    # properties, declared for type checkers; the values are set in __init__
    stateful: bool
    elementwise: bool
    commutative: bool
    blocking: bool
    heeds_step: bool
    aliases: bool
    rearranges: bool
    passes_references: bool
    forwards_reference: bool
    borrows: bool
    control_flow: str
    touches: Any
    allows_uninitialized: bool
    calls_later: bool
    unforeseen: bool
    draws: str
    updates: tuple[str, ...]
    reduces: str
    broadcasts: str
    shape_only: bool
    repeats: bool
    list_role: str
    array_role: str
    finishes: str
    sums: bool
    inner: Callable[..., tuple[int, int]] | None
    joins: str
    snapshot: bool
    forwards: bool | Callable[..., bool]
    neutral: dict[int, float]
    involution: bool
    idempotent: bool
    permutes: bool
    pictures: tuple[str, ...]
    per_axis: tuple[str, ...]
    axes: str
    associative: str
    watches: bool
    keeps_order: bool
    flops: Callable[[Sequence[Any], Sequence[Any]], float] | None

    def _parse(self, text: str) -> Arg:
        name, _, spec = (part.strip() for part in text.partition(":"))
        is_ref = spec.startswith("Ref(")
        spec = spec[4:-1].strip() if is_ref else spec
        number, star, spec_type = (part.strip() for part in spec.partition("*"))
        if not star:
            number, spec_type = None, spec  # type: ignore[assignment]
        if spec_type in self.attrs:
            if self.attrs[spec_type].kind == "list(type)":
                return Arg(name, type_list_attr=spec_type, is_ref=is_ref)
            return Arg(name, type_attr=spec_type, number_attr=number, is_ref=is_ref)
        return Arg(name, dtype=dtypes.as_dtype(spec_type), number_attr=number, is_ref=is_ref)

    def _parameters(self, function: Callable[..., Any]) -> list[int | str]:
        """Per parameter of a function of the class: the index of the input, or the name of the attribute, that it takes."""
        names = getattr(function, "parameters", None)
        if names is None:
            code = function.__code__
            names = code.co_varnames[:code.co_argcount + code.co_kwonlyargcount]
        found: list[int | str] = []
        for name in names:
            if name in self._input_index:
                found.append(self._input_index[name])
            elif name in self.attrs or name in ("ctx", "b", "emit", *OPTIONS):
                found.append(name)
            else:
                raise TypeError(f"op {self.type}: '{name}' of {function.__name__} is neither an input nor an attribute")
        return found

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
        op = self.node(values, given, name)
        if self._single:
            return op.outputs[0]
        return self.unflatten_outputs(op) if self.outputs else op

    def node(self, values: Sequence[Any], given: dict[str, Any], name: str | None = None) -> Operation:
        """Adds a node and returns the Operation."""
        if len(values) != len(self.inputs):
            values = self._with_keywords(values, given)
        target = graph_for(values)
        full_name = target._name_for(name or self.type)
        attributes = self._check_attrs(given)
        if self._simple:
            inputs = [self._one_input(target, full_name, arg, value, attributes) for arg, value in zip(self.inputs, values)]
        else:
            inputs = []
            for arg, value in zip(self.inputs, values):
                inputs.extend(self._input(target, full_name, arg, value, attributes))
        self._fill_defaults(attributes)
        return self.add_node(target, full_name, tuple(inputs), attributes)

    def add_node(self, target: Any, full_name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any]) -> Operation:
        """Adds a node whose inputs are Tensors and whose attributes are complete; infers types and shapes of the outputs."""
        for tensor in inputs:
            if tensor.op.graph is not target:
                inputs = tuple(target.capture(tensor) for tensor in inputs)
                break
        out_types = self.output_dtypes(attributes)
        out_shapes = self._infer_shapes(full_name, inputs, attributes, len(out_types))
        colocate = [tensor.op for arg, tensors in self.group(inputs, attributes) if arg.is_ref for tensor in tensors] \
            if any(arg.is_ref for arg in self.inputs) else []
        added: Operation = target._add(self, full_name, inputs, attributes, list(zip(out_types, out_shapes)), colocate)
        return added

    def _with_keywords(self, values: Sequence[Any], given: dict[str, Any]) -> list[Any]:
        """Inputs given by keyword, put into their places."""
        complete = list(values)
        if len(complete) > len(self.inputs):
            raise TypeError(f"{self.type}() takes {len(self.inputs)} inputs but {len(complete)} were given")
        for arg in self.inputs[len(complete):]:
            if arg.name not in given:
                raise TypeError(f"No argument for input {arg.name} of op {self.type}")
            complete.append(given.pop(arg.name))
        return complete

    def _check_attrs(self, given: dict[str, Any]) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        for name, value in given.items():
            attr = self.attrs.get(name)
            if attr is None:
                raise TypeError(f"{self.type}() got an unexpected keyword argument '{name}'")
            if value is not None:
                attributes[name] = attr.check(self.type, name, value)
        return attributes

    def _fill_defaults(self, attributes: dict[str, Any]) -> None:
        if len(attributes) == len(self.attrs):
            return
        for name, attr in self.attrs.items():
            if name not in attributes:
                if attr.default is REQUIRED:
                    raise TypeError(f"No argument for attr '{name}' of op {self.type}")
                attributes[name] = attr.default

    def _one_input(self, target: Any, scope: str, arg: Arg, value: Any, attributes: dict[str, Any]) -> Tensor:
        dtype = arg.dtype if arg.type_attr is None else attributes.get(arg.type_attr)
        tensor = value if type(value) is Tensor else self._convert(target, scope, arg, value, dtype, arg.name)
        found = tensor._dtype
        if arg.is_ref and not found.is_ref:
            raise TypeError(f"'{self.type}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")
        found = found.base_dtype
        if dtype is None:
            attributes[arg.type_attr] = self._check_type(arg, found)  # type: ignore[index]
        elif found is not dtype:
            raise self._type_mismatch(arg, found, dtype)
        return tensor

    def _check_type(self, arg: Arg, found: DType) -> DType:
        allowed = self.attrs[arg.type_attr].allowed  # type: ignore[index]
        if allowed is not None and found not in allowed:
            choices = ", ".join(sorted(d.name for d in allowed))
            raise TypeError(f"Value passed to parameter '{arg.name}' of op '{self.type}' has DataType {found.name} not in list of "
                            f"allowed values: {choices}")
        return found

    def _type_mismatch(self, arg: Arg, found: DType, wanted: DType) -> TypeError:
        if arg.type_attr is None:
            return TypeError(f"Input '{arg.name}' of '{self.type}' Op has type {found.name} that does not match expected type of {wanted.name}.")
        first = next((other.name for other in self.inputs if other.type_attr == arg.type_attr), arg.name)
        source = f"type {wanted.name} of argument '{first}'" if first != arg.name else f"the attribute {arg.type_attr}={wanted.name}"
        return TypeError(f"Input '{arg.name}' of '{self.type}' Op has type {found.name} that does not match {source}.")

    def _convert(self, target: Any, scope: str, arg: Arg, value: Any, dtype: DType | None, name: str) -> Tensor:
        """A Tensor for a plain value: its Const is named after the argument, inside the op's own scope."""
        outer, target._name_stack = target._name_stack, scope
        default = self.attrs[arg.type_attr].default if arg.type_attr is not None and dtype is None else REQUIRED
        try:
            with graph._graphs.using(target):
                if default is not REQUIRED:
                    return to_tensor(value, None, name, arg.is_ref, preferred=default)
                try:
                    return to_tensor(value, dtype, name, arg.is_ref)
                except (TypeError, ValueError) as error:
                    if isinstance(value, Tensor) or dtype is None:
                        raise type(error)(f"{error} (input '{arg.name}' of '{self.type}' Op)") from None
                    raise TypeError(f"Expected {dtype.name} passed to parameter '{arg.name}' of op '{self.type}', got {_short(value)} of "
                                    f"type '{type(value).__name__}' instead. {error}") from None
        finally:
            target._name_stack = outer

    def _input(self, target: Any, scope: str, arg: Arg, value: Any, attributes: dict[str, Any]) -> list[Tensor]:
        """The tensors of one argument that may be a list."""
        if not arg.is_list:
            return [self._one_input(target, scope, arg, value, attributes)]
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"Expected list for '{arg.name}' argument to '{self.type}' Op, not {_short(value)}.")
        if arg.type_list_attr is not None:
            wanted: Sequence[DType | None] = attributes.get(arg.type_list_attr) or [None] * len(value)
            if len(wanted) != len(value):
                raise ValueError(f"'{arg.name}' of '{self.type}' Op has {len(value)} tensors for the {len(wanted)} types of {arg.type_list_attr}")
            tensors = [item if type(item) is Tensor and (d is None or item.dtype.base_dtype is d) else
                       self._convert(target, scope, arg, item, d, f"{arg.name}_{i}") for i, (item, d) in enumerate(zip(value, wanted))]
            found = tuple(tensor.dtype.base_dtype for tensor in tensors)
            attributes[arg.type_list_attr] = self.attrs[arg.type_list_attr].check(self.type, arg.type_list_attr, found)
            return tensors
        return self._homogeneous_list(target, scope, arg, value, attributes)

    def _homogeneous_list(self, target: Any, scope: str, arg: Arg, value: Sequence[Any], attributes: dict[str, Any]) -> list[Tensor]:
        number = arg.number_attr
        assert number is not None
        if attributes.setdefault(number, len(value)) != len(value):
            raise ValueError(f"List argument '{arg.name}' to '{self.type}' Op with length {len(value)} must match length {attributes[number]}.")
        self.attrs[number].check(self.type, number, len(value))
        dtype = arg.dtype or attributes.get(arg.type_attr)  # type: ignore[arg-type]
        if dtype is None:  # a tensor in the list decides, before plain values are converted
            dtype = next((item.dtype.base_dtype for item in value if isinstance(getattr(item, "dtype", None), DType)), None)
        tensors = []
        for index, item in enumerate(value):
            tensor = item if type(item) is Tensor else self._convert(target, scope, arg, item, dtype, f"{arg.name}_{index}")
            found = tensor.dtype.base_dtype
            dtype = dtype or found
            if found is not dtype:
                types = ", ".join(t.dtype.base_dtype.name if isinstance(getattr(t, "dtype", None), DType) else "?" for t in value)
                raise TypeError(f"Tensors in list passed to '{arg.name}' of '{self.type}' Op have types [{types}] that don't all match.")
            if arg.is_ref and not tensor.dtype.is_ref:
                raise TypeError(f"'{self.type}' Op requires that input '{arg.name}' be a mutable tensor (e.g.: a tf.Variable)")
            tensors.append(tensor)
        if arg.type_attr is not None and dtype is not None:
            attributes[arg.type_attr] = self._check_type(arg, dtype)
        return tensors

    # --- types and shapes of the outputs -----------------------------------------------------------------------------

    def output_dtypes(self, attributes: dict[str, Any]) -> list[DType]:
        """The type of each output, list outputs unrolled."""
        found: list[DType] = []
        for arg in self.outputs:
            if arg.type_list_attr is not None:
                types = list(attributes[arg.type_list_attr])
            else:
                types = [attributes[arg.type_attr] if arg.type_attr is not None else arg.dtype]
                types *= 1 if arg.number_attr is None else self._list_length(attributes[arg.number_attr])
            found.extend(dtype._as_ref for dtype in types) if arg.is_ref else found.extend(types)
        return found

    def _list_length(self, length: int) -> int:
        if length > _MAX_OUTPUTS:
            raise ValueError(f"'{self.type}' Op with {length} outputs: more than {_MAX_OUTPUTS} are not possible")
        return length

    def group(self, flat: Sequence[Any], attributes: dict[str, Any]) -> list[tuple[Arg, list[Any]]]:
        """Flat inputs as (argument, its tensors) pairs."""
        found, start = [], 0
        for arg in self.inputs:
            length = _length(arg, attributes)
            found.append((arg, list(flat[start:start + length])))
            start += length
        return found

    def arguments(self, flat: Sequence[Any], attributes: dict[str, Any]) -> Sequence[Any]:
        """Flat inputs as one value per argument: a list where the signature has a list."""
        if self._simple:
            return flat
        return [items if arg.is_list else items[0] for arg, items in self.group(flat, attributes)]

    def unflatten_outputs(self, op: Operation) -> Any:
        """What calling the op returns: a list of outputs, in which a list output is a list; a sole list output is that list."""
        found: list[Any] = []
        start = 0
        for arg in self.outputs:
            if not arg.is_list:
                found.append(op.outputs[start])
                start += 1
                continue
            length = _length(arg, op.attrs)
            found.append(op.outputs[start:start + length])
            start += length
        return found[0] if len(found) == 1 else found

    def _infer_shapes(self, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any], outputs: int) -> list[TensorShape]:
        values = self.arguments(inputs, attributes)
        try:
            for index, rank in self._ranks:
                _check_rank(values[index], rank)
            result = self.shape(*[values[g] if isinstance(g, int) else attributes[g] for g in self._shape_getters])
            if self._single:
                return [result if type(result) is TensorShape else as_shape(result)]
            shapes = [as_shape(item) for item in result]
        except ValueError as error:
            shapes_text = ", ".join(_shape_text(tensor.shape) for tensor in inputs)
            types_text = ", ".join(tensor.dtype.base_dtype.name for tensor in inputs)
            raise ValueError(f"{error} for '{name}' (op: '{self.type}') with input shapes: {shapes_text} and types: {types_text}.") from None
        if len(shapes) != outputs:
            raise TypeError(f"the shape function of {self.type} gave {len(shapes)} shapes for {outputs} outputs")
        return shapes

    # --- for the runtime ---------------------------------------------------------------------------------------------

    def bind(self, op: Operation, ctx: Any) -> Callable[..., Any]:
        """The kernel of a node as a function of its flat input arrays."""
        if self.kernel is None:
            raise LookupError(f"Op type '{self.type}' of node '{op.name}' has no kernel.")
        parameters = self._kernel_parameters
        first = next((i for i, item in enumerate(parameters) if isinstance(item, int)), len(parameters))  # what stands before the inputs
        value_of = {name: ctx if name == "ctx" else op.attrs[name] for name in parameters if isinstance(name, str)}
        leading = [value_of.pop(name) for name in parameters[:first]]  # type: ignore[arg-type]
        function = functools.partial(self.kernel, *leading, **value_of) if leading or value_of else self.kernel
        order = [item for item in parameters if isinstance(item, int)]
        if not self._single and len(self.output_dtypes(op.attrs)) == 1:  # a list of one: the kernel's tuple holds the result
            function = functools.partial(_only, function)
        if not self._simple:
            return lambda *flat: _pick(function, self.arguments(flat, op.attrs), order)
        return function if order == list(range(len(self.inputs))) else lambda *flat: _pick(function, flat, order)

    @functools.cached_property
    def native_options(self) -> tuple[str, ...]:
        """Which of OPTIONS ``native`` takes."""
        return () if self.native is None else tuple(name for name in self._parameters(self.native) if name in OPTIONS)

    def emit(self, emitter: Any, flat: Sequence[Any], attributes: dict[str, Any], options: dict[str, Any] | None = None) -> list[Any]:
        """Calls ``native`` for flat inputs; the outputs, flat."""
        assert self.native is not None
        values = self.arguments(flat, attributes)
        given = {"emit": emitter, **dict.fromkeys(OPTIONS), **(options or {})}
        found = self.native(*[values[name] if isinstance(name, int) else given[name] if name in given else attributes[name]
                              for name in self._parameters(self.native)])
        return list(found) if isinstance(found, (tuple, list)) else [] if found is None else [found]

    @functools.cached_property
    def _kernel_parameters(self) -> list[int | str]:
        assert self.kernel is not None
        return self._parameters(self.kernel)

    @functools.cached_property
    def proto(self) -> OpDefProto:
        """The signature as an OpDef proto."""
        proto = OpDefProto(name=self.type, is_stateful=self.stateful, is_commutative=self.commutative)
        for field, arguments in ((proto.input_arg, self.inputs), (proto.output_arg, self.outputs)):
            for arg in arguments:
                field.add(name=arg.name, type=0 if arg.dtype is None else arg.dtype.as_datatype_enum, type_attr=arg.type_attr or "",
                          type_list_attr=arg.type_list_attr or "", number_attr=arg.number_attr or "", is_ref=arg.is_ref)
        for name, attr in self.attrs.items():
            entry = proto.attr.add(name=name, type=attr.kind)
            if attr.default is not REQUIRED:
                entry.default_value.CopyFrom(attr_module.to_proto(attr.kind, attr.default))
        return proto

    def __repr__(self) -> str:
        return f"<op {self.type}>"


def _length(arg: Arg, attributes: dict[str, Any]) -> int:
    """How many tensors an argument takes."""
    if arg.type_list_attr is not None:
        return len(attributes[arg.type_list_attr])
    return 1 if arg.number_attr is None else int(attributes[arg.number_attr])


def _pick(function: Callable[..., Any], values: Sequence[Any], order: list[int]) -> Any:
    return function(*[values[index] for index in order])


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
        if op_type in REGISTRY:
            raise ValueError(f"op type {op_type} is registered already, in {REGISTRY[op_type].__module__}")
        REGISTRY[op_type] = OpDef(op_type, signature, declared, body)
        return REGISTRY[op_type]
    return register


def lookup(op_type: str) -> OpDef:
    """The definition of an op type; LookupError if there is none."""
    definition = REGISTRY.get(op_type)
    if definition is None:
        raise LookupError(f"Op type not registered '{op_type}'.")
    return definition


def _create_by_type(target: Any, op_type: str, inputs: list[Any], name: str | None, given: dict[str, Any]) -> Operation:
    definition = lookup(op_type)
    plain = {key: attr_module.from_proto(definition.attrs[key].kind, value) if isinstance(value, AttrValue) else value
             for key, value in given.items() if key in definition.attrs}
    values: list[Any] = []
    rest = list(inputs)
    for arg in definition.inputs:
        if not arg.is_list:
            values.append(rest.pop(0))
            continue
        length = _length(arg, plain) if (arg.type_list_attr or arg.number_attr) in plain else len(rest)
        values.append(rest[:length])
        del rest[:length]
    with target.as_default():
        node = definition.node(values, plain, name)
    for key, value in given.items():
        if key not in definition.attrs:
            node._set_attr(key, value)
    return node


graph._Later.create_op = staticmethod(_create_by_type)


def _only(function: Callable[..., Any], *inputs: Any, **attributes: Any) -> Any:
    (result,) = function(*inputs, **attributes)
    return result


def _check_rank(value: Any, wanted: int | range) -> None:
    allowed = wanted if isinstance(wanted, range) else range(wanted, wanted + 1)
    for tensor in value if isinstance(value, list) else (value,):
        rank = tensor.shape.ndims
        if rank is not None and rank not in allowed:
            how = "" if len(allowed) == 1 else "at least " if rank < allowed.start else "at most "
            raise ValueError(f"Shape must be {how}rank {min(max(rank, allowed.start), allowed.stop - 1)} but is rank {rank}")


def _shape_text(shape: TensorShape) -> str:
    return "<unknown>" if shape.extents is None else "[" + ",".join("?" if extent is None else str(extent) for extent in shape.extents) + "]"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


from penstock.graph import export as _export  # noqa: E402, F401 (gives Graph its as_graph_def; needs the functions above)
