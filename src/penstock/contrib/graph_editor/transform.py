"""Copies of parts of a graph, in which inputs may be others: ``tf.contrib.graph_editor.copy``, ``graph_replace``.

A ``Transformer`` copies a view operation by operation, in the order in which they were made. Its handlers say what becomes of each part, and may be
replaced: they get an ``info`` with the two graphs and scopes, and what has been copied so far.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib.graph_editor import select
from penstock.contrib.graph_editor.elements import ControlOutputs, make_placeholder_from_tensor
from penstock.contrib.graph_editor.views import SubGraphView, make_view
from penstock.graph import nest
from penstock.graph.graph import Graph
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Operation, Tensor
from penstock.platform.inspection import takes_positions


class _Copying:
    """What handlers are told: ``graph`` and ``scope`` are where operations come from, ``graph_`` and ``scope_`` where they go."""

    def __init__(self, view: SubGraphView, graph_: Graph, scope_: str, scope: str) -> None:
        self.sgv, self.ops, self.sgv_inputs_set = view, frozenset(view.ops), frozenset(view.inputs)
        self.graph, self.scope, self.graph_, self.scope_ = view.graph, scope, graph_, scope_
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts: dict[Tensor, Tensor] = {}
        self.new_inputs: list[Tensor] = []  # of the operation that is copied now
        self.collections = {key: view.graph.get_collection(key) for key in view.graph.get_all_collection_keys()}

    def new_name(self, name: str) -> str:
        """The name of a copy."""
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope):]


# --- handlers --------------------------------------------------------------------------------------------------------


def replace_t_with_placeholder_handler(info: Any, t: Tensor) -> Tensor:
    """``replace_t_with_placeholder_handler``: an input becomes a placeholder."""
    with info.graph_.as_default():
        return make_placeholder_from_tensor(t, scope=info.scope_)


def keep_t_if_possible_handler(info: Any, t: Tensor) -> Tensor:
    """``keep_t_if_possible_handler``: an input stays within one graph, and becomes a placeholder in another."""
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def transform_op_if_inside_handler(info: Any, op: Operation, keep_if_possible: bool = True) -> Operation | None:
    """``transform_op_if_inside_handler``: the copy of an operation that is waited for; the operation itself if it is outside."""
    if op in info.ops:
        return info.transformed_ops[op]  # type: ignore[no-any-return]
    return op if keep_if_possible and info.graph is info.graph_ else None


def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """``assign_renamed_collections_handler``: copies are in the same collections; those of the user's own are renamed."""
    known = {value for key, value in vars(GraphKeys).items() if not key.startswith("_") and isinstance(value, str)}
    for name, collection in info.collections.items():
        if any(each is elem for each in collection):
            info.graph_.add_to_collection(name if name in known or not isinstance(name, str) else info.new_name(name), elem_)


def copy_op_handler(info: Any, op: Operation, new_inputs: Any = None, copy_shape: bool = False, nodedef_fn: Any = None) -> tuple[Operation, Any]:
    """``copy_op_handler``: an operation of the same type and attributes, with other inputs; those that the transformer found if none are given."""
    new_inputs = info.new_inputs if new_inputs is None else new_inputs
    if isinstance(new_inputs, bool):
        raise TypeError("the `new_inputs` argument must be an iterable.")
    if nodedef_fn is not None:
        raise NotImplementedError("copy_op_handler: nodedef_fn is not supported; change the attributes in a handler of your own.")
    name = info.graph_.unique_name(info.new_name(op.name))
    with info.graph_.as_default(), info.graph_.device(None), info.graph_.control_dependencies(None):
        made = op.definition.add_node(info.graph_, name, tuple(new_inputs), dict(op.attrs))
    made._set_device(op.device)
    if copy_shape:
        for tensor, copied in zip(op.outputs, made.outputs):
            copied.set_shape(tensor.shape)
    return made, made.outputs


# --- transformers ----------------------------------------------------------------------------------------------------


class TransformerInfo:
    """``TransformerInfo``: which operations and tensors are copies of which."""

    def __init__(self, info: Any) -> None:
        self._info = info
        self._copies: dict[Any, Any] = {**info.transformed_ops, **info.transformed_ts}

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """The copies of a nest of operations and tensors, or of their names; ``missing_fn`` says what stands for those that have none."""
        return _looked_up(original, self._copies, missing_fn)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """What copies are copies of."""
        return _looked_up(transformed, {copied: each for each, copied in self._copies.items()}, missing_fn)

    def __str__(self) -> str:
        lines = [f"  {op.name} => {made.name}" for op, made in self._info.transformed_ops.items()]
        return "\n".join(["Transform result info:", "Operations mapping:", *lines]) + "\n"


def _looked_up(wanted: Any, known: dict[Any, Any], missing_fn: Callable[[Any], Any] | None) -> Any:
    def one(element: Any) -> Any:
        if isinstance(element, str):
            matches = [value for key, value in known.items() if key.name == element]
            return matches[0] if matches else missing_fn(element) if missing_fn else None
        if not isinstance(element, (Operation, Tensor)):
            raise TypeError(f"Expected a tf.Tensor or a tf.Operation, got a {type(element)}")
        return known[element] if element in known else missing_fn(element) if missing_fn else None

    return nest.map_structure(one, wanted)


