"""``tf_debug.GradientsDebugger``: which tensors are the gradients of which, and their values in a dump.

A tensor that is watched goes through an Identity of its own, whose gradient function tells the debugger what flows back through it.
"""
from __future__ import annotations

import re
import uuid
import weakref
from typing import Any

from penstock.debug.tfdbg.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from penstock.gradients import RegisterGradient
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.ops.constant import Identity
from penstock.session.debug_ops import IDENTITY

_TAG = "gradient_debug_"
_GRADIENT = "_DebugGradientIdentity"
_debuggers: weakref.WeakValueDictionary[str, GradientsDebugger] = weakref.WeakValueDictionary()


@RegisterGradient(_GRADIENT)
def _identity_gradient(op: Operation, dy: Any) -> Any:
    debugger = _debuggers.get(op.name.rpartition(_TAG)[2])
    if debugger is not None and (debugger.is_active or not any(each.is_active for each in _debuggers.values())):
        debugger.register_gradient_tensor(op.inputs[0].name, dy)
    return dy


class GradientsDebugger:
    """Knows the gradients of what it watches, once they have been made.

    As a context manager it is, inside, the only one that is told. ``y_tensor`` is not needed: what is differentiated does not matter.
    """

    def __init__(self, y_tensor: Any = None) -> None:
        self.y_tensor = y_tensor
        self._key = uuid.uuid4().hex
        _debuggers[self._key] = self
        self.graph: Graph | None = None
        self._gradients: dict[str, Any] = {}
        self.is_active = False

    def __enter__(self) -> GradientsDebugger:
        self.is_active = True
        return self

    def __exit__(self, *error: Any) -> None:
        self.is_active = False

    def identify_gradient(self, input_tensor: Tensor) -> Tensor:
        """The tensor, watched: to be used in its place."""
        self._in_graph(input_tensor.graph)
        name = f"{input_tensor.op.name}_{input_tensor.value_index}/{_TAG}{self._key}"
        if name in input_tensor.graph._by_name:
            raise ValueError(f"The graph already contains an op named {name}")
        with input_tensor.graph.as_default(), input_tensor.graph.gradient_override_map({"Identity": _GRADIENT}), \
                input_tensor.graph.name_scope(""):
            return Identity(input_tensor, name=name)

    def watch_gradients_by_tensors(self, graph: Graph, tensors: Any) -> GradientsDebugger:
        """Watches tensors: all operations that use them take them by way of this debugger."""
        for each in tensors if isinstance(tensors, (list, tuple)) else [tensors]:
            tensor: Any = getattr(each, "_variable", each)
            self._watch(graph, tensor)
        return self

    def watch_gradients_by_tensor_names(self, graph: Graph, tensor_name_regex: str) -> GradientsDebugger:
        """Watches the tensors whose names match a regular expression."""
        pattern = re.compile(tensor_name_regex)
        for tensor in [tensor for op in graph.get_operations() for tensor in op.outputs if pattern.match(tensor.name)]:
            self._watch(graph, tensor)
        return self

    def _watch(self, graph: Graph, tensor: Tensor) -> None:
        consumers = list(dict.fromkeys(op for op in tensor.consumers() if not any(kind.is_ref for kind in _input_types(op, tensor))))
        watched = self.identify_gradient(tensor)
        for op in consumers:
            for index, each in enumerate(op.inputs):
                if each is tensor:
                    op._update_input(index, watched)

    def _in_graph(self, graph: Graph) -> None:
        if self.graph is not None and self.graph is not graph:
            raise ValueError("the tensors that a GradientsDebugger watches are in one graph")
        self.graph = graph

    def register_gradient_tensor(self, x_tensor_name: str, gradient_tensor: Any) -> None:
        """A gradient has been made."""
        self._gradients[x_tensor_name] = gradient_tensor

    def gradient_tensor(self, x_tensor: Any) -> Any:
        """The gradient of a tensor, given by itself or by its name; LookupError if there is none yet."""
        name = x_tensor if isinstance(x_tensor, str) else getattr(x_tensor, "name", None)
        if not isinstance(name, str):
            raise TypeError(f"x_tensor must be a str or tf.Tensor or tf.Variable, but instead has type {type(x_tensor)}")
        if name not in self._gradients:
            raise LookupError(f"This GradientsDebugger has not received any gradient tensor for x-tensor {name}")
        return self._gradients[name]

    def gradient_tensors(self) -> dict[str, Any]:
        """All gradients, by the names of their tensors."""
        return dict(self._gradients)


def _input_types(op: Operation, tensor: Tensor) -> list[Any]:
    """As what an operation takes a tensor: one that is to be assigned to must stay what it is."""
    references = {arg.name for arg in op.definition.inputs if arg.is_ref}
    return [tensor.dtype for arg, each in zip(op.definition.inputs, op.inputs) if each is tensor and arg.name in references]


def gradient_values_from_dump(grad_debugger: GradientsDebugger, x_tensor: Any, dump: DebugDumpDir) -> list[Any]:
    """The values of the gradient of a tensor in a dump; none if it is not in it."""
    if dump.python_graph is not None and grad_debugger.graph is not None and dump.python_graph is not grad_debugger.graph:
        raise ValueError("This GradientsDebugger instance has a graph (%s) that differs from the graph of the DebugDumpDir object (%s)." %
                         (grad_debugger.graph, dump.python_graph))
    gradient = grad_debugger.gradient_tensor(x_tensor)
    try:
        return dump.get_tensors(gradient.op.name, gradient.value_index, IDENTITY)
    except WatchKeyDoesNotExistInDebugDumpDirError:
        return []
