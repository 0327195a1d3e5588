"""Walking a graph: which operations lie behind some tensors, and in which order they can run."""
from __future__ import annotations

from collections.abc import Collection, Iterable

from penstock.errors import InvalidArgumentError
from penstock.graph.node import Operation, Tensor


def operations_behind(fetches: Iterable[Tensor], targets: Iterable[Operation], fed: Collection[Tensor], control: bool = True) -> list[Operation]:
    """The operations behind ``fetches`` and ``targets``, up to the tensors in ``fed``, each after those it depends on.

    With ``control`` off, control edges are not followed.
    """
    reached: set[Operation] = set()
    stack = [tensor.op for tensor in fetches if tensor not in fed]
    stack.extend(targets)
    while stack:
        operation = stack.pop()
        if operation in reached:
            continue
        reached.add(operation)
        stack.extend(tensor.op for tensor in operation._inputs if tensor not in fed)
        if control:
            stack.extend(other for other in operation._control_inputs if not _is_fed(other, fed))
    return in_order(reached)


def _is_fed(operation: Operation, fed: Collection[Tensor]) -> bool:
    """True for a placeholder (or a like source) whose value is given: who waits for it need not wait, and it cannot run."""
    return not operation._inputs and not operation.definition.blocking and bool(operation.outputs) and all(t in fed for t in operation.outputs)


def in_order(operations: set[Operation]) -> list[Operation]:
    """Operations sorted so that each stands after those it depends on; ValueError for a cycle."""
    ordered = sorted(operations, key=lambda operation: operation._id)
    position = {operation: index for index, operation in enumerate(ordered)}
    late = any(position.get(before, -1) > index for index, operation in enumerate(ordered) for before in _before(operation))
    return _sort(ordered) if late else ordered  # only graph surgery makes an op depend on one made after it


def _before(operation: Operation) -> list[Operation]:
    """What must have run before: not what the iteration before hands over, which would close a circle."""
    return [*(tensor.op for tensor in operation._inputs if tensor.op.definition.control_flow != "next"), *operation._control_inputs]


def _sort(operations: list[Operation]) -> list[Operation]:
    """A depth-first topological sort, for graphs in which creation order is none."""
    members, result = set(operations), list[Operation]()
    entered, done = set[Operation](), set[Operation]()
    for root in operations:
        stack = [root]
        while stack:
            operation = stack[-1]
            if operation in done:
                stack.pop()
                continue
            waiting = [other for other in _before(operation) if other in members and other not in done]
            if not waiting:
                done.add(operation)
                result.append(stack.pop())
            elif operation in entered:
                cycle = dict.fromkeys(other for other in stack[stack.index(operation):] if other in entered)
                raise InvalidArgumentError(None, operation, f"Graph is invalid, contains a cycle with {len(cycle)} nodes, including: "
                                                            f"{', '.join(other.name for other in list(cycle)[:5])}")
            else:
                entered.add(operation)
                stack.extend(waiting)
    return result
