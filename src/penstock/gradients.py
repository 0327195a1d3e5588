"""Symbolic differentiation: ``tf.gradients`` adds to the graph what computes the derivatives of ys with respect to xs.

Reverse mode: walk the operations between xs and ys against the edges; at each one, add up the gradients that came in through its
outputs, ask the op's ``gradient`` for those of its inputs, pass them on. IndexedSlices stay sparse as long as ops let them.

In a function (a branch of ``tf.cond``, the body of a loop) an x may be a tensor of the graph around it. The walk then goes on from what the function
has captured to the operations outside; the gradients of those are built in the function as well.
"""
from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakSet

from penstock.backward import Backward
from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.function import FuncGraph
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import REGISTRY
from penstock.graph.scopes import name_scope
from penstock.graph.stacks import gated_calls, gradient_calls, needed_inputs
from penstock.graph.traverse import operations_behind
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import fill, zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant
from penstock.ops.flow.misc import tuple_
from penstock.ops.math.add_n import AddN
from penstock.platform.garbage import uncollected

GradientFunction = Callable[..., Any]

_DIFFERENTIABLE = frozenset([dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128,
                             dtypes.resource, dtypes.variant])
_by_name: dict[str, GradientFunction | None] = {}  # gradients registered under a name of their own


class UnconnectedGradients(enum.Enum):
    """What ``gradients`` gives for a source that no target depends on."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How the gradients of a tensor with several consumers are added up. All methods give one AddN here."""

    ADD_N = DEFAULT = 0
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


# --- registration ----------------------------------------------------------------------------------------------------

class RegisterGradient:
    """``@tf.RegisterGradient("Name")``: makes a function the gradient of an op type, or of ops that ``gradient_override_map`` names."""

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, function: GradientFunction) -> GradientFunction:
        _register(self._op_type, function)
        return function


def NotDifferentiable(op_type: str) -> None:
    """``tf.NotDifferentiable("Type")``: no gradient passes through ops of this type."""
    if not isinstance(op_type, str):
        raise TypeError("op_type must be a string")
    _register(op_type, None)


NoGradient = NotDifferentiable


def _register(name: str, function: GradientFunction | None) -> None:
    definition = REGISTRY.get(name)
    if name in _by_name or (definition is not None and definition.has_gradient):
        raise KeyError(f"Registering two gradient with name '{name}'!")
    if definition is not None:
        definition.gradient = function
    _by_name[name] = function


def get_gradient_function(op: Operation) -> GradientFunction | None:
    """The function that differentiates ``op``; None if nothing passes through it; LookupError if there is none."""
    if op.own_gradient is not None:
        own: GradientFunction = op.own_gradient
        return own
    override = op._extra.get("_gradient_op_type")
    if override is None:
        return op.definition.gradient
    name = override.s.decode()
    if name in _by_name:
        return _by_name[name]
    if name in REGISTRY:
        return REGISTRY[name].gradient
    raise LookupError(f"gradient registry has no entry for: {name}")


# --- tf.gradients ----------------------------------------------------------------------------------------------------

def gradients(ys: Any, xs: Any, grad_ys: Any = None, name: str = "gradients", colocate_gradients_with_ops: bool = False,
              gate_gradients: bool = False, aggregation_method: int | None = None, stop_gradients: Any = None,
              unconnected_gradients: Any = UnconnectedGradients.NONE, *, within: Any = None) -> list[Any]:
    """``tf.gradients``: d(sum of ys)/dx for each x of xs; None for an x that no y depends on.

    With ``within``, only paths through these operations count: those that a tape has recorded.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.constant(3.0)
    ...     sess.run(tf.gradients(x * x, x))
    [np.float32(6.0)]
    """
    if within is None and default_graph().imperative:
        raise RuntimeError("tf.gradients is not supported when eager execution is enabled. Use tf.GradientTape instead.")
    ys, xs, stops = _as_list(ys), _as_list(xs), _as_list(stop_gradients)
    grad_ys = [None] * len(ys) if grad_ys is None else _as_list(grad_ys)
    if len(grad_ys) != len(ys):
        raise ValueError(f"Passed {len(grad_ys)} grad_ys for {len(ys)} ys")
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {unconnected_gradients!r}") from None
    with name_scope(name, "gradients", [item for item in (*ys, *xs, *stops) if hasattr(item, "graph")]) as scope, \
            gradient_calls.using(scope), gated_calls.using(gate_gradients or bool(gated_calls.top())), uncollected():
        targets = [_target(y, "y") for y in ys]
        sources = [_source(x) for x in xs]
        walk = _BackwardWalk(targets, sources, [_source(stop) for stop in stops], colocate_gradients_with_ops, gate_gradients, scope, within)
        walk.start(targets, grad_ys)
        walk.run()
        totals = [walk.total(source) for source in sources]
        if unconnected is UnconnectedGradients.ZERO:
            totals = [zeros_like(source) if grad is None else grad for source, grad in zip(sources, totals)]
    return totals


