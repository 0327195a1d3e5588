"""``tf.contrib.kernel_methods``: linear models of features in which a kernel is nearly a product (Rahimi and Recht 2007)."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.layers.losses import Reduction, compute_weighted_loss


class RandomFourierFeatureMapper:
    """``tf.contrib.kernel_methods.RandomFourierFeatureMapper``: cosines of random projections, for the kernel of a normal distribution."""

    def __init__(self, input_dim: int, output_dim: int, stddev: float = 1.0, seed: int = 1, name: str | None = None) -> None:
        if stddev <= 0.0:
            raise ValueError(f"The standard deviation must be positive, got stddev={stddev}.")
        self._input_dim, self._output_dim, self._stddev, self._seed, self._name = input_dim, output_dim, stddev, seed, name

    @property
    def name(self) -> str:
        """The name of the mapper."""
        return self._name or "random_fourier_feature_mapper"

    @property
    def input_dim(self) -> int:
        """The size of what is mapped."""
        return self._input_dim

    @property
    def output_dim(self) -> int:
        """The number of features."""
        return self._output_dim

    def map(self, input_tensor: Any) -> Any:
        """The features of each row."""
        input_tensor = tf.convert_to_tensor(input_tensor, name="input")
        if input_tensor.shape.ndims != 2 or input_tensor.shape[1].value != self._input_dim:
            raise InvalidShapeError(f"Invalid dimension: expected rows of {self._input_dim} numbers, got the shape {input_tensor.shape}.")
        generator = np.random.RandomState(self._seed)
        projection = generator.normal(scale=1.0 / self._stddev, size=(self._input_dim, self._output_dim))
        shift = generator.uniform(low=0.0, high=2 * math.pi, size=self._output_dim)
        product = tf.matmul(input_tensor, tf.constant(projection, input_tensor.dtype)) + tf.constant(shift, input_tensor.dtype)
        return math.sqrt(2.0 / self._output_dim) * tf.cos(product)


class InvalidShapeError(Exception):
    """The rows have another size than the mapper."""


def sparse_multiclass_hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
                                 loss_collection: str = tf.GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Any:
    """``tf.contrib.kernel_methods.sparse_multiclass_hinge_loss``: how far the best wrong class comes within 1 of the right one."""
    with tf.name_scope(scope, "sparse_multiclass_hinge_loss", [logits, labels]):
        labels, logits = tf.convert_to_tensor(labels), tf.convert_to_tensor(logits)
        if logits.shape.ndims not in (None, 2):
            raise ValueError(f"The provided logits tensor does not have the proper rank: 2 expected, got the shape {logits.shape}.")
        if not labels.dtype.is_integer:
            raise ValueError(f"Invalid dtype for labels: {labels.dtype}. Acceptable dtypes: int32 and int64")
        if labels.shape.ndims == 2:
            labels = tf.squeeze(labels, 1)
        if labels.shape.ndims != 1:
            raise ValueError(f"The labels have the shape [batch] or [batch, 1], got {labels.shape}.")
        weights = tf.convert_to_tensor(weights)
        if weights.shape.ndims == 2:
            weights = tf.squeeze(weights, 1)
        is_label = tf.one_hot(labels, tf.shape(logits)[1], dtype=logits.dtype)
        right = tf.reduce_sum(is_label * logits, 1, keepdims=True)
        losses = tf.reduce_max(logits - right + 1 - is_label, 1)
        return compute_weighted_loss(tf.maximum(losses, 0), weights, scope, loss_collection, reduction=reduction)
