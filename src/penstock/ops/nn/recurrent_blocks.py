"""Whole recurrent cells as operations: LSTMBlockCell, BlockLSTM (all steps of a sequence) and GRUBlockCell, with their gradients.

``tf.contrib.rnn`` composes its block cells of simpler operations, which run faster here. These are for graphs that TensorFlow wrote.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.graph import raw_ops
from penstock.graph.attrs import BOOL, types
from penstock.graph.dtypes import float16, float32
from penstock.graph.node import Operation, Tensor
from penstock.graph.opdef import op
from penstock.graph.shape import TensorShape
from penstock.ops.array.fill import zeros_like
from penstock.ops.array.pack import concat
from penstock.ops.array.shape_ops import shape as shape_of

_NARROW = types(float16, float32)
_CELL = {"forget_bias": 1.0, "cell_clip": 3.0, "use_peephole": False, "T": _NARROW}
_GATES = "i: T, cs: T, f: T, o: T, ci: T, co: T, h: T"
_WEIGHTS = "w: T, wci: T, wcf: T, wco: T, b: T"


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return (0.5 * (np.tanh(0.5 * x) + 1.0)).astype(x.dtype)


class _Weights(NamedTuple):
    """What an LSTM computes with; without peepholes those of them are not looked at. ``order`` says where the gates i, ci, f, o stand."""

    w: Any
    wci: Any
    wcf: Any
    wco: Any
    b: Any
    use_peephole: bool
    order: tuple[int, int, int, int] = (0, 1, 2, 3)

    def peep(self, state: np.ndarray, weight: np.ndarray) -> Any:
        """What a gate sees of the state."""
        return state * weight if self.use_peephole else 0

    def split(self, gates: np.ndarray) -> list[np.ndarray]:
        """The parts of i, ci, f and o."""
        parts = np.split(gates, 4, axis=-1)
        return [parts[place] for place in self.order]

    def joined(self, gates: list[np.ndarray]) -> np.ndarray:
        """The other way round."""
        return np.concatenate([gates[self.order.index(place)] for place in range(4)], axis=-1)


class _Gates(NamedTuple):
    """What an LSTM gives in one step: the gates, the state before and after its tanh, the output."""

    i: Any
    cs: Any
    f: Any
    o: Any
    ci: Any
    co: Any
    h: Any


def _lstm(x: np.ndarray, cs_prev: np.ndarray, h_prev: np.ndarray, weights: _Weights, forget_bias: float, cell_clip: float) -> _Gates:
    i, ci, f, o = weights.split(np.concatenate([x, h_prev], 1) @ weights.w + weights.b)
    i, ci = _sigmoid(i + weights.peep(cs_prev, weights.wci)), np.tanh(ci)
    f = _sigmoid(f + x.dtype.type(forget_bias) + weights.peep(cs_prev, weights.wcf))
    cs = ci * i + cs_prev * f
    if cell_clip > 0:
        cs = np.clip(cs, -cell_clip, cell_clip).astype(x.dtype)
    o = _sigmoid(o + weights.peep(cs, weights.wco))
    co = np.tanh(cs)
    return _Gates(i, cs, f, o, ci, co, co * o)


def _lstm_backward(cs_prev: np.ndarray, step: _Gates, weights: _Weights, cs_grad: np.ndarray,
                   h_grad: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """The gradients of the state before, of all gates together, and of the peepholes. A state that was clipped counts as one that was not."""
    i, cs, f, o, ci, co, _ = step
    do = o * (1 - o) * h_grad * co
    dcs = (1 - co * co) * h_grad * o + cs_grad + weights.peep(do, weights.wco)
    dci, df, di = (1 - ci * ci) * dcs * i, f * (1 - f) * dcs * cs_prev, i * (1 - i) * dcs * ci
    cs_prev_grad = dcs * f + weights.peep(di, weights.wci) + weights.peep(df, weights.wcf)
    if weights.use_peephole:
        peepholes = [(di * cs_prev).sum(0), (df * cs_prev).sum(0), (do * cs).sum(0)]
    else:
        peepholes = [np.zeros_like(each) for each in (weights.wci, weights.wcf, weights.wco)]
    return cs_prev_grad, weights.joined([di, dci, df, do]), peepholes


class _Backward:
    """The gradient of a cell has none itself, as in TensorFlow: not zeros."""

    def gradient(op, *dys):
        raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type}): cells that are one operation can be differentiated "
                          "once. The cells of tf.nn.rnn_cell can be differentiated again.")


# --- one step --------------------------------------------------------------------------------------------------------

@op("LSTMBlockCell", f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}", **_CELL)
class LSTMBlockCell:
    """A step of an LSTM, with its gates."""

    def shape(x, cs_prev):
        return [TensorShape([x.shape.with_rank(2)[0], cs_prev.shape.with_rank(2)[1]])] * 7

    def kernel(x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
        return tuple(_lstm(x, cs_prev, h_prev, _Weights(w, wci, wcf, wco, b, use_peephole), forget_bias, cell_clip))

    def gradient(op, *dys):
        x, _, h_prev, w = op.inputs[:4]
        i, cs, f, o, ci, co, h = op.outputs
        cs_prev_grad, gates_grad, *peepholes = raw_ops.LSTMBlockCellGrad(*op.inputs, i, cs, f, o, ci, co, _or_zeros(dys[1], cs), _or_zeros(dys[6], h),
                                                                         use_peephole=op.attrs["use_peephole"])
        x_grad, h_prev_grad = _split_columns(raw_ops.MatMul(gates_grad, w, transpose_b=True), x)
        return [x_grad, cs_prev_grad, h_prev_grad, _product(x, h_prev, gates_grad), *peepholes, _column_sums(gates_grad)]


@op("LSTMBlockCellGrad", f"x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, i: T, cs: T, f: T, o: T, ci: T, co: T, cs_grad: T, h_grad: T "
    "-> cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T", use_peephole=BOOL, T=_NARROW)
class LSTMBlockCellGrad(_Backward):
    """What the gradients of a step of an LSTM are made of."""

    def shape(x, cs_prev, wci, wcf, wco):
        rows, cells = x.shape.with_rank(2)[0], cs_prev.shape.with_rank(2)[1]
        return [cs_prev.shape, TensorShape([rows, cells * 4]), wci.shape, wcf.shape, wco.shape]

    def kernel(cs_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, cs_grad, h_grad, use_peephole):
        cs_prev_grad, gates_grad, peepholes = _lstm_backward(cs_prev, _Gates(i, cs, f, o, ci, co, None), _Weights(w, wci, wcf, wco, b, use_peephole),
                                                             cs_grad, h_grad)
        return (cs_prev_grad, gates_grad, *peepholes)


# --- a sequence ------------------------------------------------------------------------------------------------------

class _Sequence:
    def shape(x, b):
        time, rows, _ = x.shape.with_rank(3)
        units = b.shape.with_rank(1).extent(0)
        return [TensorShape([time, rows, None if units is None else units // 4])] * 7


def _sequence(seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, weights: _Weights, forget_bias: float, cell_clip: float) -> tuple[np.ndarray, ...]:
    """All steps up to the longest sequence; what follows is 0."""
    outputs = _Gates(*(np.zeros((x.shape[0], *cs_prev.shape), x.dtype) for _ in range(7)))
    for time in range(int(seq_len_max)):
        step = _lstm(x[time], cs_prev, h_prev, weights, forget_bias, cell_clip)
        for whole, part in zip(outputs, step):
            whole[time] = part
        cs_prev, h_prev = step.cs, step.h
    return tuple(outputs)


def _sequence_gradient(op: Operation, dys: Any, backward: Any) -> list[Any]:
    cs, h = op.outputs[1], op.outputs[6]
    return [None, *backward(*op.inputs, *op.outputs, _or_zeros(dys[1], cs), _or_zeros(dys[6], h), use_peephole=op.attrs["use_peephole"])]


@op("BlockLSTM", f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}", **_CELL)
class BlockLSTM(_Sequence):
    """All steps of an LSTM over sequences, with its gates. Times come first."""

    def kernel(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, forget_bias, cell_clip, use_peephole):
        return _sequence(seq_len_max, x, cs_prev, h_prev, _Weights(w, wci, wcf, wco, b, use_peephole), forget_bias, cell_clip)

    def gradient(op, *dys):
        return _sequence_gradient(op, dys, raw_ops.BlockLSTMGrad)


@op("BlockLSTMV2", f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS} -> {_GATES}", cell_clip=0.0, use_peephole=False, T=_NARROW)
class BlockLSTMV2(_Sequence):
    """BlockLSTM whose gates stand in the order i, f, ci, o; nothing is added to f."""

    def kernel(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, cell_clip, use_peephole):
        return _sequence(seq_len_max, x, cs_prev, h_prev, _Weights(w, wci, wcf, wco, b, use_peephole, _SECOND_ORDER), 0.0, cell_clip)

    def gradient(op, *dys):
        return _sequence_gradient(op, dys, raw_ops.BlockLSTMGradV2)


_SECOND_ORDER = (0, 2, 1, 3)
_BACKWARD = (f"seq_len_max: int64, x: T, cs_prev: T, h_prev: T, {_WEIGHTS}, {_GATES}, cs_grad: T, h_grad: T "
             "-> x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T")


def _backward_sequence(seq_len_max: Any, x: Any, cs_prev: Any, h_prev: Any, weights: _Weights, steps: _Gates, cs_grad: Any,
                       h_grad: Any) -> tuple[np.ndarray, ...]:
    """From the last step to the first: the gradients of all inputs but the length."""
    x_grad, w_grad, b_grad = np.zeros_like(x), np.zeros_like(weights.w), np.zeros_like(weights.b)
    peepholes = [np.zeros_like(each) for each in (weights.wci, weights.wcf, weights.wco)]
    state_grad, output_grad = np.zeros_like(cs_prev), np.zeros_like(h_prev)
    for time in reversed(range(int(seq_len_max))):
        before, last = (steps.cs[time - 1], steps.h[time - 1]) if time else (cs_prev, h_prev)
        step = _Gates(*(each[time] for each in steps))
        state_grad, gates_grad, parts = _lstm_backward(before, step, weights, cs_grad[time] + state_grad, h_grad[time] + output_grad)
        both = gates_grad @ weights.w.T
        x_grad[time], output_grad = both[:, :x.shape[2]], both[:, x.shape[2]:]
        w_grad += np.concatenate([x[time], last], 1).T @ gates_grad
        b_grad += gates_grad.sum(0)
        for whole, part in zip(peepholes, parts):
            whole += part
    return x_grad, state_grad, output_grad, w_grad, *peepholes, b_grad


class _SequenceGrad(_Backward):
    def shape(x, cs_prev, h_prev, w, wci, wcf, wco, b):
        return [tensor.shape for tensor in (x, cs_prev, h_prev, w, wci, wcf, wco, b)]


@op("BlockLSTMGrad", _BACKWARD, use_peephole=BOOL, T=_NARROW)
class BlockLSTMGrad(_SequenceGrad):
    """The gradients of BlockLSTM."""

    def kernel(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad, use_peephole):
        return _backward_sequence(seq_len_max, x, cs_prev, h_prev, _Weights(w, wci, wcf, wco, b, use_peephole), _Gates(i, cs, f, o, ci, co, h),
                                  cs_grad, h_grad)


@op("BlockLSTMGradV2", _BACKWARD, use_peephole=BOOL, T=_NARROW)
class BlockLSTMGradV2(_SequenceGrad):
    """The gradients of BlockLSTMV2."""

    def kernel(seq_len_max, x, cs_prev, h_prev, w, wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad, use_peephole):
        weights = _Weights(w, wci, wcf, wco, b, use_peephole, _SECOND_ORDER)
        return _backward_sequence(seq_len_max, x, cs_prev, h_prev, weights, _Gates(i, cs, f, o, ci, co, h), cs_grad, h_grad)


# --- GRU -------------------------------------------------------------------------------------------------------------

_GRU = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"


@op("GRUBlockCell", f"{_GRU} -> r: T, u: T, c: T, h: T", T=types(float32))
class GRUBlockCell:
    """A step of a GRU, with its gates."""

    def shape(h_prev):
        return [h_prev.shape.with_rank(2)] * 4

    def kernel(x, h_prev, w_ru, w_c, b_ru, b_c):
        r, u = np.split(_sigmoid(np.concatenate([x, h_prev], 1) @ w_ru + b_ru), 2, axis=1)
        c = np.tanh(np.concatenate([x, h_prev * r], 1) @ w_c + b_c)
        return r, u, c, u * h_prev + (1 - u) * c

    def gradient(op, *dys):
        x, h_prev = op.inputs[:2]
        r, u, c, h = op.outputs
        x_grad, h_prev_grad, c_grad, gates_grad = raw_ops.GRUBlockCellGrad(*op.inputs, r, u, c, _or_zeros(dys[3], h))
        return [x_grad, h_prev_grad, _product(x, h_prev, gates_grad), _product(x, raw_ops.Mul(h_prev, r), c_grad), _column_sums(gates_grad),
                _column_sums(c_grad)]


@op("GRUBlockCellGrad", f"{_GRU}, r: T, u: T, c: T, d_h: T -> d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T", T=types(float32))
class GRUBlockCellGrad(_Backward):
    """What the gradients of a step of a GRU are made of."""

    def shape(x, h_prev, w_ru):
        return [x.shape, h_prev.shape, h_prev.shape, TensorShape([x.shape.with_rank(2)[0], w_ru.shape.with_rank(2)[1]])]

    def kernel(x, h_prev, w_ru, w_c, r, u, c, d_h):
        c_grad, u_grad = d_h * (1 - u) * (1 - c * c), d_h * (h_prev - c) * u * (1 - u)
        through_c = c_grad @ w_c.T
        reset_grad = through_c[:, x.shape[1]:]
        gates_grad = np.concatenate([reset_grad * h_prev * r * (1 - r), u_grad], 1)
        through_gates = gates_grad @ w_ru.T
        return (through_c[:, :x.shape[1]] + through_gates[:, :x.shape[1]], through_gates[:, x.shape[1]:] + reset_grad * r + d_h * u,
                c_grad, gates_grad)


# --- parts of gradients ----------------------------------------------------------------------------------------------

def _or_zeros(grad: Any, output: Tensor) -> Any:
    return zeros_like(output) if grad is None else grad


def _split_columns(both: Tensor, first: Tensor) -> list[Tensor]:
    """The columns of ``first``, and the others."""
    count = shape_of(first)[1]
    return [both[:, :count], both[:, count:]]


def _product(x: Tensor, h: Tensor, grad: Tensor) -> Any:
    """The gradient of the weights that x and h side by side are multiplied by."""
    return raw_ops.MatMul(concat([x, h], 1), grad, transpose_a=True)


def _column_sums(grad: Tensor) -> Any:
    return raw_ops.BiasAddGrad(grad)