def _as_list(values: Any) -> list[Any]:
    return [] if values is None else list(values) if isinstance(values, (list, tuple)) else [values]


def _source(x: Any) -> Tensor:
    """The tensor to differentiate by: a variable's reference or handle, or the tensor itself."""
    handle = getattr(x, "handle", None)
    if isinstance(handle, Tensor) and hasattr(x, "_as_graph_element"):
        return handle if handle.op.graph.imperative is default_graph().imperative else default_graph().capture(handle)
    if isinstance(x, IndexedSlices):
        return x.values
    return to_tensor(x, as_ref=True, name="x")


def _target(y: Any, name: str) -> Tensor:
    """The tensor of a y; a sequence of tensors, such as the output and the state of a cell, is packed into one."""
    return y.values if isinstance(y, IndexedSlices) else to_tensor(y, as_ref=not isinstance(y, (list, tuple)), name=name)


class _BackwardWalk:
    """One call of ``gradients``: the gradients collected so far per tensor, and the walk that spreads them."""

    def __init__(self, ys: list[Tensor], xs: list[Tensor], stops: list[Tensor], colocate: bool, gate: bool, scope: str,
                 within: Any = None) -> None:
        self._colocate, self._gate, self._scope = colocate, gate, scope
        self._is_call = within is None  # of ``tf.gradients``, not of a tape
        self._xs = set(xs)
        self._stop_ops = {tensor.op for tensor in stops}
        self._outside = _captured_tensors(xs) if within is None else {}
        self._order = _between(ys, xs, self._stop_ops, within, self._outside)
        self._members = set(self._order)
        self._collected: dict[Tensor, list[Any]] = {}
        self._totals: dict[Tensor, Any] = {}

    def start(self, ys: Sequence[Tensor], grad_ys: Iterable[Any]) -> None:
        """Puts in the gradients of the ys: ones, where none is given."""
        for index, (y, grad_y) in enumerate(zip(ys, grad_ys)):
            if grad_y is None:
                if y.dtype.is_complex:
                    raise TypeError(f"Gradients of complex tensors must set grad_ys (y.dtype = {y.dtype!r})")
                if not _differentiable(y):
                    continue
                grad_y = fill(shape(y), constant(1, y.dtype.base_dtype, name=f"grad_ys_{index}"))
            else:
                grad_y = _checked_grad_y(y, grad_y, index)
                if self._is_call and not isinstance(default_graph(), Backward):  # what is handed on to a function's gradient is no call in TensorFlow
                    parts = 1 if not isinstance(grad_y, IndexedSlices) else 2 + (grad_y.dense_shape is not None)
                    default_graph().imply(parts)  # an Identity of each
            self._collected.setdefault(y, []).append(grad_y)

    def run(self) -> None:
        """From the ys back to the xs."""
        for op in reversed(self._order):
            out_grads = [self.total(tensor) for tensor in op.outputs]
            if op in self._stop_ops or all(grad is None for grad in out_grads):
                continue
            if op in self._outside:
                self._collected.setdefault(self._outside[op], []).append(out_grads[0])
            else:
                self._differentiate(op, out_grads)

    def total(self, tensor: Tensor) -> Any:
        """The sum of the gradients collected for a tensor; None if there are none."""
        if tensor not in self._totals:
            self._totals[tensor] = add_up(self._collected.get(tensor, []))
        return self._totals[tensor]

    def _scope_of(self, op: Operation) -> contextlib.AbstractContextManager[Any]:
        """Where the gradient of an operation is built."""
        scopes = contextlib.ExitStack()
        if not op.graph.imperative:
            scopes.enter_context(name_scope(op.name + "_grad"))
            if default_graph() is op.graph:
                scopes.enter_context(op.graph._original_op(op))
            if self._colocate:
                scopes.enter_context(default_graph().colocate_with(op, True))
        return scopes

    def _scope_of_gate(self, op: Operation) -> contextlib.AbstractContextManager[Any]:
        """Where the gradients of an operation wait for each other: each where it is. One that is only handed on is not where the operation is."""
        return default_graph().colocate_with(None, True) if self._colocate and not op.graph.imperative else contextlib.nullcontext()

    def _differentiate(self, op: Operation, out_grads: list[Any]) -> None:
        function = get_gradient_function_or_explain(op)
        needed = [tensor.op in self._members or tensor in self._xs for tensor in op._inputs]
        if function is None or not any(needed):
            return
        with self._scope_of(op), needed_inputs.using(needed):
            result = _call_counted(function, op, out_grads if op.definition.sees_unused else _with_zeros(op, out_grads))
            in_grads = [None] * len(op._inputs) if result is None else _as_list(result)
            if len(in_grads) != len(op._inputs):
                raise ValueError(f"Num gradients {len(in_grads)} generated for op {op.name} ({op.type}) do not match num inputs {len(op._inputs)}")
            number = sum(grad is not None for grad in in_grads)
            if self._gate and number > 1:
                # the gradient of a loop or a branch is one operation here, and many there
                with self._scope_of_gate(op), default_graph().counting_as(0) if _runs_functions(op) else contextlib.nullcontext():
                    in_grads = tuple_(in_grads)
            elif gated_calls.top() and number > 1 and not _runs_functions(op):
                default_graph().imply(number + 1)  # in a loop or a branch they wait only there
        for index, (tensor, grad) in enumerate(zip(op._inputs, in_grads)):
            if grad is not None and _differentiable(tensor):
                self._collected.setdefault(tensor, []).append(_check_shape(op, index, tensor, grad))


