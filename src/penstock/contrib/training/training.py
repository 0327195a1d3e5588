"""A training op of a loss, what may be done to gradients on the way, and a loop that runs it: ``tf.contrib.training.train``."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.composite import IndexedSlices
from penstock.ops.array.passing import check_numerics as checked_numerics
from penstock.ops.math.clip import clip_by_norm, global_norm
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.global_step import get_or_create_global_step
from penstock.train.monitored_training import MonitoredTrainingSession
from penstock.train.optimizer import Optimizer
from penstock.variables.initialization import trainable_variables

Gradients = list[tuple[Any, Any]]  # of variables

_USE_GLOBAL_STEP = 0  # None means that no step is counted


def _map_gradient(gradient: Any, change: Callable[[Any], Any]) -> Any:
    """``change`` of a gradient; of slices, of their values."""
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


def add_gradients_summaries(grads_and_vars: Iterable[tuple[Any, Any]], separator: str = "_") -> list[Any]:
    """``tf.contrib.training.add_gradients_summaries``: a histogram and the norm of each gradient; ``separator`` stands behind a variable's name."""
    summaries = []
    for gradient, variable in grads_and_vars:
        if gradient is None:
            logging.info("Var %s has no gradient", variable.op.name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(summary.histogram(f"{variable.op.name}{separator}gradient", values))
        summaries.append(summary.scalar(f"{variable.op.name}{separator}gradient_norm", global_norm([values])))
    return summaries


def clip_gradient_norms(gradients_to_variables: Iterable[tuple[Any, Any]], max_norm: Any) -> Gradients:
    """``tf.contrib.training.clip_gradient_norms``: each gradient scaled down to a norm of at most ``max_norm``."""
    return [(None if gradient is None else _map_gradient(gradient, lambda values: clip_by_norm(values, max_norm)), variable)
            for gradient, variable in gradients_to_variables]


def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Any], Gradients]:
    """``tf.contrib.training.clip_gradient_norms_fn``: that, as a function for ``transform_grads_fn``."""
    return lambda gradients_to_variables: clip_gradient_norms(gradients_to_variables, max_norm)


def multiply_gradients(grads_and_vars: Gradients, gradient_multipliers: dict[Any, Any]) -> Gradients:
    """``tf.contrib.training.multiply_gradients``: gradients times the numbers that a dict gives for variables or their names."""
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    results = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            gradient = _multiply(gradient, gradient_multipliers[key])
        results.append((gradient, variable))
    return results


def _multiply(gradient: Any, factor: Any) -> Any:
    return _map_gradient(gradient, lambda values: values * tf.convert_to_tensor(factor, dtype=gradient.dtype))


def create_train_op(total_loss: Any, optimizer: Optimizer, global_step: Any = _USE_GLOBAL_STEP, update_ops: Any = None,
                    variables_to_train: Any = None, transform_grads_fn: Callable[[Gradients], Gradients] | None = None,
                    summarize_gradients: bool = False, gate_gradients: int = Optimizer.GATE_OP, aggregation_method: Any = None,
                    colocate_gradients_with_ops: bool = False, check_numerics: bool = True) -> tf.Tensor:
    """``tf.contrib.training.create_train_op``: computes the loss after ``update_ops``, applies its gradients, and returns the loss."""
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    total_loss = _after_updates(total_loss, update_ops)
    if variables_to_train is None:
        variables_to_train = trainable_variables()
    else:
        for variable in variables_to_train:
            assert variable.trainable or variable in trainable_variables(), f"{variable.name} is not trainable"
    assert variables_to_train, "there are no variables to train"
    gradients = optimizer.compute_gradients(total_loss, variables_to_train, gate_gradients=gate_gradients, aggregation_method=aggregation_method,
                                            colocate_gradients_with_ops=colocate_gradients_with_ops)
    if transform_grads_fn:
        gradients = transform_grads_fn(gradients)
    if summarize_gradients:
        with tf.name_scope("summarize_grads"):
            add_gradients_summaries(gradients)
    updated = optimizer.apply_gradients(gradients, global_step=global_step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = checked_numerics(total_loss, "LossTensor is inf or nan")
        train_op = tf.with_dependencies([updated], total_loss)
    train_ops = tf.get_default_graph().get_collection_ref(tf.GraphKeys.TRAIN_OP)
    if train_op not in train_ops:
        train_ops.append(train_op)
    return train_op


def _after_updates(loss: Any, update_ops: Any) -> Any:
    """The loss, computed when the updates (of moving means, ...) have been done."""
    all_updates = set(tf.get_collection(tf.GraphKeys.UPDATE_OPS))
    wanted = all_updates if update_ops is None else set(update_ops)
    if not all_updates <= wanted:
        logging.warning("update_ops in create_train_op does not contain all the update_ops in GraphKeys.UPDATE_OPS")
    if not wanted:
        return loss
    with tf.control_dependencies(sorted(wanted, key=lambda update: update.name)):
        barrier = tf.no_op(name="update_barrier")
    return tf.with_dependencies([barrier], loss)


def train(train_op: Any, logdir: str | None, master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None,
          chief_only_hooks: Any = None, save_checkpoint_secs: float | None = 600, save_summaries_steps: int | None = 100, config: Any = None,
          max_wait_secs: float = 7200, run_metadata: Any = None) -> Any:
    """``tf.contrib.training.train``: runs ``train_op`` in a monitored session until a hook stops it; the last value of the op."""
    if logdir is None and is_chief:
        if save_summaries_steps:
            raise ValueError("logdir cannot be None when save_summaries_steps is not None")
        if save_checkpoint_secs:
            raise ValueError("logdir cannot be None when save_checkpoint_secs is not None")
    with MonitoredTrainingSession(master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
                                  chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
                                  save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs) as session:
        loss = None
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
