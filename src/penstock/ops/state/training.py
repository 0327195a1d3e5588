"""The optimizers' update rules as ops: one pass over a variable and its slots.

A rule is written once, as a function that updates arrays in place. Four ops are made of it: dense and sparse, for variables as references
(``ApplyAdam``, ``SparseApplyAdagrad``) and as resources (``ResourceApplyAdam``, ...). A sparse op applies the rule to the rows that ``indices``
name, one after the other where an index stands there twice.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.members import parameters_of
from penstock.graph.opdef import OpDef, op
from penstock.graph.shape import TensorShape
from penstock.ops.common import INDEX, NUMERIC

Rule = Callable[..., None]

_CHUNK = 1 << 14  # elements that a rule works on at once: its temporaries stay in the cache


# --- the rules -------------------------------------------------------------------------------------------------------

def _gradient_descent(var, alpha, delta):
    var -= alpha * delta


def _momentum(var, accum, lr, grad, momentum, use_nesterov):
    accum *= momentum
    accum += grad
    var -= lr * (grad + momentum * accum) if use_nesterov else lr * accum


def _keras_momentum(var, accum, lr, grad, momentum, use_nesterov):
    accum *= momentum
    accum -= lr * grad
    var += momentum * accum - lr * grad if use_nesterov else accum


def _adagrad(var, accum, lr, grad, update_slots):
    if update_slots:
        accum += grad * grad
    var -= lr * grad / np.sqrt(accum)


def _adagrad_v2(var, accum, lr, epsilon, grad, update_slots):
    if update_slots:
        accum += grad * grad
    var -= lr * grad / (np.sqrt(accum) + epsilon)


def _adagrad_da(var, gradient_accumulator, gradient_squared_accumulator, grad, lr, l1, l2, global_step):
    gradient_accumulator += grad
    gradient_squared_accumulator += grad * grad
    step = global_step.astype(var.dtype)
    shrunk = _shrink(gradient_accumulator, l1 * step)
    var[...] = -lr * shrunk / (l2 * step * lr + np.sqrt(gradient_squared_accumulator))


def _adadelta(var, accum, accum_update, lr, rho, epsilon, grad):
    accum *= rho
    accum += (1 - rho) * grad * grad
    update = np.sqrt(accum_update + epsilon) / np.sqrt(accum + epsilon) * grad
    accum_update *= rho
    accum_update += (1 - rho) * update * update
    var -= lr * update


def _adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov):
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    _move_towards(m, grad, 1 - beta1)
    _move_towards(v, grad * grad, 1 - beta2)
    direction = (1 - beta1) * grad + beta1 * m if use_nesterov else m
    var -= rate * direction / (np.sqrt(v) + epsilon)


def _adam_with_amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad):
    rate = lr * np.sqrt(1 - beta2_power) / (1 - beta1_power)
    _move_towards(m, grad, 1 - beta1)
    _move_towards(v, grad * grad, 1 - beta2)
    np.maximum(vhat, v, out=vhat)
    var -= rate * m / (np.sqrt(vhat) + epsilon)


def _adamax(var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad):
    _move_towards(m, grad, 1 - beta1)
    np.maximum(beta2 * v, np.abs(grad), out=v)
    var -= lr / (1 - beta1_power) * (m / (v + epsilon))


def _rms_prop(var, ms, mom, lr, rho, momentum, epsilon, grad):
    _move_towards(ms, grad * grad, 1 - rho)
    mom *= momentum
    mom += lr * grad / np.sqrt(ms + epsilon)
    var -= mom


def _centered_rms_prop(var, mg, ms, mom, lr, rho, momentum, epsilon, grad):
    _move_towards(ms, grad * grad, 1 - rho)
    _move_towards(mg, grad, 1 - rho)
    mom *= momentum
    mom += lr * grad / np.sqrt(ms - mg * mg + epsilon)
    var -= mom


def _ftrl(var, accum, linear, grad, lr, l1, l2, lr_power):
    _ftrl_v2(var, accum, linear, grad, lr, l1, l2, var.dtype.type(0), lr_power)


def _ftrl_v2(var, accum, linear, grad, lr, l1, l2, l2_shrinkage, lr_power):
    shrunk = grad + 2 * l2_shrinkage * var
    new = accum + grad * grad
    before, after = _power(accum, lr_power), _power(new, lr_power)
    linear += shrunk - (after - before) / lr * var
    pulled = np.sign(linear) * l1 - linear
    var[...] = np.where(np.abs(linear) > l1, pulled / (after / lr + 2 * l2), 0)
    accum[...] = new


def _power(x, exponent):
    """x ** -exponent; the usual one is a root."""
    return np.where(exponent == -0.5, np.sqrt(x), x ** -exponent)


def _proximal_gradient_descent(var, alpha, l1, l2, delta):
    _proximal(var, var - alpha * delta, alpha, l1, l2)


def _proximal_adagrad(var, accum, lr, l1, l2, grad):
    accum += grad * grad
    rate = lr / np.sqrt(accum)
    _proximal(var, var - rate * grad, rate, l1, l2)


def _add_sign(var, m, lr, alpha, sign_decay, beta, grad):
    _move_towards(m, grad, 1 - beta)
    var -= lr * (alpha + sign_decay * np.sign(grad) * np.sign(m)) * grad


def _power_sign(var, m, lr, logbase, sign_decay, beta, grad):
    _move_towards(m, grad, 1 - beta)
    var -= lr * np.exp(logbase * sign_decay * np.sign(grad) * np.sign(m)) * grad


def _move_towards(average, value, weight):
    average += weight * (value - average)


def _shrink(value, amount):
    """Towards zero by ``amount``, not beyond it."""
    return np.sign(value) * np.maximum(np.abs(value) - amount, 0)


def _proximal(var, moved, rate, l1, l2):
    var[...] = _shrink(moved, rate * l1) / (1 + l2 * rate)


# --- ops from rules --------------------------------------------------------------------------------------------------

def _check_state(arrays: Sequence[np.ndarray], dtype: Any) -> None:
    """A resource says neither its type nor its shape in the graph, and integers cannot hold what the rules compute."""
    if dtype.kind in "iu":
        raise invalid_argument(f"No update rule was registered for variables of type {dtype}: it has to be a float or complex type")
    for array in arrays:
        if array.dtype != dtype:
            raise invalid_argument(f"Trying to update a variable of type {array.dtype} with a gradient of type {dtype}")
        if array.shape != arrays[0].shape:
            raise invalid_argument(f"var and its slots do not have the same shape: {list(arrays[0].shape)} and {list(array.shape)}")


def _update(arrays: Sequence[np.ndarray], rule: Callable[..., None], grad: np.ndarray) -> None:
    if grad.shape != arrays[0].shape:
        raise invalid_argument(f"var and grad do not have the same shape: {list(arrays[0].shape)} and {list(grad.shape)}")
    if grad.size <= _CHUNK or not all(array.flags.c_contiguous for array in (*arrays, grad)):
        rule(*arrays, grad)
        return
    flat = [array.reshape(-1) for array in (*arrays, grad)]
    for start in range(0, grad.size, _CHUNK):
        rule(*[array[start:start + _CHUNK] for array in flat])


def _update_rows(arrays: Sequence[np.ndarray], rule: Callable[..., None], grad: np.ndarray, indices: np.ndarray) -> None:
    var = arrays[0]
    if indices.ndim != 1 or grad.shape != indices.shape + var.shape[1:]:
        raise invalid_argument(f"grad must have one row per index and the shape of var otherwise: var {list(var.shape)}, grad {list(grad.shape)}, "
                               f"indices {list(indices.shape)}")
    if indices.size and not (indices.min() >= 0 and indices.max() < len(var)):
        bad = int(np.flatnonzero((indices < 0) | (indices >= len(var)))[0])
        raise invalid_argument(f"Index {int(indices[bad])} at offset {bad} in indices is out of range [0, {len(var)})")
    while indices.size:
        _, first = np.unique(indices, return_index=True)
        rows = indices[first]
        parts = [array[rows] for array in arrays]
        rule(*parts, grad[first])
        for array, part in zip(arrays, parts):
            array[rows] = part
        if len(first) == len(indices):
            return
        rest = np.ones(len(indices), bool)
        rest[first] = False
        indices, grad = indices[rest], grad[rest]


class _RuleUpdate:
    """What the ops of all rules share. The class of each says its ``_rule``, its ``_state`` (the variable and its slots), which input is the
    ``_gradient``, whether the variable is a ``_resource``, and whether rows with negative indices are ``_padded`` and left out."""

    stateful = True
    gradient = None
    _padded = False

    def shape(_state, _gradient, _sparse, _resource, **arguments):
        """All slots have the variable's shape, and so has a dense gradient."""
        if _resource:
            return []
        merged = arguments[_state[0]].shape
        for slot in _state[1:]:
            merged = merged.merge_with(arguments[slot].shape)
        grad = arguments[_gradient].shape
        if not _sparse:
            return merged.merge_with(grad)
        TensorShape([None]).concatenate(merged[1:]).assert_is_compatible_with(grad)
        return merged

    def kernel(_rule, _state, _gradient, _sparse, _resource, _padded, **arguments):
        """Takes the locks of the variables, and writes to their buffers in place."""
        refs, grad = [arguments[name] for name in _state], np.asarray(arguments[_gradient])
        if _padded:
            there = arguments["indices"] >= 0
            grad, arguments["indices"] = grad[there], arguments["indices"][there]
        apply = _bind_rule(_rule, len(_state), arguments)
        locked = sorted(refs, key=id)  # several locks are always taken in this order
        for ref in locked:
            ref.lock.acquire()
        arrays: list[np.ndarray] = []
        try:
            arrays += [ref.mutable() for ref in refs]
            _check_state(arrays, grad.dtype)
            if _sparse:
                _update_rows(arrays, apply, grad, arguments["indices"])
            else:
                _update(arrays, apply, grad)
        finally:
            arrays.clear()  # before the locks are released: the next writer finds buffers that nothing else holds
            for ref in locked:
                ref.lock.release()
        return None if _resource else refs[0]


