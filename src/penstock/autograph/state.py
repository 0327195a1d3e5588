"""The variables that blocks assign: read and set from outside, through the cells that the functions of the blocks share."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType
from typing import Any

from penstock.autograph.errors import UNDEFINED
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.variables.variable import Variable

Attribute = tuple[Callable[[], Any], str]  # a function that gives an object, and the name of its attribute


def is_symbolic(value: Any) -> bool:
    """True for a tensor (or a variable) whose value is known only when a graph runs."""
    if isinstance(value, Variable):
        return not default_graph().imperative
    return isinstance(value, Tensor) and not value.op.graph.imperative


class AssignedState:
    """The variables and attributes that the blocks of a statement assign. ``live`` are the names of those that count after it."""

    def __init__(self, blocks: Sequence[Any], names: Sequence[str], live: Sequence[str], attributes: Sequence[Attribute]) -> None:
        cells: dict[str, CellType] = {}
        for block in blocks:
            cells.update(zip(block.__code__.co_freevars, block.__closure__ or ()))
        self._cells = [(name, cells[name]) for name in names if name in cells]
        self._attributes = [(f"{_text(get)}{name}", get(), name) for get, name in attributes]
        self.names = [name for name, _ in self._cells if name in live] + [name for name, _, _ in self._attributes]
        self._live = [index for index, (name, _) in enumerate(self._cells) if name in live]
        self._live += range(len(self._cells), len(self._cells) + len(self._attributes))

    def get(self) -> list[Any]:
        """All values; UNDEFINED for what has none."""
        return [_content(cell) for _, cell in self._cells] + [getattr(owner, name, UNDEFINED) for _, owner, name in self._attributes]

    def set(self, values: Sequence[Any]) -> None:
        """Sets all values."""
        for (_, cell), value in zip(self._cells, values):
            if value is not UNDEFINED:
                cell.cell_contents = value
            elif _content(cell) is not UNDEFINED:
                del cell.cell_contents
        for (_, owner, name), value in zip(self._attributes, values[len(self._cells):]):
            if getattr(owner, name, UNDEFINED) is value:
                continue
            if value is UNDEFINED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)

    def get_live(self) -> list[Any]:
        """The values that count after the statement, in the order of ``names``."""
        values = self.get()
        return [values[index] for index in self._live]

    def set_live(self, before: Sequence[Any], live: Sequence[Any]) -> None:
        """Sets the values that count, and the others to what they were."""
        values = list(before)
        for index, value in zip(self._live, live):
            values[index] = value
        self.set(values)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return UNDEFINED


def _text(get: Callable[[], Any]) -> str:
    """``self.`` of ``lambda: self``."""
    names = [*get.__code__.co_freevars[:1], *get.__code__.co_names]
    return "".join(f"{name}." for name in names)
