"""Small functions of TensorFlow's private modules that programs call and that Penstock itself does not need."""
from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.op_def_pb2 import OpDef as OpDefProto

from penstock.checkpoint.checkpoint_state import latest_checkpoint
from penstock.checkpoint.contents import load_variable
from penstock.custom_gradient import custom_gradient
from penstock.gradients import UnconnectedGradients, gradients
from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices, SparseTensor, SparseTensorValue
from penstock.graph.device import canonical_name
from penstock.graph.graph import default_graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import add_to_collections
from penstock.graph.shape import TensorShape, as_shape, broadcast
from penstock.imperative.context import executing_eagerly
from penstock.layers.options import transposed_length
from penstock.ops.constant import constant
from penstock.platform import logging
from penstock.program.devices import Device
from penstock.summary.summary import tag_and_scope
from penstock.train.session_manager import not_ready
from penstock.variables.replicas import current_context

LOSS_METRIC_KEY = "loss"  # of estimator/model_fn.py
WEIGHTS_VARIABLE_NAME, BIAS_VARIABLE_NAME = "kernel", "bias"  # of cells: rnn_cell_impl.py
INVALID_SCOPE_CHARACTERS = re.compile("[^-_/.A-Za-z0-9]")  # of summary_ops_v2.py
_numbers = itertools.count(1)


def uid() -> int:
    """A number that was not given before in this process."""
    return next(_numbers)


def is_dense_tensor_like(value: Any) -> bool:
    """Whether ``value`` is a tensor, or a variable, which stands for one."""
    return isinstance(value, (Tensor, *_tensor_like_types)) or hasattr(value, "initialized_value")


_tensor_like_types: list[type] = []


def register_dense_tensor_like_type(tensor_type: type) -> None:
    """Values of ``tensor_type``, which has the properties ``name`` and ``dtype``, count as dense tensors from now on."""
    for attribute in ("name", "dtype"):
        if not isinstance(getattr(tensor_type, attribute, None), property):
            raise TypeError(f"Type {tensor_type.__name__} does not define a `{attribute}` property")
    _tensor_like_types.append(tensor_type)


class _TensorLikeType(type):
    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, (Tensor, SparseTensor, IndexedSlices))


class TensorLike(metaclass=_TensorLikeType):
    """TensorFlow's base class of tensors, dense and sparse: for ``isinstance``."""


class RegisterShape:
    """A decorator that gave a shape function to an operation of C++, before TensorFlow 1.0; shapes come with the operation, so it changes nothing."""

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, function: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """``function`` itself."""
        return function


def get_registered_ops() -> dict[str, OpDefProto]:
    """{type: OpDef proto} of every operation."""
    return {op_type: definition.proto for op_type, definition in REGISTRY.items()}


def new_node_def(op_type: str, name: str, device: Any = None, attrs: dict[str, AttrValue] | None = None) -> NodeDef:
    """A NodeDef without inputs."""
    node = NodeDef(op=op_type, name=name, device="" if callable(device) else canonical_name(device))
    for key, value in (attrs or {}).items():
        node.attr[key].CopyFrom(value)
    return node


def never(*_: Any) -> bool:
    """False: asks for MKL or XLA, which Penstock does not have."""
    return False


def nothing(*_: Any) -> None:
    """None: the XLA context around an operation."""


def is_sparse(value: Any) -> bool:
    """Whether ``value`` is a sparse tensor, or the value of one."""
    return isinstance(value, (SparseTensor, SparseTensorValue))


def is_constant(value: Any) -> bool:
    """Whether a tensor, or its operation, is a constant of the graph."""
    return (value.op if isinstance(value, Tensor) else value).type == "Const"


def name_from_scope_name(name: str) -> str:
    """The name of an operation whose scope is ``name``: without the slash at its end."""
    return name.removesuffix("/")


def tensor_shape_proto_to_list(shape: Any) -> list[int]:
    """The extents of a TensorShapeProto."""
    return [axis.size for axis in shape.dim]


def in_graph_mode() -> bool:
    """Whether calls add to a graph, and are not computed at once."""
    return not executing_eagerly()


def gradients_v2(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", gate_gradients: bool = False, aggregation_method: Any = None,
                 stop_gradients: Any = None, unconnected_gradients: Any = UnconnectedGradients.NONE) -> list[Any]:
    """``tf.gradients`` of TensorFlow 2, which has no ``colocate_gradients_with_ops``."""
    return gradients(ys, xs, grad_ys, name=name, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
                     stop_gradients=stop_gradients, unconnected_gradients=unconnected_gradients)


