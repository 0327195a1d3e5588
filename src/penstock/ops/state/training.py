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
from penstock.graph.node import Tensor
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


def _check_shapes(state: Sequence[str], grad_at: int, sparse: bool) -> Callable[..., Any]:
    """All slots have the variable's shape, and so has a dense gradient."""
    def shape(*tensors: Tensor) -> Any:
        merged = tensors[0].shape
        for tensor in tensors[1:len(state)]:
            merged = merged.merge_with(tensor.shape)
        grad = tensors[grad_at].shape
        if sparse:
            TensorShape([None]).concatenate(merged[1:]).assert_is_compatible_with(grad)
        else:
            merged = merged.merge_with(grad)
        return merged
    return shape


def _kernel(rule: Rule, slots: int, names: list[str], grad_name: str, resource: bool, sparse: bool) -> Callable[..., Any]:
    """The kernel of one of the four ops: takes the holders' locks, and writes to their buffers in place."""
    takes = rule.__code__.co_varnames[:rule.__code__.co_argcount]
    rule_grad = "delta" if "delta" in takes else "grad"

    def kernel(*values: Any, **attrs: Any) -> Any:
        given = {**dict(zip(names, values)), **attrs}
        refs = values[:slots]
        grad = np.asarray(given[grad_name])
        hyper = {name: given[name] for name in takes[slots:] if name != rule_grad}

        def apply(*arrays: Any) -> None:
            rule(*arrays[:-1], **hyper, **{rule_grad: arrays[-1]})

        held = sorted(refs, key=id)  # everybody takes several locks in this order
        for ref in held:
            ref.lock.acquire()
        arrays: list[np.ndarray] = []
        try:
            arrays += [ref.mutable() for ref in refs]
            _check_state(arrays, grad.dtype)
            if sparse:
                _update_rows(arrays, apply, grad, given["indices"])
            else:
                _update(arrays, apply, grad)
        finally:
            arrays.clear()  # before the locks go: the next one who writes shall find the buffers in nobody's hands
            for ref in held:
                ref.lock.release()
        return None if resource else refs[0]

    kernel.parameters = (*names, *[name for name in takes if name in ("use_nesterov", "update_slots")])  # type: ignore[attr-defined]
    return kernel


def _dense_lower(rule: Rule, slots: int, names: list[str], grad_name: str) -> Callable[..., Any]:
    """The rule for one element: new values of the variable and its slots."""
    takes = rule.__code__.co_varnames[:rule.__code__.co_argcount]
    attrs = [name for name in takes if name in ("use_nesterov", "update_slots")]
    rule_grad = "delta" if "delta" in takes else "grad"

    def lower(b: Any, *values: Any) -> Any:
        given = dict(zip([*names, *attrs], values))
        given[rule_grad] = given[grad_name]
        return b.trace(rule, values[:slots], {name: given[name] for name in takes[slots:]})

    lower.parameters = ("b", *names, *attrs)  # type: ignore[attr-defined]
    return lower


def _sparse_native(rule: Rule, state: list[str], names: list[str], grad_name: str, resource: bool) -> Callable[..., Any]:
    """The rows of the state that the indices name, changed natively by the rule."""
    asked = [name for name in rule.__code__.co_varnames[:rule.__code__.co_argcount] if name in ("use_nesterov", "update_slots")]

    def native(emit: Any, *values: Any) -> Any:
        given = dict(zip([*names, *asked], values))
        emit.index.sparse_update(rule, [given[name] for name in state], given, grad_name)
        return None if resource else given[state[0]]

    native.parameters = ("emit", *names, *asked)  # type: ignore[attr-defined]
    return native


def _define(name: str, signature: str, rule: Rule, dense_ref: bool = True, sparse: str | None = None, **attrs: Any) -> list[OpDef]:
    """Registers the ops of a rule. ``signature``: slots before the bar, then the scalars and the gradient in TensorFlow's order.

    ``sparse``: the signature of the sparse ops, if there are any.
    """
    made = []
    for text, is_sparse in ((signature, False), (sparse, True)):
        for resource in (False, True) if text is not None else ():
            if not resource and not dense_ref:
                continue
            made.append(_define_one(name, text or "", rule, resource, is_sparse, attrs))
    return made


def _define_one(name: str, signature: str, rule: Rule, resource: bool, sparse: bool, attrs: dict[str, Any]) -> OpDef:
    state, rest = ([word.strip() for word in part.split()] for part in signature.split("|"))
    names = state + rest
    grad_name = "delta" if "delta" in rest else "grad"
    types = {"indices": "Tindices", "global_step": "int64"}
    inputs = [f"{word}: {'resource' if resource else 'Ref(T)'}" for word in state] + [f"{word}: {types.get(word, 'T')}" for word in rest]
    check = _check_shapes(state, names.index(grad_name), sparse)
    shape = (lambda *tensors: []) if resource else check
    shape.parameters = names  # type: ignore[attr-defined]
    body = type(name, (), {
        "__doc__": f"{'Rows of a' if sparse else 'A'} variable moved by the {name} rule" + (", as a resource." if resource else "."),
        "__module__": __name__, "shape": staticmethod(shape).__func__, "stateful": True, "gradient": None,
        "ranks": {word: 1 if word == "indices" else 0 for word in rest if word != grad_name},
        "kernel": _kernel(rule, len(state), names, grad_name, resource, sparse), "updates": tuple(state),
        **({"native": _sparse_native(rule, state, names, grad_name, resource)} if sparse else
           {"lower": _dense_lower(rule, len(state), names, grad_name)})})
    declared = {"T": NUMERIC, **({"Tindices": INDEX} if sparse else {}), "use_locking": False, **attrs}
    full = f"{'Resource' if resource else ''}{'Sparse' if sparse else ''}Apply{name}"
    return op(full, f"{', '.join(inputs)} ->" + ("" if resource else " out: Ref(T)"), **declared)(body)


