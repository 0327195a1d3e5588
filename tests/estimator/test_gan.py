"""An estimator that trains a generator and a discriminator in turn."""
from __future__ import annotations

import itertools

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


def test_stargan_estimator(tmp_path):
    gan = tf.contrib.gan
    images, domains = np.linspace(-1.0, 1.0, 4 * 8 * 8 * 3, dtype=np.float32).reshape(4, 8, 8, 3), np.eye(2, dtype=np.float32)[[0, 1, 0, 1]]

    def generator(inputs, target, mode):
        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())
        return inputs * scale * (1.0 if mode == "train" else 2.0) + tf.reduce_sum(target) * 0.0

    def discriminator(inputs, number):
        flat = tf.layers.flatten(inputs)
        return tf.layers.dense(flat, 1, name="source")[:, 0], tf.layers.dense(flat, number, name="domain")

    estimator = gan.estimator.StarGANEstimator(
        str(tmp_path), generator, discriminator, gan.stargan_loss, tf.train.GradientDescentOptimizer(0.01),
        lambda: tf.train.GradientDescentOptimizer(0.01), add_summaries=[gan.estimator.SummaryType.IMAGES])
    batch = lambda: (tf.constant(images), tf.constant(domains))
    estimator.train(batch, steps=2)
    result = estimator.evaluate(batch, steps=1)
    assert sorted(result) == ["discriminator_loss", "generator_loss", "global_step", "loss"] and result["global_step"] == 2
    rows = np.array(list(itertools.islice(estimator.predict(lambda: (batch(), None)), 4)))
    np.testing.assert_allclose(rows, 2.0 * images * estimator.get_variable_value("Generator/scale"), rtol=1e-5)
    with pytest.raises(ValueError, match="loss_fn must be callable"):
        gan.estimator.StarGANEstimator()


def test_kernel_distance():
    """The mean over blocks of the unbiased discrepancy, and the standard error of that mean."""
    random = np.random.RandomState(0)
    real, generated = random.randn(7, 3), random.randn(9, 3) + 0.5

    def discrepancy(one, other):
        kernel = lambda a, b: (a @ b.T / 3 + 1) ** 3
        inside = [(kernel(each, each).sum() - np.trace(kernel(each, each))) / (len(each) * (len(each) - 1)) for each in (one, other)]
        return sum(inside) - 2 * kernel(one, other).mean()

    blocks = [discrepancy(real[:2], generated[:3]), discrepancy(real[2:4], generated[3:6]), discrepancy(real[4:], generated[6:])]
    evaluation = tf.contrib.gan.eval
    with tf.Session() as session:
        found = session.run(evaluation.kernel_classifier_distance_and_std_from_activations(tf.constant(real), tf.constant(generated), 3))
        whole, error = session.run(evaluation.kernel_classifier_distance_and_std(tf.constant(real), tf.constant(generated), tf.identity))
        alone = session.run(evaluation.kernel_classifier_distance_from_activations(tf.constant(real), tf.constant(generated), dtype=tf.float32))
    np.testing.assert_allclose(found, [np.mean(blocks), np.std(blocks, ddof=1) / np.sqrt(3)])
    np.testing.assert_allclose([whole, alone], discrepancy(real, generated), rtol=1e-4)
    assert np.isnan(error) and alone.dtype == np.float32


@pytest.mark.parametrize("use_svd", [False, True])
def test_sliced_wasserstein_distance(use_svd):
    random = np.random.RandomState(0)
    real, other = random.uniform(-1.0, 1.0, [4, 32, 32, 3]), np.tile(random.uniform(-1.0, 1.0, [4, 32, 1, 1]), [1, 1, 32, 3])  # noise, stripes
    distance = tf.contrib.gan.eval.sliced_wasserstein_distance
    tf.set_random_seed(1)
    with tf.Session() as session:
        same, apart = session.run([distance(tf.constant(real), tf.constant(each), patches_per_image=64, use_svd=use_svd) for each in (real, other)])
    assert len(same) == len(apart) == 2
    for (within, equal), (_, different) in zip(same, apart):
        assert 0.5 < equal / within < 2.0 and different > 1.5 * equal, (within, equal, different)
    with pytest.raises(ValueError):
        distance(tf.zeros([1, 16, 16, 1]), tf.zeros([1, 16, 16, 1]))


def test_the_laplacian_pyramid_adds_up():
    """A constant image has no detail, and its coarse levels are itself."""
    from penstock.contrib.gan.sliced_wasserstein import _laplacian_pyramid  # the levels are not public
    with tf.Session() as session:
        fine, middle, coarse = session.run(_laplacian_pyramid(tf.fill([1, 16, 16, 3], 0.5), 3))
    np.testing.assert_allclose(fine, 0.0, atol=1e-6)
    np.testing.assert_allclose(middle, 0.0, atol=1e-6)
    np.testing.assert_allclose(coarse, 0.5, rtol=1e-6)
    assert coarse.shape == (1, 4, 4, 3)
