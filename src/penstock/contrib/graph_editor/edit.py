"""Views that are connected, exchanged, detached and bypassed. The operations change, and so do the views that are given: they show the new inputs."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib.graph_editor.elements import ControlOutputs, get_consuming_ops, make_placeholder_from_tensor, placeholder_name
from penstock.contrib.graph_editor.reroute import remove_control_inputs, reroute_ts, swap_ts
from penstock.contrib.graph_editor.select import check_cios
from penstock.contrib.graph_editor.views import SubGraphView, make_view
from penstock.graph.node import Tensor
from penstock.ops.constant import placeholder

Move = Callable[..., int]  # reroute_ts or swap_ts


def _views(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    views = make_view(sgv0), make_view(sgv1)
    if len({view.graph for view in views if view.graph is not None}) > 1:
        raise ValueError("Argument[1]: Wrong graph!")
    return views


def _moved_inputs(sgv0: Any, sgv1: Any, move: Move) -> tuple[SubGraphView, SubGraphView]:
    first, second = _views(sgv0, sgv1)
    through = [*first.passthroughs, *second.passthroughs]
    move(first.inputs, second.inputs, can_modify=[*first.ops, *second.ops, *(get_consuming_ops(through) if through else [])])
    _remap(first, second, swap=move is swap_ts)
    return first, second


def _remap(first: SubGraphView, second: SubGraphView, swap: bool) -> None:
    """Makes the views show the inputs that they have now; outputs that only go through are the new inputs."""
    old = {view: (view._inputs, view._through) for view in (first, second)}
    for view, other in ((second, first), (first, second))[:2 if swap else 1]:
        inputs, through = old[other]
        view._outputs = [old[view][0][inputs.index(tensor)] if tensor in through else tensor for tensor in view._outputs]
        view._inputs, view._through = list(inputs), list(through)


def _moved_outputs(sgv0: Any, sgv1: Any, move: Move) -> tuple[SubGraphView, SubGraphView]:
    first, second = _views(sgv0, sgv1)
    move(first.outputs, second.outputs, cannot_modify=[*first.ops, *second.ops])
    return first, second


def swap_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``swap_inputs``: each view gets the inputs of the other."""
    return _moved_inputs(sgv0, sgv1, swap_ts)


def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``reroute_inputs``: the second view gets the inputs of the first."""
    return _moved_inputs(sgv0, sgv1, reroute_ts)


def swap_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``swap_outputs``: what uses the outputs of one view uses those of the other."""
    return _moved_outputs(sgv0, sgv1, swap_ts)


def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``reroute_outputs``: what uses the outputs of the second view uses those of the first."""
    return _moved_outputs(sgv0, sgv1, reroute_ts)


def swap_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``swap_ios``: both."""
    swap_outputs(sgv0, sgv1)
    return swap_inputs(sgv0, sgv1)


def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """``reroute_ios``: both."""
    reroute_outputs(sgv0, sgv1)
    return reroute_inputs(sgv0, sgv1)


# --- detaching -------------------------------------------------------------------------------------------------------

def detach_control_inputs(sgv: Any) -> None:
    """``detach_control_inputs``: the operations of the view do not wait for those outside any more."""
    view = make_view(sgv)
    for op in view.ops:
        remove_control_inputs(op, [other for other in op.control_inputs if other not in view.ops])


def detach_control_outputs(sgv: Any, control_outputs: ControlOutputs) -> None:
    """``detach_control_outputs``: operations outside do not wait for those of the view any more."""
    if not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"Expected a util.ControlOutputs, got: {type(control_outputs)}")
    control_outputs.update()
    view = make_view(sgv)
    for op in view.ops:
        for other in control_outputs.get(op):
            if other not in view.ops:
                remove_control_inputs(other, op)


def detach_inputs(sgv: Any, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """``detach_inputs``: the inputs of the view become placeholders; (view, placeholders)."""
    view = make_view(sgv)
    with view.graph.as_default():
        placeholders = [placeholder(tensor.dtype, name=placeholder_name(tensor)) for tensor in view.inputs]
    swap_inputs(view, placeholders)
    if control_inputs:
        detach_control_inputs(view)
    return view, placeholders


def detach_outputs(sgv: Any, control_outputs: ControlOutputs | None = None) -> tuple[SubGraphView, list[Tensor]]:
    """``detach_outputs``: what uses the outputs of the view gets placeholders; (view of the outputs that are used, placeholders)."""
    view = make_view(sgv)
    view = view.remap_outputs([index for index, tensor in enumerate(view.outputs) if tensor.consumers()])
    users = SubGraphView(view.consumers())
    with view.graph.as_default():
        placeholders = [make_placeholder_from_tensor(tensor) for tensor in users.inputs if tensor in view.outputs]
    swap_outputs(view, placeholders)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


def detach(sgv: Any, control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None) -> tuple[Any, list[Tensor], list[Tensor]]:
    """``detach``: both; (view, placeholders of the inputs, placeholders of the outputs)."""
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    _, inputs = detach_inputs(sgv, control_inputs)
    _, outputs = detach_outputs(sgv, control_outputs)
    return sgv, inputs, outputs


def connect(sgv0: Any, sgv1: Any, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """``connect``: the outputs of the first view become the inputs of the second."""
    first, second = _views(sgv0, sgv1)
    if disconnect_first:
        detach_outputs(first)
    reroute_inputs(SubGraphView(passthrough_ts=first.outputs), second)
    return first, second


def bypass(sgv: Any) -> tuple[SubGraphView, list[Tensor]]:
    """``bypass``: what uses the outputs of the view uses its inputs; the view gets placeholders."""
    view = make_view(sgv)
    inputs = view.inputs
    view, placeholders = detach_inputs(view)
    reroute_ts(inputs, view.outputs)
    return view, placeholders