(ApplyGradientDescent, ResourceApplyGradientDescent) = _define("GradientDescent", "var | alpha delta", _gradient_descent)
ApplyGradientDescent.epilogue = ResourceApplyGradientDescent.epilogue = "descent"
(ApplyMomentum, ResourceApplyMomentum, SparseApplyMomentum, ResourceSparseApplyMomentum) = _define(
    "Momentum", "var accum | lr grad momentum", _momentum, sparse="var accum | lr grad indices momentum", use_nesterov=False)
(ResourceApplyKerasMomentum, ResourceSparseApplyKerasMomentum) = _define(
    "KerasMomentum", "var accum | lr grad momentum", _keras_momentum, False, "var accum | lr grad indices momentum", use_nesterov=False)
(ApplyAdagrad, ResourceApplyAdagrad, SparseApplyAdagrad, ResourceSparseApplyAdagrad) = _define(
    "Adagrad", "var accum | lr grad", _adagrad, sparse="var accum | lr grad indices", update_slots=True)
(ApplyAdagradV2, ResourceApplyAdagradV2, SparseApplyAdagradV2, ResourceSparseApplyAdagradV2) = _define(
    "AdagradV2", "var accum | lr epsilon grad", _adagrad_v2, sparse="var accum | lr epsilon grad indices", update_slots=True)
(ApplyAdagradDA, ResourceApplyAdagradDA, SparseApplyAdagradDA, ResourceSparseApplyAdagradDA) = _define(
    "AdagradDA", "var gradient_accumulator gradient_squared_accumulator | grad lr l1 l2 global_step", _adagrad_da,
    sparse="var gradient_accumulator gradient_squared_accumulator | grad indices lr l1 l2 global_step")
(ApplyAdadelta, ResourceApplyAdadelta, SparseApplyAdadelta, ResourceSparseApplyAdadelta) = _define(
    "Adadelta", "var accum accum_update | lr rho epsilon grad", _adadelta, sparse="var accum accum_update | lr rho epsilon grad indices")
(ApplyAdam, ResourceApplyAdam) = _define(
    "Adam", "var m v | beta1_power beta2_power lr beta1 beta2 epsilon grad", _adam, use_nesterov=False)
(ResourceApplyAdamWithAmsgrad,) = _define(
    "AdamWithAmsgrad", "var m v vhat | beta1_power beta2_power lr beta1 beta2 epsilon grad", _adam_with_amsgrad, False)
(ApplyAdaMax, ResourceApplyAdaMax) = _define("AdaMax", "var m v | beta1_power lr beta1 beta2 epsilon grad", _adamax)
(ApplyRMSProp, ResourceApplyRMSProp, SparseApplyRMSProp, ResourceSparseApplyRMSProp) = _define(
    "RMSProp", "var ms mom | lr rho momentum epsilon grad", _rms_prop, sparse="var ms mom | lr rho momentum epsilon grad indices")
(ApplyCenteredRMSProp, ResourceApplyCenteredRMSProp, SparseApplyCenteredRMSProp, ResourceSparseApplyCenteredRMSProp) = _define(
    "CenteredRMSProp", "var mg ms mom | lr rho momentum epsilon grad", _centered_rms_prop,
    sparse="var mg ms mom | lr rho momentum epsilon grad indices")
(ApplyFtrl, ResourceApplyFtrl, SparseApplyFtrl, ResourceSparseApplyFtrl) = _define(
    "Ftrl", "var accum linear | grad lr l1 l2 lr_power", _ftrl, sparse="var accum linear | grad indices lr l1 l2 lr_power")
(ApplyFtrlV2, ResourceApplyFtrlV2, SparseApplyFtrlV2, ResourceSparseApplyFtrlV2) = _define(
    "FtrlV2", "var accum linear | grad lr l1 l2 l2_shrinkage lr_power", _ftrl_v2,
    sparse="var accum linear | grad indices lr l1 l2 l2_shrinkage lr_power")
(ApplyProximalGradientDescent, ResourceApplyProximalGradientDescent, SparseApplyProximalGradientDescent,
 ResourceSparseApplyProximalGradientDescent) = _define(
    "ProximalGradientDescent", "var | alpha l1 l2 delta", _proximal_gradient_descent, sparse="var | alpha l1 l2 grad indices")
(ApplyProximalAdagrad, ResourceApplyProximalAdagrad, SparseApplyProximalAdagrad, ResourceSparseApplyProximalAdagrad) = _define(
    "ProximalAdagrad", "var accum | lr l1 l2 grad", _proximal_adagrad, sparse="var accum | lr l1 l2 grad indices")
(ApplyAddSign, ResourceApplyAddSign) = _define("AddSign", "var m | lr alpha sign_decay beta grad", _add_sign)
(ApplyPowerSign, ResourceApplyPowerSign) = _define("PowerSign", "var m | lr logbase sign_decay beta grad", _power_sign)