class _DenseUpdate(_RuleUpdate):
    """Moves the whole variable."""

    _sparse = False

    def lower(b, _rule, _state, _gradient, **arguments):
        """The rule for one element: new values of the variable and its slots."""
        arguments[_gradient_of(_rule)] = arguments[_gradient]
        names = parameters_of(_rule)[len(_state):]
        return b.trace(_rule, tuple(arguments[name] for name in _state), {name: arguments[name] for name in names})


class _SparseUpdate(_RuleUpdate):
    """Moves the rows that ``indices`` name."""

    _sparse = True

    def native(emit, _rule, _state, _gradient, _resource, _padded, **arguments):
        """The same rows, by native code."""
        emit.index.sparse_update(_rule, [arguments[name] for name in _state], arguments, _gradient, _padded)
        return None if _resource else arguments[_state[0]]


def _bind_rule(rule: Rule, slots: int, arguments: dict[str, Any]) -> Rule:
    """The rule as a function of the arrays alone: the variable, its slots, the gradient."""
    gradient = _gradient_of(rule)
    others = {name: arguments[name] for name in parameters_of(rule)[slots:] if name != gradient}

    def apply(*arrays: Any) -> None:
        rule(*arrays[:-1], **others, **{gradient: arrays[-1]})

    return apply


