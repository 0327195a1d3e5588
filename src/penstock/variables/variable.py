"""Variable: a tensor whose value is kept from step to step.

``tf.Variable(...)`` makes a ``RefVariable`` (an edge of a ref type; the default of TensorFlow 1) or a ``ResourceVariable`` (a handle with explicit
reads and writes). What both have in common stands here; they differ in how they are read and written.
"""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.variable_pb2 import VariableDef

from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import register_tensor_conversion_function, to_tensor
from penstock.graph.dtypes import DType, as_dtype
from penstock.graph.function import init_scope, lifted, outermost
from penstock.graph.graph import Graph, default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.graph.reference import Reference
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, as_shape, unknown_shape
from penstock.graph.stacks import default_session
from penstock.ops import operators
from penstock.ops.array.array import batch_positions
from penstock.ops.array.gather import GatherNd, GatherV2
from penstock.ops.array.indexing import slice_helper
from penstock.variables import creators, save_slice
from penstock.variables.modes import VariableAggregation, VariableSynchronization, decide_trainable
from penstock.variables.naming import prepend_name_scope, strip_name_scope


class _VariableType(type):
    """Calling ``Variable`` itself asks the creators which class to make."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls.__dict__.get("_is_factory"):
            return creators.create(*args, **kwargs)
        return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What a call takes, for ``help`` and editors."""
        return inspect.signature(creators.create if cls.__dict__.get("_is_factory") else functools.partial(cls.__init__, None))  # type: ignore[misc]


