"""What a program does again and again with the same variables, recorded as one block from its second time on: the update of an optimizer.

The caller says by a key what the operations depend on besides the tensors that it gives: the variables, and Python values. The first time they are
recorded one by one, and traced as a block (``recorded_blocks.py``), which is recorded as one operation from the second time on.
"""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph.function import FuncGraph
from penstock.graph.node import Tensor
from penstock.imperative.eager_graph import EagerGraph
from penstock.imperative.operation import EagerOperation, Edge
from penstock.imperative.recorded_blocks import as_block, call_block

_MOST = 16  # keys that are remembered: a block keeps the variables that it touches


class _Repeat:
    """A block; ``captured`` are the variables that it takes after its arguments."""

    def __init__(self, block: FuncGraph, captured: list[Edge]) -> None:
        self.block, self.captured = block, captured


class Repeats:
    """The blocks of one object, the last used last."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, Any] = OrderedDict()  # a _Repeat; None: it cannot be a block

    def knows(self, graph: EagerGraph, key: Any) -> bool:
        """Is there a block for ``key``, and does no tape want to see each operation?"""
        recording = graph.thread.recording
        return isinstance(self._known.get(key), _Repeat) and not (recording.open_tapes or recording.watchers or graph.runner.sync)

    def call(self, graph: EagerGraph, key: Any, tensors: Sequence[Tensor]) -> EagerOperation | None:
        """Records the block of ``key``, which is known; None if other types of tensors are given than before."""
        known: _Repeat = self._known[key]
        for tensor, argument in zip(tensors, known.block.inputs):
            if tensor._dtype is not argument._dtype or tensor._shape.extents != argument._shape.extents:
                return None
        self._known.move_to_end(key)
        return call_block(graph, known.block, [tensor._edge for tensor in tensors], known.captured)  # type: ignore[attr-defined]

    def learn(self, graph: EagerGraph, key: Any, tensors: Sequence[Tensor], function: Callable[..., Any]) -> None:
        """Notes that ``function(*tensors)`` was called; it is traced, and must build what it built before."""
        if key not in self._known:
            self._known[key] = _trace(graph, tensors, function)
        while len(self._known) > _MOST:
            self._known.popitem(last=False)


def _trace(graph: EagerGraph, tensors: Sequence[Tensor], function: Callable[..., Any]) -> _Repeat | None:
    """The block; None if the function does what a block cannot."""
    block = FuncGraph("repeated", graph)
    with block.as_default():
        function(*[block.add_input(tensor.dtype, tensor.shape, "argument") for tensor in tensors])
    if not as_block(block):
        return None
    return _Repeat(block, [tensor._edge for tensor in block.captures])  # type: ignore[attr-defined]
