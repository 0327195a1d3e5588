"""``tf.contrib.gan.losses``: losses of models; those of the outputs of a discriminator are in ``wargs``."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.gan.model_losses": (
        "acgan_discriminator_loss acgan_generator_loss combine_adversarial_loss cycle_consistency_loss least_squares_discriminator_loss "
        "least_squares_generator_loss minimax_discriminator_loss minimax_generator_loss modified_discriminator_loss modified_generator_loss "
        "mutual_information_penalty stargan_discriminator_loss_wrapper stargan_generator_loss_wrapper stargan_gradient_penalty_wrapper "
        "wasserstein_discriminator_loss wasserstein_generator_loss wasserstein_gradient_penalty"),
    "penstock.contrib.gan.losses:": "wargs",
    "penstock.api.contrib.gan.losses:": "python tuple_losses",
}
publish(__name__, TABLE)
