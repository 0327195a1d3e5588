"""Operations and tensors by their names, and by walks along edges, forwards and backwards."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from penstock.contrib.graph_editor.elements import (
    ControlOutputs,
    as_list,
    get_consuming_ops,
    get_generating_ops,
    joined,
    make_list_of_op,
    make_list_of_t,
)
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor

# --- by name ---------------------------------------------------------------------------------------------------------


def can_be_regex(obj: Any) -> bool:
    """``can_be_regex``: whether it is a text or a compiled expression."""
    return isinstance(obj, (str, re.Pattern))


def make_regex(obj: Any) -> re.Pattern[str]:
    """``make_regex``: a compiled expression."""
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj) if isinstance(obj, str) else obj


def get_input_ts(ops: Any) -> list[Tensor]:
    """The inputs of operations, each once."""
    return joined(*(op.inputs for op in make_list_of_op(ops)))


def get_output_ts(ops: Any) -> list[Tensor]:
    """The outputs of operations."""
    return [tensor for op in make_list_of_op(ops) for tensor in op.outputs]


def filter_ts(ops: Any, positive_filter: Any) -> list[Tensor]:
    """``filter_ts``: the inputs and outputs of operations for which a function is true; ``True`` means all."""
    ops = make_list_of_op(ops)
    tensors = joined(get_input_ts(ops), get_output_ts(ops))
    return tensors if positive_filter is True else [tensor for tensor in tensors if positive_filter(tensor)]


def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """``filter_ts_from_regex``: those with names that an expression matches."""
    pattern = make_regex(regex)
    return filter_ts(ops, lambda tensor: pattern.search(tensor.name))


def filter_ops(ops: Any, positive_filter: Any) -> list[Operation]:
    """``filter_ops``: the operations for which a function is true; ``True`` means all."""
    ops = make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """``filter_ops_from_regex``: those with names that an expression matches."""
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """``get_name_scope_ops``: those of a name scope."""
    return filter_ops_from_regex(ops, f"^{scope.removesuffix('/')}(/.*)?$")


def _selection(args: Any, keywords: dict[str, Any], own: str, other: str, restrict: str, listed: Callable[[Any], list[Any]],
               matching: Callable[[Any, Any], list[Any]]) -> list[Any]:
    """What ``select_ops`` and ``select_ts`` share: expressions are looked up in the graph, other elements are taken as they are."""
    unknown = [key for key in keywords if key not in ("graph", "positive_filter", "restrict_ops_regex", "restrict_ts_regex")]
    if unknown:
        raise ValueError(f"Wrong keywords argument: {unknown[0]}.")
    graph, wanted = keywords.get("graph"), keywords.get("positive_filter")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    selected: list[Any] = []
    for argument in args:
        if not can_be_regex(argument):
            elements = listed(argument)
        else:
            if graph is None:
                raise ValueError("Use the keyword argument 'graph' to use regex.")
            pattern = make_regex(argument)
            if pattern.pattern.startswith(f"(?#{other})") or (keywords.get(restrict) and not pattern.pattern.startswith(f"(?#{own})")):
                continue
            elements = matching(graph, pattern)
        selected = joined(selected, elements if wanted is None else filter(wanted, elements))
    return selected


def select_ops(*args: Any, **kwargs: Any) -> list[Operation]:
    """``select_ops``: operations, given or by expressions for their names in ``graph``; ``(?#ts)`` begins one for tensors."""
    return _selection(args, kwargs, "ops", "ts", "restrict_ops_regex", lambda given: make_list_of_op(given, ignore_ts=True), filter_ops_from_regex)


def select_ts(*args: Any, **kwargs: Any) -> list[Tensor]:
    """``select_ts``: tensors, given or by expressions for their names in ``graph``; ``(?#ops)`` begins one for operations."""
    return _selection(args, kwargs, "ts", "ops", "restrict_ts_regex", lambda given: make_list_of_t(given, ignore_ops=True), filter_ts_from_regex)


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Operation], list[Tensor]]:
    """``select_ops_and_ts``: both; expressions for tensors begin with ``(?#ts)``."""
    return select_ops(*args, restrict_ops_regex=False, **kwargs), select_ts(*args, restrict_ts_regex=True, **kwargs)


# --- by edges --------------------------------------------------------------------------------------------------------


def check_cios(control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None) -> tuple[Any, Any]:
    """``check_cios``: (whether to follow control inputs, the ControlOutputs to follow); ``control_ios`` means both."""
    for given in (control_ios, control_outputs):
        if given is not None and not isinstance(given, ControlOutputs):
            raise TypeError(f"Expected a util.ControlOutputs, got: {type(given)}")
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    return control_inputs, control_outputs if control_outputs is None else control_outputs.update()


