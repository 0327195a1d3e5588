"""StackedRNNCells: several cells as one; the output of each is the input of the next."""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.shape import TensorShape, as_shape
from penstock.keras.layer_classes import deserialize
from penstock.keras.layers.cells import initial_state
from penstock.layers.base import Layer
from penstock.layers.calls import call_arguments
from penstock.platform import logging


def is_multiple(state_size: Any) -> bool:
    """Whether a cell has several states."""
    return hasattr(state_size, "__len__") and not isinstance(state_size, TensorShape)


def output_size(cell: Any) -> Any:
    """The size of a cell's output: what it says, or that of its first state."""
    if getattr(cell, "output_size", None) is not None:
        return cell.output_size
    return cell.state_size[0] if is_multiple(cell.state_size) else cell.state_size


class StackedRNNCells(Layer):
    """``tf.keras.layers.StackedRNNCells``."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        for cell in cells:
            if not hasattr(cell, "call"):
                raise ValueError("All cells must have a `call` method. received cells:", cells)
            if not hasattr(cell, "state_size"):
                raise ValueError("All cells must have a `state_size` attribute. received cells:", cells)
        self.reverse_state_order = kwargs.pop("reverse_state_order", False)
        if self.reverse_state_order:
            logging.warning("reverse_state_order=True in StackedRNNCells will soon be deprecated. Please update the code to work with the natural "
                            "order of states if you rely on the RNN states, eg RNN(return_state=True).")
        super().__init__(**kwargs)
        self.cells = list(cells)

    def _in_state_order(self) -> list[Any]:
        return self.cells[::-1] if self.reverse_state_order else self.cells

    @property
    def state_size(self) -> tuple[Any, ...]:
        """The sizes of the states of all cells."""
        return tuple(cell.state_size for cell in self._in_state_order())

    @property
    def output_size(self) -> Any:
        """The size of the last cell's output."""
        return output_size(self.cells[-1])

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> tuple[Any, ...]:
        """The initial states of all cells."""
        return tuple(cell.get_initial_state(inputs=inputs, batch_size=batch_size, dtype=dtype) if hasattr(cell, "get_initial_state")
                     else initial_state(cell, inputs, batch_size, dtype) for cell in self._in_state_order())

    def build(self, input_shape: Any) -> None:
        """Builds the cells."""
        first, *rest = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        for cell in self.cells:
            if isinstance(cell, Layer) and not cell.built:
                cell.build((first, *rest))
                cell.built = True
            rest = as_shape(output_size(cell)).as_list() if not isinstance(output_size(cell), int) else [output_size(cell)]
        self.built = True

    def call(self, inputs: Any, states: Any, constants: Any = None, **kwargs: Any) -> Any:
        """One step of all cells."""
        sizes = self.state_size[::-1] if self.reverse_state_order else self.state_size
        nested = nest.pack_sequence_as(sizes, nest.flatten(states))
        new_states = []
        for cell, own in zip(self.cells, nested):
            own = own if nest.is_nested(own) else [own]
            takes = call_arguments(cell.call)
            offered = {**kwargs, **({"constants": constants} if constants else {})}
            given = {name: value for name, value in offered.items() if takes.expects(name)}
            inputs, own = cell.call(inputs, own, **given)
            new_states.append(own)
        return inputs, nest.pack_sequence_as(sizes, nest.flatten(new_states))

    def reset_dropout_mask(self) -> None:
        """Forgets the masks of the cells' inputs."""
        for cell in self.cells:
            if hasattr(cell, "reset_dropout_mask"):
                cell.reset_dropout_mask()

    def reset_recurrent_dropout_mask(self) -> None:
        """Forgets the masks of the cells' states."""
        for cell in self.cells:
            if hasattr(cell, "reset_recurrent_dropout_mask"):
                cell.reset_recurrent_dropout_mask()

    def get_config(self) -> dict[str, Any]:
        """What it takes to make it again."""
        return {**super().get_config(), "cells": [{"class_name": type(cell).__name__, "config": cell.get_config()} for cell in self.cells]}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The cells that ``get_config`` describes."""
        config = dict(config)
        return cls([deserialize(cell, custom_objects=custom_objects) for cell in config.pop("cells")], **config)
