"""SimpleRNN, GRU and LSTM: an RNN with a cell of its own, whose settings are attributes of the layer, too."""
from __future__ import annotations

from typing import Any

from penstock.keras.layers.cells import GRUCell, LSTMCell, SimpleRNNCell
from penstock.keras.layers.rnn import RNN
from penstock.layers import activations, regularizers
from penstock.layers.base import Layer
from penstock.layers.input_spec import InputSpec
from penstock.layers.options import ordered_config, weight_config
from penstock.platform import logging


class CellRNN(RNN):
    """What the three share: attributes of the cell are attributes of the layer."""

    cell_attributes: tuple[str, ...] = ("units", "activation", "use_bias", "kernel_initializer", "recurrent_initializer", "bias_initializer",
                                        "kernel_regularizer", "recurrent_regularizer", "bias_regularizer", "kernel_constraint",
                                        "recurrent_constraint", "bias_constraint", "dropout", "recurrent_dropout", "kernel", "recurrent_kernel",
                                        "bias")

    def __init__(self, cell: Any, activity_regularizer: Any = None, **kwargs: Any) -> None:
        super().__init__(cell, **kwargs)
        self.activity_regularizer = regularizers.get(activity_regularizer)
        self.input_spec = [InputSpec(ndim=3)]

    def __getattr__(self, name: str) -> Any:
        if name in type(self).cell_attributes and "cell" in self.__dict__:
            return getattr(self.cell, name)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:  # type: ignore[override]
        """The outputs of the steps, or the last one; with ``return_state`` also the states."""
        return super().call(inputs, mask=mask, training=training, initial_state=initial_state, constants=None)

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the layer again."""
        cell = self.cell
        config = {**Layer.get_config(self), **self._sequence_config(), "units": cell.units, "activation": activations.serialize(cell.activation),
                  "use_bias": cell.use_bias, **weight_config(cell, "kernel", "recurrent", "bias"),
                  "activity_regularizer": regularizers.serialize(self.activity_regularizer), "dropout": cell.dropout,
                  "recurrent_dropout": cell.recurrent_dropout}
        if cell.recurrent_activation is not None:
            config["recurrent_activation"] = activations.serialize(cell.recurrent_activation)
        config.update({name: getattr(cell, name) for name in ("unit_forget_bias", "implementation", "reset_after") if hasattr(cell, name)})
        return ordered_config(config)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer that ``get_config`` describes."""
        config = dict(config)
        if config.get("implementation") == 0:  # Keras 2.0 had three
            config["implementation"] = 1
        return cls(**config)


class SimpleRNN(CellRNN):
    """``tf.keras.layers.SimpleRNN``."""

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
                 recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None, kernel_constraint: Any = None,
                 recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0, recurrent_dropout: float = 0.0,
                 return_sequences: bool = False, return_state: bool = False, go_backwards: bool = False, stateful: bool = False,
                 unroll: bool = False, **kwargs: Any) -> None:
        kwargs.pop("implementation", None)
        cell = SimpleRNNCell(units, activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer, kernel_regularizer,
                             recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint, dropout,
                             recurrent_dropout, dtype=kwargs.get("dtype"))
        super().__init__(cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                         stateful=stateful, unroll=unroll, **kwargs)


class GRU(CellRNN):
    """``tf.keras.layers.GRU``."""

    cell_attributes = (*CellRNN.cell_attributes, "recurrent_activation", "implementation", "reset_after")

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
                 kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None, activity_regularizer: Any = None,
                 kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
                 recurrent_dropout: float = 0.0, implementation: int = 1, return_sequences: bool = False, return_state: bool = False,
                 go_backwards: bool = False, stateful: bool = False, unroll: bool = False, reset_after: bool = False, **kwargs: Any) -> None:
        implementation = _known_implementation(implementation)
        cell = GRUCell(units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
                       kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint, bias_constraint, dropout,
                       recurrent_dropout, implementation, reset_after, dtype=kwargs.get("dtype"))
        super().__init__(cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                         stateful=stateful, unroll=unroll, **kwargs)


class LSTM(CellRNN):
    """``tf.keras.layers.LSTM``."""

    cell_attributes = (*CellRNN.cell_attributes, "recurrent_activation", "unit_forget_bias", "implementation")

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
                 unit_forget_bias: bool = True, kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None,
                 activity_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None,
                 dropout: float = 0.0, recurrent_dropout: float = 0.0, implementation: int = 1, return_sequences: bool = False,
                 return_state: bool = False, go_backwards: bool = False, stateful: bool = False, unroll: bool = False, **kwargs: Any) -> None:
        implementation = _known_implementation(implementation)
        cell = LSTMCell(units, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer, bias_initializer,
                        unit_forget_bias, kernel_regularizer, recurrent_regularizer, bias_regularizer, kernel_constraint, recurrent_constraint,
                        bias_constraint, dropout, recurrent_dropout, implementation, dtype=kwargs.get("dtype"))
        super().__init__(cell, activity_regularizer, return_sequences=return_sequences, return_state=return_state, go_backwards=go_backwards,
                         stateful=stateful, unroll=unroll, **kwargs)


def _known_implementation(implementation: int) -> int:
    if implementation == 0:
        logging.warning("`implementation=0` has been deprecated, and now defaults to `implementation=1`. Please update your layer call.")
        return 1
    return implementation
