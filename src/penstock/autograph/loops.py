"""``while`` and ``for``: Python's, or a ``While`` operation where they depend on a tensor of a graph."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.autograph.branches import as_leaf, not_
from penstock.autograph.errors import NO_RETURN, UNDEFINED
from penstock.autograph.state import AssignedState, Attribute, is_symbolic
from penstock.graph import nest
from penstock.graph.convert import to_tensor
from penstock.graph.effects import wait_for_effects
from penstock.graph.function import FuncGraph
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.static import constant_value
from penstock.ops.array.shape_ops import shape as shape_of
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import cond, contains, while_loop
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.compare import logical_and, logical_or

Options = Callable[[], dict[str, Any]] | None
_OPTIONS = ("parallel_iterations", "back_prop", "swap_memory", "maximum_iterations")


def set_loop_options(parallel_iterations: Any = UNDEFINED, back_prop: Any = UNDEFINED, swap_memory: Any = UNDEFINED,
                     maximum_iterations: Any = UNDEFINED) -> dict[str, Any]:
    """``tf.autograph.experimental.set_loop_options``: as the first statement of a loop, arguments for the ``tf.while_loop`` that it becomes."""
    values = (parallel_iterations, back_prop, swap_memory, maximum_iterations)
    return {name: value for name, value in zip(_OPTIONS, values) if value is not UNDEFINED}


def while_(test: Callable[[], Any], body: Callable[[], None], names: Sequence[str], live: Sequence[str], attributes: Sequence[Attribute],
           options: Options) -> None:
    """A ``while`` statement."""
    while True:
        value = _probe(test)
        if is_symbolic(value):
            _Staged((test, body), names, live, attributes, options).build([], test, lambda: body() or [])
            return
        if not value:
            return
        body()


def _probe(test: Callable[[], Any]) -> Any:
    """The condition, to see whether it is a tensor; then what it took to compute it is forgotten."""
    graph = default_graph()
    if graph.imperative:
        return test()
    with FuncGraph("loop_test", graph).as_default():
        return test()


def for_(iterable: Any, body: Callable[[Any], None], names: Sequence[str], live: Sequence[str], attributes: Sequence[Attribute], options: Options,
         stop: Callable[[], Any] | None) -> None:
    """A ``for`` statement; ``stop`` says after a turn whether it was the last one."""
    if is_symbolic(iterable):
        loop = _Staged((body, *([stop] if stop else [])), names, live, attributes, options)
        _over_tensor(to_tensor(iterable), loop, body, stop)
    elif hasattr(iterable, "_autograph_for_loop") and not default_graph().imperative:
        loop = _Staged((body, *([stop] if stop else [])), names, live, attributes, options)
        loop.over(iterable._autograph_for_loop, body, stop)
    else:
        for item in iterable:
            body(item)
            if stop is not None and stop():
                break


def _over_tensor(iterable: Tensor, loop: _Staged, body: Callable[[Any], None], stop: Callable[[], Any] | None) -> None:
    """Over the numbers of a ``tf.range``, or over the rows of a tensor."""
    if iterable.op.type == "Range":
        start, limit, delta = iterable.op.inputs
        first, item = start, lambda number: number
    else:
        limit, delta = length(iterable), constant(1)
        rows = TensorArray(iterable.dtype.base_dtype, limit, element_shape=iterable.shape[1:]).unstack(iterable)
        first, item = constant(0), rows.read

    def test(number: Tensor) -> Tensor:
        more = _before(number, limit, delta)
        return more if stop is None else cond(more, lambda: not_(stop()), lambda: constant(False))

    def step(number: Tensor) -> list[Tensor]:
        body(item(number))
        return [number + delta]

    loop.build([first], test, step)


def length(tensor: Tensor) -> Any:
    """The extent of the first axis: a number, or a tensor if it is not known yet."""
    extents = tensor.shape.extents
    if extents == ():
        raise ValueError(f"len requires a non-scalar tensor, got one of shape {tensor.shape}")
    return extents[0] if extents and extents[0] is not None else shape_of(tensor)[0]


def _before(number: Tensor, limit: Any, delta: Tensor) -> Tensor:
    """Is there another number? That depends on the direction."""
    known = constant_value(delta)
    if known is not None:
        return number < limit if known >= 0 else number > limit
    return logical_or(logical_and(delta >= 0, number < limit), logical_and(delta < 0, number > limit))


class _Staged:
    """A loop that becomes an operation: its variables are those of the program that it changes and that count."""

    def __init__(self, blocks: Sequence[Any], names: Sequence[str], live: Sequence[str], attributes: Sequence[Attribute], options: Options) -> None:
        self._state = AssignedState(blocks, names, live, attributes)
        self._options = {} if options is None else options()
        self._before = self._state.get()
        self._start = self._state.get_live()
        missing = tuple(name for name, value in zip(self._state.names, self._start) if value is UNDEFINED)
        if missing:
            raise ValueError(f"TensorFlow requires that the following symbols must be defined before the loop: {missing}")
        if any(value is NO_RETURN for value in self._start):
            raise ValueError("return statements are not supported within a TensorFlow loop.")
        self._start = [nest.map_structure(lambda leaf, name=name: as_leaf(name, leaf), value) for name, value in zip(self._state.names, self._start)]

    def build(self, extra: list[Any], test: Callable[..., Any], step: Callable[..., list[Any]]) -> None:
        """Makes the loop. ``extra`` are loop variables of its own, which ``test`` and ``step`` are given; ``step`` returns their next values."""
        own = extra or ([] if self._start else [constant(0)])  # a loop has a variable
        count = len(own)

        def loop_test(*values: Any) -> Any:
            self._state.set_live(self._before, values[count:])
            result = test(*values[:len(extra)])
            return self._after_effects([result])[0]

        def loop_body(*values: Any) -> list[Any]:
            self._state.set_live(self._before, values[count:])
            following = step(*values[:len(extra)])
            after = self._state.get_live()
            self._check(after)
            return self._after_effects([*(following if extra else values[:count]), *after])

        try:
            results = while_loop(loop_test, loop_body, [*own, *self._start], return_same_structure=True, **self._options)
        finally:
            self._state.set(self._before)
        self._state.set_live(self._before, results[count:])

    def over(self, reduce: Callable[..., Any], body: Callable[[Any], None], stop: Callable[[], Any] | None) -> None:
        """Makes a loop over something that can reduce itself: ``reduce(start, step, stop)``, with functions of lists of values."""
        def step(values: Sequence[Any], item: Any) -> list[Any]:
            self._state.set_live(self._before, values)
            body(item)
            after = self._state.get_live()
            self._check(after)
            return self._after_effects(after or list(values))

        def stopped(values: Sequence[Any]) -> Any:
            self._state.set_live(self._before, values)
            return stop()  # type: ignore[misc]

        try:
            results = reduce(self._start or [constant(0)], step, None if stop is None else stopped)
        finally:
            self._state.set(self._before)
        self._state.set_live(self._before, results if self._start else [])

    def _after_effects(self, values: list[Any]) -> list[Any]:
        """The values, which wait for what was done on the way to them."""
        graph = default_graph()
        assert isinstance(graph, FuncGraph)
        return wait_for_effects(graph, values)

    def _check(self, after: list[Any]) -> None:
        """TypeError or ValueError if a variable is something else after a turn."""
        for name, one, other in zip(self._state.names, self._start, after):
            if other is NO_RETURN or other is UNDEFINED:
                raise ValueError(f'"{name}" has no value after one iteration of the loop.')
            try:
                nest.assert_same_structure(one, other)
            except (TypeError, ValueError) as error:
                raise TypeError(f'"{name}" does not have the same nested structure after one iteration.\n\n{error}') from None
            for mine, theirs in zip(nest.flatten(one), nest.flatten(other)):
                _check_same(name, mine, as_leaf(name, theirs))


def _check_same(name: str, before: Any, after: Any) -> None:
    if not isinstance(before, Tensor) or not isinstance(after, Tensor):
        return
    if before.dtype.base_dtype is not after.dtype.base_dtype:
        raise TypeError(f'"{name}" has dtype {before.dtype.base_dtype.name} before the loop, but dtype {after.dtype.base_dtype.name} after one '
                        "iteration. TensorFlow control flow requires it stays the same.")
    if not contains(before.shape, after.shape):
        raise ValueError(f'"{name}" has shape {before.shape} before the loop, but shape {after.shape} after one iteration. TensorFlow control flow '
                         "requires it stays the same or be more specific.")
