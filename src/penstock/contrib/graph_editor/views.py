"""``tf.contrib.graph_editor.SubGraphView``: a part of a graph, with its inputs and outputs in an order that can be changed."""
from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from penstock.contrib.graph_editor import select
from penstock.contrib.graph_editor.elements import joined, make_list_of_op, make_list_of_t
from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor


class SubGraphView:
    """Some operations; tensors that go through are inputs and outputs at once. Views are not changed: ``remap`` and others return new ones."""

    def __init__(self, inside_ops: Any = (), passthrough_ts: Any = ()) -> None:
        self._ops, given = make_list_of_op(inside_ops), make_list_of_t(passthrough_ts)
        inputs, outputs, inside = select.compute_boundary_ts(self._ops) if self._ops else ([], [], [])
        graphs = {element.graph for element in (*self._ops, *given)}
        if len(graphs) > 1:
            raise ValueError("The operations and tensors of a view belong to several graphs.")
        self._graph: Graph | None = graphs.pop() if graphs else None
        own = {*inputs, *outputs, *inside}
        self._through = [tensor for tensor in given if tensor not in own]
        self._inputs, self._outputs = [*inputs, *self._through], [*outputs, *self._through]

    graph = property(lambda self: self._graph, doc="The graph; None if the view is empty.")
    ops = property(lambda self: self._ops, doc="The operations.")
    inputs = property(lambda self: list(self._inputs), doc="The tensors that come in.")
    outputs = property(lambda self: list(self._outputs), doc="The tensors that go out.")
    passthroughs = property(lambda self: list(self._through), doc="The tensors that only go through.")

    @property
    def connected_inputs(self) -> list[Tensor]:
        """The inputs that an operation uses."""
        return [tensor for tensor in self._inputs if tensor not in self._through]

    @property
    def connected_outputs(self) -> list[Tensor]:
        """The outputs that an operation computes."""
        return [tensor for tensor in self._outputs if tensor not in self._through]

    def __bool__(self) -> bool:
        return self._graph is not None

    def __enter__(self) -> SubGraphView:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def __str__(self) -> str:
        if not self:
            return "SubGraphView: empty"

        def lines(title: str, elements: list[Any]) -> str:
            names = "".join(f"\n  {each.name}{' *' if each in self._through else ''}" for each in elements)
            return f"** {title}[{len(elements)}]:{names}\n" if elements else f"** {title}: empty\n"

        parts = lines("ops", self._ops) + lines("inputs", self._inputs) + lines("outputs", self._outputs)
        return f"SubGraphView (graphid={id(self.graph)}):\n{parts}"

    # --- other views -------------------------------------------------------------------------------------------------

    def copy(self) -> SubGraphView:
        """The same view."""
        return copy.copy(self)

    def remap_inputs(self, new_input_indices: Any) -> SubGraphView:
        """With some of the inputs, in this order: by number or by tensor."""
        return self.remap(new_input_indices)

    def remap_outputs(self, new_output_indices: Any) -> SubGraphView:
        """With some of the outputs, in this order; one may occur several times."""
        return self.remap(None, new_output_indices)

    def remap(self, new_input_indices: Any = None, new_output_indices: Any = None) -> SubGraphView:
        """With other inputs and outputs."""
        result = copy.copy(self)
        if new_input_indices is not None:
            result._inputs = _tensors_at(new_input_indices, self._inputs, repetition=False)
        if new_output_indices is not None:
            result._outputs = _tensors_at(new_output_indices, self._outputs, repetition=True)
        return result

    def remap_default(self, remove_input_map: bool = True, remove_output_map: bool = True) -> SubGraphView:
        """With all inputs and outputs, in their own order."""
        fresh, result = SubGraphView(self._ops, self._through), copy.copy(self)
        result._inputs = fresh._inputs if remove_input_map else self._inputs
        result._outputs = fresh._outputs if remove_output_map else self._outputs
        return result

    def remap_outputs_make_unique(self) -> SubGraphView:
        """With each output once."""
        return self.remap(None, joined(self._outputs))

    def remap_outputs_to_consumers(self) -> SubGraphView:
        """With each output as often as it is used."""
        return self.remap(None, [tensor for tensor in joined(self._outputs) for op in joined(tensor.consumers())
                                 for each in op.inputs if each is tensor])

    def remove_unused_ops(self, control_inputs: bool = True) -> SubGraphView:
        """Without operations that neither depend on the inputs nor lead to the outputs."""
        used = select.get_walks_union_ops(self.connected_inputs, self.connected_outputs, within_ops=self._ops, control_inputs=control_inputs)
        result = copy.copy(self)
        result._ops = [op for op in self._ops if op in used]
        return result

    # --- looking up --------------------------------------------------------------------------------------------------

    def op(self, op_id: int) -> Operation:
        """The operation with this number."""
        return self._ops[op_id]

    def find_op_by_name(self, op_name: str) -> Operation:
        """The operation with this name."""
        for op in self._ops:
            if op.name == op_name:
                return op
        raise ValueError(f"{op_name} not in subgraph.")

    def is_passthrough(self, t: Tensor) -> bool:
        """Does a tensor only go through?"""
        return t in self._through

    def input_index(self, t: Tensor) -> int:
        """The number of an input."""
        return _index(t, self._inputs, "inputs")

    def output_index(self, t: Tensor) -> int:
        """The number of an output."""
        return _index(t, self._outputs, "outputs")

    def consumers(self) -> list[Operation]:
        """The operations outside that use an output."""
        inside = set(self._ops)
        return joined(*([op for op in tensor.consumers() if op not in inside] for tensor in self._outputs))


def _index(tensor: Tensor, tensors: list[Tensor], what: str) -> int:
    if tensor not in tensors:
        raise ValueError(f"Can't find {tensor.name} in {what} of the subgraph.")
    return tensors.index(tensor)


def _tensors_at(wanted: Iterable[Any], tensors: list[Tensor], repetition: bool) -> list[Tensor]:
    indices = [each if isinstance(each, int) else tensors.index(each) for each in wanted]
    for index in indices:
        if not 0 <= index < len(tensors):
            raise ValueError(f"Out of [0, {len(tensors)}[ range: {index}")
    if not repetition and len(set(indices)) < len(indices):
        raise ValueError(f"Found repetition in mapping: {indices}")
    return [tensors[index] for index in indices]


def make_view(*args: Any, **kwargs: Any) -> SubGraphView:
    """``make_view``, ``sgv``: a view of operations and tensors, of those that regular expressions name (with ``graph=``), or a view as it is."""
    graph = kwargs.get("graph")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    view = args[0] if len(args) == 1 and isinstance(args[0], SubGraphView) else SubGraphView(*select.select_ops_and_ts(*args, **kwargs))
    if graph is not None and view.graph not in (None, graph):
        raise ValueError("Graph mismatch.")
    return view


def make_view_from_scope(scope: str, graph: Graph) -> SubGraphView:
    """``make_view_from_scope``, ``sgv_scope``: the operations of a name scope."""
    return SubGraphView(select.get_name_scope_ops(graph, scope))
