"""An estimator that trains a generator and a discriminator in turn."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


def test_gan_estimator(tmp_path):
    gan = tf.contrib.gan

    def generator(noise, mode):
        return tf.layers.dense(noise, 3, name="g") * (1.0 if mode == "train" else 2.0)

    estimator = gan.estimator.GANEstimator(
        str(tmp_path), generator, lambda data, _: tf.layers.dense(data, 1, name="d"), gan.losses.wasserstein_generator_loss,
        gan.losses.wasserstein_discriminator_loss, tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.AdamOptimizer(0.1),
        get_hooks_fn=gan.get_sequential_train_hooks(gan.GANTrainSteps(1, 2)), add_summaries=gan.estimator.SummaryType.VARIABLES,
        get_eval_metric_ops_fn=lambda model: {"mean": tf.metrics.mean(model.generated_data)})
    noise = np.ones([4, 2], np.float32)
    estimator.train(lambda: (tf.constant(noise), tf.ones([4, 3])), steps=3)
    result = estimator.evaluate(lambda: (tf.constant(noise), tf.ones([4, 3])), steps=1)
    assert sorted(result) == ["discriminator_loss", "generator_loss", "global_step", "loss", "mean"] and result["global_step"] == 3
    assert np.isclose(result["loss"], result["generator_loss"] + result["discriminator_loss"], atol=1e-5)
    rows = list(estimator.predict(lambda: tf.data.Dataset.from_tensors(noise)))
    kernel, bias = (estimator.get_variable_value(f"Generator/g/{name}") for name in ("kernel", "bias"))
    np.testing.assert_allclose(rows, 2.0 * (noise @ kernel + bias), rtol=1e-5)
    with pytest.raises(ValueError, match="generator_loss_fn must be callable"):
        gan.estimator.GANEstimator()
