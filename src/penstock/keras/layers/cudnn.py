"""CuDNNGRU and CuDNNLSTM on the CPU: the recurrences that cuDNN computes, with its weights.

Biases are doubled: one for the inputs, one for the states. The LSTM's gates use the logistic function.
"""
from __future__ import annotations

from typing import Any

from penstock.graph.graph import default_graph
from penstock.keras.layers.cells import GRUCell, LSTMCell
from penstock.keras.layers.recurrent import CellRNN
from penstock.layers import initializers, regularizers
from penstock.layers.base import Layer
from penstock.layers.options import add_weight, ordered_config, weight_config
from penstock.ops.array.pack import concat, split
from penstock.ops.array.shape_ops import reshape
from penstock.variables.initializers import Ones


class _GRUCell(GRUCell):
    def _add_bias(self) -> Any:
        self._flat_bias = add_weight(self, "bias", (6 * self.units,))
        with default_graph().counting_as(1):
            return reshape(self._flat_bias, (2, 3 * self.units))


class _LSTMCell(LSTMCell):
    def _add_bias(self) -> Any:
        def with_open_gate(_: Any, *args: Any, **kwargs: Any) -> Any:
            given = self.bias_initializer
            return concat([given((self.units * 5,), *args, **kwargs), initializers.get(Ones())((self.units,), *args, **kwargs),
                           given((self.units * 2,), *args, **kwargs)], axis=0)

        self._flat_bias = self.add_weight("bias", shape=(8 * self.units,), regularizer=self.bias_regularizer, constraint=self.bias_constraint,
                                          initializer=with_open_gate if self.unit_forget_bias else self.bias_initializer)
        with default_graph().counting_as(1):
            first, second = split(self._flat_bias, 2)
            return first + second


class _CuDNN(CellRNN):
    """What both share: options of weights alone. ``nodes``: how many TensorFlow has for a call, how many more if states are returned, and how many
    less if they are variables."""

    nodes: tuple[int, int, int]

    def _init_cell(self, cell: Any, activity_regularizer: Any, kwargs: dict[str, Any]) -> None:
        kwargs.pop("unroll", None)
        super().__init__(cell, activity_regularizer, **kwargs)

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:  # type: ignore[override]
        """The outputs of the steps, or the last one; with ``return_state`` also the states."""
        if mask is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        nodes, for_states, less_if_stateful = self.nodes
        nodes += 2 * (not self.return_sequences) + 2 * self.go_backwards + for_states * self.return_state - less_if_stateful * self.stateful
        with default_graph().counting_as(nodes):
            return super().call(inputs, training=training, initial_state=initial_state)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        names = ("return_sequences", "return_state", "go_backwards", "stateful", "time_major")
        return ordered_config({**Layer.get_config(self), **{name: getattr(self, name) for name in names}, "units": self.cell.units,
                **weight_config(self.cell, "kernel", "recurrent", "bias"),
                "activity_regularizer": regularizers.serialize(self.activity_regularizer)})


class CuDNNGRU(_CuDNN):
    """``tf.keras.layers.CuDNNGRU``."""

    nodes = 95, 4, 6

    def __init__(self, units: int, kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
                 bias_initializer: Any = "zeros", kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
                 return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
                 **kwargs: Any) -> None:
        cell = _GRUCell(units, "tanh", "sigmoid", True, kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer,
                        recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint, implementation=2,
                        reset_after=True)
        self._init_cell(cell, activity_regularizer, {**kwargs, "return_sequences": return_sequences, "return_state": return_state,
                                                     "go_backwards": go_backwards, "stateful": stateful})


class CuDNNLSTM(_CuDNN):
    """``tf.keras.layers.CuDNNLSTM``."""

    nodes = 128, 8, 7

    def __init__(self, units: int, kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal",
                 bias_initializer: Any = "zeros", unit_forget_bias: bool = True, kernel_regularizer: Any = None, recurrent_regularizer: Any = None,
                 bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None,
                 bias_constraint: Any = None, return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False,
                 stateful: bool = False, **kwargs: Any) -> None:
        cell = _LSTMCell(units, "tanh", "sigmoid", True, kernel_initializer, recurrent_initializer, bias_initializer, unit_forget_bias,
                         kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint,
                         implementation=2)
        self._init_cell(cell, activity_regularizer, {**kwargs, "return_sequences": return_sequences, "return_state": return_state,
                                                     "go_backwards": go_backwards, "stateful": stateful})

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        return ordered_config({**super().get_config(), "unit_forget_bias": self.cell.unit_forget_bias})
