"""What programs register about types of operations, such as how many floats they compute: ``@RegisterStatistics("MyOp", "flops")``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_functions: dict[tuple[str, str], Callable[[Any, Any], OpStats]] = {}


class OpStats:
    """A number about an operation, of the kind ``statistic_type``; None if it is not known."""

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type, self.value = statistic_type, value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}.")
        if other.value is not None:
            self.value = other.value if self.value is None else self.value + other.value
        return self


class RegisterStatistics:
    """A decorator for a function of a graph and a NodeDef that returns OpStats."""

    def __init__(self, op_type: str, statistic_type: str) -> None:
        for name, text in (("op_type", op_type), ("statistic_type", statistic_type)):
            if not isinstance(text, str):
                raise TypeError(f"{name} must be a string.")
            if "," in text:
                raise TypeError(f"{name} must not contain a comma.")
        self._key = op_type, statistic_type

    def __call__(self, function: Callable[[Any, Any], OpStats]) -> Callable[[Any, Any], OpStats]:
        if self._key in _functions:
            raise KeyError(f"Registering two functions for the statistic {self._key[1]!r} of {self._key[0]!r}")
        _functions[self._key] = function
        return function


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """What the function that is registered for the node's type says; OpStats without a value if there is none."""
    function = _functions.get((node.op, statistic_type))
    return OpStats(statistic_type) if function is None else function(graph, node)