def _gradient_of(rule: Rule) -> str:
    """What a rule calls the gradient."""
    return "delta" if "delta" in parameters_of(rule) else "grad"


def _define(name: str, rule: Rule, state: str, others: str, dense_ref: bool = True, sparse: str | None = None, **attrs: Any) -> list[OpDef]:
    """Registers the ops of a rule. ``state`` names the variable and its slots, ``others`` the scalars and the gradient in TensorFlow's order.

    ``sparse`` is what the sparse ops have instead of ``others``, if there are any.
    """
    ops = [_define_one(name, rule, state.split(), others.split(), resource, False, attrs) for resource in (False, True) if resource or dense_ref]
    if sparse is not None:
        for resource in (False, True) if dense_ref else (True,):
            ops.append(_define_one(name, rule, state.split(), sparse.split(), resource, True, attrs))
            ops[-1].padded = _define_one(name, rule, state.split(), sparse.split(), resource, True, attrs, skips=True).type
    return ops


def _define_one(name: str, rule: Rule, state: list[str], others: list[str], resource: bool, sparse: bool, attrs: dict[str, Any],
                skips: bool = False) -> OpDef:
    """``skips``: an op of our own, for sparse updates in which some indices are below 0."""
    gradient_name = "delta" if "delta" in others else "grad"
    base: Any = _SparseUpdate if sparse else _DenseUpdate

    class Update(base):
        __doc__ = f"{'Rows of a' if sparse else 'A'} variable moved by the {name} rule" + (", as a resource." if resource else ".")
        _rule, _state, _gradient, _resource, _padded = rule, state, gradient_name, resource, skips
        updates = tuple(state)
        ranks = {word: 1 if word == "indices" else 0 for word in others if word != gradient_name}

    types = {"indices": "Tindices", "global_step": "int64"}
    inputs = [f"{word}: {'resource' if resource else 'Ref(T)'}" for word in state] + [f"{word}: {types.get(word, 'T')}" for word in others]
    declared = {"T": NUMERIC, **({"Tindices": INDEX} if sparse else {}), "use_locking": False, **attrs}
    full = f"{'_Padded' if skips else ''}{'Resource' if resource else ''}{'Sparse' if sparse else ''}Apply{name}"
    return op(full, f"{', '.join(inputs)} ->" + ("" if resource else " out: Ref(T)"), **declared)(Update)


