"""What trains the models of ``tf.contrib.gan``: both losses, both training ops, and hooks that run them in turn."""
from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.gan import losses, model_losses
from penstock.contrib.gan.models import ACGANModel, CycleGANLoss, CycleGANModel, GANLoss, GANModel, GANTrainOps, GANTrainSteps, InfoGANModel
from penstock.contrib.slim.learning import train_step
from penstock.contrib.training import training
from penstock.layers.losses import absolute_difference, get_regularization_loss, softmax_cross_entropy
from penstock.summary import summary
from penstock.train.global_step import get_or_create_global_step
from penstock.train.session_run_hook import SessionRunHook
from penstock.train.sync_replicas import SyncReplicasOptimizer

_ONE_EACH = GANTrainSteps(1, 1)

# --- losses ----------------------------------------------------------------------------------------------------------


def _checked_weight(weight: Any, name: str) -> Any:
    if isinstance(weight, tf.Tensor):
        weight.shape.assert_is_compatible_with([])
        with tf.control_dependencies([tf.assert_greater_equal(weight, 0.0)]):
            return tf.identity(weight)
    if weight is not None and weight < 0:
        raise ValueError(f"`{name}` must be greater than 0. Instead, was {weight}")
    return weight


def _is_used(weight: Any) -> bool:
    return weight is not None and (isinstance(weight, tf.Tensor) or weight > 0)


def _pool(model: Any, tensor_pool_fn: Callable[..., Any]) -> Any:
    """The model with generated data of earlier steps in the place of some of today's."""
    if isinstance(model, InfoGANModel):
        inputs, generated, structured = tensor_pool_fn((model.generator_inputs, model.generated_data, model.structured_generator_inputs))
        with tf.variable_scope(model.discriminator_scope, reuse=True):
            outputs, distributions = model.discriminator_and_aux_fn(generated, inputs)
        more = {"structured_generator_inputs": structured, "predicted_distributions": distributions}
    elif isinstance(model, (GANModel, ACGANModel)):
        inputs, generated = tensor_pool_fn((model.generator_inputs, model.generated_data))
        with tf.variable_scope(model.discriminator_scope, reuse=True):
            outputs, more = model.discriminator_fn(generated, inputs), {}
        if isinstance(model, ACGANModel):
            outputs, more["discriminator_gen_classification_logits"] = outputs
    else:
        raise ValueError(f"Tensor pool does not support `model`: {type(model)}.")
    return model._replace(generator_inputs=inputs, generated_data=generated, discriminator_gen_outputs=outputs, **more)


def gan_loss(model: Any, generator_loss_fn: Callable[..., Any] = model_losses.wasserstein_generator_loss,
             discriminator_loss_fn: Callable[..., Any] = model_losses.wasserstein_discriminator_loss, gradient_penalty_weight: Any = None,
             gradient_penalty_epsilon: float = 1e-10, gradient_penalty_target: Any = 1.0, gradient_penalty_one_sided: bool = False,
             mutual_information_penalty_weight: Any = None, aux_cond_generator_weight: Any = None, aux_cond_discriminator_weight: Any = None,
             tensor_pool_fn: Callable[..., Any] | None = None, add_summaries: bool = True) -> GANLoss:
    """``tf.contrib.gan.gan_loss``: the losses of generator and discriminator, with their penalties and regularization."""
    gradient_weight = _checked_weight(gradient_penalty_weight, "gradient_penalty_weight")
    information_weight = _checked_weight(mutual_information_penalty_weight, "infogan_weight")
    generator_weight = _checked_weight(aux_cond_generator_weight, "aux_cond_generator_weight")
    discriminator_weight = _checked_weight(aux_cond_discriminator_weight, "aux_cond_discriminator_weight")
    if _is_used(information_weight) and not isinstance(model, InfoGANModel):
        raise ValueError("When `mutual_information_penalty_weight` is provided, `model` must be an `InfoGANModel`. "
                         f"Instead, was {type(model)}.")
    if (_is_used(generator_weight) or _is_used(discriminator_weight)) and not isinstance(model, ACGANModel):
        raise ValueError("When `aux_cond_generator_weight` or `aux_cond_discriminator_weight` is provided, `model` must be an `ACGANModel`. "
                         f"Instead, was {type(model)}.")
    pooled = _pool(model, tensor_pool_fn) if tensor_pool_fn else model
    generator_loss = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator_loss = discriminator_loss_fn(pooled, add_summaries=add_summaries)
    if _is_used(gradient_weight):
        discriminator_loss += gradient_weight * model_losses.wasserstein_gradient_penalty(
            pooled, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target, one_sided=gradient_penalty_one_sided,
            add_summaries=add_summaries)
    if _is_used(information_weight):
        penalty = model_losses.mutual_information_penalty(model, add_summaries=add_summaries)
        pooled_penalty = penalty if tensor_pool_fn is None else model_losses.mutual_information_penalty(pooled, add_summaries=add_summaries)
        generator_loss += information_weight * penalty
        discriminator_loss += information_weight * pooled_penalty
    if _is_used(generator_weight):
        generator_loss += generator_weight * model_losses.acgan_generator_loss(model, add_summaries=add_summaries)
    if _is_used(discriminator_weight):
        discriminator_loss += discriminator_weight * model_losses.acgan_discriminator_loss(pooled, add_summaries=add_summaries)
    regularization = [get_regularization_loss(scope.name) if scope else 0 for scope in (model.generator_scope, model.discriminator_scope)]
    return GANLoss(generator_loss + regularization[0], discriminator_loss + regularization[1])


