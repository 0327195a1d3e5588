"""Random programs that train: the variables are changed by assignments, scatters and optimizers, dense and sparse."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as tf
from support.random_corners import Corners

OPTIMIZERS = [
    lambda: tf.train.GradientDescentOptimizer(0.1), lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    lambda: tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True), lambda: tf.train.AdamOptimizer(0.01), lambda: tf.train.AdagradOptimizer(0.1),
    lambda: tf.train.AdadeltaOptimizer(0.5), lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    lambda: tf.train.RMSPropOptimizer(0.01, centered=True), lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01),
    lambda: tf.train.ProximalAdagradOptimizer(0.1), lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l2_regularization_strength=0.1),
]
SCATTERS = [tf.scatter_add, tf.scatter_sub, tf.scatter_mul, tf.scatter_update, tf.scatter_max, tf.scatter_min]


class Training(Corners):
    """Changes the variables, too."""

    def updates(self) -> list[Any]:
        """An operation or a tensor per variable. What they need is computed before the first of them runs: it may depend on several variables."""
        planned = [self.update(variable, variable.shape.as_list()) for variable in self.variables]
        with tf.control_dependencies([operand for operand, _ in planned]):
            return [change(operand) for operand, change in planned]

    def update(self, variable: Any, shape: list[int]) -> tuple[Any, Callable[[Any], Any]]:
        """What a variable is changed by, and what makes the change."""
        kind = self.random.random()
        if kind < 0.3:
            return self.fitted(self.pick(), shape), self.random.choice([variable.assign_add, variable.assign_sub, variable.assign])
        rows = shape[0] if shape else 0
        if kind < 0.45 and rows:
            return self.scattered(variable, shape)
        gradient = self.gradients(self.pick(), [variable])[0] if self.chance(0.3) else None
        if gradient is None:
            gradient = self.slices(shape) if rows and self.chance() else self.fitted(self.pick(), shape)
        optimizer = self.random.choice(OPTIMIZERS)()
        return gradient, lambda gradient: optimizer.apply_gradients([(gradient, variable)])

    def scattered(self, variable: Any, shape: list[int]) -> tuple[Any, Callable[[Any], Any]]:
        """Some rows, each at most once if what comes last wins."""
        op = self.random.choice(SCATTERS)
        if op is tf.scatter_update:
            rows = tf.constant(self.values.permutation(shape[0])[:3], tf.int32)
        else:
            rows = self.indices(shape[0], self.random.randint(0, 6))
        return self.fitted(self.pick(), [rows.shape[0].value, *shape[1:]]), lambda values: op(variable, rows, values)

    def slices(self, shape: list[int]) -> tf.IndexedSlices:
        """A sparse gradient, with rows that occur twice."""
        rows = self.indices(shape[0], self.random.randint(0, 6))
        return tf.IndexedSlices(self.fitted(self.pick(), [rows.shape[0].value, *shape[1:]]), rows, tf.constant(shape))
