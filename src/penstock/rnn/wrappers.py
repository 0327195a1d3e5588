"""Cells around a cell: dropout, residual connections, a device."""
from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable, Iterator
from typing import Any

from penstock.graph import nest
from penstock.graph.convert import convert_to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import device, name_scope
from penstock.graph.shape import as_shape
from penstock.graph.static import constant_value
from penstock.layers.objects import deserialize_object, serialize_object
from penstock.ops.array.pack import concat
from penstock.ops.flow.tensor_array_class import TensorArray
from penstock.ops.math.division import div
from penstock.ops.math.rounding import floor
from penstock.ops.nn.dropout import dropout
from penstock.ops.random.random import random_uniform
from penstock.rnn.cell import RNNCell, assert_like_rnncell
from penstock.rnn.lstm import LSTMStateTuple


class CellWrapper(RNNCell):
    """A cell that changes what another one gets or gives. It has no scope of its own: the variables are named as if it were not there."""

    def __init__(self, cell: Any, name: str | None = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        assert_like_rnncell("cell", cell)
        self.cell = cell

    _cell = wrapped_cell = property(lambda self: self.cell)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        return {**super().get_config(), "cell": serialize_object(self.cell)}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: dict[str, Any] | None = None) -> CellWrapper:
        """The cell that ``get_config`` describes. Classes of cells that are not Penstock's may be named in ``custom_objects``."""
        arguments = dict(config)
        cell = deserialize_object(arguments.pop("cell"), {each.__name__: each for each in _subclasses(RNNCell)}, custom_objects, "cell")
        return cls(cell, **arguments)

    @property
    def state_size(self) -> Any:
        """That of the wrapped cell."""
        return self.cell.state_size

    @property
    def output_size(self) -> Any:
        """That of the wrapped cell."""
        return self.cell.output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """Those of the wrapped cell."""
        return self.cell.trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        """Those of the wrapped cell."""
        return self.cell.non_trainable_weights

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the wrapped cell."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []):
            return self.cell.zero_state(batch_size, dtype)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> Any:
        """One step."""
        return self._around(inputs, state, lambda inputs, state: self.cell(inputs, state, **({} if scope is None else {"scope": scope})))

    def call(self, inputs: Any, state: Any) -> Any:
        """One step, in the current scope."""
        return self._around(inputs, state, self.cell.call)

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not say what it does to its cell.")


def _subclasses(base: type) -> Iterator[type]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


