"""``tf.contrib.gan.losses.wargs``: losses of what a discriminator says of real and of generated data. `model_losses` has those of models."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.contrib.distributions.distribution import Distribution
from penstock.contrib.framework.variables import get_trainable_variables
from penstock.layers.losses import (
    Reduction,
    absolute_difference,
    add_loss,
    compute_weighted_loss,
    sigmoid_cross_entropy,
    softmax_cross_entropy,
)
from penstock.summary import summary
from penstock.variables.store import AUTO_REUSE

_LOSSES = tf.GraphKeys.LOSSES
_MEAN = Reduction.SUM_BY_NONZERO_WEIGHTS


def _summarize(add_summaries: bool, **values: Any) -> None:
    if add_summaries:
        for name, value in values.items():
            summary.scalar(name, value)


def _floats(*tensors: Any) -> list[tf.Tensor]:
    """The outputs as floats of one shape."""
    floats = [tf.cast(tensor, tf.float32) for tensor in tensors]
    floats[0].shape.assert_is_compatible_with(floats[-1].shape)
    return floats


# --- Wasserstein -----------------------------------------------------------------------------------------------------


def wasserstein_generator_loss(discriminator_gen_outputs: Any, weights: Any = 1.0, scope: str | None = None, loss_collection: Any = _LOSSES,
                               reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``wasserstein_generator_loss``: minus what the critic says of generated data (Arjovsky et al. 2017)."""
    with tf.name_scope(scope, "generator_wasserstein_loss", (discriminator_gen_outputs, weights)) as scope:
        (generated,) = _floats(discriminator_gen_outputs)
        loss = compute_weighted_loss(-generated, weights, scope, loss_collection, reduction)
        _summarize(add_summaries, generator_wass_loss=loss)
    return loss


def wasserstein_discriminator_loss(discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_weights: Any = 1.0,
                                   generated_weights: Any = 1.0, scope: str | None = None, loss_collection: Any = _LOSSES, reduction: str = _MEAN,
                                   add_summaries: bool = False) -> tf.Tensor:
    """``wasserstein_discriminator_loss``: what the critic says of generated data, minus what it says of real data."""
    values = (discriminator_real_outputs, discriminator_gen_outputs, real_weights, generated_weights)
    with tf.name_scope(scope, "discriminator_wasserstein_loss", values) as scope:
        real, generated = _floats(discriminator_real_outputs, discriminator_gen_outputs)
        on_generated = compute_weighted_loss(generated, generated_weights, scope, loss_collection=None, reduction=reduction)
        on_real = compute_weighted_loss(real, real_weights, scope, loss_collection=None, reduction=reduction)
        loss = on_generated - on_real
        add_loss(loss, loss_collection)
        _summarize(add_summaries, discriminator_gen_wass_loss=on_generated, discriminator_real_wass_loss=on_real, discriminator_wass_loss=loss)
    return loss


def wasserstein_gradient_penalty(real_data: Any, generated_data: Any, generator_inputs: Any, discriminator_fn: Callable[..., Any],
                                 discriminator_scope: Any, epsilon: float = 1e-10, target: Any = 1.0, one_sided: bool = False, weights: Any = 1.0,
                                 scope: str | None = None, loss_collection: Any = _LOSSES, reduction: str = _MEAN,
                                 add_summaries: bool = False) -> tf.Tensor:
    """``wasserstein_gradient_penalty``: between real and generated data, the critic's gradient shall have the norm ``target`` (Gulrajani 2017)."""
    with tf.name_scope(scope, "wasserstein_gradient_penalty", (real_data, generated_data)) as scope:
        real, generated = tf.convert_to_tensor(real_data), tf.convert_to_tensor(generated_data)
        for name, data in (("real_data", real), ("generated_data", generated)):
            if data.shape.ndims is None:
                raise ValueError(f"`{name}` can't have unknown rank.")
        differences = generated - real
        batch = differences.shape.extent(0) or tf.shape(differences)[0]
        between = real + tf.random_uniform([batch] + [1] * (differences.shape.ndims - 1)) * differences
        # At the root of name scopes, so that the discriminator's update ops are those of its own scope.
        with tf.name_scope(None), tf.variable_scope(discriminator_scope, "gpenalty_dscope", reuse=AUTO_REUSE):
            outputs = discriminator_fn(between, generator_inputs)
        gradient = tf.gradients(outputs[0] if isinstance(outputs, tuple) else outputs, between)[0]
        squares = tf.reduce_sum(tf.square(gradient), axis=list(range(1, gradient.shape.ndims)))
        if isinstance(batch, int):
            squares.set_shape([batch] + squares.shape.as_list()[1:])
        penalties = tf.sqrt(squares + epsilon) / target - 1.0
        if one_sided:
            penalties = tf.maximum(0.0, penalties)
        penalty = compute_weighted_loss(tf.square(penalties), weights, scope=scope, loss_collection=loss_collection, reduction=reduction)
        _summarize(add_summaries, gradient_penalty_loss=penalty)
    return penalty