def cyclegan_loss(model: CycleGANModel, generator_loss_fn: Callable[..., Any] = model_losses.least_squares_generator_loss,
                  discriminator_loss_fn: Callable[..., Any] = model_losses.least_squares_discriminator_loss,
                  cycle_consistency_loss_fn: Callable[..., Any] = model_losses.cycle_consistency_loss, cycle_consistency_loss_weight: Any = 10.0,
                  **kwargs: Any) -> CycleGANLoss:
    """``tf.contrib.gan.cyclegan_loss``: the losses of both directions; ``kwargs`` go to ``gan_loss``."""
    if not isinstance(model, CycleGANModel):
        raise ValueError(f"`model` must be a `CycleGANModel`. Instead, was {type(model)}.")
    consistency = cycle_consistency_loss_fn(model, add_summaries=kwargs.get("add_summaries", True))
    weighted = _checked_weight(cycle_consistency_loss_weight, "cycle_consistency_loss_weight") * consistency

    def partial_loss(name: str, partial_model: GANModel) -> GANLoss:
        with tf.name_scope(name):
            loss = gan_loss(partial_model, generator_loss_fn=generator_loss_fn, discriminator_loss_fn=discriminator_loss_fn, **kwargs)
            return loss._replace(generator_loss=loss.generator_loss + weighted)

    return CycleGANLoss(partial_loss("cyclegan_loss_x2y", model.model_x2y), partial_loss("cyclegan_loss_y2x", model.model_y2x))


