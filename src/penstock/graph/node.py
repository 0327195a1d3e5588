"""Operation and Tensor: a node of the graph and one of its outputs."""
from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.node_def_pb2 import NodeDef

from penstock.graph import attrs as attr_module
from penstock.graph import source
from penstock.graph.conversion_status import not_allowed
from penstock.graph.device import canonical_name
from penstock.graph.reference import Reference
from penstock.graph.shape import TensorShape, as_shape
from penstock.graph.stacks import default_session

if TYPE_CHECKING:
    from penstock.graph.dtypes import DType
    from penstock.graph.graph import Graph
    from penstock.graph.opdef import OpDef


class Operation:
    """A node: an op type with inputs, attributes, a name and a device. ``outputs`` are its Tensors.

    Made by calling an op (``tf.matmul(a, b)``), hardly ever directly (``late_inputs.py``). ``attrs`` holds plain Python values, see ``attrs.py``.
    """

    __slots__ = ("__weakref__", "_colocation", "_control_inputs", "_device", "_extra", "_id", "_inputs", "_note", "_original_op", "_saved", "_source",
                 "attrs", "definition", "graph", "name", "outputs")

    def __init__(self, graph: Graph, definition: OpDef, name: str, inputs: tuple[Tensor, ...], attributes: dict[str, Any],
                 dtypes_and_shapes: list[tuple[DType, TensorShape]], *rest: Any) -> None:
        if rest:  # TensorFlow's own constructor, which has more arguments
            self._begin(graph, definition, name, inputs, attributes, dtypes_and_shapes, *rest)
            return
        self.graph, self.definition, self.name, self.attrs = graph, definition, name, attributes
        self._inputs = inputs
        self._control_inputs: list[Operation] = []
        self._device = ""
        self._colocation: tuple[bytes, ...] = ()
        self._extra: dict[str, AttrValue] = {}  # attributes that the op type does not declare: _XlaCompile, ...
        self._note: Any = None  # what passes may know of it beyond its op and inputs: see graph/notes.py
        self._saved: Any = None  # what gradients have made this op keep: see function_gradients.py
        self._original_op: Operation | None = None  # the operation that this one is part of the gradient of: see Graph._original_op
        self._id = graph._next_id()
        self._source = source.user_frames()
        self.outputs: list[Tensor] = [Tensor(self, i, dtype, shape) for i, (dtype, shape) in enumerate(dtypes_and_shapes)]
        for tensor in inputs:
            tensor._consumers.append(self)

    _begin: Callable[..., None]  # given by late_inputs.py
    own_gradient: Any = None  # the function that differentiates this one operation, if it is not its definition's: of imperative style

    def result(self, index: int) -> Any:
        """The value of an output, if it has been computed: in imperative style."""
        return None

    @property
    def type(self) -> str:
        """The op type, ``MatMul``."""
        return self.definition.type

    @property
    def inputs(self) -> InputList:
        """The Tensors that go in."""
        return InputList(self._inputs)

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that must have run before this one."""
        return list(self._control_inputs)

    @property
    def device(self) -> str:
        """The device that the program asked for; empty if it did not."""
        return self._device

    def _set_device(self, device: Any) -> None:
        self._device = canonical_name(device)

    def colocation_groups(self) -> list[bytes]:
        """The groups ``loc:@name`` that this op shares its device with; its own name's if there is none else."""
        return sorted(self._colocation) or [b"loc:@" + self.name.encode()]

    def values(self) -> tuple[Tensor, ...]:
        """The outputs."""
        return tuple(self.outputs)

    @property
    def _input_types(self) -> list[DType]:
        """The types that the inputs are taken as: a variable's value has the plain type, where no reference is needed."""
        return [tensor.dtype if arg.is_ref else tensor.dtype.base_dtype
                for arg, tensors in self.definition.group(self._inputs, self.attrs) for tensor in tensors]

    _input_dtypes = _input_types

    @property
    def _output_types(self) -> list[int]:
        """The types of the outputs, as numbers of the enum DataType."""
        return [tensor.dtype.as_datatype_enum for tensor in self.outputs]

    def _get_control_flow_context(self) -> None:
        """None: the operations of branches and bodies are in graphs of functions, not in contexts."""

    def _set_control_flow_context(self, ctx: None) -> None:
        """What programs that copy operations call with the other's context, which is None."""

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """(file, line, function, text) of the user's frames that made this op, outermost first."""
        return source.traceback(self._source)

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """`traceback`, and the line in which each frame's function begins."""
        return [(*frame, start) for frame, start in zip(self.traceback, source.start_lines(self._source), strict=True)]

    @property
    def origin(self) -> str:
        """The user's own line that made this op, as text."""
        return source.describe(self._source)

    def get_attr(self, name: str) -> Any:
        """The value of an attribute: strings as bytes, lists as lists; ValueError if there is none of this name."""
        if name == "_class" and self._colocation:
            return list(self._colocation)
        if name in self.attrs:
            return _public(self.attrs[name], self.definition.attrs[name].kind)
        if name in self._extra:
            kind = attr_module.kind_of_proto(self._extra[name])
            return _public(attr_module.from_proto(kind, self._extra[name]), kind)
        raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")

    def _set_attr(self, name: str, value: AttrValue) -> None:
        if name == "_class":
            self._colocation = tuple(value.list.s)
        elif name in self.definition.attrs:
            self.attrs[name] = attr_module.from_proto(self.definition.attrs[name].kind, value)
        else:
            self._extra[name] = value

    @property
    def node_def(self) -> NodeDef:
        """This operation as a NodeDef proto."""
        node = NodeDef(name=self.name, op=self.type, device=self._device)
        node.input.extend(tensor._input_name for tensor in self._inputs)
        node.input.extend("^" + op.name for op in self._control_inputs)
        for name, value in self.attrs.items():
            if name in self.definition.implied:
                continue
            node.attr[name].CopyFrom(attr_module.to_proto(self.definition.attrs[name].kind, value))
        for name, proto in self._extra.items():
            node.attr[name].CopyFrom(proto)
        if self._colocation:
            node.attr["_class"].list.s.extend(self._colocation)
        return node

    @property
    def op_def(self) -> Any:
        """The signature of this op's type as an OpDef proto."""
        return self.definition.proto

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs this operation in ``session`` or the default session."""
        _session_for(self, session).run(self, feed_dict)

    def _add_control_inputs(self, ops: list[Operation]) -> None:
        for op in ops:
            if op not in self._control_inputs:
                self._control_inputs.append(op)
        self.graph._note_change()

    def _add_control_input(self, op: Operation) -> None:
        self._add_control_inputs([op])

    def _remove_all_control_inputs(self) -> None:
        """For editors, as ``_update_input``."""
        self._control_inputs.clear()
        self.graph._note_change()

    def _add_input(self, tensor: Tensor, dtype: Any = None) -> None:
        """Adds an input: see late_inputs.py."""
        self._inputs = (*self._inputs, tensor)
        tensor._consumers.append(self)
        self.graph._note_change()

    def _update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces an input: graph surgery, for importers and editors."""
        old = self._inputs[index]
        if not old.dtype.base_dtype.is_compatible_with(tensor.dtype.base_dtype):
            raise TypeError(f"Input {index} of {self.name} is {old.dtype.name}, not {tensor.dtype.name}")
        old._consumers.remove(self)
        self._inputs = (*self._inputs[:index], tensor, *self._inputs[index + 1:])
        tensor._consumers.append(self)
        self.graph._note_change()

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"


