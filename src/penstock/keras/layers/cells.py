"""Recurrent cells: one step of SimpleRNN, GRU, LSTM and the LSTM with peepholes.

A cell is a layer whose ``call(inputs, states)`` returns an output and new states. Gates stand side by side in one kernel; without dropout, one
product computes all of them.
"""
from __future__ import annotations

from typing import Any

from penstock.graph import nest
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.shape import TensorShape
from penstock.keras.backend.nn import dropout
from penstock.keras.layers import cell_operations
from penstock.keras.layers.cell_operations import CellStep
from penstock.layers import activations, initializers
from penstock.layers.base import Layer
from penstock.layers.branching import learning_phase, smart_cond
from penstock.layers.options import add_weight, ordered_config, set_weight_options, weight_config
from penstock.ops.array.fill import ones_like, zeros
from penstock.ops.array.pack import concat, split, unstack
from penstock.ops.array.shape_ops import shape
from penstock.ops.linalg.matmul import matmul
from penstock.ops.nn.bias import bias_add
from penstock.variables.initializers import Ones


def zero_state(batch_size: Any, state_size: Any, dtype: Any) -> Any:
    """Zeros in the structure of ``state_size``."""
    def one(size: Any) -> Any:
        return zeros([batch_size, *(TensorShape(size).as_list() if not isinstance(size, int) else [size])], dtype=dtype)

    return nest.map_structure(one, state_size) if nest.is_nested(state_size) and not isinstance(state_size, TensorShape) else one(state_size)


