"""The nodes of a region, or of a function that a loop in it runs, while they are made native: first as items with known shapes, then as calls.

What depends on shapes alone (``tf.shape(x)``, and all that is computed from it) is computed here, once. A node that cannot be native for
these shapes raises ``Fallback``: the region is then cut around it.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.dtypes import DType
from penstock.graph.graph import Graph, Tensor
from penstock.graph.opdef import OpDef
from penstock.graph.shape import TensorShape
from penstock.native.calls import Array, Unsupported
from penstock.native.emitter import Emitter
from penstock.native.fusion.cluster_space import Kind, kind_of
from penstock.native.fusion.cluster_writer import write as write_cluster
from penstock.native.fusion.clusters import group_items
from penstock.native.fusion.epilogues import absorb_epilogues, epilogue_options
from penstock.native.fusion.sums import merge_sums
from penstock.native.items import Either, Item, Value, held_as, is_reference, reported_items
from penstock.native.specialise import cases, joining
from penstock.native.specialise.fallback import Fallback
from penstock.ops.constant import Const, Placeholder
from penstock.program.ir import Edge, Node, functions_of

_LARGEST_FOLDED = 1 << 16  # elements of a value that is computed while code is made


def pure(definition: OpDef) -> bool:
    """True if the op's kernel is a function of its inputs and attributes."""
    return definition.kernel is not None and not (definition.stateful or definition.blocking or definition.control_flow) \
        and not definition.needs_context


def is_conditional(node: Node) -> bool:
    """Does it run one of two functions?"""
    return bool(node.definition.captures) and not node.definition.repeats


