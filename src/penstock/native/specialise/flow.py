"""Loops and branches inside a table: jumps, loop variables in the arena, and the lists in which a loop keeps values for its gradient.

    copy the initial values to the loop's variables
    top:  cond's calls;  jump to end unless its result is true
          body's calls;  copy its results to the variables;  jump to top
    end:

A list is a descriptor of three words (length, capacity, address of the elements) that lives as long as the table's memory, and so does what it has
allocated: the second run of a step allocates nothing. A loop that pops gets a descriptor of its own over the same elements, so that the list itself
stays whole.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.graph import dtypes
from penstock.graph.function import FuncGraph
from penstock.native.calls import Array, Buffer, Code, KernelCall, Unsupported
from penstock.native.items import Item, Value
from penstock.native.machine.abi import ARRAY_DATA, OUT_OF_MEMORY
from penstock.native.specialise import cases
from penstock.native.specialise.fallback import Fallback
from penstock.native.specialise.generators import is_generator, separate_generators
from penstock.ops.flow.functional import If, is_true
from penstock.program import ir
from penstock.program.ir import Edge, Node

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter

MakeScope = Callable[[Sequence[Node], dict[Edge, Value], Sequence[Edge]], Any]  # ``Scope``, for the nodes of a function

_LISTS = """
declare ptr @realloc(ptr, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal ptr @operand(ptr %words, i64 %k) {{
  %at = getelementptr i64, ptr %words, i64 %k
  %cell = load ptr, ptr %at
  %where = getelementptr i8, ptr %cell, i64 {array_data}
  %data = load ptr, ptr %where
  ret ptr %data
}}

; words: tensor, list, status, bytes of an element
define void @push(ptr %words) {{
entry:
  %tensor = call ptr @operand(ptr %words, i64 0)
  %list = call ptr @operand(ptr %words, i64 1)
  %status = call ptr @operand(ptr %words, i64 2)
  %at_bytes = getelementptr i64, ptr %words, i64 3
  %bytes = load i64, ptr %at_bytes
  %at_capacity = getelementptr i64, ptr %list, i64 1
  %at_elements = getelementptr i64, ptr %list, i64 2
  %length = load i64, ptr %list
  %capacity = load i64, ptr %at_capacity
  %full = icmp sge i64 %length, %capacity
  br i1 %full, label %grow, label %store
grow:
  %double = mul i64 %capacity, 2
  %more = add i64 %double, 16
  %size = mul i64 %more, %bytes
  %some = or i64 %size, 1 ; elements may have no bytes, but memory for none is not distinguished from a refusal
  %old = load ptr, ptr %at_elements
  %new = call ptr @realloc(ptr %old, i64 %some)
  %refused = icmp eq ptr %new, null
  br i1 %refused, label %fail, label %grown
fail:
  store i64 {out_of_memory}, ptr %status
  ret void
grown:
  store ptr %new, ptr %at_elements
  store i64 %more, ptr %at_capacity
  br label %store
store:
  %elements = load ptr, ptr %at_elements
  %offset = mul i64 %length, %bytes
  %place = getelementptr i8, ptr %elements, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %place, ptr %tensor, i64 %bytes, i1 0)
  %longer = add i64 %length, 1
  store i64 %longer, ptr %list
  ret void
}}

; words: list, tensor, bytes of an element; an empty list gives zeros
define void @pop(ptr %words) {{
entry:
  %list = call ptr @operand(ptr %words, i64 0)
  %tensor = call ptr @operand(ptr %words, i64 1)
  %at_bytes = getelementptr i64, ptr %words, i64 2
  %bytes = load i64, ptr %at_bytes
  %length = load i64, ptr %list
  %some = icmp sgt i64 %length, 0
  br i1 %some, label %take, label %zero
take:
  %shorter = sub i64 %length, 1
  store i64 %shorter, ptr %list
  %at_elements = getelementptr i64, ptr %list, i64 2
  %elements = load ptr, ptr %at_elements
  %offset = mul i64 %shorter, %bytes
  %place = getelementptr i8, ptr %elements, i64 %offset
  call void @llvm.memcpy.p0.p0.i64(ptr %tensor, ptr %place, i64 %bytes, i1 0)
  ret void
zero:
  call void @llvm.memset.p0.i64(ptr %tensor, i8 0, i64 %bytes, i1 0)
  ret void
}}