def _runs_functions(op: Operation) -> bool:
    return op.definition.repeats or op.definition.branch is not None


def _call_counted(function: GradientFunction, op: Operation, out_grads: list[Any]) -> Any:
    """What a gradient function gives; its nodes count as those that TensorFlow has in their place."""
    nodes, reads = op.definition.gradient_nodes, op.definition.gradient_reads
    if op.graph.imperative or function is not op.definition.gradient:
        return function(op, *out_grads)
    number = nodes(op) if callable(nodes) else nodes
    with contextlib.ExitStack() as scopes:
        if number is not None:
            scopes.enter_context(default_graph().counting_as(number))
        if reads is not None:
            scopes.enter_context(default_graph().reading(reads(op)))
        return function(op, *out_grads)


def _with_zeros(op: Operation, grads: list[Any]) -> list[Any]:
    """The gradients of an op's outputs, with zeros where there are none."""
    return [_zeros_for(tensor) if grad is None and _has_zeros(tensor) else grad for grad, tensor in zip(grads, op.outputs)]


def _zeros_for(tensor: Tensor) -> Tensor:
    with default_graph().zeros_in_place(tensor):
        return zeros_like(tensor)


def get_gradient_function_or_explain(op: Operation) -> GradientFunction | None:
    """``get_gradient_function`` with an error that says where the op came from."""
    try:
        return get_gradient_function(op)
    except LookupError:
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type}), made at {op.origin or 'an unknown place'}. "
                          f"Register one with @tf.RegisterGradient(\"{op.type}\"), or stop the path with tf.stop_gradient.") from None


def _between(ys: Iterable[Tensor], xs: Iterable[Tensor], stops: set[Operation], within: Any = None,
             outside: Mapping[Operation, Tensor] | None = None) -> list[Operation]:
    """The operations on a path from some x to some y, in a runnable order; of those ``within``, if it is given."""
    reached = {tensor.op for tensor in xs}
    outside = outside or {}
    result = []
    for op in _before(ys, outside) if within is None else within:
        inputs = [outside[op]] if op in outside else op._inputs
        if op in reached or (op not in stops and any(tensor.op in reached and _differentiable(tensor) for tensor in inputs)):
            reached.add(op)
            result.append(op)
    return result


def _before(ys: Iterable[Tensor], outside: Mapping[Operation, Tensor]) -> list[Operation]:
    """All that the ys depend on; what is captured depends on the tensor outside that it stands for."""
    order = list(operations_behind(ys, (), (), control=False))
    captured = [outside[op] for op in order if op in outside and not outside[op].op.graph.imperative]
    return list(dict.fromkeys([*_before(captured, outside), *order])) if captured else order