class DropoutWrapper(CellWrapper):
    """``tf.nn.rnn_cell.DropoutWrapper``: dropout on inputs, states and outputs.

    With ``variational_recurrent`` the same units are dropped at all steps of a run (Gal and Ghahramani 2015).
    """

    def __init__(self, cell: Any, input_keep_prob: Any = 1.0, output_keep_prob: Any = 1.0, state_keep_prob: Any = 1.0,
                 variational_recurrent: bool = False, input_size: Any = None, dtype: Any = None, seed: Any = None,
                 dropout_state_filter_visitor: Callable[[Any], Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._state_filter = dropout_state_filter_visitor or _memory_is_kept
        with name_scope("DropoutWrapperInit"):
            self._keep = {kind: _probability(kind, given) for kind, given in
                          (("input", input_keep_prob), ("state", state_keep_prob), ("output", output_keep_prob))}
        self._seed, self._variational, self._input_size = seed, variational_recurrent, input_size
        self._noise: dict[str, Any] = {"input": None, "state": None, "output": None}
        if variational_recurrent:
            self._draw_noise(input_size, dtype)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        if self._state_filter is not _memory_is_kept:
            raise NotImplementedError("A DropoutWrapper with a dropout_state_filter_visitor cannot be described by a config.")
        keep = {f"{kind}_keep_prob": self._keep[kind] for kind in ("input", "output", "state")}
        return {**super().get_config(), **keep, "variational_recurrent": self._variational, "input_size": self._input_size, "seed": self._seed}

    def _draw_noise(self, input_size: Any, dtype: Any) -> None:
        """The random numbers that all steps share."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        if _drops(self._keep["input"]):
            if input_size is None:
                raise ValueError("When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, input_size must be provided")
            self._noise["input"] = self._noise_for("input", input_size, dtype)
        self._noise["state"] = self._noise_for("state", self.cell.state_size, dtype)
        self._noise["output"] = self._noise_for("output", self.cell.output_size, dtype)

    def _noise_for(self, kind: str, sizes: Any, dtype: Any) -> Any:
        flat = [random_uniform(concat(([1], as_shape([size] if isinstance(size, int) else size).as_list()), 0), seed=self._seed_of(kind, index),
                               dtype=dtype) for index, size in enumerate(nest.flatten(sizes))]
        return nest.pack_sequence_as(sizes, flat)

    def _seed_of(self, kind: str, index: int) -> int | None:
        if self._seed is None:
            return None
        text = f"{self._seed}{kind}_{index}".encode()
        return int(hashlib.md5(text, usedforsecurity=False).hexdigest()[:8], 16) & 0x7FFFFFFF  # TensorFlow's: equal seeds, equal masks

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        if _drops(self._keep["input"]):
            inputs = self._dropout(inputs, "input")
        output, new_state = step(inputs, state)
        if _drops(self._keep["state"]):
            new_state = self._dropout(new_state, "state", nest.get_traverse_shallow_structure(self._state_filter, new_state))
        if _drops(self._keep["output"]):
            output = self._dropout(output, "output")
        return output, new_state

    def _dropout(self, values: Any, kind: str, chosen: Any = None) -> Any:
        """Dropout on those parts of a structure of which ``chosen`` is true; on all of them, if it is None."""
        chosen = nest.map_structure(lambda _: True, values) if chosen is None else chosen
        noise = nest.map_structure(lambda _: None, chosen) if self._noise[kind] is None else self._noise[kind]
        flags, parts, noises = nest.flatten(chosen), nest.flatten_up_to(chosen, values), nest.flatten_up_to(chosen, noise)
        dropped = [self._drop(kind, index, part, its_noise) if flag else part
                   for index, (flag, part, its_noise) in enumerate(zip(flags, parts, noises))]
        return nest.pack_sequence_as(chosen, dropped)

    def _drop(self, kind: str, index: int, value: Any, noise: Any) -> Any:
        keep = self._keep[kind]
        if not self._variational:
            return dropout(value, keep_prob=keep, seed=self._seed_of(kind, index))
        result = div(value, keep) * floor(keep + noise)
        result.set_shape(value.shape)
        return result


def _memory_is_kept(substate: Any) -> Any:
    """Of the state of an LSTM only the output is subject to dropout."""
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, TensorArray)


def _probability(kind: str, given: Any) -> Any:
    """A float if the value is known, else a tensor."""
    tensor = convert_to_tensor(given)
    known = constant_value(tensor)
    if known is None:
        return tensor
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter \"{kind}_keep_prob\" must be between 0 and 1: {known}")
    return float(known)


def _drops(probability: Any) -> bool:
    return not isinstance(probability, numbers.Real) or probability < 1


class ResidualWrapper(CellWrapper):
    """``tf.nn.rnn_cell.ResidualWrapper``: adds the inputs to the outputs."""

    def __init__(self, cell: Any, residual_fn: Callable[[Any, Any], Any] | None = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._residual_fn = residual_fn

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        if self._residual_fn is not None:
            raise NotImplementedError("A ResidualWrapper with a residual_fn cannot be described by a config.")
        return super().get_config()

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        outputs, new_state = step(inputs, state)
        return (self._residual_fn or _sum)(inputs, outputs), new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    nest.assert_same_structure(inputs, outputs)
    nest.map_structure(lambda one, other: one.shape.assert_is_compatible_with(other.shape), inputs, outputs)
    return nest.map_structure(lambda one, other: one + other, inputs, outputs)


class DeviceWrapper(CellWrapper):
    """``tf.nn.rnn_cell.DeviceWrapper``: runs a cell on a device."""

    def __init__(self, cell: Any, device: Any, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self._device = device

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        return {**super().get_config(), "device": self._device}

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """That of the wrapped cell, on the device."""
        with name_scope(type(self).__name__ + "ZeroState", values=[batch_size] if isinstance(batch_size, Tensor) else []), device(self._device):
            return self.cell.zero_state(batch_size, dtype)

    def _around(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        with device(self._device):
            return step(inputs, state)