class Variable(metaclass=_VariableType):
    """``tf.Variable(initial_value, ...)``: state in the graph, usable wherever a Tensor is.

    It has no value until its ``initializer`` has run (see ``tf.global_variables_initializer``).

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     v = tf.Variable([1.0, 2.0], name="v")
    ...     sess.run(v.initializer)
    ...     print(sess.run(v.assign_add([1.0, 1.0])), v)
    [2. 3.] <tf.Variable 'v:0' shape=(2,) dtype=float32_ref>
    """

    __array_priority__ = 100
    _is_factory = True

    if TYPE_CHECKING:
        def __init__(self, *args: Any, **kwargs: Any) -> None: ...  # the metaclass makes a RefVariable or a ResourceVariable of them
    SaveSliceInfo = save_slice.SaveSliceInfo

    imperative = False  # True for one that has its value at once: see ``imperative/``
    _caching_device: Any = None
    _constraint: Any = None
    _initial_value: Tensor | None = None
    _initializer_op: Operation
    _save_slice_info: save_slice.SaveSliceInfo | None = None
    _synchronization = VariableSynchronization.AUTO
    _aggregation = VariableAggregation.NONE
    _trainable = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._is_factory = False

    def _construct(self, initial_value: Any, variable_def: VariableDef | None, import_scope: str | None, *, name: str | None, dtype: Any, shape: Any,
                   validate_shape: bool, caching_device: Any, **choices: Any) -> None:
        """What the ``__init__`` of both kinds does; they differ in the order of their arguments. ``choices``: see ``decide_arguments``."""
        if variable_def is not None:
            if initial_value is not None:
                raise ValueError("variable_def and initial_value are mutually exclusive.")
            self._from_proto(variable_def, import_scope)
            return
        if isinstance(initial_value, Tensor) and initial_value.op.graph.building_function and outermost(initial_value.op.graph).imperative:
            initial_value = lifted(initial_value)  # a variable that a traced function makes: its value is computed now
        collections = decide_arguments(self, initial_value, **choices)
        dtype = None if dtype is None else as_dtype(dtype)
        self._caching_device = caching_device
        with init_scope(), name_scope(name, "Variable", [] if callable(initial_value) else [initial_value]) as scope:
            self._build(scope, initial_value, dtype, validate_shape, shape)
        default_graph().add_to_collections(collections, self)

    def _storage_shape(self, shape: Any, validate_shape: bool) -> TensorShape:
        """The shape that the state is declared with: the given one, or that of the initial value."""
        if shape is not None:
            return as_shape(shape)
        return self._initial_value.shape if validate_shape and self._initial_value is not None else unknown_shape()

    # --- what the two kinds define -----------------------------------------------------------------------------------

    def _build(self, scope: str, initial_value: Any, dtype: DType | None, validate_shape: bool, shape: Any) -> None:
        """Adds the ops of the variable, in its own name scope."""
        raise NotImplementedError

    def _from_proto(self, variable_def: VariableDef, import_scope: str | None) -> None:
        """Finds the ops that ``variable_def`` names in the default graph."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """``v:0``, the name of the tensor that stands for it."""
        raise NotImplementedError

    @property
    def op(self) -> Operation:
        """The operation that holds the state."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The type of its elements; a ref type for a RefVariable."""
        raise NotImplementedError

    @property
    def shape(self) -> TensorShape:
        """The shape of its value."""
        raise NotImplementedError

    def value(self) -> Tensor:
        """A tensor with the value, which ops may share."""
        raise NotImplementedError

    def read_value(self) -> Tensor:
        """A tensor with the value at the time that this new op runs, after the control dependencies around it."""
        raise NotImplementedError

    def experimental_ref(self) -> Reference:
        """A hashable reference to this variable, which ``deref()`` gives back."""
        return Reference(self)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """A bool tensor: true once it has a value."""
        raise NotImplementedError

    def initialized_value(self) -> Tensor:
        """Its value, or its initial value as long as it has none: for initial values that depend on other variables."""
        raise NotImplementedError

    def _as_graph_element(self) -> Tensor:
        """What it means to fetch or feed the variable."""
        raise NotImplementedError

    def _convert(self, name: str | None, as_ref: bool) -> Tensor:
        raise NotImplementedError

    def _assign(self, how: str, value: Any, use_locking: bool, name: str | None, read_value: bool, validate_shape: bool = True) -> Any:
        """``Assign``, ``AssignAdd`` or ``AssignSub``."""
        raise NotImplementedError

    def _scatter(self, how: str, indices: Any, updates: Any, use_locking: bool, name: str | None) -> Any:
        """``Scatter<how>``."""
        raise NotImplementedError

    def _strided_slice_assign(self, begin: Any, end: Any, strides: Any, value: Any, name: str, masks: dict[str, int]) -> Any:
        raise NotImplementedError

    def count_up_to(self, limit: int) -> Tensor:
        """A tensor with the value before it is incremented; OutOfRangeError once it has reached ``limit``."""
        raise NotImplementedError

    # --- properties --------------------------------------------------------------------------------------------------

    @property
    def graph(self) -> Graph:
        """The graph it belongs to."""
        return self.op.graph

    @property
    def device(self) -> str:
        """The device that it lives on."""
        return self.op.device

    def get_shape(self) -> TensorShape:
        """``shape``."""
        return self.shape

    def _shape_as_list(self) -> list[int | None] | None:
        return None if self.shape.extents is None else list(self.shape.extents)

    def set_shape(self, shape: Any) -> None:
        """Adds what the caller knows of the shape."""
        raise NotImplementedError

    @property
    def initializer(self) -> Operation:
        """The operation that gives it its initial value."""
        return self._initializer_op

    @property
    def initial_value(self) -> Tensor | None:
        """The tensor that the initializer assigns; RuntimeError in imperative style, which does not keep it."""
        if self.graph.imperative:
            raise RuntimeError("initial_value not supported in EAGER mode.")
        return self._initial_value

    @property
    def trainable(self) -> bool:
        """True if optimizers change it by default."""
        return self._trainable

    @property
    def constraint(self) -> Any:
        """The function that projects it after an update, or None."""
        return self._constraint

    @property
    def synchronization(self) -> VariableSynchronization:
        """See ``VariableSynchronization``."""
        return self._synchronization

    @property
    def aggregation(self) -> VariableAggregation:
        """See ``VariableAggregation``."""
        return self._aggregation

    @property
    def _shared_name(self) -> str:
        """Its name in checkpoints and in the table of its task."""
        return self.name.partition(":")[0]

    def _set_save_slice_info(self, save_slice_info: save_slice.SaveSliceInfo) -> None:
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> save_slice.SaveSliceInfo | None:
        return self._save_slice_info

    # --- values ------------------------------------------------------------------------------------------------------

    def eval(self, session: Any = None) -> Any:
        """Its value in ``session`` or the default session."""
        if default_graph().imperative:
            raise RuntimeError("Trying to eval in EAGER mode")
        return self._as_graph_element().eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Sets the value in ``session`` or the default session, without adding to the graph; in imperative style, at once."""
        if default_graph().imperative:
            self.assign(value)
            return
        session = session or default_session()
        if session is None:
            raise ValueError("Either session argument should be provided or default session should be established")
        session.run(self.initializer, {self.initializer.inputs[1]: value})

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        """Rows of the variable: ``tf.gather``."""
        return GatherV2(self, indices, 0, name=name)

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        """Slices of the variable: ``tf.gather_nd``."""
        return GatherNd(self, indices, name=name)

    # --- writes ------------------------------------------------------------------------------------------------------

    def assign(self, value: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Replaces the value. Returns what has the new value, or with ``read_value=False`` the operation."""
        return self._assign("Assign", value, use_locking, name, read_value)

    def assign_add(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Adds ``delta`` to the value."""
        return self._assign("AssignAdd", delta, use_locking, name, read_value)

    def assign_sub(self, delta: Any, use_locking: bool = False, name: str | None = None, read_value: bool = True) -> Any:
        """Subtracts ``delta`` from the value."""
        return self._assign("AssignSub", delta, use_locking, name, read_value)

    def _scatter_slices(self, how: str, sparse_delta: Any, use_locking: bool, name: str | None) -> Any:
        if not isinstance(sparse_delta, IndexedSlices):
            raise ValueError(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return self._scatter(how, sparse_delta.indices, sparse_delta.values, use_locking, name)

    def scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Replaces the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Update", sparse_delta, use_locking, name)

    def scatter_add(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Adds the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Add", sparse_delta, use_locking, name)

    def scatter_sub(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtracts the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Sub", sparse_delta, use_locking, name)

    def scatter_mul(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Multiplies by the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Mul", sparse_delta, use_locking, name)

    def scatter_div(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Divides by the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Div", sparse_delta, use_locking, name)

    def scatter_min(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the smaller elements of the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Min", sparse_delta, use_locking, name)

    def scatter_max(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Takes the larger elements of the rows that ``sparse_delta`` holds."""
        return self._scatter_slices("Max", sparse_delta, use_locking, name)

    def batch_scatter_update(self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """``tf.batch_scatter_update`` with the rows that ``sparse_delta`` holds."""
        with name_scope(name, "batch_scatter_update", [self, sparse_delta.indices, sparse_delta.values]):
            positions = batch_positions(to_tensor(sparse_delta.indices, name="indices"))
            return self._scatter("NdUpdate", positions, sparse_delta.values, use_locking, None)

    def scatter_nd_update(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Replaces the slices that ``indices`` name."""
        return self._scatter("NdUpdate", indices, updates, True, name)

    def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Adds to the slices that ``indices`` name."""
        return self._scatter("NdAdd", indices, updates, True, name)

    def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Any:
        """Subtracts from the slices that ``indices`` name."""
        return self._scatter("NdSub", indices, updates, True, name)

    # --- Python's protocols ------------------------------------------------------------------------------------------

    def __getitem__(self, spec: Any) -> Tensor:
        return SlicedVariable.of(slice_helper(self.value(), spec), self)

    def __iter__(self) -> NoReturn:
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        raise NotImplementedError(f"Cannot convert a symbolic Variable ({self.name}) to a numpy array.")

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    # --- protos ------------------------------------------------------------------------------------------------------

    def _proto(self, export_scope: str | None, snapshot: str, is_resource: bool) -> VariableDef | None:
        if export_scope is not None and not self.name.startswith(export_scope):
            return None
        proto = VariableDef(
            variable_name=strip_name_scope(self.name, export_scope), initializer_name=strip_name_scope(self.initializer.name, export_scope),
            snapshot_name=strip_name_scope(snapshot, export_scope), is_resource=is_resource, trainable=self.trainable,
            synchronization=self.synchronization.value, aggregation=self.aggregation.value)
        if self._initial_value is not None:
            proto.initial_value_name = strip_name_scope(self._initial_value.name, export_scope)
        if self._save_slice_info is not None:
            proto.save_slice_info_def.MergeFrom(self._save_slice_info.to_proto(export_scope))
        return proto

    def to_proto(self, export_scope: str | None = None) -> VariableDef | None:
        """The VariableDef proto; None for a variable outside ``export_scope``."""
        raise NotImplementedError

    @staticmethod
    def from_proto(variable_def: VariableDef, import_scope: str | None = None) -> Variable:
        """The variable that a VariableDef proto describes, whose ops are in the default graph already."""
        return creators.create(variable_def=variable_def, import_scope=import_scope, use_resource=variable_def.is_resource)

    def _restore_fields(self, graph: Graph, variable_def: VariableDef, import_scope: str | None) -> None:
        """The fields that both kinds read from a VariableDef."""
        self._initializer_op = graph.get_operation_by_name(prepend_name_scope(variable_def.initializer_name, import_scope))
        if variable_def.initial_value_name:
            self._initial_value = graph.get_tensor_by_name(prepend_name_scope(variable_def.initial_value_name, import_scope))
        self._trainable = getattr(variable_def, "trainable", True)
        self._synchronization = VariableSynchronization(variable_def.synchronization)
        self._aggregation = VariableAggregation(variable_def.aggregation)
        if variable_def.HasField("save_slice_info_def"):
            self._save_slice_info = save_slice.SaveSliceInfo(save_slice_info_def=variable_def.save_slice_info_def, import_scope=import_scope)


class SlicedVariable(Tensor):
    """``variable[...]``: the value of a slice, with ``assign`` to write it."""

    __slots__ = ("_variable",)
    _variable: Variable

    @classmethod
    def of(cls, tensor: Tensor, variable: Variable) -> Tensor:
        """Takes the place of the fresh output of a StridedSlice; a boolean mask cannot be written through and stays what it is."""
        if "begin_mask" not in tensor.op.attrs:
            return tensor
        if tensor.op.graph.imperative:
            tensor.assign = functools.partial(_assign_slice, variable, tensor.op.attrs, tensor.op.inputs[1:], tensor.op.name)  # type: ignore[attr-defined]
            return tensor
        sliced = cls(tensor.op, 0, tensor.dtype, tensor.shape)
        sliced._variable = variable
        tensor.op.outputs[0] = sliced
        return sliced

    def assign(self, value: Any, name: str | None = None) -> Any:
        """Writes the slice; returns what has the variable's new value."""
        return _assign_slice(self._variable, self.op.attrs, self.op.inputs[1:], self.op.name, value, name)


def _assign_slice(variable: Variable, attributes: dict[str, Any], places: Sequence[Tensor], slice_name: str, value: Any,
                  name: str | None = None) -> Any:
    """Writes what a StridedSlice has read; ``places`` are its begin, end and strides."""
    masks = {key: mask for key, mask in attributes.items() if key.endswith("_mask")}
    begin, end, strides = places
    return variable._strided_slice_assign(begin, end, strides, value, name or f"{slice_name}/_assign", masks)


def decide_arguments(variable: Variable, initial_value: Any, trainable: bool | None, collections: Any, constraint: Any,
                     synchronization: Any, aggregation: Any) -> list[Any]:
    """Checks what both kinds are given alike, and sets the fields that follow from it; returns the collections to go into."""
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if isinstance(initial_value, Tensor) and initial_value.op.graph.building_function:
        raise ValueError(f"Initializer for a variable, {initial_value}, is from inside a control-flow construct, such as a loop or conditional. "
                         "When creating a variable inside a loop or conditional, use a lambda as the initializer.")
    collections = [GraphKeys.GLOBAL_VARIABLES] if collections is None else collections
    if isinstance(collections, str) or not isinstance(collections, Iterable):
        raise ValueError("collections argument to Variable constructor must be a list, tuple, or set. "
                         f"Got {collections} of type {type(collections)}")
    if constraint is not None and not callable(constraint):
        raise ValueError("The `constraint` argument must be a callable.")
    variable._synchronization = synchronization or VariableSynchronization.AUTO
    variable._aggregation = aggregation or VariableAggregation.NONE
    variable._trainable = decide_trainable(trainable, synchronization)
    variable._constraint = constraint
    result = list(collections)
    if variable._trainable and GraphKeys.TRAINABLE_VARIABLES not in result:
        result.append(GraphKeys.TRAINABLE_VARIABLES)
    return result


def own_name(scope: str) -> str:
    """The name of the op that stands for a variable, from the name scope that was opened for its ops."""
    if not scope:
        raise ValueError("'' is not a valid node name")
    return scope[:-1]


def check_initial_shape(initial_value: Tensor, validate_shape: bool) -> None:
    """ValueError for an initial value of unknown shape, unless that is allowed."""
    if validate_shape and not initial_value.shape.is_fully_defined():
        raise ValueError(f"initial_value must have a shape specified: {initial_value}")


def beside(name: str) -> dict[str, AttrValue]:
    """The attribute that puts an op where the op called ``name``, which may not exist yet, will be."""
    return {"_class": AttrValue(list=AttrValue.ListValue(s=[b"loc:@" + name.encode()]))}


def _convert_variable(value: Variable, dtype: DType | None = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if dtype is not None and not dtype.base_dtype.is_compatible_with(value.dtype):
        raise ValueError(f"Incompatible type conversion requested to type '{dtype.name}' for variable of type '{value.dtype.name}'")
    return value._convert(name, as_ref)


def _operator_on_value(method: str) -> Callable[..., Any]:
    """An operator of Tensor, applied to the value."""
    function = getattr(Tensor, method)

    def operator(self: Variable, *others: Any) -> Any:
        return function(self.value(), *others)

    operator.__name__, operator.__qualname__ = method, f"Variable.{method}"
    return operator


for _method in (*operators.BINARY, *(f"__r{name[2:]}" for name in operators.BINARY), *operators.COMPARISONS, *operators.UNARY):
    setattr(Variable, _method, _operator_on_value(_method))
register_tensor_conversion_function(Variable, _convert_variable, 100)