def _captured_tensors(xs: Iterable[Tensor]) -> dict[Operation, Tensor]:
    """The inputs of the function that is being built, and of functions around it, with the tensors that they stand for; if an x is outside of it."""
    graph, result = default_graph(), dict[Operation, Tensor]()
    if all(x.op.graph is graph for x in xs):
        return result
    while isinstance(graph, FuncGraph):
        result.update((inner.op, outer) for outer, inner in graph.captures.items())
        graph = graph.outer
    return result


def _differentiable(tensor: Tensor) -> bool:
    return tensor.dtype.base_dtype in _DIFFERENTIABLE


def _has_zeros(tensor: Tensor) -> bool:
    """True if no gradient can be written as zeros: not for handles and lists."""
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def _checked_grad_y(y: Tensor, grad_y: Any, index: int) -> Any:
    if not isinstance(grad_y, IndexedSlices):
        grad_y = to_tensor(grad_y, dtype=y.dtype.base_dtype if not hasattr(grad_y, "dtype") else None, name=f"grad_ys_{index}")
    kind = "floating" if y.dtype.is_floating else "complex" if y.dtype.is_complex else "integer" if y.dtype.is_integer else None
    if kind is not None and not getattr(grad_y.dtype, f"is_{kind}"):
        raise TypeError(f"Gradient type {grad_y.dtype.name} generated for {kind}-valued tensor {y} with type {y.dtype.name} must be {kind}")
    return grad_y


def _check_shape(op: Operation, index: int, tensor: Tensor, grad: Any) -> Any:
    """A gradient whose shape agrees with the tensor it belongs to; ValueError, naming the op, otherwise."""
    if isinstance(grad, IndexedSlices):
        return grad
    grad = to_tensor(grad)
    if tensor.dtype.base_dtype in (dtypes.resource, dtypes.variant):
        return grad
    try:
        grad.set_shape(tensor.shape)
    except ValueError:
        raise ValueError(f"Incompatible shapes between op input and calculated input gradient. Forward operation: {op.name} ({op.type}). "
                         f"Input index: {index}. Original input shape: {tensor.shape}. Calculated input gradient shape: {grad.shape}") from None
    return grad


# --- adding up -------------------------------------------------------------------------------------------------------

sums_of_branches: WeakSet[Tensor] = WeakSet()  # gradients of which a conditional has counted the AddN of what its two branches give


def add_up(grads: list[Any]) -> Any:
    """The sum of gradients: IndexedSlices if all of them are; None if there are none."""
    if not grads:
        return None
    if len(grads) == 1:
        return grads[0]
    if any(isinstance(grad, Tensor) for grad in grads):
        default_graph().imply(-sum(grad in sums_of_branches for grad in grads))  # TensorFlow adds up all of them at once
        return AddN([to_tensor(grad) for grad in grads])
    return _concatenate(grads)


def _concatenate(slices: list[IndexedSlices]) -> IndexedSlices:
    """The sum of IndexedSlices: the same index may stand in several of them."""
    if len({part.indices.dtype for part in slices}) > 1:
        slices = [IndexedSlices(part.values, cast(part.indices, dtypes.int64), part.dense_shape) for part in slices]
    dense = next((part.dense_shape for part in slices if part.dense_shape is not None), None)
    return IndexedSlices(concat([part.values for part in slices], 0), concat([part.indices for part in slices], 0), dense)


# --- why there is none -----------------------------------------------------------------------------------------------

def why_no_gradient(y: Tensor, x: Any) -> str:
    """A sentence for people: where the path from ``y`` back to ``x`` ends, when ``gradients`` gives None."""
    source = _source(x)
    behind = operations_behind([y], (), (), control=False)
    reached: dict[Operation, None] = {source.op: None}
    for op in behind:
        if any(tensor.op in reached for tensor in op._inputs):
            reached[op] = None
    if y.op not in reached:
        return f"'{y.name}' does not depend on it: no path leads from the loss back to '{source.op.name}'"
    for op in reversed([op for op in behind if op in reached and op is not source.op]):
        where = f"at '{op.name}' (type {op.type}), made at {op.origin or 'an unknown place'}"
        if any(tensor.op in reached and not _differentiable(tensor) for tensor in op._inputs):
            return f"the path from the loss ends {where}: its input is of a type without gradient"
        if get_gradient_function_or_explain(op) is None:
            return f"the path from the loss ends {where}: no gradient passes through this operation"
    return f"the gradient functions on the path from '{y.name}' return None for it"
