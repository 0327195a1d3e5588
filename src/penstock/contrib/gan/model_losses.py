"""``tf.contrib.gan.losses``: losses of whole models. Arguments that have the name of one of the model's fields come from there."""
from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.contrib.gan import losses
from penstock.graph.node import Tensor

__all__ = ["acgan_discriminator_loss", "acgan_generator_loss", "combine_adversarial_loss", "least_squares_discriminator_loss",
           "least_squares_generator_loss", "minimax_discriminator_loss", "minimax_generator_loss", "modified_discriminator_loss",
           "modified_generator_loss", "mutual_information_penalty", "wasserstein_discriminator_loss", "wasserstein_generator_loss",
           "wasserstein_gradient_penalty"]


def of_model(loss_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``loss_fn`` of a model: its fields are the arguments that have their names; all others are keyword arguments."""
    parameters = inspect.signature(loss_fn).parameters
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]

    @functools.wraps(loss_fn)
    def loss_of_model(gan_model: Any, **kwargs: Any) -> Tensor:
        for name in required:
            if name not in gan_model._fields and name not in kwargs:
                raise ValueError(f"`{name}` must be supplied to {loss_fn.__name__} loss function.")
        twice = set(gan_model._fields) & set(kwargs)
        if twice:
            raise ValueError(f"The following args are present in both the tuple and keyword args for {loss_fn.__name__}: {twice}")
        fields = {name: getattr(gan_model, name) for name in gan_model._fields if name in parameters}
        return loss_fn(**{name: value for name, value in fields.items() if value is not None or name in required}, **kwargs)

    loss_of_model.__docstring__ = loss_of_model.__doc__ = (  # type: ignore[attr-defined]  # the first is TensorFlow's
        f"The gan_model version of `{loss_fn.__name__}`: it takes the fields of the model as arguments.\n\n{loss_fn.__doc__}")
    return loss_of_model


wasserstein_generator_loss = of_model(losses.wasserstein_generator_loss)
wasserstein_discriminator_loss = of_model(losses.wasserstein_discriminator_loss)
wasserstein_gradient_penalty = of_model(losses.wasserstein_gradient_penalty)
minimax_discriminator_loss = of_model(losses.minimax_discriminator_loss)
minimax_generator_loss = of_model(losses.minimax_generator_loss)
modified_discriminator_loss = of_model(losses.modified_discriminator_loss)
modified_generator_loss = of_model(losses.modified_generator_loss)
least_squares_generator_loss = of_model(losses.least_squares_generator_loss)
least_squares_discriminator_loss = of_model(losses.least_squares_discriminator_loss)
acgan_discriminator_loss = of_model(losses.acgan_discriminator_loss)
acgan_generator_loss = of_model(losses.acgan_generator_loss)
mutual_information_penalty = of_model(losses.mutual_information_penalty)


def combine_adversarial_loss(gan_loss: Any, gan_model: Any, non_adversarial_loss: Any, weight_factor: Any = None,
                             gradient_ratio: Any = None, gradient_ratio_epsilon: float = 1e-6, scalar_summaries: bool = True,
                             gradient_summaries: bool = True) -> Any:
    """``combine_adversarial_loss`` for the generator's loss of a tuple of losses."""
    combined = losses.combine_adversarial_loss(non_adversarial_loss, gan_loss.generator_loss, weight_factor, gradient_ratio, gradient_ratio_epsilon,
                                               gan_model.generator_variables, scalar_summaries, gradient_summaries)
    return gan_loss._replace(generator_loss=combined)


def cycle_consistency_loss(cyclegan_model: Any, scope: str | None = None, add_summaries: bool = False) -> Tensor:
    """``cycle_consistency_loss`` of a CycleGANModel."""
    return losses.cycle_consistency_loss(cyclegan_model.model_x2y.generator_inputs, cyclegan_model.reconstructed_x,
                                         cyclegan_model.model_y2x.generator_inputs, cyclegan_model.reconstructed_y, scope, add_summaries)


def stargan_generator_loss_wrapper(loss_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``stargan_generator_loss_wrapper``: a loss of generated outputs as a loss of a StarGANModel."""
    return lambda stargan_model, **kwargs: loss_fn(stargan_model.discriminator_generated_data_source_predication, **kwargs)


def stargan_discriminator_loss_wrapper(loss_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``stargan_discriminator_loss_wrapper``: a loss of real and generated outputs as a loss of a StarGANModel."""
    return lambda stargan_model, **kwargs: loss_fn(stargan_model.discriminator_input_data_source_predication,
                                                   stargan_model.discriminator_generated_data_source_predication, **kwargs)


def stargan_gradient_penalty_wrapper(loss_fn: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """``stargan_gradient_penalty_wrapper``: a gradient penalty as a loss of a StarGANModel."""
    return lambda stargan_model, **kwargs: loss_fn(
        real_data=stargan_model.input_data, generated_data=stargan_model.generated_data,
        generator_inputs=stargan_model.input_data_domain_label.shape.as_list()[-1], discriminator_fn=stargan_model.discriminator_fn,
        discriminator_scope=stargan_model.discriminator_scope, **kwargs)