class AbstractRNNCell(Layer):
    """``tf.keras.layers.AbstractRNNCell``: define ``call(inputs, states)``, ``state_size`` and ``output_size``."""

    @property
    def state_size(self) -> Any:
        """The sizes of the states."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The size of the output."""
        raise NotImplementedError("Abstract method")

    def call(self, inputs: Any, states: Any) -> Any:
        """(output, new states)."""
        raise NotImplementedError("Abstract method")

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros."""
        return initial_state(self, inputs, batch_size, dtype)


def initial_state(cell: Any, inputs: Any, batch_size: Any, dtype: Any) -> Any:
    """Zeros for a cell, with the batch of ``inputs``."""
    if inputs is not None:
        batch_size, dtype = shape(inputs)[0], inputs.dtype
    if batch_size is None or dtype is None:
        raise ValueError(f"batch_size and dtype cannot be None while constructing initial state: batch_size={batch_size}, dtype={dtype}")
    return zero_state(batch_size, cell.state_size, dtype)


class Cell(Layer):
    """What the cells share: options of their weights, and the masks of dropout, which all steps of a sequence share."""

    gates = 1
    kernel_initializer: Any
    bias_initializer: Any
    bias_regularizer: Any
    bias_constraint: Any

    def __init__(self, units: int, activation: Any, recurrent_activation: Any, use_bias: bool, kernel: tuple[Any, ...], recurrent: tuple[Any, ...],
                 bias: tuple[Any, ...], dropout: float, recurrent_dropout: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.use_bias, self.activation = units, use_bias, activations.get(activation)
        self.recurrent_activation = None if recurrent_activation is None else activations.get(recurrent_activation)
        set_weight_options(self, "kernel", *kernel)
        set_weight_options(self, "recurrent", *recurrent)
        set_weight_options(self, "bias", *bias)
        self.dropout, self.recurrent_dropout = min(1.0, max(0.0, dropout)), min(1.0, max(0.0, recurrent_dropout))
        self._masks: dict[str, list[Any]] = {}

    def build(self, input_shape: Any) -> None:
        """Kernels and bias of all gates."""
        self.kernel = add_weight(self, "kernel", (TensorShape(input_shape).as_list()[-1], self.units * self.gates))  # type: ignore[arg-type]
        self.recurrent_kernel = add_weight(self, "recurrent_kernel", (self.units, self.units * self.gates), "recurrent")
        self.bias = self._add_bias() if self.use_bias else None
        self.built = True

    def _add_bias(self) -> Any:
        return add_weight(self, "bias", (self.units * self.gates,))

    def get_initial_state(self, inputs: Any = None, batch_size: Any = None, dtype: Any = None) -> Any:
        """Zeros."""
        return initial_state(self, inputs, batch_size, dtype)

    # --- one step ----------------------------------------------------------------------------------------------------

    def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
        """One step: the output, and new states."""
        masks = self.get_dropout_mask_for_cell(inputs, training, self.gates)
        recurrent_masks = self.get_recurrent_dropout_mask_for_cell(states[0], training, self.gates)
        step = CellStep(masks is not None, recurrent_masks is not None, not isinstance(states[0], Tensor))
        default_graph().imply(self.unseen_operations(step))
        return self.advance(self.project(inputs, masks), states, recurrent_masks)

    def unseen_operations(self, step: CellStep) -> int:
        """How many operations more than ours TensorFlow has in such a step."""
        return 0

    def project(self, inputs: Any, masks: Any = None) -> Any:
        """The part of a step that does not depend on states: without masks, rows of the result are functions of rows of the inputs."""
        raise NotImplementedError

    def advance(self, projected: Any, states: Any, masks: Any = None) -> Any:
        """The rest of a step: the output, and new states."""
        raise NotImplementedError

    def projects_sequences(self) -> bool:
        """Can ``project`` be given the rows of all steps? Not with masks, and not in a subclass with a ``call`` of its own."""
        return self.dropout == 0 and type(self).call is Cell.call

    def _gates(self, product: Any, gates: int | None = None) -> list[Any]:
        """The parts of a product, one for each gate."""
        return product if isinstance(product, list) else split(product, gates or self.gates, axis=1)

    # --- dropout -----------------------------------------------------------------------------------------------------

    def reset_dropout_mask(self) -> None:
        """Forgets the mask of the inputs: a new sequence gets a new one."""
        self._masks.pop("inputs", None)

    def reset_recurrent_dropout_mask(self) -> None:
        """Forgets the mask of the states."""
        self._masks.pop("states", None)

    def get_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> Any:
        """The masks of the inputs, one per gate; None without dropout."""
        return self._mask("inputs", inputs, self.dropout, training, count)

    def get_recurrent_dropout_mask_for_cell(self, inputs: Any, training: Any, count: int = 1) -> Any:
        """The masks of the states, one per gate; None without dropout."""
        return self._mask("states", inputs, self.recurrent_dropout, training, count)

    def _mask(self, what: str, like: Any, rate: float, training: Any, count: int) -> list[Any] | None:
        if rate == 0:
            return None
        if what not in self._masks:
            ones = ones_like(like)
            self._masks[what] = [smart_cond(learning_phase() if training is None else training, lambda: dropout(ones, rate), lambda: ones)
                                 for _ in range(count)]
        return self._masks[what]

    # --- configurations ----------------------------------------------------------------------------------------------

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        config = {**super().get_config(), "units": self.units, "activation": activations.serialize(self.activation), "use_bias": self.use_bias,
                  **weight_config(self, "kernel", "recurrent", "bias"), "dropout": self.dropout, "recurrent_dropout": self.recurrent_dropout}
        if self.recurrent_activation is not None:
            config["recurrent_activation"] = activations.serialize(self.recurrent_activation)
        return ordered_config(config)


class SimpleRNNCell(Cell):
    """``tf.keras.layers.SimpleRNNCell``: activation(x W + h U + b)."""

    def __init__(self, units: int, activation: Any = "tanh", use_bias: bool = True, kernel_initializer: Any = "glorot_uniform",
                 recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros", kernel_regularizer: Any = None,
                 recurrent_regularizer: Any = None, bias_regularizer: Any = None, kernel_constraint: Any = None, recurrent_constraint: Any = None,
                 bias_constraint: Any = None, dropout: float = 0.0, recurrent_dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(units, activation, None, use_bias, (kernel_initializer, kernel_regularizer, kernel_constraint),
                         (recurrent_initializer, recurrent_regularizer, recurrent_constraint), (bias_initializer, bias_regularizer, bias_constraint),
                         dropout, recurrent_dropout, **kwargs)
        self.state_size = self.output_size = units

    def unseen_operations(self, step: CellStep) -> int:
        """How many operations more than ours TensorFlow has in such a step."""
        return cell_operations.of_simple(self, step)

    def project(self, inputs: Any, masks: Any = None) -> Any:
        """x W + b."""
        product = matmul(inputs if masks is None else inputs * masks[0], self.kernel)
        return product if self.bias is None else bias_add(product, self.bias)

    def advance(self, projected: Any, states: Any, masks: Any = None) -> Any:
        """The output, which is the new state."""
        before = states[0] if masks is None else states[0] * masks[0]
        output = self.activation(projected + matmul(before, self.recurrent_kernel))
        return output, [output]


class GRUCell(Cell):
    """``tf.keras.layers.GRUCell``; with ``reset_after`` the reset gate is applied behind the product, as cuDNN does it."""

    gates = 3

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
                 kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None, kernel_constraint: Any = None,
                 recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0, recurrent_dropout: float = 0.0,
                 implementation: int = 1, reset_after: bool = False, **kwargs: Any) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, (kernel_initializer, kernel_regularizer, kernel_constraint),
                         (recurrent_initializer, recurrent_regularizer, recurrent_constraint), (bias_initializer, bias_regularizer, bias_constraint),
                         dropout, recurrent_dropout, **kwargs)
        self.implementation, self.reset_after = implementation, reset_after
        self.state_size = self.output_size = units

    def _add_bias(self) -> Any:
        return add_weight(self, "bias", (2, 3 * self.units) if self.reset_after else (3 * self.units,))

    def _biases(self) -> list[Any]:
        """The biases of the inputs and of the states."""
        return [None, None] if self.bias is None else unstack(self.bias) if self.reset_after else [self.bias, None]

    def unseen_operations(self, step: CellStep) -> int:
        """How many operations more than ours TensorFlow has in such a step."""
        return cell_operations.of_gru(self, step)

    def project(self, inputs: Any, masks: Any = None) -> Any:
        """x W + b of all gates, or one for each."""
        return self._products(inputs, self.kernel, masks, self._biases()[0])

    def advance(self, projected: Any, states: Any, masks: Any = None) -> Any:
        """One step: gates z (keep) and r (reset), candidate hh."""
        before = states[0]
        x_z, x_r, x_h = self._gates(projected)
        if self.implementation != 1 and masks is not None:
            before, masks = before * masks[0], None
        states_h = before
        if self.reset_after:
            h_z, h_r, h_h = self._gates(self._products(before, self.recurrent_kernel, masks, self._biases()[1]))
        else:
            h_z, h_r = self._gates(self._products(before, self.recurrent_kernel[:, :2 * self.units], masks, None, 2), 2)
            states_h = before if masks is None else before * masks[2]
        assert self.recurrent_activation is not None
        z, r = self.recurrent_activation(x_z + h_z), self.recurrent_activation(x_r + h_r)
        h_h = r * h_h if self.reset_after else matmul(r * states_h, self.recurrent_kernel[:, 2 * self.units:])
        hh = self.activation(x_h + h_h)
        h = z * before + (1 - z) * hh
        return h, [h]

    def _products(self, x: Any, kernel: Any, masks: Any, bias: Any, gates: int = 3) -> Any:
        """x times the kernel; in the first implementation each gate has a mask of its own, and then a product."""
        if masks is None or self.implementation != 1:
            product = matmul(x if masks is None else x * masks[0], kernel)
            return product if bias is None else bias_add(product, bias)
        products = [matmul(x * mask, part) for mask, part in zip(masks, split(kernel, gates, axis=1))]
        return products if bias is None else [bias_add(product, part) for product, part in zip(products, split(bias, gates))]

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        return {**super().get_config(), "implementation": self.implementation, "reset_after": self.reset_after}


class LSTMCell(Cell):
    """``tf.keras.layers.LSTMCell``: gates i (in), f (forget), o (out), and the candidate c."""

    gates = 4

    def __init__(self, units: int, activation: Any = "tanh", recurrent_activation: Any = "hard_sigmoid", use_bias: bool = True,
                 kernel_initializer: Any = "glorot_uniform", recurrent_initializer: Any = "orthogonal", bias_initializer: Any = "zeros",
                 unit_forget_bias: bool = True, kernel_regularizer: Any = None, recurrent_regularizer: Any = None, bias_regularizer: Any = None,
                 kernel_constraint: Any = None, recurrent_constraint: Any = None, bias_constraint: Any = None, dropout: float = 0.0,
                 recurrent_dropout: float = 0.0, implementation: int = 1, **kwargs: Any) -> None:
        super().__init__(units, activation, recurrent_activation, use_bias, (kernel_initializer, kernel_regularizer, kernel_constraint),
                         (recurrent_initializer, recurrent_regularizer, recurrent_constraint), (bias_initializer, bias_regularizer, bias_constraint),
                         dropout, recurrent_dropout, **kwargs)
        self.unit_forget_bias, self.implementation = unit_forget_bias, implementation
        self.state_size, self.output_size = [units, units], units

    def _add_bias(self) -> Any:
        if not self.unit_forget_bias:
            return super()._add_bias()

        def initializer(_: Any, *args: Any, **kwargs: Any) -> Any:
            given = self.bias_initializer
            return concat([given((self.units,), *args, **kwargs), initializers.get(Ones())((self.units,), *args, **kwargs),
                           given((self.units * 2,), *args, **kwargs)], axis=0)

        return self.add_weight("bias", shape=(self.units * 4,), initializer=initializer, regularizer=self.bias_regularizer,
                               constraint=self.bias_constraint)

    def unseen_operations(self, step: CellStep) -> int:
        """How many operations more than ours TensorFlow has in such a step."""
        return cell_operations.of_lstm(self, step)

    def project(self, inputs: Any, masks: Any = None) -> Any:
        """x W of all gates, or one for each; the second implementation adds the bias later."""
        if masks is not None and self.implementation == 1:
            biases = [None] * 4 if self.bias is None else split(self.bias, 4)
            products = [matmul(inputs * mask, kernel) for mask, kernel in zip(masks, split(self.kernel, 4, axis=1))]
            return [product if bias is None else bias_add(product, bias) for product, bias in zip(products, biases)]
        product = matmul(inputs if masks is None else inputs * masks[0], self.kernel)
        return product if self.bias is None or self.implementation != 1 else bias_add(product, self.bias)

    def advance(self, projected: Any, states: Any, masks: Any = None) -> Any:
        """One step."""
        h, c = self._outputs(self._gate_inputs(projected, states[0], masks), states[1])
        return h, [h, c]

    def _gate_inputs(self, projected: Any, h: Any, masks: Any) -> list[Any]:
        """What the activations of the gates are given."""
        if self.implementation == 1 and (masks is not None or isinstance(projected, list)):
            parts, kernels = self._gates(projected), split(self.recurrent_kernel, 4, axis=1)
            return [part + matmul(h if masks is None else h * masks[index], kernels[index]) for index, part in enumerate(parts)]
        z = projected + matmul(h if masks is None else h * masks[0], self.recurrent_kernel)
        return split(z if self.bias is None or self.implementation == 1 else bias_add(z, self.bias), 4, axis=1)

    def _outputs(self, gates: list[Any], carry: Any) -> tuple[Any, Any]:
        """(output, new carry)."""
        assert self.recurrent_activation is not None
        i, f = self.recurrent_activation(gates[0]), self.recurrent_activation(gates[1])
        c = f * carry + i * self.activation(gates[2])
        return self.recurrent_activation(gates[3]) * self.activation(c), c

    def get_config(self) -> dict[str, Any]:
        """What it takes to make the cell again."""
        return ordered_config({**super().get_config(), "unit_forget_bias": self.unit_forget_bias, "implementation": self.implementation})


class PeepholeLSTMCell(LSTMCell):
    """``tf.keras.experimental.PeepholeLSTMCell``: gates see the carry, too."""

    def build(self, input_shape: Any) -> None:
        """Kernels, bias and the weights of the carry."""
        super().build(input_shape)
        self.input_gate_peephole_weights, self.forget_gate_peephole_weights, self.output_gate_peephole_weights = (
            self.add_weight(f"{gate}_gate_peephole_weights", shape=(self.units,), initializer=self.kernel_initializer)
            for gate in ("input", "forget", "output"))

    def _outputs(self, gates: list[Any], carry: Any) -> tuple[Any, Any]:
        assert self.recurrent_activation is not None
        i = self.recurrent_activation(gates[0] + self.input_gate_peephole_weights * carry)
        f = self.recurrent_activation(gates[1] + self.forget_gate_peephole_weights * carry)
        c = f * carry + i * self.activation(gates[2])
        return self.recurrent_activation(gates[3] + self.output_gate_peephole_weights * c) * self.activation(c), c