(ApplyGradientDescent, ResourceApplyGradientDescent) = _define("GradientDescent", _gradient_descent, "var", "alpha delta")
ApplyGradientDescent.epilogue = ResourceApplyGradientDescent.epilogue = "descent"
(ApplyMomentum, ResourceApplyMomentum, SparseApplyMomentum, ResourceSparseApplyMomentum) = _define(
    "Momentum", _momentum, "var accum", "lr grad momentum", sparse="lr grad indices momentum", use_nesterov=False)
(ResourceApplyKerasMomentum, ResourceSparseApplyKerasMomentum) = _define(
    "KerasMomentum", _keras_momentum, "var accum", "lr grad momentum", False, "lr grad indices momentum", use_nesterov=False)
(ApplyAdagrad, ResourceApplyAdagrad, SparseApplyAdagrad, ResourceSparseApplyAdagrad) = _define(
    "Adagrad", _adagrad, "var accum", "lr grad", sparse="lr grad indices", update_slots=True)
(ApplyAdagradV2, ResourceApplyAdagradV2, SparseApplyAdagradV2, ResourceSparseApplyAdagradV2) = _define(
    "AdagradV2", _adagrad_v2, "var accum", "lr epsilon grad", sparse="lr epsilon grad indices", update_slots=True)
(ApplyAdagradDA, ResourceApplyAdagradDA, SparseApplyAdagradDA, ResourceSparseApplyAdagradDA) = _define(
    "AdagradDA", _adagrad_da, "var gradient_accumulator gradient_squared_accumulator", "grad lr l1 l2 global_step",
    sparse="grad indices lr l1 l2 global_step")
(ApplyAdadelta, ResourceApplyAdadelta, SparseApplyAdadelta, ResourceSparseApplyAdadelta) = _define(
    "Adadelta", _adadelta, "var accum accum_update", "lr rho epsilon grad", sparse="lr rho epsilon grad indices")
(ApplyAdam, ResourceApplyAdam) = _define(
    "Adam", _adam, "var m v", "beta1_power beta2_power lr beta1 beta2 epsilon grad", use_nesterov=False)
(ResourceApplyAdamWithAmsgrad,) = _define(
    "AdamWithAmsgrad", _adam_with_amsgrad, "var m v vhat", "beta1_power beta2_power lr beta1 beta2 epsilon grad", False)
(ApplyAdaMax, ResourceApplyAdaMax) = _define("AdaMax", _adamax, "var m v", "beta1_power lr beta1 beta2 epsilon grad")
(ApplyRMSProp, ResourceApplyRMSProp, SparseApplyRMSProp, ResourceSparseApplyRMSProp) = _define(
    "RMSProp", _rms_prop, "var ms mom", "lr rho momentum epsilon grad", sparse="lr rho momentum epsilon grad indices")
(ApplyCenteredRMSProp, ResourceApplyCenteredRMSProp, SparseApplyCenteredRMSProp, ResourceSparseApplyCenteredRMSProp) = _define(
    "CenteredRMSProp", _centered_rms_prop, "var mg ms mom", "lr rho momentum epsilon grad",
    sparse="lr rho momentum epsilon grad indices")
(ApplyFtrl, ResourceApplyFtrl, SparseApplyFtrl, ResourceSparseApplyFtrl) = _define(
    "Ftrl", _ftrl, "var accum linear", "grad lr l1 l2 lr_power", sparse="grad indices lr l1 l2 lr_power")
(ApplyFtrlV2, ResourceApplyFtrlV2, SparseApplyFtrlV2, ResourceSparseApplyFtrlV2) = _define(
    "FtrlV2", _ftrl_v2, "var accum linear", "grad lr l1 l2 l2_shrinkage lr_power",
    sparse="grad indices lr l1 l2 l2_shrinkage lr_power")
(ApplyProximalGradientDescent, ResourceApplyProximalGradientDescent, SparseApplyProximalGradientDescent,
 ResourceSparseApplyProximalGradientDescent) = _define(
    "ProximalGradientDescent", _proximal_gradient_descent, "var", "alpha l1 l2 delta", sparse="alpha l1 l2 grad indices")
(ApplyProximalAdagrad, ResourceApplyProximalAdagrad, SparseApplyProximalAdagrad, ResourceSparseApplyProximalAdagrad) = _define(
    "ProximalAdagrad", _proximal_adagrad, "var accum", "lr l1 l2 grad", sparse="lr l1 l2 grad indices")
(ApplyAddSign, ResourceApplyAddSign) = _define("AddSign", _add_sign, "var m", "lr alpha sign_decay beta grad")
(ApplyPowerSign, ResourceApplyPowerSign) = _define("PowerSign", _power_sign, "var m", "lr logbase sign_decay beta grad")
