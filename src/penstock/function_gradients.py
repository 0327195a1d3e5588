"""The gradients of If and While: again an If, and a While that runs backwards.

A backward function uses values that the forward function computed. They are *saved*: the forward op gets further outputs for them. A branch gives
them out as they are; a loop pushes one per iteration onto a list, and the backward loop pops it. Only what the gradient needs is saved; what does not
change in the loop, and constants, are not. Since lists have gradients themselves, so have backward loops. The gradient of a table of which a loop
gathers rows stays sparse: the rows of each iteration go onto a list too.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from tensorboard.compat.proto.attr_value_pb2 import AttrValue

from penstock.backward import (
    Backward,
    LoopReads,
    Place,
    nodes_of_counters,
    nodes_of_exit,
    nodes_of_merge,
    nodes_of_predicate,
    nodes_of_sum,
    nodes_of_switch,
    nodes_of_variable,
)
from penstock.gradients import add_up, gradients, sums_of_branches
from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.dtypes import DType
from penstock.graph.function import FuncGraph
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import lookup
from penstock.graph.shape import TensorShape
from penstock.graph.stacks import needed_inputs
from penstock.graph.traverse import operations_behind
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import zeros, zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.sequences import range as range_
from penstock.ops.constant import constant, identity
from penstock.ops.flow.control_flow import share_inputs
from penstock.ops.flow.functional import If, While
from penstock.ops.flow.tensor_array import TensorArrayV3
from penstock.ops.flow.tensor_list import TensorListConcatV2, TensorListPopBack, TensorListPushBack, element_shape_tensor, empty_like, empty_list
from penstock.ops.math.elementwise import add


def add_output(op: Operation, dtype: DType, shape: TensorShape, attribute: str) -> Tensor:
    """One more output of an existing op."""
    op.attrs[attribute] = (*op.attrs[attribute], dtype)
    tensor = Tensor(op, len(op.outputs), dtype, shape)
    op.outputs.append(tensor)
    op.graph._note_change()
    return tensor


def zeros_for(tensor: Tensor) -> Tensor:
    """A gradient of zeros for a tensor, or for the variable that a resource handle refers to."""
    if tensor.dtype.base_dtype is dtypes.variant:
        return empty_like(tensor)
    if tensor.dtype.base_dtype is not dtypes.resource:
        return zeros_like(tensor)
    dtype, shape = tensor._handle_data
    return zeros(shape if shape.is_fully_defined() else lookup("VariableShape")(tensor), dtype)


def is_differentiable(tensor: Tensor) -> bool:
    """Does it have a gradient: numbers, and handles of variables?"""
    dtype = tensor.dtype.base_dtype
    return dtype.is_floating or dtype.is_complex or (dtype is dtypes.resource and tensor._handle_data is not None)


def as_dense(grad: Any) -> Any:
    """A gradient without IndexedSlices."""
    return to_tensor(grad) if isinstance(grad, IndexedSlices) else grad


# --- If --------------------------------------------------------------------------------------------------------------

_SLICES_GRADIENT = 10  # further nodes, if it is IndexedSlices: the zeros as such, and two more Merge


def _save_in_branch(op: Operation, branch: FuncGraph, other: FuncGraph) -> Callable[[Backward, Tensor], Tensor]:
    """Makes a tensor of ``branch`` an output of the If; the other branch gives something that is not read."""
    if op._saved is None:
        op._saved = {}
    outputs: dict[Tensor, Tensor] = op._saved

    def saved(backward: Backward, tensor: Tensor) -> Tensor:
        if tensor not in outputs:
            branch.outputs.append(tensor)
            with other.as_default(), other.control_dependencies(None):
                other.outputs.append(_anything_like(tensor))
            branch._note_change()
            other._note_change()
            outputs[tensor] = add_output(op, tensor.dtype.base_dtype, tensor.shape, "Tout")
            outputs[tensor]._handle_data = tensor._handle_data
        return FuncGraph.capture(backward, outputs[tensor])

    return saved


def _anything_like(tensor: Tensor) -> Tensor:
    """A tensor that fits the type and the shape, with a note that nothing reads it: its real shape is that of the other branch."""
    dtype = tensor.dtype.base_dtype
    if dtype is dtypes.variant:
        return empty_like(tensor)
    if dtype is dtypes.resource:  # a TensorArray: gradients need no other objects that a branch makes
        handle: Tensor = TensorArrayV3(0, dtype=dtypes.float32)[0]
        return handle
    shape = tensor.shape
    unread = zeros([] if shape.ndims is None else [extent or 0 for extent in shape.as_list()], dtype)
    unread.op._extra["_unread"] = AttrValue(b=True)
    return unread


def if_gradient(op: Operation, dys: Sequence[Any]) -> list[Any]:
    """The gradients of an If with respect to its inputs: of the branch that was taken."""
    branches = [op.attrs["then_branch"], op.attrs["else_branch"]]
    needed = _inputs_that_need_gradients(op, 1)
    backward = [_backward_branch(op, branch, other, dys, needed) for branch, other in (branches, branches[::-1])]
    with default_graph().reading([]), default_graph().counting_as(_switch_nodes(op, backward, dys)):
        return _backward_if(op, branches, backward)


def _inputs_that_need_gradients(op: Operation, first: int) -> Sequence[bool]:
    """Which inputs of the functions need a gradient, from the ``first`` one on: all, if that was not said."""
    known = needed_inputs.top()
    return ([True] * len(op._inputs) if known is None or len(known) != len(op._inputs) else known)[first:]


def _carries_gradients(tensor: Tensor) -> bool:
    return is_differentiable(tensor) or tensor.dtype.base_dtype in (dtypes.variant, dtypes.resource)


def _switch_nodes(op: Operation, backward: Sequence[tuple[Backward, list[Any]]], dys: Sequence[Any]) -> int:
    """How many nodes the gradient of a conditional of Switch and Merge has, as TensorFlow builds it."""
    number = nodes_of_merge() * sum(dy is not None for dy in dys) + sum(graph.next_op_seed() for graph, _ in backward) + nodes_of_predicate(op)
    for source, by_branch in zip(op._inputs[1:], zip(*(grads for _, grads in backward))):
        grads = [grad for grad in by_branch if grad is not None]
        slices = [grad for grad in grads if isinstance(grad, IndexedSlices)]
        number += sum(nodes_of_switch(source, graph) for graph, _ in backward[:len(grads)])
        number += sum(_SLICES_GRADIENT + (grad.indices.dtype.base_dtype is dtypes.int64) for grad in slices)
        if len(grads) == 2:  # the two are added up
            number += 3 + len({grad.indices.dtype.base_dtype for grad in slices}) if len(slices) == 2 else 1 + 5 * len(slices)
    return number


class _BranchGradients:
    """The gradients of one input of the branches: what each branch of the backward If gives for it, and what becomes of the outputs.

    If only rows of it have a gradient, the gradient stays IndexedSlices, as in TensorFlow: one part for each branch that gathers rows. When the other
    branch is taken, the part is all of its rows, with zeros: so the updates of optimizers see them.
    """

    def __init__(self, by_branch: Sequence[Any]) -> None:
        self.grads = by_branch
        is_sparse = not any(isinstance(grad, Tensor) for grad in by_branch)
        self.sparse_branches = [branch for branch in (1, 0) if is_sparse and by_branch[branch] is not None]

    def outputs(self, branch: int, source: Tensor) -> list[Tensor]:
        """What a branch gives for the input ``source``."""
        grad = self.grads[branch]
        if not self.sparse_branches:
            return [zeros_for(source) if grad is None else to_tensor(as_dense(grad))]
        result = []
        for owner in self.sparse_branches:
            indices = self.grads[owner].indices
            result += [grad.values, grad.indices] if owner == branch else [zeros_for(source), _row_numbers(source, indices.dtype.base_dtype)]
        return result

    def merge(self, outputs: Iterator[Tensor], source: Tensor) -> Any:
        """The gradient out of the next outputs of the backward If, whose names an export can keep, as tf.cond does it."""
        if not self.sparse_branches:
            merged = identity(next(outputs), name="Merge")
            if all(isinstance(grad, Tensor) for grad in self.grads):
                sums_of_branches.add(merged)
            return merged
        shape = to_tensor(_shape_of(source), dtype=dtypes.int32)
        return add_up([IndexedSlices(identity(next(outputs), name="Merge"), identity(next(outputs), name="Merge"), shape)
                       for _ in self.sparse_branches])


def _row_numbers(table: Tensor, dtype: DType) -> Tensor:
    """The indices of all rows of a table."""
    shape = _shape_of(table)
    return cast(range_(shape[0]), dtype)


def _backward_if(op: Operation, branches: Sequence[FuncGraph], backward: Sequence[tuple[Backward, list[Any]]]) -> list[Any]:
    graphs, all_grads = zip(*backward)
    by_input = {index: _BranchGradients(grads) for index, grads in enumerate(zip(*all_grads)) if any(grad is not None for grad in grads)}
    for number, (graph, branch) in enumerate(zip(graphs, branches)):
        with graph.as_default():
            graph.outputs = [graph.capture(tensor) for index, grads in by_input.items() for tensor in grads.outputs(number, branch.inputs[index])]
    result: list[Any] = [None] * len(op._inputs)
    if by_input:
        captured = share_inputs(list(graphs), 0)
        node = If.node([op._inputs[0], captured], {"then_branch": graphs[0], "else_branch": graphs[1],
                                                   "Tout": [tensor.dtype.base_dtype for tensor in graphs[0].outputs]}, name="If")
        outputs = iter(node.outputs)
        for index, grads in by_input.items():
            result[1 + index] = grads.merge(outputs, op._inputs[1 + index])
    return result


def _backward_branch(op: Operation, branch: FuncGraph, other: FuncGraph, dys: Sequence[Any],
                     needed: Sequence[bool]) -> tuple[Backward, list[Any]]:
    graph = Backward(branch.name + "_grad", branch, _save_in_branch(op, branch, other))
    sources = list(branch.inputs)
    with graph.as_default():
        pairs = [(y, to_tensor(dy)) for y, dy in zip(branch.outputs, dys) if dy is not None]
        differentiable = [x for x, counts in zip(sources, needed) if counts and (is_differentiable(x) or x.dtype.base_dtype is dtypes.variant)]
        grads = gradients([y for y, _ in pairs], differentiable, grad_ys=[graph.capture(dy) for _, dy in pairs]) if pairs and differentiable else []
    by_source = dict(zip(differentiable, grads or [None] * len(differentiable)))
    return graph, [by_source.get(x) for x in sources]


# --- While -----------------------------------------------------------------------------------------------------------

class _Extras:
    """What gradients have added to a forward loop: the counter, and one list per saved tensor."""

    def __init__(self, op: Operation) -> None:
        self.op, self.lists = op, dict[Tensor, Tensor]()
        self.count: Tensor | None = None

    def counter(self) -> Tensor:
        """The number of iterations that the loop ran."""
        if self.count is None:
            self.count = self._add(constant(0, name="count"), lambda number: number + 1)
        return self.count

    def saved(self, tensor: Tensor) -> Tensor:
        """The list of the values that a tensor of the body had."""
        if tensor not in self.lists:
            op = self.op
            with op.graph.as_default(), op.graph.control_dependencies(None):
                empty = empty_list(tensor.dtype.base_dtype, tensor.shape)
            self.lists[tensor] = self._add(empty, lambda values: TensorListPushBack(values, tensor))
        return self.lists[tensor]

    def _add(self, start: Tensor, step: Callable[[Tensor], Tensor]) -> Tensor:
        """A further loop variable."""
        op = self.op
        test, body = op.attrs["cond"], op.attrs["body"]
        start = op.graph.capture(start)
        dtype, shape = start.dtype.base_dtype, start.shape
        for function in (test, body):
            with function.as_default(), function.control_dependencies(None):
                variable = function.add_input(dtype, shape, f"{op.name}/extra")
                variable._handle_data = start._handle_data
                if function is body:
                    body.outputs.append(step(variable))
            function._note_change()
        op._inputs = (*op._inputs, start)
        start._consumers.append(op)
        op.attrs["output_shapes"] = (*op.attrs["output_shapes"], shape)
        output = add_output(op, dtype, shape, "T")
        output._handle_data = start._handle_data
        return output


def _is_source(tensor: Tensor) -> bool:
    """Does nothing flow on from the tensor's gradient? It is a variable, or what one holds, or is fed: then the gradient is handed to the caller.

    What has been computed will want its gradient dense; to add that up in the loop is then the shorter way.
    """
    while True:
        op = tensor.op
        outer = op.graph.outer_tensor(tensor) if isinstance(op.graph, FuncGraph) else None
        if outer is None and not (op.definition.forwards_reference and op._inputs):
            return not (op._inputs or isinstance(op.graph, FuncGraph)) or op.definition.snapshot
        tensor = outer if outer is not None else op._inputs[0]


def _shape_of(tensor: Tensor) -> Any:
    """The shape of a tensor, or of the variable that a resource handle refers to: ints if they are known."""
    is_handle = tensor.dtype.base_dtype is dtypes.resource
    static = tensor._handle_data[1] if is_handle else tensor.shape
    return np.array(static.as_list(), np.int32) if static.is_fully_defined() else lookup("VariableShape" if is_handle else "Shape")(tensor)


class _Rows:
    """The gradient of a table of which a loop uses rows: in each iteration, the rows and their indices are added to two lists."""

    def __init__(self, graph: Backward, table: Tensor, grad: IndexedSlices) -> None:
        self.table = table
        parts = [grad.values, grad.indices]
        with graph.outer.as_default():
            extents = to_tensor(_shape_of(table), dtype=dtypes.int32)
            zero_row = zeros(concat([[1], extents[1:]], 0), grad.values.dtype.base_dtype)
            self.starts = [self._list_of(part, first) for part, first in zip(parts, (zero_row, zeros([1], grad.indices.dtype.base_dtype)))]
        self.variables = [graph.add_input(dtypes.variant, TensorShape(()), "rows") for _ in parts]
        for variable, start in zip(self.variables, self.starts):
            variable._handle_data = start._handle_data
        self.after = [TensorListPushBack(variable, part) for variable, part in zip(self.variables, parts)]

    @staticmethod
    def _list_of(part: Tensor, first: Tensor) -> Tensor:
        """A list that begins with a row of zeros, as TensorFlow's sum does."""
        empty = empty_list(part.dtype.base_dtype, TensorShape([None]).concatenate(part.shape[1:]))
        made = TensorListPushBack(empty, first)
        made._handle_data = empty._handle_data
        return made

    def total(self, lists: Sequence[Tensor]) -> IndexedSlices:
        """What the lists hold after the loop."""
        values, indices = (TensorListConcatV2(handle, element_shape_tensor(handle._handle_data[1]), np.zeros(0, np.int64),
                                              element_dtype=handle._handle_data[0])[0] for handle in lists)
        return IndexedSlices(values, indices, to_tensor(_shape_of(self.table), dtype=dtypes.int32))