def get_ops_ios(ops: Any, control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None) -> list[Operation]:
    """``get_ops_ios``: the neighbours of operations."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    neighbours: list[Operation] = []
    for op in make_list_of_op(ops):
        neighbours = joined(neighbours, (tensor.op for tensor in op.inputs), *(tensor.consumers() for tensor in op.outputs),
                            () if control_outputs is None else control_outputs.get(op), op.control_inputs if control_inputs else ())
    return neighbours


def compute_boundary_ts(ops: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """``compute_boundary_ts``: (inputs from outside, outputs that are used outside or by none, tensors inside) of a set of operations."""
    ops = make_list_of_op(ops)
    inputs, outputs, members = get_input_ts(ops), get_output_ts(ops), set(ops)
    made = set(outputs)
    inside = [tensor for tensor in inputs if tensor in made]
    only_inside = {tensor for tensor in inside if set(tensor.consumers()) <= members}
    within = set(inside)
    return [tensor for tensor in inputs if tensor not in within], [tensor for tensor in outputs if tensor not in only_inside], inside


def get_within_boundary_ops(ops: Any, seed_ops: Any, boundary_ops: Any = (), inclusive: bool = True, control_inputs: Any = False,
                            control_outputs: Any = None, control_ios: Any = None) -> list[Operation]:
    """``get_within_boundary_ops``: those that can be reached from ``seed_ops`` without crossing ``boundary_ops``."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    ops, wave = make_list_of_op(ops), make_list_of_op(seed_ops, allow_graph=False)
    boundary, reached = set(make_list_of_op(boundary_ops)), set(wave)
    if boundary & reached:
        raise ValueError("Boundary is intersecting with the seeds.")
    while wave:
        near = [op for op in get_ops_ios(wave, control_inputs, control_outputs) if op not in reached]
        wave = [op for op in near if op not in boundary]
        reached.update(near if inclusive else wave)
    return [op for op in ops if op in reached]


def _walk(seeds: list[Operation], inclusive: bool, within_ops: Any, within_ops_fn: Any,
          neighbours: Callable[[Operation], Iterable[Operation]]) -> list[Operation]:
    """All operations along ``neighbours``, wave after wave."""
    members = set(make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    seeds = joined(op for op in seeds if members is None or op in members)
    reached, wave = dict.fromkeys(seeds), seeds
    while wave:
        wave = joined(other for op in wave for other in neighbours(op) if other not in reached and (members is None or other in members)
                      and (within_ops_fn is None or within_ops_fn(other)))
        reached.update(dict.fromkeys(wave))
    return [op for op in reached if inclusive or op not in seeds]


def get_forward_walk_ops(seed_ops: Any, inclusive: bool = True, within_ops: Any = None, within_ops_fn: Any = None, stop_at_ts: Any = (),
                         control_outputs: Any = None) -> list[Operation]:
    """``get_forward_walk_ops``: all operations that depend on the seeds, operations or tensors."""
    _, control_outputs = check_cios(False, control_outputs)
    seeds, stops = as_list(seed_ops), set(make_list_of_t(stop_at_ts))
    if not seeds:
        return []
    seeds = get_consuming_ops(seeds) if isinstance(seeds[0], Tensor) else make_list_of_op(seeds, allow_graph=False)

    def users(op: Operation) -> Iterable[Operation]:
        yield from (user for tensor in op.outputs if tensor not in stops for user in tensor.consumers())
        yield from () if control_outputs is None else control_outputs.get(op)

    return _walk(seeds, inclusive, within_ops, within_ops_fn, users)


def get_backward_walk_ops(seed_ops: Any, inclusive: bool = True, within_ops: Any = None, within_ops_fn: Any = None, stop_at_ts: Any = (),
                          control_inputs: bool = False) -> list[Operation]:
    """``get_backward_walk_ops``: all operations that the seeds, operations or tensors, depend on."""
    seeds, stops = as_list(seed_ops), set(make_list_of_t(stop_at_ts))
    if not seeds:
        return []
    seeds = get_generating_ops(seeds) if isinstance(seeds[0], Tensor) else make_list_of_op(seeds, allow_graph=False)

    def sources(op: Operation) -> Iterable[Operation]:
        yield from (tensor.op for tensor in op.inputs if tensor not in stops)
        yield from op.control_inputs if control_inputs else ()

    return _walk(seeds, inclusive, within_ops, within_ops_fn, sources)


def _both_walks(forward_seed_ops: Any, backward_seed_ops: Any, forward_inclusive: bool, backward_inclusive: bool, within_ops: Any,
                within_ops_fn: Any, control_inputs: Any, control_outputs: Any, control_ios: Any) -> tuple[list[Operation], list[Operation]]:
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    return (get_forward_walk_ops(forward_seed_ops, forward_inclusive, within_ops, within_ops_fn, control_outputs=control_outputs),
            get_backward_walk_ops(backward_seed_ops, backward_inclusive, within_ops, within_ops_fn, control_inputs=control_inputs))


def get_walks_intersection_ops(forward_seed_ops: Any, backward_seed_ops: Any, forward_inclusive: bool = True, backward_inclusive: bool = True,
                               within_ops: Any = None, within_ops_fn: Any = None, control_inputs: Any = False, control_outputs: Any = None,
                               control_ios: Any = None) -> list[Operation]:
    """``get_walks_intersection_ops``: what lies between: depends on the first seeds, and the second ones depend on it."""
    forward, backward = _both_walks(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops, within_ops_fn,
                                    control_inputs, control_outputs, control_ios)
    others = set(backward)
    return [op for op in forward if op in others]


def get_walks_union_ops(forward_seed_ops: Any, backward_seed_ops: Any, forward_inclusive: bool = True, backward_inclusive: bool = True,
                        within_ops: Any = None, within_ops_fn: Any = None, control_inputs: Any = False, control_outputs: Any = None,
                        control_ios: Any = None) -> list[Operation]:
    """``get_walks_union_ops``: what depends on the first seeds, and what the second ones depend on."""
    return joined(*_both_walks(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive, within_ops, within_ops_fn,
                               control_inputs, control_outputs, control_ios))


_get_input_ts, _get_output_ts = get_input_ts, get_output_ts  # as TensorFlow names them, and libraries call them
