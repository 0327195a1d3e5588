"""A step: arrays in, arrays out, one run of the session. All that a batch needs - loss, gradients, updates, metrics - is in it."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.layers.sessions import initialized_session
from penstock.ops.flow.misc import group


class ArrayStep:
    """A function of the values of ``feeds`` that returns those of ``fetches`` and runs ``updates``; ``fixed`` feeds are the same every time."""

    def __init__(self, feeds: Sequence[Any], fetches: Sequence[Any], updates: Sequence[Any] = (), fixed: dict[Any, Any] | None = None) -> None:
        self.feeds, self.count = list(feeds), len(fetches)
        self._fixed = fixed or {}
        self._fetches: list[Any] = [fetch if isinstance(fetch, Tensor) else to_tensor(fetch) for fetch in fetches]
        operations = [update if isinstance(update, Operation) else update.op for update in updates]
        self._targets = [group(*operations)] if operations else []
        default_graph().imply(0 if operations else 1)  # TensorFlow makes a group of nothing, too
        self.extra: list[Any] = []  # further fetches, such as summaries, whose values `extra_values` holds after a call
        self.extra_values: list[Any] = []
        self._session: Any = None
        self._extra_made: list[Any] = []
        self._function: Callable[..., Any] | None = None

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """Runs the step."""
        return self.bound()(values)

    def bound(self) -> Callable[[Sequence[Any]], list[Any]]:
        """The step in the session of this moment: for loops, which need not look for the session again and again."""
        session = initialized_session()
        if session is not self._session or self.extra != self._extra_made:
            feeds = [*self.feeds, *self._fixed]
            self._function = session.make_callable([*self._fetches, *self.extra, *self._targets], feeds)
            self._session, self._extra_made = session, list(self.extra)
        function, fixed, count, extra = self._function, tuple(self._fixed.values()), self.count, len(self.extra)

        def run(values: Sequence[Any]) -> list[Any]:
            results = function(*values, *fixed)  # type: ignore[misc]
            if extra:
                self.extra_values = results[count:count + extra]
            return results[:count]

        return run
