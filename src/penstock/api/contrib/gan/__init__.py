"""``tf.contrib.gan``: generative adversarial networks. TensorFlow had it up to 1.14."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.gan.models": "ACGANModel CycleGANLoss CycleGANModel GANLoss GANModel GANTrainOps GANTrainSteps InfoGANModel StarGANModel "
                                   "acgan_model cyclegan_model gan_model infogan_model stargan_model",
    "penstock.contrib.gan.training": "RunTrainOpsHook cyclegan_loss gan_loss gan_train gan_train_ops get_joint_train_hooks "
                                     "get_sequential_train_hooks get_sequential_train_steps stargan_loss",
    # Modules inside, which programs reach through: all names of them are here.
    "penstock.api.contrib.gan:": "python train namedtuples",
}
publish(__name__, TABLE, "estimator eval features losses")