; words: list
define void @clear(ptr %words) {{
  %list = call ptr @operand(ptr %words, i64 0)
  store i64 0, ptr %list
  ret void
}}

; words: source, target: the target reads the source's elements
define void @share(ptr %words) {{
  %source = call ptr @operand(ptr %words, i64 0)
  %target = call ptr @operand(ptr %words, i64 1)
  %length = load i64, ptr %source
  %at_source = getelementptr i64, ptr %source, i64 2
  %elements = load ptr, ptr %at_source
  %at_target = getelementptr i64, ptr %target, i64 2
  store i64 %length, ptr %target
  store ptr %elements, ptr %at_target
  ret void
}}
"""


def _list_code(symbol: str) -> Code:
    return Code.of(f"list {symbol}", lambda: _LISTS.format(array_data=ARRAY_DATA, out_of_memory=OUT_OF_MEMORY), symbol)


@dataclass(eq=False, slots=True)
class _Function:
    """A function while it is made native: its nodes as a scope, the values of its inputs, and what they are where it is called."""

    scope: Any
    inputs: list[Value]
    given: list[Value]


class Flow:
    """What ops with functions, and ops on lists, say to the compiler."""

    def __init__(self, emitter: Emitter) -> None:
        self.emit = emitter

    # --- shapes --------------------------------------------------------------------------------------------------------------------------

    def trace(self, item: Item, scope: MakeScope) -> list[Value]:
        """The outputs of an item that runs functions or handles lists, with their shapes; looks into the functions."""
        definition = item.node.definition
        if definition.array_role:
            return self.emit.arrays.trace(item)
        if definition.list_role:
            return _list_outputs(item, definition.list_role)
        if definition.repeats:
            return self._trace_loop(scope, item)
        return self._trace_branches(scope, item)

    def trace_cases(self, item: Item, source: Node, scope: MakeScope) -> list[Value]:
        """The outputs of an item whose first input is a condition, and the others its node's, some of which depend on it, because of ``source``: the
        node once for each case."""
        node, edges = item.node, list(dict.fromkeys(item.node.inputs))
        by_edge = dict(zip(node.inputs, item.inputs[1:]))
        outputs = [(node, index) for index in range(len(node.output_dtypes))]
        for case in (0, 1):
            given = [cases.in_case(by_edge[edge], case) for edge in edges]
            inputs = [cases.copy_of(value) for value in given]
            self._add_function(item, lambda: scope([node], dict(zip(edges, inputs)), outputs), inputs, given)  # noqa: B023 (called at once)
        types = {"Tcond": item.inputs[0].dtype, "Tin": [value.dtype for value in item.inputs[1:]], "Tout": list(node.output_dtypes)}
        item.node = replace(node, definition=If, attrs=types, generators=())
        return cases.join(item, (item.functions[0].scope.outputs, item.functions[1].scope.outputs), source)

    def _function(self, scope: MakeScope, item: Item, name: str, inputs: Sequence[Value], given: Sequence[Value]) -> _Function:
        """A function of an item. The last of its inputs are the generators that it draws from."""
        graph: FuncGraph = item.node.attrs[name]
        program = ir.prune(graph.outputs, (), graph.inputs)
        for node in program.nodes:
            node.device = node.device or item.node.device
        nodes = [node for node in separate_generators(program.nodes) if node not in program.args]
        generators = dict(zip(item.node.generators, inputs[len(graph.inputs):]))
        known = {(node, 0): value for node, value in zip(program.args, inputs)}
        known |= {(node, 0): generators[node.name] for node in nodes if is_generator(node)}
        nodes = [node for node in nodes if not is_generator(node)]
        if any(node.definition.updates and not is_generator(node.inputs[0][0]) for node in nodes):
            raise Unsupported("a function that writes to variables")
        return self._add_function(item, lambda: scope(nodes, known, program.fetches), inputs, given)

    def _add_function(self, item: Item, make: Callable[[], Any], inputs: Sequence[Value], given: Sequence[Value]) -> _Function:
        try:
            function = _Function(make(), list(inputs), list(given))
        except Fallback as why:
            raise Unsupported(str(why)) from why
        if any(value.either is not None for value in function.scope.outputs):
            raise Unsupported("a shape depends on a condition that is computed in a function")
        item.functions.append(function)
        return function

    def _trace_loop(self, scope: MakeScope, item: Item) -> list[Value]:
        body: FuncGraph = item.node.attrs["body"]
        fixed = [inner is outer for inner, outer in zip(body.outputs, body.inputs)] + [True] * len(item.node.generators)
        variables = [value if same else Value(value.shape, value.dtype, element=value.element) for value, same in zip(item.inputs, fixed)]
        self._function(scope, item, "cond", variables, item.inputs)
        after = self._function(scope, item, "body", variables, item.inputs).scope.outputs
        for before, new in zip(variables, after):
            if before.shape != new.shape:
                raise Unsupported(f"a loop variable changes its shape from {list(before.shape)} to {list(new.shape)}")
            before.element = before.element or new.element
        return [Value(value.shape, value.dtype, value.known if same else None, element=value.element, store=value.store if same else None)
                for value, same in zip(variables, fixed)]

    def _trace_branches(self, scope: MakeScope, item: Item) -> list[Value]:
        condition, *inputs = item.inputs
        names = ["then_branch", "else_branch"]
        chosen = (0, 1) if condition.known is None else (0,) if is_true(condition.known) else (1,)
        for case in chosen:
            given = [cases.in_case(value, case) for value in inputs]
            self._function(scope, item, names[case], [cases.copy_of(value) for value in given], given)
        results = [function.scope.outputs for function in item.functions]
        if any(value.dtype is dtypes.variant for values in results for value in values):
            raise Unsupported("a branch gives a list")
        if len(results) == 1:
            return [Value(value.shape, value.dtype, value.known) for value in results[0]]
        return cases.join(item, (results[0], results[1]), item.node, cases.unread_outputs([item.node.attrs[name] for name in names]))

    # --- calls ---------------------------------------------------------------------------------------------------------------------------

    def loop(self, inputs: list[Array]) -> list[Array]:
        """The calls of the loop that is being emitted; where its variables are afterwards."""
        emit = self.emit
        item = emit.item
        cond, body = item.functions
        arrays: list[Array] = []
        for value, start, outer, after in zip(cond.inputs, inputs, item.inputs, item.outputs):
            if value is outer:
                arrays.append(start)  # it does not change
                continue
            if value.dtype is dtypes.variant:
                value.array = self._loop_list(value, start, outer, bool(after.users))
            else:
                value.array = emit.empty(value.shape, value.dtype.np)
                emit.copy(start, value.array)
            arrays.append(value.array)
        top = len(emit.calls)
        (condition,) = cond.scope.emit()
        leave = self._jump(condition)
        results = body.scope.emit()
        self._advance([(own, result) for own, result in zip(arrays, results) if own is not result])
        self._jump(None).target = top
        leave.target = len(emit.calls)
        emit.loops.append((top, len(emit.calls) - 1))
        return arrays

    def _loop_list(self, value: Value, start: Array, outer: Value, needed: bool) -> Array:
        """The list of a loop that pushes, or the loop's own view of one that it pops."""
        roles = {user.node.definition.list_role for user in value.users}
        if roles == {"push"} and outer.item is not None and outer.item.node.definition.list_role == "empty":
            return self.empty_list() if needed else self._list(0)  # one that is never read is not written either
        if roles != {"pop"}:
            self.emit.unsupported("a list that is not simply filled or emptied by a loop")
        own = self._list()
        self.emit.call(_list_code("share"), [start, own], [()], "list")
        return own

    def _advance(self, moves: list[tuple[Array, Array]]) -> None:
        """Copies results to the loop's variables, as if at the same time."""
        emit = self.emit
        targets = {own.buffer for own, _ in moves}
        settled = []
        for own, result in moves:
            if own.buffer is result.buffer and own.buffer.kind == "list":
                continue
            if result.buffer in targets:  # another variable, about to be overwritten
                held = emit.empty(result.shape, result.dtype)
                emit.copy(result, held)
                result = held
            settled.append((own, result))
        for own, result in settled:
            if own.buffer.kind == "list":
                emit.unsupported("a list is replaced by another one in a loop")
            emit.copy(result, own)

    def branch(self) -> list[Array | None]:
        """The calls of both branches of the conditional that is being emitted, of which one will run; no array of its own for what has two cases."""
        emit = self.emit
        item = emit.item
        cond = item.inputs[0].array
        assert cond is not None
        for value in item.outputs:
            for each in value.either.cases if value.either is not None else (value,):
                each.array = emit.empty(each.shape, each.dtype.np) if each.known is None else emit.constant(each.known)
        if len(item.functions) == 1:
            self._branch(item, 0)
            return [value.array for value in item.outputs]
        if cond.size != 1 or cond.rank:
            emit.unsupported("the condition is not a scalar")
        if cond.dtype != np.bool_:
            emit.unsupported("the condition is not a bool")
        self.choose(cond, lambda: self._branch(item, 0), lambda: self._branch(item, 1))
        return [value.array for value in item.outputs]

    def choose(self, condition: Array, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """The calls that two functions make, of which those of one will run."""
        skip = self._jump(condition)
        then()
        over = self._jump(None)
        skip.target = len(self.emit.calls)
        otherwise()
        over.target = len(self.emit.calls)

    def _branch(self, item: Item, case: int) -> None:
        function = item.functions[case]
        for value, outer in zip(function.inputs, function.given):
            value.array = outer.array
        for result, output in zip(function.scope.emit(), item.outputs):
            value = cases.in_case(output, case)
            assert value.array is not None
            if value.known is None:  # if the shape is another, nothing reads it in this case
                self.emit.copy(result if result.shape == value.shape else self.emit.constant(np.zeros((), result.dtype)), value.array)

    def _jump(self, condition: Array | None) -> KernelCall:
        """A jump, unless the condition is true; the target is set later."""
        emit = self.emit
        never = condition if condition is not None else emit.constant(np.zeros((), np.bool_))
        emit.calls.append(KernelCall(None, [never], [], "jump", 0, 0, list(emit.items)))
        return emit.calls[-1]

    # --- lists ---------------------------------------------------------------------------------------------------------------------------

    def _list(self, nbytes: int = 24) -> Array:
        return Array(Buffer("list", nbytes), np.dtype(np.int64), (3,), (8,))

    def empty_list(self) -> Array:
        """A list without elements."""
        made = self._list()
        self.emit.call(_list_code("clear"), [made], [()], "list")
        return made

    def push(self, values: Array, tensor: Array) -> Array:
        """The same list, one element longer."""
        if values.buffer.nbytes:
            self.emit.call(_list_code("push"), [self.emit.contiguous(tensor), values, self.emit.status], [(tensor.nbytes,)], "push", writes=2)
        return values

    def pop(self, values: Array) -> tuple[Array, Array]:
        """The same list, one element shorter, and that element."""
        item = self.emit.item
        tensor = self.emit.empty(item.outputs[1].shape, item.outputs[1].dtype.np)
        self.emit.call(_list_code("pop"), [values, tensor], [(tensor.nbytes,)], "pop", writes=2)
        return values, tensor


def _list_outputs(item: Item, role: str) -> list[Value]:
    if role == "empty":
        return [Value((), dtypes.variant)]
    handle = item.inputs[0]
    if len(handle.users) > 0:
        raise Unsupported("a list is used in two places")
    dtype = item.node.attrs["element_dtype"]
    if dtype in (dtypes.variant, dtypes.resource):
        raise Unsupported("a list of lists, or of handles")
    if role == "push":
        shape = item.inputs[1].shape
        if handle.element not in (None, shape):
            raise Unsupported("a list of different shapes")
        handle.element = shape
        return [Value((), dtypes.variant, element=shape)]
    if handle.element is None:
        raise Unsupported("the shape of a list's elements is not known")
    return [Value((), dtypes.variant, element=handle.element), Value(handle.element, dtype)]
