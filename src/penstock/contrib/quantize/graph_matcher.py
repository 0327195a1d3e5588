"""``tensorflow.contrib.quantize.python.graph_matcher``: patterns of operations as objects, by which a match tells what it has matched."""
from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.graph.node import Operation, Tensor


class OpTypePattern:
    """Matches operations of a type (``"*"`` any, ``"Add|AddV2"`` either) whose inputs match; without ``inputs``, with any inputs.

    ``inputs`` are patterns, types, or None for whatever may stand there. ``ordered_inputs=False``: in any order.
    """

    def __init__(self, op_type: str, name: str | None = None, inputs: Iterable[Any] | None = None, ordered_inputs: bool = True) -> None:
        self._types, self._name, self._ordered = frozenset(op_type.split("|")), name, ordered_inputs
        self._inputs = None if inputs is None else [OpTypePattern(each) if isinstance(each, str) else each for each in inputs]

    @property
    def name(self) -> str | None:
        """By which a match knows this part."""
        return self._name

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """What is matched at ``op``, which was reached by ``tensor``; None if nothing is."""
        if "*" not in self._types and op.type not in self._types:
            return None
        own = MatchResult()
        own.add(self, op, tensor)
        if self._inputs is None:
            return own
        if len(self._inputs) != len(op.inputs):
            return None
        orders = [self._inputs] if self._ordered else itertools.permutations(self._inputs)
        return next((own.joined(parts) for order in orders if (parts := _match_all(op, order)) is not None), None)


class OneofPattern:
    """Matches what the first of some patterns does that matches."""

    def __init__(self, sub_patterns: Iterable[Any]) -> None:
        self._patterns = list(sub_patterns)

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """See ``OpTypePattern.match``."""
        return next((matched for pattern in self._patterns if (matched := pattern.match(op, tensor)) is not None), None)


def _match_all(op: Operation, patterns: Iterable[Any]) -> list[MatchResult] | None:
    parts = [MatchResult() if pattern is None else pattern.match(tensor.op, tensor) for tensor, pattern in zip(op.inputs, patterns)]
    return None if any(part is None for part in parts) else [part for part in parts if part is not None]


class MatchResult:
    """What a pattern has matched: its parts are asked for by pattern or by name."""

    def __init__(self) -> None:
        self._parts: dict[Any, tuple[Operation, Tensor | None]] = {}

    def add(self, pattern: OpTypePattern, op: Operation, tensor: Tensor | None) -> None:
        """Keeps what a part has matched; ValueError if its name is taken."""
        if pattern.name is not None and pattern.name in self._parts:
            raise ValueError(f"Name {pattern.name} is already bound to another pattern")
        for key in (pattern, pattern.name):
            if key is not None:
                self._parts[key] = (op, tensor)

    def joined(self, others: Iterable[MatchResult]) -> MatchResult:
        """This match with the parts of others."""
        result = MatchResult()
        for each in (self, *others):
            result._parts.update(each._parts)
        return result

    def get_op(self, pattern_or_name: Any) -> Operation | None:
        """The operation that a part has matched; None if there is no such part."""
        return self._parts.get(pattern_or_name, (None, None))[0]

    def get_tensor(self, pattern_or_name: Any) -> Tensor | None:
        """The tensor by which a part was reached; None for the whole."""
        return self._parts.get(pattern_or_name, (None, None))[1]


class GraphMatcher:
    """Looks for a pattern in operations."""

    def __init__(self, pattern: Any) -> None:
        self._pattern = pattern

    def match_op(self, op: Operation) -> MatchResult | None:
        """What the pattern matches at one operation."""
        matched: MatchResult | None = self._pattern.match(op, None)
        return matched

    def match_ops(self, ops: Iterable[Operation]) -> Iterator[MatchResult]:
        """Each match at one of some operations."""
        return (matched for op in ops if (matched := self.match_op(op)) is not None)

    def match_graph(self, graph: Any) -> Iterator[MatchResult]:
        """Each match in a graph, as it is now."""
        return self.match_ops(list(graph.get_operations()))