def stargan_loss(model: Any, generator_loss_fn: Callable[..., Any] = model_losses.stargan_generator_loss_wrapper(losses.wasserstein_generator_loss),
                 discriminator_loss_fn: Callable[..., Any] = model_losses.stargan_discriminator_loss_wrapper(losses.wasserstein_discriminator_loss),
                 gradient_penalty_weight: Any = 10.0, gradient_penalty_epsilon: float = 1e-10, gradient_penalty_target: Any = 1.0,
                 gradient_penalty_one_sided: bool = False, reconstruction_loss_fn: Callable[..., Any] = absolute_difference,
                 reconstruction_loss_weight: Any = 10.0, classification_loss_fn: Callable[..., Any] = softmax_cross_entropy,
                 classification_loss_weight: Any = 1.0, classification_one_hot: bool = True, add_summaries: bool = True) -> GANLoss:
    """``tf.contrib.gan.stargan_loss``: real or not, the right domain, and back to where it came from."""
    def classification_loss(labels: Any, logits: Any, name: str) -> Any:
        with tf.name_scope(name, values=(labels, logits)):
            loss = classification_loss_fn(onehot_labels=labels, logits=logits)
            if not classification_one_hot:
                loss = tf.reduce_sum(loss, axis=1)
            loss = tf.reduce_mean(loss)
            if add_summaries:
                summary.scalar(name, loss)
            return loss

    model.input_data_domain_label.shape.assert_has_rank(2)
    model.input_data_domain_label.shape[1:].assert_is_fully_defined()
    generator_loss = generator_loss_fn(model, add_summaries=add_summaries)
    discriminator_loss = discriminator_loss_fn(model, add_summaries=add_summaries)
    if _is_used(gradient_penalty_weight):
        penalty = model_losses.stargan_gradient_penalty_wrapper(losses.wasserstein_gradient_penalty)
        discriminator_loss += penalty(model, epsilon=gradient_penalty_epsilon, target=gradient_penalty_target,
                                      one_sided=gradient_penalty_one_sided, add_summaries=add_summaries) * gradient_penalty_weight
    reconstruction = reconstruction_loss_fn(model.input_data, model.reconstructed_data)
    generator_loss += reconstruction * reconstruction_loss_weight
    if add_summaries:
        summary.scalar("reconstruction_loss", reconstruction)
    generator_loss += classification_loss(model.generated_data_domain_target, model.discriminator_generated_data_domain_predication,
                                          "generator_classification_loss") * classification_loss_weight
    discriminator_loss += classification_loss(model.input_data_domain_label, model.discriminator_input_data_domain_predication,
                                              "discriminator_classification_loss") * classification_loss_weight
    return GANLoss(generator_loss, discriminator_loss)


# --- training ops ----------------------------------------------------------------------------------------------------


def _update_ops(given: Iterable[Any] | None, scopes: list[str], check_for_unused_ops: bool) -> list[list[Any]]:
    """The update ops of each scope, among those that are given."""
    wanted = tf.get_collection(tf.GraphKeys.UPDATE_OPS) if given is None else list(given)
    by_scope = [tf.get_collection(tf.GraphKeys.UPDATE_OPS, scope) for scope in scopes]
    unused = [update for update in wanted if not any(update in updates for updates in by_scope)]
    if check_for_unused_ops and unused:
        raise ValueError(f"There are unused update ops: {unused}")
    return [[update for update in dict.fromkeys(updates) if update in wanted] for updates in by_scope]


def gan_train_ops(model: Any, loss: Any, generator_optimizer: Any, discriminator_optimizer: Any, check_for_unused_update_ops: bool = True,
                  is_chief: bool = True, **kwargs: Any) -> GANTrainOps:
    """``tf.contrib.gan.gan_train_ops``: an op per network and one that counts the step; ``kwargs`` go to ``create_train_op``."""
    if isinstance(model, CycleGANModel):
        both = []
        for direction in ("x2y", "y2x"):
            with tf.name_scope(f"cyclegan_{direction}_train"):
                both.append(gan_train_ops(getattr(model, f"model_{direction}"), getattr(loss, f"loss_{direction}"), generator_optimizer,
                                          discriminator_optimizer, check_for_unused_update_ops, is_chief, **kwargs))
        return GANTrainOps(tuple(ops.generator_train_op for ops in both), tuple(ops.discriminator_train_op for ops in both),
                           get_or_create_global_step().assign_add(1))
    global_step = get_or_create_global_step()
    count_step = global_step.assign_add(1)
    updates = _update_ops(kwargs.pop("update_ops", None), [model.generator_scope.name, model.discriminator_scope.name], check_for_unused_update_ops)
    hooks: list[SessionRunHook] = []

    def train_op(network: str, optimizer: Any, update_ops: list[Any]) -> Any:
        own_step = None
        if isinstance(optimizer, SyncReplicasOptimizer):  # counts a step of its own, which follows the model's
            own_step = tf.get_variable(f"dummy_global_step_{network}", shape=[], dtype=global_step.dtype.base_dtype,
                                       initializer=tf.zeros_initializer(), trainable=False, collections=[tf.GraphKeys.GLOBAL_VARIABLES])
            update_ops = [*update_ops, own_step.assign(global_step)]
            hooks.append(optimizer.make_session_run_hook(is_chief))
        with tf.name_scope(f"{network}_train"):
            return training.create_train_op(getattr(loss, f"{network}_loss"), optimizer, global_step=own_step, update_ops=update_ops,
                                            variables_to_train=getattr(model, f"{network}_variables"), **kwargs)

    train_generator = train_op("generator", generator_optimizer, updates[0])
    train_discriminator = train_op("discriminator", discriminator_optimizer, updates[1])
    return GANTrainOps(train_generator, train_discriminator, count_step, hooks)


