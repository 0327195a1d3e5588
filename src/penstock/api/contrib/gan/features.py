"""``tf.contrib.gan.features``: clipped and normalized weights, pools of generated data, conditioning, virtual batch normalization."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.gan.features": "VBN clip_discriminator_weights clip_variables compute_spectral_norm condition_tensor "
                                     "condition_tensor_from_onehot spectral_norm_regularizer spectral_normalization_custom_getter "
                                     "spectral_normalize tensor_pool",
    "penstock.api.contrib.gan.features:": "clip_weights conditioning_utils random_tensor_pool spectral_normalization virtual_batchnorm",
}
publish(__name__, TABLE, missing="keras_spectral_normalization")