def graph_mode_decorator(f: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of ``f``, which returns it with its gradient function."""
    return custom_gradient(f)(*args, **kwargs)


def aggregate_variable(variable: Any, collections: Any) -> Any:
    """The value of a metric's variable, in collections."""
    value = variable.value()
    if collections:
        add_to_collections(collections, value)
    return value


def shape_to_tensor(shape: TensorShape, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    """A known shape as a constant."""
    if not shape.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {shape}")
    return constant(shape.as_list(), dtype=dtype or dtypes.int32, name=name or "shape_as_tensor")


def as_graph_element(value: Any) -> Any:
    """What stands for ``value`` in a graph; None if nothing does."""
    convert = getattr(value, "_as_graph_element", None)
    return convert() if convert else None


def prepend_name_scope(name: str, import_scope: str | None) -> str:
    """``name`` inside a scope; a location of colocation (``loc:@x``) keeps its mark."""
    if not import_scope:
        return name
    scope = import_scope.rstrip("/")
    return re.sub(r"^([\^]|loc:@)?", lambda mark: f"{mark[0]}{scope}/", name, count=1)


def collect_summary(value: Any, collections: Any, default_collections: Any) -> None:
    """Adds a summary to collections."""
    for key in default_collections if collections is None else collections:
        default_graph().add_to_collection(key, value)


def skip_summary() -> bool:
    """Whether this is a replica whose summaries are not kept: all but the first."""
    context = current_context()
    return context is not None and context.replica_id_in_sync_group > 0


def summary_scope(name: str, family: str | None = None, default_name: str | None = None, values: Any = None) -> Any:
    """(tag, scope) for a summary, as a context."""
    return tag_and_scope(name or default_name or "", family, values)


class DeviceAttributes(Device):
    """A device, as TensorFlow's sessions list it."""

    def __init__(self, name: str, device_type: str, memory_limit_bytes: int, incarnation: int = 1) -> None:
        super().__init__(canonical_name(name), device_type, memory_limit_bytes, incarnation)

    def __repr__(self) -> str:
        return f"_DeviceAttributes({self.name}, {self.device_type}, {self.memory_limit_bytes}, {self.incarnation})"


class Registry:
    """Objects by name, each of which can be registered once."""

    def __init__(self, name: str) -> None:
        self._name, self._entries = name, dict[str, Any]()

    def register(self, candidate: Any, name: str | None = None) -> None:
        """Adds an object under ``name`` or its own name; KeyError if that is taken."""
        name = name or candidate.__name__
        if name in self._entries:
            raise KeyError(f"Registering two {self._name} with name {name!r}!")
        self._entries[name] = candidate

    def list(self) -> list[str]:
        """The names."""
        return list(self._entries)

    def lookup(self, name: str) -> Any:
        """The object of this name; LookupError if there is none."""
        if name not in self._entries:
            raise LookupError(f"{self._name} registry has no entry for: {name}")
        return self._entries[name]


def broadcast_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """The shape that two shapes broadcast to; ValueError if there is none."""
    return broadcast(as_shape(shape_x), as_shape(shape_y))


def is_broadcast_compatible(shape_x: Any, shape_y: Any) -> bool:
    """Whether two shapes are known to broadcast: False if the rank of one is not known."""
    shape_x, shape_y = as_shape(shape_x), as_shape(shape_y)
    if shape_x.ndims is None or shape_y.ndims is None:
        return False
    try:
        broadcast(shape_x, shape_y)
    except ValueError:
        return False
    return True


def register_symbolic_tensor_type(cls: type) -> None:
    """``tf_utils.register_symbolic_tensor_type``: Keras takes whatever converts to a tensor here, so a class that does needs no more."""
    if not isinstance(cls, type):
        raise TypeError(f"a class is wanted, not {cls!r}")


def scalar_shape(unused_op: Any) -> list[TensorShape]:
    """A shape function of Python: one scalar."""
    return [TensorShape([])]


def shape_equals(tensor_proto: Any, shape: Any) -> bool:
    """Whether a TensorProto has this shape."""
    dims = [dim.size for dim in shape.dim] if hasattr(shape, "dim") else list(shape)
    return [dim.size for dim in tensor_proto.tensor_shape.dim] == dims


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """The length of what a transposed convolution makes."""
    length: int | None = transposed_length(input_length, filter_size, padding, None, stride)
    return length


def load_global_step(checkpoint_dir: str) -> Any:
    """The global step of the latest checkpoint in a folder; 0 if there is none."""
    return load_variable(checkpoint_dir, GraphKeys.GLOBAL_STEP) if latest_checkpoint(checkpoint_dir) else 0


def same_method(method: Callable[..., Any]) -> Callable[..., Any]:
    """``no_automatic_dependency_tracking``: the method itself. What it sets is found by looking at the object when it is saved."""
    return method


def element_of_default_graph(value: Any) -> Any:
    """The tensor or operation of the default graph that ``value``, of that graph or a name, stands for."""
    graph = default_graph()
    if getattr(value, "graph", graph) is not graph:
        raise ValueError(f"Passed {value} should have graph attribute that is equal to current graph {graph}.")
    return graph.as_graph_element(value)


def session_is_ready(op: Any, sess: Any, msg: str) -> tuple[bool, str | None]:
    """(whether the check ``op`` finds nothing missing in a session, what it says otherwise); ``msg`` is logged with that."""
    missing = not_ready(op, sess)
    if missing is not None:
        logging.info("%s: error %s", msg, missing)
    return missing is None, missing
