"""``optimize_loss``: one call for the learning rate, the optimizer, its gradients (scale_by, noisy, clipped) and their summaries."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import to_tensor
from penstock.graph.keys import GraphKeys
from penstock.graph.node import Tensor
from penstock.graph.scopes import get_collection
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones_like
from penstock.ops.array.select import where
from penstock.ops.flow.check_shapes import assert_scalar
from penstock.ops.flow.misc import with_dependencies
from penstock.ops.math.clip import clip_by_global_norm, global_norm
from penstock.ops.math.elementwise import maximum, minimum, square
from penstock.ops.math.powers import exp, log, sqrt
from penstock.ops.random.random import truncated_normal
from penstock.summary import summary
from penstock.train import rules
from penstock.train.global_step import assert_global_step, get_global_step
from penstock.train.moving_averages import assign_moving_average
from penstock.train.optimizer import Optimizer
from penstock.variables.initialization import trainable_variables
from penstock.variables.initializers import Constant, Zeros
from penstock.variables.scope import get_variable, variable_scope

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Optimizer]] = {
    "Adagrad": rules.AdagradOptimizer, "Adam": rules.AdamOptimizer, "Ftrl": rules.FtrlOptimizer,
    "Momentum": lambda learning_rate: rules.MomentumOptimizer(learning_rate, momentum=0.9), "RMSProp": rules.RMSPropOptimizer,
    "SGD": rules.GradientDescentOptimizer}
OPTIMIZER_SUMMARIES = ["learning_rate", "loss", "gradients", "gradient_norm", "global_gradient_norm"]

Gradients = list[tuple[Any, Any]]


def optimize_loss(loss: Any, global_step: Any, learning_rate: Any, optimizer: Any, gradient_noise_scale: Any = None,
                  gradient_multipliers: Any = None, clip_gradients: Any = None, learning_rate_decay_fn: Any = None, update_ops: Any = None,
                  variables: Any = None, name: str | None = None, summaries: Any = None, colocate_gradients_with_ops: bool = False,
                  increment_global_step: bool = True) -> Tensor:
    """The loss, after a step of training."""
    loss = to_tensor(loss)
    assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with variable_scope(name, "OptimizeLoss", [loss, global_step]):
        updates = set(get_collection(GraphKeys.UPDATE_OPS)) if update_ops is None else update_ops
        if updates:
            loss = with_dependencies(list(updates), loss)
        wanted = _check_summaries(summaries)
        rate = _learning_rate(learning_rate)
        if learning_rate is not None and learning_rate_decay_fn is not None:
            if global_step is None:
                raise ValueError("global_step is required for learning_rate_decay_fn.")
            rate = learning_rate_decay_fn(rate, global_step)
            if "learning_rate" in wanted:
                summary.scalar("learning_rate", rate)
        chosen = _optimizer(optimizer, rate, learning_rate is not None)
        gradients = chosen.compute_gradients(loss, trainable_variables() if variables is None else variables,
                                             colocate_gradients_with_ops=colocate_gradients_with_ops)
        gradients = _transform(gradients, gradient_noise_scale, gradient_multipliers)
        norms = "global_gradient_norm" in wanted or "gradient_norm" in wanted
        if norms:
            summary.scalar("global_norm/gradient_norm", global_norm([gradient for gradient, _ in gradients]))
        gradients = _clip(gradients, clip_gradients)
        if "loss" in wanted:
            summary.scalar("loss", loss)
        _summarize(gradients, wanted)
        if clip_gradients is not None and norms:
            summary.scalar("global_norm/clipped_gradient_norm", global_norm([gradient for gradient, _ in gradients]))
        trained = chosen.apply_gradients(gradients, global_step=global_step if increment_global_step else None, name="train")
        return with_dependencies([trained], loss)


def _check_summaries(summaries: Any) -> list[str]:
    if summaries is None:
        return ["loss", "learning_rate", "global_gradient_norm"]
    for each in summaries:
        if each not in OPTIMIZER_SUMMARIES:
            raise ValueError(f"Summaries should be one of [{', '.join(OPTIMIZER_SUMMARIES)}], you provided {each}.")
    return list(summaries)


def _learning_rate(learning_rate: Any) -> Any:
    """A tensor as it is; a number as a variable, which a program can set."""
    if learning_rate is None:
        return None
    if isinstance(learning_rate, Tensor) and learning_rate.shape.ndims == 0:
        return learning_rate
    if not isinstance(learning_rate, float):
        raise ValueError(f"Learning rate should be 0d Tensor or float. Got {learning_rate} of type {type(learning_rate)}")
    if learning_rate < 0.0:
        raise ValueError("Invalid learning_rate %s.", learning_rate)
    return get_variable("learning_rate", [], trainable=False, initializer=Constant(learning_rate))


def _optimizer(optimizer: Any, rate: Any, has_rate: bool) -> Optimizer:
    """The optimizer that a name, a class, an object or a function means."""
    if isinstance(optimizer, str):
        if rate is None:
            raise ValueError(f"Learning rate is None, but should be specified if optimizer is string ({optimizer}).")
        if optimizer not in OPTIMIZER_CLS_NAMES:
            raise ValueError(f"Optimizer name should be one of [{', '.join(OPTIMIZER_CLS_NAMES)}], you provided {optimizer}.")
        return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        if rate is None:
            raise ValueError(f"Learning rate is None, but should be specified if optimizer is class ({optimizer}).")
        return optimizer(learning_rate=rate)
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ValueError("Unrecognized optimizer: should be string, subclass of Optimizer, instance of subclass of Optimizer or function with one "
                         f"argument. Got {optimizer}.")
    made = optimizer(rate) if has_rate else optimizer()
    if not isinstance(made, Optimizer):
        raise ValueError(f"Unrecognized optimizer: function should return subclass of Optimizer. Got {made}.")
    return made


# --- gradients -------------------------------------------------------------------------------------------------------

def _transform(gradients: Gradients, noise_scale: Any, multipliers: Any) -> Gradients:
    if noise_scale is not None:
        gradients = [(_add_noise(gradient, noise_scale), variable) for gradient, variable in gradients]
    if multipliers is not None:
        gradients = _multiply(gradients, multipliers)
        if not gradients:
            raise ValueError("Empty list of (gradient, var) pairs encountered. This is most likely to be caused by an improper value of "
                             "gradient_multipliers.")
    return gradients


def _add_noise(gradient: Any, scale: Any) -> Any:
    if gradient is None:
        return None
    extents = gradient.dense_shape if isinstance(gradient, IndexedSlices) else gradient.shape
    return gradient + truncated_normal(extents) * scale


def scale_by(gradient: Any, factor: Any) -> Any:
    """A gradient, dense or sparse, times a number; None stays None."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return None if gradient is None else gradient * factor


