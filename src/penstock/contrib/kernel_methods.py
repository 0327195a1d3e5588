"""``tf.contrib.kernel_methods``: linear models of features in which a kernel is nearly a product (Rahimi and Recht 2007)."""
from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.layers.losses import Reduction, compute_weighted_loss


class InvalidShapeError(Exception):
    """The rows have another size than the mapper."""


class DenseKernelMapper(ABC):
    """What maps rows of numbers to features, in which a kernel is a product."""

    @abstractmethod
    def map(self, input_tensor: Any) -> Any:
        """The features of each row."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the mapper."""

    @property
    @abstractmethod
    def output_dim(self) -> int:
        """The number of features."""


class RandomFourierFeatureMapper(DenseKernelMapper):
    """``tf.contrib.kernel_methods.RandomFourierFeatureMapper``: cosines of random projections, for the kernel of a normal distribution."""

    def __init__(self, input_dim: int, output_dim: int, stddev: float = 1.0, seed: int = 1, name: str | None = None) -> None:
        self._input_dim, self._output_dim, self._stddev, self._seed, self._name = input_dim, output_dim, stddev, seed, name

    @property
    def name(self) -> str:
        """The name of the mapper."""
        return self._name or str(id(self))

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
        if input_tensor.shape.ndims is None:
            raise ValueError(f"A mapper needs rows of {self._input_dim} numbers, got a tensor of unknown rank: {input_tensor}.")
        if input_tensor.shape.ndims != 2 or input_tensor.shape[1].value != self._input_dim:
            raise InvalidShapeError(f"Invalid dimension: expected rows of {self._input_dim} numbers, got the shape {input_tensor.shape}.")
        generator = np.random.RandomState(self._seed)
        projection = generator.normal(scale=1.0 / self._stddev, size=(self._input_dim, self._output_dim))
        shift = generator.uniform(low=0.0, high=2 * math.pi, size=self._output_dim)
        product = tf.matmul(input_tensor, tf.constant(projection, input_tensor.dtype)) + tf.constant(shift, input_tensor.dtype)
        return math.sqrt(2.0 / self._output_dim) * tf.cos(product)


def sparse_multiclass_hinge_loss(labels: Any, logits: Any, weights: Any = 1.0, scope: str | None = None,
                                 loss_collection: str = tf.GraphKeys.LOSSES, reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS) -> Any:
    """``tf.contrib.kernel_methods.sparse_multiclass_hinge_loss``: how far the best wrong class comes within 1 of the right one."""
    with tf.name_scope(scope, "sparse_multiclass_hinge_loss", [logits, labels]) as scope:
        labels, logits, weights = tf.convert_to_tensor(labels), tf.convert_to_tensor(logits), tf.convert_to_tensor(weights)
        _check_ranks(labels, logits, weights)
        logits = tf.cast(logits, tf.float32)
        batch, classes = tf.unstack(tf.shape(logits))
        with tf.control_dependencies([tf.assert_less(labels, tf.cast(classes, labels.dtype))]):
            labels = tf.reshape(labels, [-1])
        if weights.shape.ndims:
            weights = tf.reshape(weights, [-1])
            weights.shape.assert_is_compatible_with(labels.shape)
        places = tf.stack([tf.range(batch), tf.cast(labels, tf.int32)], 1)
        right = tf.gather_nd(logits, places)[:, None]
        margins = logits - right + tf.one_hot(labels, classes, on_value=0.0, off_value=1.0)
        return compute_weighted_loss(tf.reduce_max(tf.relu(margins), 1), weights, scope, loss_collection, reduction=reduction)


def _check_ranks(labels: Any, logits: Any, weights: Any) -> None:
    if logits.shape.ndims != 2:
        raise ValueError(f"logits should have rank 2 ([batch_size, num_classes]). Given rank is {logits.shape.ndims}: {logits}.")
    if labels.dtype not in (tf.int32, tf.int64):
        raise ValueError(f"Invalid dtype for labels: {labels.dtype}. Acceptable dtypes: int32 and int64")
    if labels.shape.ndims not in (1, 2):
        raise ValueError(f"labels should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). Given rank is {labels.shape.ndims}: {labels}.")
    if weights.shape.ndims not in (0, 1, 2):
        raise ValueError(f"non-scalar weights should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). Given rank is {weights.shape.ndims}.")