# --- loops -----------------------------------------------------------------------------------------------------------


class RunTrainOpsHook(SessionRunHook):
    """``tf.contrib.gan.RunTrainOpsHook``: runs training ops some times before each step."""

    def __init__(self, train_ops: Any, train_steps: int) -> None:
        self._train_ops = train_ops if isinstance(train_ops, (list, tuple)) else [train_ops]
        self._train_steps = train_steps

    def before_run(self, run_context: Any) -> None:
        """Runs them."""
        for _ in range(self._train_steps):
            run_context.session.run(self._train_ops)


def get_sequential_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[[GANTrainOps], list[SessionRunHook]]:
    """``tf.contrib.gan.get_sequential_train_hooks``: the steps of the generator, then those of the discriminator."""
    return lambda train_ops: [RunTrainOpsHook(train_ops.generator_train_op, train_steps.generator_train_steps),
                              RunTrainOpsHook(train_ops.discriminator_train_op, train_steps.discriminator_train_steps), *train_ops.train_hooks]


def get_joint_train_hooks(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[[GANTrainOps], list[SessionRunHook]]:
    """``tf.contrib.gan.get_joint_train_hooks``: both in one step, as often as both have steps left; then the rest."""
    both = min(train_steps)

    def hooks(train_ops: GANTrainOps) -> list[SessionRunHook]:
        generator, discriminator = train_ops.generator_train_op, train_ops.discriminator_train_op
        return [RunTrainOpsHook([generator, discriminator], both), RunTrainOpsHook(generator, train_steps.generator_train_steps - both),
                RunTrainOpsHook(discriminator, train_steps.discriminator_train_steps - both), *train_ops.train_hooks]

    return hooks


def gan_train(train_ops: GANTrainOps, logdir: str | None, get_hooks_fn: Callable[[GANTrainOps], list[SessionRunHook]] = get_sequential_train_hooks(),
              master: str = "", is_chief: bool = True, scaffold: Any = None, hooks: Any = None, chief_only_hooks: Any = None,
              save_checkpoint_secs: float | None = 600, save_summaries_steps: int | None = 100, config: Any = None) -> Any:
    """``tf.contrib.gan.gan_train``: ``tf.contrib.training.train`` with hooks that train both networks; returns the global step."""
    return training.train(train_ops.global_step_inc_op, logdir, master=master, is_chief=is_chief, scaffold=scaffold,
                          hooks=[*(hooks or []), *get_hooks_fn(train_ops)], chief_only_hooks=chief_only_hooks,
                          save_checkpoint_secs=save_checkpoint_secs, save_summaries_steps=save_summaries_steps, config=config)


def get_sequential_train_steps(train_steps: GANTrainSteps = _ONE_EACH) -> Callable[..., tuple[Any, Any]]:
    """``tf.contrib.gan.get_sequential_train_steps``: a ``train_step_fn`` for ``slim.learning.train``."""
    def step(sess: Any, train_ops: GANTrainOps, global_step: Any, train_step_kwargs: dict[str, Any]) -> tuple[Any, Any]:
        should_stop = train_step_kwargs.get("should_stop")  # asked when all steps are done
        kwargs = {key: value for key, value in train_step_kwargs.items() if key != "should_stop"}
        loss = 0
        for train_op, count in zip(train_ops[:2], train_steps):
            loss += sum(train_step(sess, train_op, global_step, kwargs)[0] for _ in range(count))
        sess.run(train_ops.global_step_inc_op)
        return loss, False if should_stop is None else sess.run(should_stop)

    return step
