"""``tf.wrap_function``: a function of TensorFlow 1's kind, traced once with the variables that it makes; what is not asked for can be cut off."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.graph import nest
from penstock.graph.function_copy import add_part
from penstock.graph.graph import Graph, default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.tensor_spec import TensorSpec
from penstock.graph.traverse import operations_behind
from penstock.imperative.function import TracedFunction
from penstock.variables.creators import variable_creator_scope


class WrappedFunction(TracedFunction):
    """What ``tf.wrap_function`` returns. ``graph`` has all that was made, ``graph.variables`` the variables; a call runs what the outputs need."""

    def __init__(self, function: Callable[..., Any], signature: Any) -> None:
        leaves = nest.flatten(signature)
        names = [spec.name or f"arg{index}" for index, spec in enumerate(leaves)]
        variables: list[Any] = []

        def keep(next_creator: Any, **options: Any) -> Any:
            variables.append(next_creator(**options))
            return variables[-1]

        with variable_creator_scope(keep):
            super().__init__(function, (signature, {}), leaves, signature, names)
        self.graph.variables = variables  # type: ignore[attr-defined]
        arguments = self.graph.inputs[:len(leaves)]
        # Outputs are those that the function returned, not ones that wait for all its effects: of those a part need not run any.
        inside = [self.graph.capture(leaf) if isinstance(leaf, Tensor) else leaf for leaf in self._leaves]
        self.graph.outputs = [leaf for leaf in inside if isinstance(leaf, Tensor)]
        self._called = self.prune(arguments, nest.pack_sequence_as(self._result, inside))

    def call(self, graph: Graph, tensors: list[Tensor]) -> Any:
        """What the function returns for these tensors."""
        return self._called.call(graph, tensors)

    def prune(self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None) -> TracedFunction:
        """The function from ``feeds`` to ``fetches``, tensors of the graph or their names: it runs nothing else. Operations may be fetched, too."""
        fed: list[Tensor] = [self._element(feed) for feed in nest.flatten(feeds)]
        wanted = [None if fetch is None else self._element(fetch) for fetch in nest.flatten(fetches)]
        tensors = [each for each in wanted if isinstance(each, Tensor)]
        targets = [each for each in wanted if isinstance(each, Operation)]
        captured = {inner: outer for outer, inner in self.graph.captures.items() if inner not in fed}
        needed = operations_behind(tensors, targets, fed)
        for argument in self.graph.inputs:
            if argument.op in needed and argument not in captured:
                raise InvalidArgumentError(None, None, f"what is fetched of the function '{self.graph.name}' needs its argument "
                                           f"'{argument.op.name}', which is not among the feeds.\n  try: prune with {argument.name!r} as a feed")

        def part(*values: Tensor) -> Any:
            graph: Any = default_graph()
            known = dict(zip(fed, values))
            known.update({inner: graph.capture(outer) for inner, outer in captured.items() if inner.op in needed})
            copied = add_part(self.graph, graph, known, tensors, targets)
            return nest.pack_sequence_as(fetches, [copied[each] if isinstance(each, Tensor) else None for each in wanted])

        part.__name__ = name or "pruned"
        specs = [TensorSpec(tensor.shape, tensor.dtype.base_dtype, tensor.op.name) for tensor in fed]
        signature = tuple(specs) if input_signature is None else input_signature
        return TracedFunction(part, (signature, {}), nest.flatten(signature), signature, [spec.name for spec in specs])

    def _element(self, element: Any) -> Any:
        found = self.graph.as_graph_element(element)
        if found.graph is not self.graph:
            raise ValueError(f"{element} is not an element of the graph of the function '{self.graph.name}'.")
        return found


def wrap_function(fn: Callable[..., Any], signature: Any, name: str | None = None) -> WrappedFunction:
    """``tf.wrap_function``: traces ``fn`` for the TensorSpecs of ``signature``; variables that it makes are made once, and belong to the result.

    >>> import penstock as tf
    >>> double = tf.wrap_function(lambda x: x * 2.0, [tf.TensorSpec([], tf.float32)])
    >>> with tf.Session() as session:
    ...     float(session.run(double(tf.constant(3.0))))
    6.0
    """
    def function(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    function.__name__ = name if name is not None else str(getattr(fn, "__name__", "function"))
    return WrappedFunction(function, signature)
