"""``if``, conditional expressions and logical operators: Python's, or an ``If`` operation where they depend on a tensor of a graph."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.autograph.errors import NO_RETURN, UNDEFINED
from penstock.autograph.state import AssignedState, Attribute, is_symbolic
from penstock.graph import nest
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.effects import wait_for_effects
from penstock.graph.function import FuncGraph, trace
from penstock.graph.node import Tensor
from penstock.ops.constant import constant, identity
from penstock.ops.flow.control_flow import add_if, cond, leaf_of, parts_of
from penstock.ops.flow.misc import Assert
from penstock.ops.math.compare import equal, logical_not


def if_(test: Any, body: Callable[[], None], orelse: Callable[[], None], names: Sequence[str], live: Sequence[str],
        attributes: Sequence[Attribute]) -> None:
    """An ``if`` statement."""
    if not is_symbolic(test):
        (body if test else orelse)()
        return
    state = AssignedState((body, orelse), names, live, attributes)
    before = state.get()

    def run(block: Callable[[], None]) -> list[Any]:
        state.set(before)
        try:
            block()
            return state.get_live()
        finally:
            state.set(before)

    then, after_then = trace("cond_true", lambda: run(body))
    otherwise, after_else = trace("cond_false", lambda: run(orelse))
    _check_defined(state.names, after_then, "if")
    _check_defined(state.names, after_else, "else")
    _check_returns(after_then, after_else)
    outcomes = [_Outcome(name, one, other, then, otherwise) for name, one, other in zip(state.names, after_then, after_else)]
    for graph, index in ((then, 0), (otherwise, 1)):
        with graph.as_default():
            tensors = [tensor for outcome in outcomes for tensor in outcome.tensors[index]]
            graph.outputs = [graph.capture(tensor) for tensor in tensors or [constant(True)]]  # something has to wait for the effects
            wait_for_effects(graph)
    tensors = [identity(tensor) for tensor in add_if(to_tensor(test), then, otherwise)]
    state.set_live(before, [outcome.take(tensors) for outcome in outcomes])


class _Outcome:
    """What a variable is after an ``if``: ``tensors`` has the tensors of both branches."""

    def __init__(self, name: str, one: Any, other: Any, then: FuncGraph, otherwise: FuncGraph) -> None:
        self.tensors: tuple[list[Tensor], list[Tensor]] = ([], [])
        self._structure, self._leaves = one, []
        self._same = one is other and not isinstance(one, Tensor)
        if self._same:
            return
        try:
            nest.assert_same_structure(one, other)
        except (TypeError, ValueError) as error:
            raise TypeError(f'"{name}" does not have the same nested structure in the TRUE and FALSE branches.\n\n{error}') from None
        for mine, theirs in zip(nest.flatten(one), nest.flatten(other)):
            self._leaves.append(mine if mine is None and theirs is None else self._add(name, mine, theirs, then, otherwise))

    def _add(self, name: str, one: Any, other: Any, then: FuncGraph, otherwise: FuncGraph) -> Any:
        with then.as_default():
            one = as_leaf(name, one)
        with otherwise.as_default():
            other = as_leaf(name, other)
        mine, theirs = parts_of(one), parts_of(other)
        if len(mine) != len(theirs):
            raise TypeError(f'"{name}" does not have the same nested structure in the TRUE and FALSE branches: {one}, {other}')
        for first, second in zip(mine, theirs):
            if first.dtype.base_dtype is not second.dtype.base_dtype:
                raise TypeError(f'"{name}" has dtype {first.dtype.base_dtype.name} in the TRUE branch, but dtype={second.dtype.base_dtype.name} in '
                                "the FALSE branch. TensorFlow control flow requires that they are the same.")
        self.tensors[0].extend(mine)
        self.tensors[1].extend(theirs)
        return one

    def take(self, tensors: list[Tensor]) -> Any:
        """The value after the ``if``; takes its tensors from the front of the list."""
        if self._same:
            return self._structure
        leaves = []
        for leaf in self._leaves:
            count = 0 if leaf is None else len(parts_of(leaf))
            leaves.append(None if leaf is None else leaf_of(leaf, tensors[:count]))
            del tensors[:count]
        return nest.pack_sequence_as(self._structure, leaves)


def as_leaf(name: str, value: Any) -> Any:
    """A value as something that graph control flow can carry; TypeError names the variable."""
    if isinstance(value, (SparseTensor, IndexedSlices)) or hasattr(value, "with_flow"):
        return value
    try:
        return to_tensor(value)
    except (TypeError, ValueError) as error:
        raise TypeError(f'"{name}" depends on a tensor, but its value {value!r} cannot be a tensor: {error}') from None


def _check_defined(names: Sequence[str], values: Sequence[Any], branch: str) -> None:
    missing = tuple(name for name, value in zip(names, values) if value is UNDEFINED)
    if missing:
        raise ValueError(f"The following symbols must also be initialized in the {branch} branch: {missing}. Alternatively, you may initialize them "
                         "before the if statement.")


def _check_returns(one: Sequence[Any], other: Sequence[Any]) -> None:
    """ValueError if only one branch returns a value."""
    for mine, theirs in zip(one, other):
        if (mine is NO_RETURN) != (theirs is NO_RETURN):
            branch = "if" if mine is NO_RETURN else "else"
            raise ValueError(f"A value must also be returned from the {branch} branch. If a value is returned from one branch of a conditional "
                             "a value must be returned from all branches.")


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """``body if test else orelse``."""
    if is_symbolic(test):
        return cond(to_tensor(test), body, orelse, strict=True)
    return body() if test else orelse()


def and_(first: Callable[[], Any], rest: Callable[[], Any]) -> Any:
    """``first and rest``; the rest is computed only if it counts."""
    value = first()
    return cond(to_tensor(value), rest, lambda: value) if is_symbolic(value) else value and rest()


def or_(first: Callable[[], Any], rest: Callable[[], Any]) -> Any:
    """``first or rest``."""
    value = first()
    return cond(to_tensor(value), lambda: value, rest) if is_symbolic(value) else value or rest()


def not_(value: Any) -> Any:
    """``not value``."""
    return logical_not(value) if is_symbolic(value) else not value


def eq(left: Any, right: Any) -> Any:
    """``left == right``: for tensors, of values."""
    return equal(left, right) if isinstance(left, Tensor) or isinstance(right, Tensor) else left == right


def not_eq(left: Any, right: Any) -> Any:
    """``left != right``."""
    return not_(eq(left, right)) if not isinstance(left, Tensor) and not isinstance(right, Tensor) else logical_not(equal(left, right))


def assert_(test: Any, message: Callable[[], Any]) -> Any:
    """``assert test, message``."""
    if is_symbolic(test):
        text = message()
        return Assert(test, text if isinstance(text, list) else [text])
    assert test, message()
    return None


def result(value: Any) -> Any:
    """What a function returns; None if no ``return`` was reached."""
    return None if value is NO_RETURN else value
