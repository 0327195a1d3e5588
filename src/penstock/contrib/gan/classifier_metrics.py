"""How good generated images are, by what a classifier makes of them: the metrics of ``tf.contrib.gan.eval``."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.contrib import prelude as tf
from penstock.graph.graph_def import import_graph_def
from penstock.ops.image.image_resize import resize_bilinear
from penstock.ops.linalg.decompositions import svd
from penstock.ops.linalg.diag import trace

INCEPTION_DEFAULT_IMAGE_SIZE = 299


def preprocess_image(images: Any, height: int = INCEPTION_DEFAULT_IMAGE_SIZE, width: int = INCEPTION_DEFAULT_IMAGE_SIZE,
                     scope: str | None = None) -> tf.Tensor:
    """``preprocess_image``: resized, from [0, 255] to [-1, 1]."""
    is_single = images.shape.ndims == 3
    with tf.name_scope(scope, "preprocess", [images, height, width]):
        images = images if images.dtype.is_floating else tf.cast(images, tf.float32)
        images = tf.expand_dims(images, axis=0) if is_single else images
        resized = (resize_bilinear(images, [height, width]) - 128.0) / 128.0
        return tf.squeeze(resized, axis=0) if is_single else resized


def run_image_classifier(tensor: Any, graph_def: Any, input_tensor: str, output_tensor: Any, scope: str = "RunClassifier") -> Any:
    """``run_image_classifier``: outputs of a frozen graph for ``tensor``."""
    names = [output_tensor] if isinstance(output_tensor, str) else output_tensor
    outputs = import_graph_def(graph_def, {input_tensor: tensor}, names, name=scope)
    return outputs[0] if isinstance(output_tensor, str) else outputs


def in_batches(classifier_fn: Callable[..., Any], images: Any, batches: int) -> tf.Tensor:
    """What the classifier says, computed batch after batch."""
    stacked = tf.stack(tf.split(images, num_or_size_splits=batches))
    outputs = tf.map_fn(classifier_fn, stacked, parallel_iterations=1, back_prop=False, swap_memory=True, name="RunClassifier")
    return tf.concat(tf.unstack(outputs), 0)


def classifier_score(images: Any, classifier_fn: Callable[..., Any], num_batches: int = 1) -> tf.Tensor:
    """``classifier_score``: the Inception score, with a classifier of one's own (Salimans et al. 2016)."""
    return classifier_score_from_logits(in_batches(classifier_fn, images, num_batches))


def classifier_score_from_logits(logits: Any) -> tf.Tensor:
    """``classifier_score_from_logits``: exp of the mean divergence of an image's classes from those of all images."""
    logits.shape.assert_has_rank(2)
    exact = tf.cast(logits, tf.float64)
    p = tf.softmax(exact)
    divergence = tf.reduce_sum(p * (tf.log_softmax(exact) - tf.log(tf.reduce_mean(p, axis=0))), axis=1)
    return tf.cast(tf.exp(tf.reduce_mean(divergence)), logits.dtype)


def frechet_classifier_distance(real_images: Any, generated_images: Any, classifier_fn: Callable[..., Any], num_batches: int = 1) -> tf.Tensor:
    """``frechet_classifier_distance``: the Frechet Inception distance, with a classifier of one's own (Heusel et al. 2017)."""
    return frechet_classifier_distance_from_activations(in_batches(classifier_fn, real_images, num_batches),
                                                        in_batches(classifier_fn, generated_images, num_batches))


def _exact(*activations: Any) -> list[tf.Tensor]:
    for each in activations:
        each.shape.assert_has_rank(2)
    return [tf.cast(each, tf.float64) for each in activations]


def _mean_distance(real: tf.Tensor, generated: tf.Tensor) -> tf.Tensor:
    return tf.reduce_sum(tf.squared_difference(tf.reduce_mean(real, 0), tf.reduce_mean(generated, 0)))


def _covariance(activations: tf.Tensor) -> tf.Tensor:
    centered = activations - tf.reduce_mean(activations, 0)
    return tf.matmul(centered, centered, transpose_a=True) / (tf.cast(tf.shape(activations)[0], tf.float64) - 1)


def _square_root(symmetric: tf.Tensor) -> tf.Tensor:
    values, left, right = svd(symmetric)
    roots = tf.where(tf.less(values, 1e-10), values, tf.sqrt(values))  # the gradient of the root is infinite at 0
    return tf.matmul(tf.matmul(left, tf.diag(roots)), right, transpose_b=True)


def trace_of_root(one: tf.Tensor, other: tf.Tensor) -> tf.Tensor:
    """The trace of the root of the product of two covariances, by a product that is symmetric and has the same one."""
    root = _square_root(one)
    return trace(_square_root(tf.matmul(root, tf.matmul(other, root))))


def frechet_classifier_distance_from_activations(real_activations: Any, generated_activations: Any) -> tf.Tensor:
    """``frechet_classifier_distance_from_activations``: between the normal distributions of both sets of activations."""
    real, generated = _exact(real_activations, generated_activations)
    one, other = _covariance(real), _covariance(generated)
    distance = trace(one + other) - 2.0 * trace_of_root(one, other) + _mean_distance(real, generated)
    return tf.cast(distance, real_activations.dtype)


def mean_only_frechet_classifier_distance_from_activations(real_activations: Any, generated_activations: Any) -> tf.Tensor:
    """``mean_only_frechet_classifier_distance_from_activations``: the squared distance of the means."""
    return tf.cast(_mean_distance(*_exact(real_activations, generated_activations)), real_activations.dtype)


def diagonal_only_frechet_classifier_distance_from_activations(real_activations: Any, generated_activations: Any) -> tf.Tensor:
    """``diagonal_only_frechet_classifier_distance_from_activations``: as if activations did not depend on each other."""
    real, generated = _exact(real_activations, generated_activations)
    if real.shape[1:] != generated.shape[1:]:
        raise ValueError(f"shape: {generated.shape[1:]} must match expected shape: {real.shape[1:]}")
    one, other = (tf.reduce_mean(tf.squared_difference(each, tf.reduce_mean(each, 0)), 0) for each in (real, generated))
    distance = tf.reduce_sum((one + other) - 2.0 * tf.sqrt(tf.multiply(one, other))) + _mean_distance(real, generated)
    return tf.cast(distance, real_activations.dtype)