class Transformer:
    """``Transformer``: copies a view; its attributes are the handlers."""

    def __init__(self) -> None:
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.transform_control_input_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler: Callable[..., Any] = keep_t_if_possible_handler
        self.transform_original_op_handler: Callable[..., Any] = transform_op_if_inside_handler

    def __call__(self, sgv: Any, dst_graph: Graph, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False) -> tuple[Any, Any]:
        """(the view of the copy, the information about it)."""
        view = make_view(sgv)
        if not isinstance(dst_graph, Graph):
            raise TypeError(f"Expected a tf.Graph, got: {type(dst_graph)}")
        source, target = (scope + "/" if scope and scope[-1] != "/" else scope for scope in (src_scope, dst_scope))
        if target and not reuse_dst_scope:
            target = dst_graph.unique_name(target[:-1]) + "/"
        info = _Copying(view, dst_graph, target, source)
        order = {op: number for number, op in enumerate(view.graph.get_operations())}
        later: list[tuple[Operation, int, Tensor]] = []  # inputs that are copied after their users: in loops
        for op in sorted(view.ops, key=order.__getitem__):
            self._copy(info, op, later)
        for op, index, tensor in later:
            info.transformed_ops[op]._update_input(index, info.transformed_ts[tensor])
        for op in view.ops:
            waits = [self.transform_control_input_handler(info, other) for other in op.control_inputs]
            info.transformed_ops[op]._add_control_inputs([other for other in waits if other is not None])
            if op._original_op is not None:
                info.transformed_ops[op]._original_op = self.transform_original_op_handler(info, op._original_op)
        made = SubGraphView(list(info.transformed_ops.values()))
        inputs = [copied for tensor in view.inputs if (copied := info.transformed_ts.get(tensor)) in made.inputs]
        outputs = [copied for tensor in view.outputs if (copied := info.transformed_ts.get(tensor)) in made.outputs]
        return made.remap(inputs, outputs), TransformerInfo(info)

    def _copy(self, info: _Copying, op: Operation, later: list[tuple[Operation, int, Tensor]]) -> None:
        inputs = []
        for index, tensor in enumerate(op.inputs):
            if tensor not in info.transformed_ts and tensor not in info.sgv_inputs_set and tensor.op in info.ops:
                later.append((op, index, tensor))
            inputs.append(self._copied_input(info, tensor, op))
        info.new_inputs = inputs
        # Handlers of TensorFlow 1.4 take no inputs.
        made, outputs = self.transform_op_handler(info, op, *([inputs] if takes_positions(self.transform_op_handler, 3) else []))
        if made is op:
            raise ValueError("In-place transformation not allowed.")
        info.transformed_ops[op] = made
        self.assign_collections_handler(info, op, made)
        for tensor, copied in zip(op.outputs, outputs):
            info.transformed_ts[tensor] = copied
            self.assign_collections_handler(info, tensor, copied)

    def _copied_input(self, info: _Copying, tensor: Tensor, user: Operation) -> Tensor:
        if tensor in info.transformed_ts:
            return info.transformed_ts[tensor]
        if tensor in info.sgv_inputs_set:
            return self.transform_external_input_handler(info, tensor)  # type: ignore[no-any-return]
        if tensor.op not in info.ops:
            return self.transform_external_hidden_input_handler(info, tensor)  # type: ignore[no-any-return]
        if user.type == "Merge":  # the way back of a loop: the way in stands for it until it is copied
            return self._copied_input(info, user.inputs[0], user)
        with info.graph_.as_default():
            return make_placeholder_from_tensor(tensor, scope=info.scope_, prefix="geph_tmp")


def copy(sgv: Any, dst_graph: Graph | None = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False) -> tuple[Any, Any]:
    """``copy``: a copy whose inputs are placeholders."""
    view = make_view(sgv)
    return Transformer()(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(sgv: Any, replacement_ts: dict[Tensor, Tensor], dst_graph: Graph | None = None, dst_scope: str = "",
                                 src_scope: str = "", reuse_dst_scope: bool = False) -> tuple[Any, Any]:
    """``copy_with_input_replacements``: a copy with other tensors for some of its inputs."""
    view, copier = make_view(sgv), Transformer()
    copier.transform_external_input_handler = lambda info, t: replacement_ts[t] if t in replacement_ts else keep_t_if_possible_handler(info, t)
    return copier(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(target_ts: Any, replacement_ts: dict[Tensor, Tensor], dst_scope: str = "", src_scope: str = "",
                  reuse_dst_scope: bool = False) -> Any:
    """``graph_replace``: what the targets would be if other tensors stood for some that they depend on. What lies between is copied."""
    targets = nest.flatten(target_ts)
    ops = select.get_walks_intersection_ops(list(replacement_ts), targets, control_ios=ControlOutputs(targets[0].graph))
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda original: original)