# --- minimax and modified --------------------------------------------------------------------------------------------


def minimax_discriminator_loss(discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
                               real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None, loss_collection: Any = _LOSSES,
                               reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``minimax_discriminator_loss``: the cross entropy of telling real from generated (Goodfellow et al. 2014)."""
    values = (discriminator_real_outputs, discriminator_gen_outputs, real_weights, generated_weights, label_smoothing)
    with tf.name_scope(scope, "discriminator_minimax_loss", values) as scope:
        on_real = sigmoid_cross_entropy(tf.ones_like(discriminator_real_outputs), discriminator_real_outputs, real_weights, label_smoothing, scope,
                                        loss_collection=None, reduction=reduction)
        on_generated = sigmoid_cross_entropy(tf.zeros_like(discriminator_gen_outputs), discriminator_gen_outputs, generated_weights, scope=scope,
                                             loss_collection=None, reduction=reduction)
        loss = on_real + on_generated
        add_loss(loss, loss_collection)
        _summarize(add_summaries, discriminator_gen_minimax_loss=on_generated, discriminator_real_minimax_loss=on_real,
                   discriminator_minimax_loss=loss)
    return loss


def minimax_generator_loss(discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
                           loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``minimax_generator_loss``: minus the discriminator's loss."""
    with tf.name_scope(scope, "generator_minimax_loss") as scope:
        loss = -minimax_discriminator_loss(tf.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, label_smoothing, weights, weights,
                                           scope, loss_collection, reduction, add_summaries=False)
    _summarize(add_summaries, generator_minimax_loss=loss)
    return loss


def modified_discriminator_loss(discriminator_real_outputs: Any, discriminator_gen_outputs: Any, label_smoothing: float = 0.25,
                                real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None, loss_collection: Any = _LOSSES,
                                reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``modified_discriminator_loss``: that of minimax, under another scope."""
    return minimax_discriminator_loss(discriminator_real_outputs, discriminator_gen_outputs, label_smoothing, real_weights, generated_weights,
                                      scope or "discriminator_modified_loss", loss_collection, reduction, add_summaries)


def modified_generator_loss(discriminator_gen_outputs: Any, label_smoothing: float = 0.0, weights: Any = 1.0, scope: str | None = None,
                            loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``modified_generator_loss``: generated data shall be taken for real; its gradient does not vanish where the discriminator is sure."""
    with tf.name_scope(scope, "generator_modified_loss", [discriminator_gen_outputs]) as scope:
        loss = sigmoid_cross_entropy(tf.ones_like(discriminator_gen_outputs), discriminator_gen_outputs, weights, label_smoothing, scope,
                                     loss_collection, reduction)
        _summarize(add_summaries, generator_modified_loss=loss)
    return loss


# --- least squares ---------------------------------------------------------------------------------------------------


def least_squares_generator_loss(discriminator_gen_outputs: Any, real_label: float = 1, weights: Any = 1.0, scope: str | None = None,
                                 loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``least_squares_generator_loss``: half the squared distance of outputs for generated data from ``real_label`` (Mao et al. 2017)."""
    with tf.name_scope(scope, "lsq_generator_loss", (discriminator_gen_outputs, real_label)) as scope:
        (generated,) = _floats(discriminator_gen_outputs)
        loss = compute_weighted_loss(tf.squared_difference(generated, real_label) / 2.0, weights, scope, loss_collection, reduction)
    _summarize(add_summaries, generator_lsq_loss=loss)
    return loss


def least_squares_discriminator_loss(discriminator_real_outputs: Any, discriminator_gen_outputs: Any, real_label: float = 1, fake_label: float = 0,
                                     real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
                                     loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``least_squares_discriminator_loss``: half the squared distances of outputs from their labels."""
    with tf.name_scope(scope, "lsq_discriminator_loss", (discriminator_gen_outputs, real_label)) as scope:
        real, generated = _floats(discriminator_real_outputs, discriminator_gen_outputs)
        real_losses = tf.squared_difference(real, real_label) / 2.0
        fake_losses = tf.squared_difference(generated, fake_label) / 2.0
        on_real = compute_weighted_loss(real_losses, real_weights, scope, loss_collection=None, reduction=reduction)
        on_generated = compute_weighted_loss(fake_losses, generated_weights, scope, loss_collection=None, reduction=reduction)
        loss = on_real + on_generated
        add_loss(loss, loss_collection)
    _summarize(add_summaries, discriminator_gen_lsq_loss=on_generated, discriminator_real_lsq_loss=on_real, discriminator_lsq_loss=loss)
    return loss


# --- what else a model may be asked for ------------------------------------------------------------------------------


def acgan_discriminator_loss(discriminator_real_classification_logits: Any, discriminator_gen_classification_logits: Any, one_hot_labels: Any,
                             label_smoothing: float = 0.0, real_weights: Any = 1.0, generated_weights: Any = 1.0, scope: str | None = None,
                             loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``acgan_discriminator_loss``: the discriminator shall know the class of real and of generated data (Odena et al. 2016)."""
    values = (discriminator_real_classification_logits, discriminator_gen_classification_logits, one_hot_labels)
    with tf.name_scope(scope, "acgan_discriminator_loss", values) as scope:
        on_generated = softmax_cross_entropy(one_hot_labels, discriminator_gen_classification_logits, weights=generated_weights, scope=scope,
                                             loss_collection=None, reduction=reduction)
        on_real = softmax_cross_entropy(one_hot_labels, discriminator_real_classification_logits, weights=real_weights,
                                        label_smoothing=label_smoothing, scope=scope, loss_collection=None, reduction=reduction)
        loss = on_generated + on_real
        add_loss(loss, loss_collection)
        _summarize(add_summaries, discriminator_gen_ac_loss=on_generated, discriminator_real_ac_loss=on_real, discriminator_ac_loss=loss)
    return loss


def acgan_generator_loss(discriminator_gen_classification_logits: Any, one_hot_labels: Any, weights: Any = 1.0, scope: str | None = None,
                         loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``acgan_generator_loss``: generated data shall be of the class that it was made for."""
    with tf.name_scope(scope, "acgan_generator_loss", (discriminator_gen_classification_logits, one_hot_labels)) as scope:
        loss = softmax_cross_entropy(one_hot_labels, discriminator_gen_classification_logits, weights=weights, scope=scope,
                                     loss_collection=loss_collection, reduction=reduction)
        _summarize(add_summaries, generator_ac_loss=loss)
    return loss


def mutual_information_penalty(structured_generator_inputs: Any, predicted_distributions: Any, weights: Any = 1.0, scope: str | None = None,
                               loss_collection: Any = _LOSSES, reduction: str = _MEAN, add_summaries: bool = False) -> tf.Tensor:
    """``mutual_information_penalty``: the structured noise shall be likely, given what it has generated (Chen et al. 2016)."""
    if not isinstance(predicted_distributions, (list, tuple)):
        raise ValueError(f"`distributions` must be a list or tuple. Instead, found {type(predicted_distributions)}.")
    for distribution in predicted_distributions:
        if not isinstance(distribution, Distribution):
            raise ValueError(f"`distributions` must be a list of `Distributions`. Instead, found {type(distribution)}.")
    if len(structured_generator_inputs) != len(predicted_distributions):
        raise ValueError(f"`structured_generator_inputs` length {len(structured_generator_inputs)} must be the same as `predicted_distributions` "
                         f"length {len(predicted_distributions)}.")
    with tf.name_scope(scope, "mutual_information_loss") as scope:
        likelihoods = [tf.reduce_mean(distribution.log_prob(noise))
                       for distribution, noise in zip(predicted_distributions, structured_generator_inputs)]
        loss = -1 * compute_weighted_loss(likelihoods, weights, scope, loss_collection=loss_collection, reduction=reduction)
        _summarize(add_summaries, mutual_information_penalty=loss)
    return loss


def cycle_consistency_loss(data_x: Any, reconstructed_data_x: Any, data_y: Any, reconstructed_data_y: Any, scope: str | None = None,
                           add_summaries: bool = False) -> tf.Tensor:
    """``cycle_consistency_loss``: what has gone to the other domain and back shall be as before (Zhu et al. 2017)."""
    with tf.name_scope(scope, "cycle_consistency_loss", values=[data_x, reconstructed_data_x, data_y, reconstructed_data_y]):
        loss_x, loss_y = absolute_difference(data_x, reconstructed_data_x), absolute_difference(data_y, reconstructed_data_y)
        loss = (loss_x + loss_y) / 2.0
        _summarize(add_summaries, cycle_consistency_loss_x2x=loss_x, cycle_consistency_loss_y2y=loss_y, cycle_consistency_loss=loss)
    return loss


def _stable_norm(tensors: list[Any]) -> Any:
    """The norm of all tensors together, scaled on the way so that squares do not overflow."""
    present = [tensor for tensor in tensors if tensor is not None]
    if not present:
        return 0.0
    most = tf.reduce_max([tf.reduce_max(tf.abs(tensor)) for tensor in present])
    return most * tf.global_norm([tensor / most for tensor in present])


def combine_adversarial_loss(main_loss: Any, adversarial_loss: Any, weight_factor: Any = None, gradient_ratio: Any = None,
                             gradient_ratio_epsilon: float = 1e-6, variables: Any = None, scalar_summaries: bool = True,
                             gradient_summaries: bool = True, scope: str | None = None) -> tf.Tensor:
    """``combine_adversarial_loss``: the main loss plus the adversarial one, by a factor or so that their gradients have a ratio of norms."""
    for loss in (main_loss, adversarial_loss):
        loss.shape.assert_is_compatible_with([])
    if weight_factor is None and gradient_ratio is None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be `None.`")
    if weight_factor is not None and gradient_ratio is not None:
        raise ValueError("`weight_factor` and `gradient_ratio` cannot both be specified.")
    variables = get_trainable_variables() if variables is None else variables
    with tf.name_scope(scope, "adversarial_loss", values=[main_loss, adversarial_loss]):
        if gradient_summaries or gradient_ratio is not None:
            main_norm, adversarial_norm = (_stable_norm(tf.gradients(loss, variables)) for loss in (main_loss, adversarial_loss))
        _summarize(scalar_summaries, main_loss=main_loss, adversarial_loss=adversarial_loss)
        if gradient_summaries:
            _summarize(True, main_loss_gradients=main_norm, adversarial_loss_gradients=adversarial_norm)
        if tf.constant_value(tf.convert_to_tensor(gradient_ratio if weight_factor is None else weight_factor)) == 0:
            return main_loss
        if weight_factor is None:
            weight_factor = main_norm / (adversarial_norm + gradient_ratio_epsilon) / gradient_ratio
            _summarize(True, adversarial_coefficient=weight_factor)
        return main_loss + tf.stop_gradient(weight_factor) * adversarial_loss