class Scope:
    """Nodes in a runnable order, and the values of all edges; those from outside are given."""

    def __init__(self, emitter: Emitter, nodes: Sequence[Node], given: dict[Edge, Value], outputs: Sequence[Edge]) -> None:
        self.emitter, self.values = emitter, dict(given)
        self._given = list(given.values())
        self._graph = Graph()
        self._written_twice = 0  # nodes: see ``cases``
        self._stand_ins: dict[Value, Tensor] = {}
        for (producer, index), value in given.items():
            if producer.output_dtypes[index] is dtypes.resource:
                self._stand_ins[value] = self._stand_in(dtypes.resource, (), producer, index)
        self.items: list[Item] = []
        for node in nodes:
            self._add(node)
        self.outputs = [self.values[edge] for edge in outputs]
        for value in self.outputs:
            value.wanted = True
        self._drop_unused()
        self._order_accesses()
        self._order_arrays()

    # --- items ---------------------------------------------------------------------------------------------------------------------------

    def _add(self, node: Node) -> None:
        inputs = [self.values[edge] for edge in node.inputs]
        if node.definition.copies or (node.definition.forwards is True and not node.output_dtypes[0].is_ref):
            self.values[node, 0] = inputs[0]
            return
        either = cases.condition_of(inputs)
        folded = self._fold(node, inputs) if either is None else None
        if folded is not None:
            for index, known in enumerate(folded):
                value = self.values[node, index] = Value(known.shape, node.output_dtypes[index].base_dtype, known)
                value.array = self.emitter.constant(known)
            return
        item = Item(node, inputs, [])
        if either is not None and not self._branches_by_it(node, inputs):
            self._write_twice(item, either)
        elif functions_of(node) or node.definition.list_role or node.definition.array_role:
            try:
                item.outputs = self.emitter.flow.trace(item, self._inner)
            except Unsupported as reason:
                raise Fallback(node, str(reason)) from reason
        else:
            item.outputs = [Value(shape, held_as(dtype)) for shape, dtype in zip(self._shapes(node, inputs), node.output_dtypes)]
        for index, value in enumerate(item.outputs):
            value.item = item
            self.values[node, index] = value
        for value in item.inputs:
            value.users.append(item)
        if node.late:
            waits = (self.values.get((other, 0)) for other in node.control)
            item.after += [value.item for value in waits if value is not None and value.item is not None]
        self.items.append(item)

    def _branches_by_it(self, node: Node, inputs: list[Value]) -> bool:
        """Does a conditional ask the condition on which its inputs depend, and they on no other?"""
        conditions = {each.either.condition for each in inputs if each.either is not None}
        return is_conditional(node) and conditions == {inputs[0]}

    def _write_twice(self, item: Item, either: Either) -> None:
        """Makes an item that depends on a condition a conditional, with its node in both branches."""
        cases.check(item.node, either, self._written_twice)
        self._written_twice += 1
        item.inputs = [either.condition, *item.inputs]
        try:
            if any(value.either is not None and value.either.condition is not either.condition for value in item.inputs):
                raise Unsupported("its shape depends on several conditions")
            item.outputs = self.emitter.flow.trace_cases(item, either.source, self._inner)
        except Unsupported as reason:
            raise Fallback(either.source, f"its branches give different shapes, and of {item.node.name}, which depends on them: {reason}") from reason

    def _fold(self, node: Node, inputs: list[Value]) -> list[np.ndarray] | None:
        """The outputs, if they depend on nothing but shapes and constants."""
        definition = node.definition
        if not pure(definition) or not (definition.shape_only or all(value.known is not None for value in inputs)):
            return None
        if definition.list_role or sum(value.known.size for value in inputs if value.known is not None) > _LARGEST_FOLDED:
            return None
        arrays = [value.known if value.known is not None else np.broadcast_to(np.zeros((), value.dtype.np), value.shape) for value in inputs]
        try:
            with np.errstate(all="ignore"):
                result = definition.bind(node, None)(*arrays)
        except Exception as error:  # it will be raised again where the user sees it, by the kernel
            raise Fallback(node, f"its kernel fails: {error}") from error
        outputs = [np.asarray(item) for item in ([result] if len(node.output_dtypes) == 1 else result)]
        return None if inputs and any(output.size > _LARGEST_FOLDED for output in outputs) else outputs

    def _shapes(self, node: Node, inputs: list[Value]) -> list[tuple[int, ...]]:
        definition = node.definition
        if definition.elementwise and definition.broadcasts_inputs:
            try:
                return [np.broadcast_shapes(*[value.shape for value in inputs])]
            except ValueError as error:
                raise Fallback(node, str(error)) from error
        tensors = tuple(self._tensor(value) for value in inputs)
        try:
            shapes = definition.infer_shapes(node.name, tensors, node.attrs, len(node.output_dtypes))
        except Exception as error:
            raise Fallback(node, f"its shape function fails: {error}") from error
        if not all(shape.is_fully_defined() for shape in shapes):
            raise Fallback(node, "its shape depends on values that are computed in the step")
        return [tuple(shape.as_list()) for shape in shapes]  # type: ignore[arg-type]

    def _tensor(self, value: Value) -> Tensor:
        tensor = self._stand_ins.get(value)
        if tensor is None:
            if value.known is not None and value.known.size <= _LARGEST_FOLDED:
                attributes = {"value": value.known, "dtype": value.dtype}
                tensor = Const.add_node(self._graph, self._graph.unique_name("known"), (), attributes).outputs[0]
            else:
                tensor = self._stand_in(value.dtype, value.shape)
            self._stand_ins[value] = tensor
        return tensor

    def _stand_in(self, dtype: DType, shape: tuple[int, ...], producer: Node | None = None, index: int = 0) -> Tensor:
        attributes = {"dtype": dtype, "shape": TensorShape(shape)}
        made = Placeholder.add_node(self._graph, self._graph.unique_name("input"), (), attributes).outputs[0]
        if producer is not None and producer.origin is not None:
            made._handle_data = producer.origin.outputs[index]._handle_data
        return made

    def _drop_unused(self) -> None:
        """Drops items whose outputs are not used: nodes that others only had to wait for. What watches for mistakes stays."""
        kept = []
        for item in reversed(self.items):
            definition = item.node.definition
            acts = definition.updates or definition.watches or definition.array_role in ("write", "scatter")
            if not acts and not any(value.users or value.wanted for value in item.outputs):
                for value in item.inputs:
                    value.users.remove(item)
            else:
                kept.append(item)
        self.items = kept[::-1]

    def _inner(self, nodes: Sequence[Node], given: dict[Edge, Value], outputs: Sequence[Edge]) -> Scope:
        """The scope of a function that one of the items runs."""
        return Scope(self.emitter, nodes, given, outputs)

    # --- state ---------------------------------------------------------------------------------------------------------------------------

    def _order_accesses(self) -> None:
        """Reads and writes of a variable stay in the order of the program; so do the users of a snapshot that stand before the next write."""
        position = {item: index for index, item in enumerate(self.items)}
        for variable in self._given:
            writer: Item | None = None
            readers: list[Item] = []
            for item in dict.fromkeys(variable.users):
                if item not in position:  # it is in a function; the item that runs that counts
                    continue
                if writer is not None and writer is not item:
                    item.after.append(writer)
                if variable in written_variables(item):
                    item.after += [other for other in dict.fromkeys(readers) if position[other] < position[item]]
                    writer, readers = item, []
                else:
                    readers.append(item)
                    if item.node.definition.snapshot:
                        readers += [user for user in item.outputs[0].users if user in position]

    def _order_arrays(self) -> None:
        """What is done to an array of tensors stays in the order of the program."""
        last: dict[Any, Item] = {}
        for item in self.items:
            for value in (*item.inputs, *item.outputs):
                if value.store is not None and last.setdefault(value.store, item) is not item:
                    item.after.append(last[value.store])
                    last[value.store] = item

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def emit(self) -> list[Array]:
        """The calls of all items; the arrays of the outputs."""
        items = merge_sums(self.emitter, self.items)
        groups = group_items(absorb_epilogues(items, self.emitter.takes_rates) if self.emitter.epilogues else items, self.emitter.most_operands)
        self._joined = joining.plan(self.emitter, groups)
        self._left = Counter(value for group in groups for item in group for value in item.inputs)
        for group in groups:
            self._emit(group)
        return [value.array for value in self.outputs]  # type: ignore[misc]

    def _emit(self, group: list[Item]) -> None:
        views = self._views_of_written(group)
        late = next((index for index, item in enumerate(group) if item in views and any(map(written_variables, group[:index]))), None)
        if late is not None:  # it sees what was written, and not what others of the group write
            self._emit(group[:late])
            self._emit(group[late:])
            return
        if views:  # before the write, like all others
            self._emit(views)
            group = [item for item in group if item not in views]
        emitter = self.emitter.for_items(reported_items(group))
        for item in group:
            for variable in written_variables(item):
                self._keep_snapshots(emitter, variable, group)
        try:
            if len(group) == 1 and kind_of(group[0]) is Kind.OTHER:
                self._emit_native(emitter, group[0])
            else:
                write_cluster(emitter, group)
        except (Unsupported, Fallback) as reason:  # the latter from a function
            raise Fallback(group[0].node, str(reason)) from reason
        for item in group:
            for value in item.inputs:
                self._left[value] -= 1

    def _emit_native(self, emitter: Emitter, item: Item) -> None:
        node = item.node
        if node.definition.native is None:
            raise Unsupported("it has no native form for these types, or for so many inputs")
        arrays = self._input_arrays(emitter, item) if not is_conditional(node) else []
        options = epilogue_options(item) if item.epilogue else {"into": self._joined[item]} if item in self._joined else None
        first = len(emitter.calls)
        results = emitter.flow.branch() if is_conditional(node) else node.definition.emit(emitter, arrays, node.attrs, options)
        results = results[:len(item.outputs)] if item.epilogue else results  # an update of a resource has no output
        if len(results) != len(item.outputs):
            raise AssertionError(f"native of {node.definition.type} gave {len(results)} outputs for {len(item.outputs)}")
        for value, array in zip(item.outputs, results):
            if value.either is not None:
                continue
            if value.dtype not in (dtypes.variant, dtypes.resource) and (array.shape != value.shape or array.dtype != value.dtype.np):
                raise AssertionError(f"native of {node.definition.type} gave {array.dtype}{array.shape} for {value.dtype.np}{value.shape}")
            value.array = joining.final_array(emitter, value, array, first)

    def _input_arrays(self, emitter: Emitter, item: Item) -> list[Array | None]:
        """The arrays of an item's inputs; what it reads of a variable that it writes is copied before."""
        homes = {value.array.buffer for value in written_variables(item) if value.array is not None}
        definition, arrays = item.node.definition, list[Array | None]()
        for arg, values in definition.group(item.inputs[:len(item.node.inputs)], item.node.attrs):
            for array in (value.array for value in values):
                shared = array is not None and array.buffer in homes and arg.name not in definition.updates
                arrays.append(emitter.move.copy_of(array) if array is not None and shared else array)
        return arrays

    def _views_of_written(self, group: list[Item]) -> list[Item]:
        """Items that only see a variable in another shape, stand in one group with a write of it, and are needed by others, too."""
        homes = {variable.array.buffer for item in group for variable in written_variables(item) if variable.array is not None}
        views: list[Item] = []
        for item in group if homes else ():
            sees = any(value.item in views or (value.array is not None and value.array.buffer in homes) for value in item.inputs)
            if sees and (item.node.definition.aliases or kind_of(item) in (Kind.SAME, Kind.SPREAD)):  # a sum over axes of one element, say
                views.append(item)
        inside = set(group)
        needed = any(value.wanted or any(user not in inside for user in value.users) for item in views for value in item.outputs)
        return views if needed and len(views) < len(group) else []

    def _keep_snapshots(self, emitter: Emitter, variable: Value, group: list[Item]) -> None:
        """Values that are views of a variable's buffer are copied before it is written, if they are still needed."""
        home = variable.array
        assert home is not None
        for value in self.values.values():
            array = value.array
            if value.item is None or array is None or array.buffer is not home.buffer or value.item in group or is_reference(value):
                continue
            same = (array.shape, array.strides, array.offset) == (home.shape, home.strides, home.offset)
            here = sum(item.inputs.count(value) for item in group) if same else 0
            if value.wanted or self._left[value] > here:
                value.array = emitter.empty(array.shape, array.dtype)
                emitter.copy(array, value.array)


def written_variables(item: Item) -> list[Value]:
    """The variables that an item writes to."""
    if item.epilogue:
        return [value for other in item.epilogue for value in written_variables(other)]
    updates = item.node.definition.updates
    if not updates:
        return []
    return [value for arg, values in item.node.definition.group(item.inputs, item.node.attrs) if arg.name in updates for value in values]