class _BackwardLoop:
    """The While that computes the gradients of a While.

    Its variables: how many iterations are left; the gradient of each variable of the forward loop; for what does not change there, the sum of the
    gradients so far; the lists of saved values, which get shorter.
    """

    def __init__(self, op: Operation, dys: Sequence[Any]) -> None:
        self.op, self.body, self.needed = op, op.attrs["body"], _inputs_that_need_gradients(op, 0)
        if op._saved is None:
            op._saved = _Extras(op)
        self.extras: _Extras = op._saved
        with op.graph.as_default(), op.graph.control_dependencies(None):
            count = self.extras.counter()
        reaching = self._reaching({i for i, dy in enumerate(dys) if dy is not None}) & self._reached()
        self.indices = [i for i, dy in enumerate(dys) if i in reaching and self._takes_part(i, dy)]
        self.constant_ones = {i for i in self.indices if self.body.outputs[i] is self.body.inputs[i]}
        self.captured = {i for i, tensor in enumerate(self.body.inputs) if self.body.outer_tensor(tensor) is not None}  # these outputs are not used
        self.dys = [None if i in self.captured else dy for i, dy in enumerate(dys)]
        self.count = count
        self.starts = {i: self._start(i) for i in self.indices if i not in self.constant_ones}  # outside
        reads = LoopReads(op.attrs["parallel_iterations"] > 1, self.body.read_inside)
        self.graph = Backward(f"{self.body.name}_grad", self.body, self._saved, reads)
        self.pops: list[tuple[Tensor, Tensor, Tensor]] = []  # (the list outside, the variable, what is left of it)
        self.untouched: set[int] = set()  # captures that no gradient reaches
        self.rows: dict[int, _Rows] = {}  # captures of which only some rows have a gradient

    def _reaching(self, wanted: set[int]) -> set[int]:
        """The variables that the ``wanted`` ones are computed of, iteration after iteration: no others have a gradient.

        A TensorArray that is not read after the loop is one of those others. In an export its writes are pruned with it, and a gradient that
        asked for its elements would not find them.
        """
        place = {tensor: i for i, tensor in enumerate(self.body.inputs)}
        before: set[int] = set()
        while wanted != before:
            before = wanted
            behind = operations_behind([self.body.outputs[i] for i in before], [], (), control=False)
            wanted = before | {place[tensor] for op in behind for tensor in op.outputs if tensor in place}
        return wanted

    def _reached(self) -> set[int]:
        """The variables that are computed, iteration after iteration, of those whose gradients are needed."""
        after: set[int] = set()
        reached = {i for i, needed in enumerate(self.needed) if needed}  # the counter, if it is new, is not
        while reached != after:
            after = set(reached)
            tensors = {self.body.inputs[i] for i in after}
            for op in self.body.get_operations():
                if any(tensor in tensors and _carries_gradients(tensor) for tensor in op._inputs):
                    tensors.update(op.outputs)
            reached |= {i for i, tensor in enumerate(self.body.outputs) if tensor in tensors}
        return reached

    def _start(self, index: int) -> Tensor:
        if self.dys[index] is not None:
            return to_tensor(as_dense(self.dys[index]))
        changes = index not in self.captured and self.body.inputs[index].dtype.base_dtype not in (dtypes.variant, dtypes.resource)
        return zeros_like(self.op.outputs[index]) if changes else zeros_for(self.op._inputs[index])  # its shape may change too

    def _takes_part(self, index: int, dy: Any) -> bool:
        """Has this variable of the forward loop a gradient? A list has one if the loop reads it, or if it is read afterwards."""
        tensor = self.body.inputs[index]
        if tensor.dtype.base_dtype is dtypes.variant:
            return dy is not None or (self.body.outputs[index] is not tensor and self.body.outputs[index].op.definition is not TensorListPushBack)
        return is_differentiable(tensor)

    def _saved(self, backward: Backward, tensor: Tensor) -> Tensor:
        """Pops the value of the iteration that is being gone through backwards."""
        values = backward.outer.capture(self.extras.saved(tensor))
        variable = backward.add_input(dtypes.variant, TensorShape(()), f"{self.op.name}/saved")
        with backward.as_default(), backward.control_dependencies(None):
            rest, value = TensorListPopBack(variable, element_shape_tensor(tensor.shape), element_dtype=tensor.dtype.base_dtype)
        variable._handle_data = rest._handle_data = values._handle_data
        value.set_shape(tensor.shape)
        value._handle_data = tensor._handle_data
        self.pops.append((values, variable, rest))
        return value

    def build(self) -> list[Any]:
        """The gradients with respect to the inputs of the forward loop."""
        graph, body = self.graph, self.body
        with graph.as_default():
            left = graph.add_input(dtypes.int32, TensorShape(()), "left")
            flowing = {i: graph.add_input(start.dtype.base_dtype, self._shape(i, start), "grad") for i, start in self.starts.items()}
            grads = dict(zip(self.indices, gradients([body.outputs[i] for i in flowing], [body.inputs[i] for i in self.indices],
                                                     grad_ys=list(flowing.values()))))
            self.nodes = self._nodes(grads)
            self.untouched = {i for i in self.constant_ones if grads[i] is None and (i in self.captured or not self.op.outputs[i]._consumers)}
            self.rows = {i: _Rows(graph, self.op._inputs[i], grads[i]) for i in self.constant_ones
                         if isinstance(grads[i], IndexedSlices) and i in self.captured and _is_source(self.op._inputs[i])}
            sums = self._sums()
            self.variables = flowing | sums
            after = {variable: self._next(variable, grads[i], i in sums) for i, variable in self.variables.items()}  # may pop and capture more
            by_input = {left: left - 1, **after, **{variable: rest for _, variable, rest in self.pops}}
            start_of = {left: self.count, **{variable: self.starts[i] for i, variable in self.variables.items()},
                        **{variable: values for values, variable, _ in self.pops}, **{inner: outer for outer, inner in graph.captures.items()}}
            for rows in self.rows.values():
                by_input.update(zip(rows.variables, rows.after))
                start_of.update(zip(rows.variables, rows.starts))
            graph.outputs = [graph.capture(by_input.get(tensor, tensor)) for tensor in graph.inputs]
            for tensor in graph.inputs:  # a capture that the line above made
                if tensor not in start_of:
                    start_of[tensor] = next(outer for outer, inner in graph.captures.items() if inner is tensor)
            graph.outputs += graph.inputs[len(graph.outputs):]
        return self._results([start_of[tensor] for tensor in graph.inputs])

    def _shape(self, index: int, start: Tensor) -> TensorShape:
        return start.shape if self.body.inputs[index].dtype.base_dtype is dtypes.resource else self.op.attrs["output_shapes"][index] \
            if self.body.outputs[index] is not self.body.inputs[index] else start.shape

    def _sums(self) -> dict[int, Tensor]:
        """Variables for the sums of the gradients of what does not change in the forward loop."""
        sums = {}
        for i in sorted(self.constant_ones - self.rows.keys() - self.untouched):
            with self.graph.outer.as_default():
                self.starts[i] = start = self._start(i)
            sums[i] = self.graph.add_input(start.dtype.base_dtype, self._shape(i, start), "grad")
        return sums

    @staticmethod
    def _next(variable: Tensor, grad: Any, accumulates: bool) -> Tensor:
        if grad is None:
            return variable if accumulates else zeros_like(variable)
        grad = to_tensor(as_dense(grad))
        return add(variable, grad) if accumulates else grad

    def _nodes(self, grads: dict[int, Any]) -> int:
        """How many operations TensorFlow's gradient has: counters, what each variable takes, what is summed up, and what the body's gradient is."""
        outside, body, reads = Place(self.graph.outer), self.body, self.graph.loop
        assert reads is not None
        number = nodes_of_counters(outside)
        for i, dy in enumerate(self.dys):
            if i in self.captured or not is_differentiable(body.inputs[i]):
                continue
            number += nodes_of_exit(self.op.outputs[i], dy is not None, outside)
            passed_on, grad = i in self.constant_ones, grads.get(i)
            if i in self.indices and (grad is not None or dy is not None or not passed_on):
                number += nodes_of_variable(self.starts.get(i, self.op.outputs[i]), grad is not None or passed_on)
                number += passed_on and isinstance(grad, Tensor) and not grad.op.definition.sums
        number += sum(nodes_of_sum(grads[i], self.op._inputs[i], outside) for i in self.indices
                      if i in self.captured and grads[i] is not None and self.needed[i])
        return number + self.graph.next_op_seed() + reads.operations

    def _results(self, starts: list[Tensor]) -> list[Any]:
        graph = self.graph
        test = FuncGraph(f"{self.op.attrs['cond'].name}_grad", default_graph())
        with test.as_default():
            inputs = [test.add_input(tensor.dtype.base_dtype, tensor.shape, "loop_var") for tensor in graph.inputs]
            test.outputs = [inputs[0] > 0]  # type: ignore[list-item, operator]
        node = While.node([starts], {"cond": test, "body": graph, "parallel_iterations": self.op.attrs["parallel_iterations"],
                                     "output_shapes": [tensor.shape for tensor in graph.inputs]}, name="While")
        for tensor, start in zip(node.outputs, starts):
            tensor._handle_data = start._handle_data
        result: list[Any] = [None] * len(self.op._inputs)
        output_of = dict(zip(graph.inputs, node.outputs))
        for i, variable in self.variables.items():
            result[i] = identity(output_of[variable], name="Exit")  # as above
        for i, rows in self.rows.items():
            result[i] = rows.total([output_of[variable] for variable in rows.variables])
        return result


def while_gradient(op: Operation, dys: Sequence[Any]) -> list[Any]:
    """The gradients of a While with respect to its inputs."""
    graph = default_graph()
    before = graph.next_op_seed()
    with graph.reading([]):
        loop = _BackwardLoop(op, dys)
        grads = loop.build()
    if graph.has_branches_in_place:
        graph.imply(loop.nodes - (graph.next_op_seed() - before))
    return grads
