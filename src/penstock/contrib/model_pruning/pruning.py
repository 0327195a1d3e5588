"""How masks change while a model trains: the share of zeros grows along a polynomial, and each mask leaves the largest weights."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.contrib import prelude as tf
from penstock.contrib.model_pruning import masks
from penstock.contrib.training.hparams import HParams
from penstock.graph import dtypes
from penstock.ops.array.slicing import slice_
from penstock.ops.array.sorting import top_k
from penstock.ops.flow.control_flow import cond
from penstock.ops.flow.misc import group, no_op
from penstock.ops.math.math import zero_fraction
from penstock.ops.math.rounding import round as rounded
from penstock.ops.nn.pooling_functions import avg_pool, max_pool
from penstock.platform import logging
from penstock.summary import summary
from penstock.train.global_step import get_or_create_global_step
from penstock.variables.assign import assign
from penstock.variables.initializers import Zeros
from penstock.variables.scope import get_variable, variable_scope
from penstock.variables.store import AUTO_REUSE


def get_pruning_hparams() -> HParams:
    """The hyperparameters of `Pruning`, with their defaults."""
    return HParams(name="model_pruning", begin_pruning_step=0, end_pruning_step=-1, weight_sparsity_map=[""], block_dims_map=[""],
                   threshold_decay=0.0, pruning_frequency=10, nbins=256, block_height=1, block_width=1, block_pooling_function="AVG",
                   initial_sparsity=0.0, target_sparsity=0.5, sparsity_function_begin_step=0, sparsity_function_end_step=100,
                   sparsity_function_exponent=3.0, use_tpu=False)


class Pruning:
    """Updates the masks of a graph by the schedule of ``spec``. ``sparsity``: a tensor in the place of the schedule's share of zeros."""

    def __init__(self, spec: Any = None, global_step: Any = None, sparsity: Any = None) -> None:
        self._spec = spec or get_pruning_hparams()
        self._check()
        self._global_step = get_or_create_global_step() if global_step is None else global_step
        self._step = tf.cast(self._global_step, dtypes.int32)
        self._sparsity = self._scheduled_sparsity() if sparsity is None else sparsity
        with variable_scope(self._spec.name, reuse=AUTO_REUSE):
            self._last_update_step = get_variable("last_mask_update_step", [], initializer=Zeros(), trainable=False, dtype=dtypes.int32)
        self._assignments: list[Any] = []
        self._sparsities = self._by_weight(self._spec.weight_sparsity_map, float)
        self._blocks = self._by_weight(self._spec.block_dims_map, lambda text: tuple(int(size) for size in text.split("x")))

    def _check(self) -> None:
        spec = self._spec
        if spec.begin_pruning_step < 0:
            raise ValueError("Illegal value for begin_pruning_step")
        if spec.begin_pruning_step >= spec.end_pruning_step and spec.end_pruning_step != -1:
            raise ValueError("Pruning must begin before it can end. begin_step=%d, end_step=%d.Set end_pruning_step to -1 if pruning is required"
                             "till training stops" % (spec.begin_pruning_step, spec.end_pruning_step))
        if spec.sparsity_function_begin_step < 0:
            raise ValueError("Illegal value for sparsity_function_begin_step")
        if spec.sparsity_function_begin_step >= spec.sparsity_function_end_step:
            raise ValueError("Sparsity function requires begin_step < end_step")
        if not 0.0 <= spec.threshold_decay < 1.0:
            raise ValueError("threshold_decay must be in range [0,1)")
        for name in ("initial_sparsity", "target_sparsity"):
            if not 0.0 <= getattr(spec, name) < 1.0:
                raise ValueError(f"{name} must be in range [0,1)")
        if spec.block_pooling_function not in ("AVG", "MAX"):
            raise ValueError(f"Unknown pooling function for block sparsity: {spec.block_pooling_function}")

    @staticmethod
    def _by_weight(entries: Any, parse: Any) -> dict[str, Any]:
        """{pattern of weights' names: value} of entries such as ``conv1:0.8``."""
        pairs = [entry.rsplit(":", 1) for entry in entries if entry]
        for pair in pairs:
            if len(pair) != 2:
                raise ValueError(f"Expected entries of the form name:value, got {pair[0]!r}")
        return {name: parse(value) for name, value in pairs}

    def _for(self, name: str, values: dict[str, Any], default: Any) -> Any:
        fitting = [key for key in values if key in name]
        if len(fitting) > 1:
            raise ValueError(f"Multiple entries of the pruning map fit the weight {name}: {sorted(fitting)}")
        return values[fitting[0]] if fitting else default

    def _scheduled_sparsity(self) -> Any:
        spec = self._spec
        begin, end = spec.sparsity_function_begin_step, spec.sparsity_function_end_step
        with tf.name_scope(spec.name):
            done = tf.minimum(1.0, tf.maximum(0.0, tf.cast(self._step - begin, dtypes.float32) / (end - begin)))
            remaining = tf.pow(1 - done, float(spec.sparsity_function_exponent))
            return (spec.initial_sparsity - spec.target_sparsity) * remaining + spec.target_sparsity

    def _sparsity_of(self, name: str) -> Any:
        target = self._for(name, self._sparsities, None)
        if target is None:
            return self._sparsity
        return self._sparsity * float(np.divide(target, self._spec.target_sparsity))

    # --- one mask ---

    def _new_threshold_and_mask(self, weights: Any, threshold: Any, name: str) -> tuple[Any, Any]:
        sparsity = self._sparsity_of(name)
        with tf.name_scope(f"{name}_pruning_ops"):
            magnitudes = tf.abs(weights)
            count = int(magnitudes.shape.num_elements())
            kept = tf.cast(rounded(count * (1 - sparsity)), dtypes.int32)
            largest, _ = top_k(tf.reshape(magnitudes, [-1]), k=count)
            # At least the largest is looked at: an index of -1 does not exist.
            current = tf.gather(largest, tf.maximum(kept - 1, 0))
            decay = self._spec.threshold_decay
            smoothed = current * (1 - decay) + threshold * decay
            return smoothed, tf.cast(tf.greater_equal(magnitudes, smoothed), dtypes.float32)

    def _threshold_and_mask(self, weights: Any, threshold: Any, name: str) -> tuple[Any, Any]:
        """The mask of a weight; of one with two axes that count, block by block, if the hyperparameters ask for blocks."""
        extents = weights.shape.as_list()
        height, width = self._for(name, self._blocks, (self._spec.block_height, self._spec.block_width))
        if len([extent for extent in extents if extent > 1]) != 2 or (height, width) == (1, 1):
            return self._new_threshold_and_mask(weights, threshold, name)
        flat = tf.squeeze(weights)
        rows, columns = flat.shape.as_list()
        height, width = (rows if height == -1 else height), (columns if width == -1 else width)
        pool = avg_pool if self._spec.block_pooling_function == "AVG" else max_pool
        window = [1, height, width, 1]
        pooled = tf.squeeze(pool(tf.reshape(tf.abs(flat), [1, rows, columns, 1]), window, window, "SAME"), [0, 3])
        new_threshold, mask = self._new_threshold_and_mask(pooled, threshold, name)
        blocks = mask.shape.as_list()
        spread = tf.tile(tf.expand_dims(tf.expand_dims(mask, 1), 3), [1, height, 1, width])
        mask = slice_(tf.reshape(spread, [blocks[0] * height, blocks[1] * width]), [0, 0], [rows, columns])
        return new_threshold, tf.reshape(mask, extents)

    # --- all masks ---

    def _mask_assignments(self) -> list[Any]:
        if not self._assignments:
            updates = zip(masks.get_masks(), masks.get_thresholds(), masks.get_weights(), strict=True)
            for mask, threshold, weight in updates:
                new_threshold, new_mask = self._threshold_and_mask(tf.convert_to_tensor(weight), threshold, weight.op.name)
                self._assignments += [assign(threshold, new_threshold), assign(mask, new_mask)]
        return self._assignments

    def mask_update_op(self) -> Any:
        """An operation that computes all masks anew."""
        with tf.name_scope(self._spec.name):
            return group(assign(self._last_update_step, self._step, name="last_mask_update_step_assign"), *self._mask_assignments())

    def conditional_mask_update_op(self) -> Any:
        """An operation that computes the masks anew every ``pruning_frequency`` steps between the first and the last step of pruning."""
        spec = self._spec

        def due() -> Any:
            started = tf.greater_equal(self._step, spec.begin_pruning_step)
            going_on = tf.less_equal(self._step, spec.end_pruning_step) if spec.end_pruning_step >= 0 else True
            again = tf.less_equal(self._last_update_step + spec.pruning_frequency, self._step)
            return tf.logical_and(tf.logical_and(started, going_on), again)

        with tf.name_scope(spec.name):
            return cond(due(), self.mask_update_op, no_op)

    def add_pruning_summaries(self) -> None:
        """Summaries of the schedule, and of each mask's share of zeros and threshold."""
        with tf.name_scope(self._spec.name + "_summaries"):
            summary.scalar("sparsity", self._sparsity)
            summary.scalar("last_mask_update_step", self._last_update_step)
            for mask, threshold in zip(masks.get_masks(), masks.get_thresholds(), strict=True):
                summary.scalar(mask.op.name + "/sparsity", zero_fraction(mask))
                summary.scalar(threshold.op.name + "/threshold", threshold)

    def print_hparams(self) -> None:
        """Logs the hyperparameters."""
        logging.info(self._spec.to_json())