class InputList(tuple["Tensor", ...]):
    """The inputs of an operation: a tuple that compares equal to lists, as TensorFlow's does."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


def _public(value: Any, kind: str) -> Any:
    if kind.startswith("list("):
        return [_public(item, kind[5:-1]) for item in value]
    if kind == "string" and isinstance(value, str):
        return value.encode()
    return attr_module.to_proto(kind, value).tensor if kind == "tensor" else \
        attr_module.to_proto(kind, value).func if kind == "func" else value.as_proto() if kind == "shape" else value


_tensor_ids = itertools.count(1)


class Tensor:
    """A symbolic value: one output of an Operation. Operators (``+``, ``[...]``, ...) are added by ``penstock.ops``."""

    # With a __dict__, which is made when it is needed: libraries (TFLearn, TensorLayer) keep notes on tensors.
    __slots__ = ("__dict__", "__weakref__", "_consumers", "_dtype", "_handle_data", "_id", "_keras_history", "_keras_mask", "_keras_shape", "_shape",
                 "_uses_learning_phase", "aliases", "op", "value_index")
    imperative = False  # True for one that has a value: see ``imperative/``
    __array_priority__ = 100  # NumPy arrays on the left leave operators to Tensor

    if TYPE_CHECKING:  # installed by ops/operators.py and ops/array/indexing.py
        __add__: Any
        __radd__: Any
        __sub__: Any
        __rsub__: Any
        __mul__: Any
        __rmul__: Any
        __truediv__: Any
        __rtruediv__: Any
        __neg__: Any
        __getitem__: Any

    def __init__(self, op: Operation, value_index: int, dtype: DType, shape: TensorShape) -> None:
        self.op, self.value_index, self._dtype, self._shape = op, value_index, dtype, shape
        self._consumers: list[Operation] = []
        self._handle_data: Any = None  # of a resource: (dtype, shape) of what it refers to
        self._id = next(_tensor_ids)

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._dtype

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.op.graph

    @property
    def name(self) -> str:
        """``op_name:output_index``."""
        return f"{self.op.name}:{self.value_index}"

    @property
    def _input_name(self) -> str:
        return self.op.name if self.value_index == 0 else f"{self.op.name}:{self.value_index}"

    @property
    def device(self) -> str:
        """The device of its operation."""
        return self.op.device

    @property
    def shape(self) -> TensorShape:
        """What is known of the shape before anything runs."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """``shape``."""
        return self._shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self._shape.extents is None else list(self._shape.extents)

    def _shape_tuple(self) -> tuple[int | None, ...] | None:
        return self._shape.extents

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows of the shape; ValueError if it contradicts what is known."""
        self._shape = self._shape.merge_with(as_shape(shape))

    def consumers(self) -> list[Operation]:
        """The operations that take this tensor as an input; one that takes it twice comes twice."""
        return list(self._consumers)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Runs what it takes to compute this tensor, in ``session`` or the default session."""
        return _session_for(self, session).run(self, feed_dict)

    def experimental_ref(self) -> Reference:
        """A hashable reference to this tensor, which ``deref()`` gives back."""
        return Reference(self)

    def _as_node_def_input(self) -> str:
        return self._input_name

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: Any) -> Tensor:
        return self

    def __iter__(self) -> Iterator[Any]:
        raise not_allowed("iterating over `tf.Tensor`")

    def __bool__(self) -> bool:
        raise not_allowed("using a `tf.Tensor` as a Python `bool`")

    __nonzero__ = __bool__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise NotImplementedError(f"Cannot convert a symbolic Tensor ({self.name}) to a numpy array.")

    def __float__(self) -> float:
        raise TypeError(f"the symbolic Tensor {self.name} has no float value before it runs; evaluate it in a session")

    def __int__(self) -> int:
        raise TypeError(f"the symbolic Tensor {self.name} has no int value before it runs; evaluate it in a session")

    def __str__(self) -> str:
        shape = f", shape={self._shape}" if self._shape.ndims is not None else ""
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{shape}, dtype={self._dtype.name}{device})'

    def __repr__(self) -> str:
        return f"<tf.Tensor '{self.name}' shape={self._shape} dtype={self._dtype.name}>"


def _session_for(element: Operation | Tensor, session: Any) -> Any:
    if session is None:
        session = default_session()
        if session is None:
            call = "Operation.run()" if isinstance(element, Operation) else "Tensor.eval()"
            raise ValueError(f"Cannot execute `{call}` of '{element.name}': No default session is registered. "
                             "Use `with sess.as_default()` or pass an explicit session.")
    if session.graph is not element.graph:
        raise ValueError(f"Cannot use the given session to evaluate '{element.name}': the tensor's graph is different from the session's graph.")
    return session
