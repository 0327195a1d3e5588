"""Functions of pipelines: Python functions traced into graphs, which dataset ops call for each element."""
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from penstock.autograph.conversion import converted_form
from penstock.data import element_nest, structure
from penstock.graph.conversion_status import building
from penstock.graph.function import FuncGraph
from penstock.graph.function_def import separate_function
from penstock.graph.graph import default_graph
from penstock.graph.node import Operation, Tensor
from penstock.graph.scopes import control_dependencies
from penstock.graph.traverse import operations_behind


class ElementFunction:
    """A function of elements: its ``graph``, the outer tensors that it uses (``captures``) and the structure of what it returns (``output``)."""

    def __init__(self, function: Callable[..., Any], user: str, *inputs: Any) -> None:
        """Traces ``function`` on an element for each structure in ``inputs``; ``user`` is the method that wants it, for errors."""
        if not callable(function):
            raise TypeError(f"The function passed to {user} must be callable, not {function!r}.")
        self.graph = separate_function(re.sub(r"\W+", "_", user).strip("_"), default_graph())
        with self.graph.as_default():
            elements = [self._arguments(each, index) for index, each in enumerate(inputs)]
            if len(elements) == 1 and type(elements[0]) is tuple:  # an element that is a plain tuple comes as arguments
                elements = list(elements[0])
            result = building(converted_form(function), converting=False)(*elements)
            result = self._normalize_result(tuple(result) if isinstance(result, list) else result, user)
            self.output = structure.structure_of(result)
            self.graph.outputs = [self.graph.capture(tensor) for tensor in structure.encode(self.output, result)]
        _leave_collections(self.graph)

    def _arguments(self, specs: Any, number: int) -> Any:
        components = [spec.component for spec in element_nest.flatten(specs)]
        tensors = [self.graph.add_input(dtype, shape, f"arg{number}_{index}") for index, (dtype, shape) in enumerate(components)]
        return structure.decode(specs, tensors)

    @staticmethod
    def _normalize_result(result: Any, user: str) -> Any:
        try:
            return structure.normalize(result, "result")
        except (TypeError, ValueError) as error:
            raise TypeError(f"Unsupported return value from function passed to {user}: {result}. ({error})") from None

    @property
    def captures(self) -> list[Tensor]:
        """The tensors of the outer graph that it uses."""
        return list(self.graph.captures)

    def expect_scalar(self, dtype: Any, what: str) -> None:
        """ValueError unless the function returns a scalar of this type."""
        (spec,) = element_nest.flatten(self.output) if not element_nest.is_sequence(self.output) else (None,)
        if spec is None or spec.dtype is not dtype or not spec.shape.is_compatible_with([]):
            raise ValueError(f"{what} must return a scalar {dtype.name} tensor, not {self.output}.")

    def after_control_captures(self) -> Any:
        """A ``with`` block for the op that calls the function: it runs after the outer ops that the function's ops depend on."""
        return control_dependencies(list(self.graph.control_captures))


def _leave_collections(function: FuncGraph) -> None:
    """Removes what belongs to the function from the collections, which are those of the outer graph: its summaries are of no use outside."""
    for items in function._collections.values():
        items[:] = [item for item in items if getattr(item, "graph", None) is not function]


def copy_into_function(dataset: Tensor, name: str) -> FuncGraph:
    """A function without arguments that makes a dataset anew; ValueError if it depends on state, which a function cannot take along.

    Control dependencies are left behind, as in TensorFlow: an iterator over no files ends at once, although ``list_files`` asks for some.
    """
    graph = separate_function(name, default_graph())
    copies: dict[Tensor, Tensor] = {}
    for op in operations_behind([dataset], (), (), control=False):
        _check_without_state(op)
        with graph.as_default():
            made = op.definition.add_node(graph, f"{graph.name}/{op.name}", tuple(copies[tensor] for tensor in op._inputs), op.attrs)
        copies.update(zip(op.outputs, made.outputs))
    graph.outputs = [copies[dataset]]
    return graph


def _check_without_state(op: Operation) -> None:
    if op.type in ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "_FuncInput"):
        raise ValueError(f"Cannot capture a placeholder (name:{op.name}, type:{op.type}) by value.")
    if op.definition.stateful and not op.definition.__module__.startswith("penstock.ops.data.dataset_") and op.type not in _HARMLESS:
        raise ValueError(f"Cannot capture a stateful node (name:{op.name}, type:{op.type}) by value.")


_HARMLESS = frozenset(["MatchingFiles", "Assert", "ReadFile"])  # depend on nothing that a session keeps