def _multiply(gradients: Gradients, multipliers: Any) -> Gradients:
    result = []
    for gradient, variable in gradients:
        factor = multipliers.get(variable, multipliers.get(variable.name))
        if gradient is not None and factor is not None:
            gradient = scale_by(gradient, factor if isinstance(gradient, IndexedSlices) else cast(factor, gradient.dtype))
        result.append((gradient, variable))
    return result


def _clip(gradients: Gradients, clip: Any) -> Gradients:
    if isinstance(clip, float):
        clipped, _ = clip_by_global_norm([gradient for gradient, _ in gradients], clip)
        return list(zip(clipped, (variable for _, variable in gradients)))
    if callable(clip):
        return clip(gradients)
    if clip is not None:
        raise ValueError(f"Unknown type {type(clip)} for clip_gradients")
    return gradients


def _summarize(gradients: Gradients, wanted: list[str]) -> None:
    for gradient, variable in gradients:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in wanted:
            summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in wanted:
            summary.scalar(f"gradient_norm/{name}", global_norm([values]))


# --- clipping that adapts --------------------------------------------------------------------------------------------

def adaptive_clipping_fn(std_factor: float = 2.0, decay: float = 0.95, static_max_norm: Any = None, global_step: Any = None,
                         report_summary: bool = False, epsilon: float = 1e-8, name: str | None = None) -> Callable[[Gradients], Gradients]:
    """A function that clips gradients whose norm is far above what it was lately, by moving moments of its logarithm."""
    def gradient_clipping(grads_and_vars: Gradients) -> Gradients:
        gradients = [gradient for gradient, _ in grads_and_vars]
        norm = global_norm(gradients)
        max_norm, log_mean = _adaptive_max_norm(norm, std_factor, decay, global_step, epsilon, name)
        if report_summary:
            summary.scalar("global_norm/adaptive_max_gradient_norm", max_norm)
        factor = where(norm < max_norm, ones_like(norm), exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = minimum(static_max_norm / norm, factor)
        return [(scale_by(gradient, factor), variable) for gradient, variable in grads_and_vars]
    return gradient_clipping


def _adaptive_max_norm(norm: Any, std_factor: float, decay: Any, global_step: Any, epsilon: float, name: str | None) -> tuple[Any, Any]:
    """(the largest norm that is left as it is, the mean of the logarithm of the norm)."""
    with variable_scope(name, "AdaptiveMaxNorm", [norm]):
        logarithm = log(norm + epsilon)

        def moving_average(name: str, value: Any, decay: Any) -> Any:
            average = get_variable(name, shape=value.shape, dtype=value.dtype, initializer=Zeros(), trainable=False)
            return assign_moving_average(average, value, decay, zero_debias=False)

        if global_step is not None:
            step = cast(global_step, dtypes.float32)
            decay = minimum(decay, step / (step + 1.0))
        mean = moving_average("mean", logarithm, decay)
        mean_of_squares = moving_average("sq_mean", square(logarithm), decay)
        deviation = sqrt(maximum(epsilon, mean_of_squares - square(mean)))
        return exp(mean + std_factor * deviation), mean
