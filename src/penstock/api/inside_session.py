"""Parts of TensorFlow's private modules of sessions that programs call, over what Penstock has in their place."""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.graph.graph import Graph
from penstock.graph.node import Operation, Tensor
from penstock.session.fetches import Fetches


class FetchHandler:
    """A nest of fetches taken apart: the tensors in it that are not fed, and its operations; and put together again."""

    def __init__(self, graph: Graph, fetches: Any, feeds: Mapping[Any, Any], feed_handles: Any = None) -> None:
        with graph.as_default():
            self._nest = Fetches(graph, fetches)
        self._feeds = dict(feeds)
        self._final = [tensor for tensor in self._nest.tensors if tensor not in self._feeds]

    def fetches(self) -> list[Tensor]:
        """The tensors to compute."""
        return self._final

    def targets(self) -> list[Operation]:
        """The operations to run."""
        return self._nest.targets

    def build_results(self, session: Any, tensor_values: list[Any]) -> Any:
        """The values of ``fetches()``, and those that are fed, in the form of the nest."""
        values = {**self._feeds, **dict(zip(self._final, tensor_values))}
        return self._nest.build([values[tensor] for tensor in self._nest.tensors])
