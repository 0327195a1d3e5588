"""``tf.train.experimental.enable_mixed_precision_graph_rewrite``: the optimizer's loss is scaled. Operations stay as wide as they are: TensorFlow
makes them narrow on GPUs with tensor cores only, and leaves those of CPUs alone."""
from __future__ import annotations

from typing import Any

from penstock.keras.mixed_precision.loss_scale_optimizer import LossScaleOptimizer
from penstock.keras.optimizers.optimizer import OptimizerV2
from penstock.train.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from penstock.train.optimizer import Optimizer


def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """The optimizer with a scaled loss."""
    if isinstance(opt, (LossScaleOptimizer, MixedPrecisionLossScaleOptimizer)):
        raise ValueError(f'"opt" must not already be an instance of a {type(opt).__name__}. `enable_mixed_precision_graph_rewrite` will '
                         f"automatically wrap the optimizer with a {type(opt).__name__}.")
    if isinstance(opt, Optimizer):
        return MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    if isinstance(opt, OptimizerV2):
        return LossScaleOptimizer(opt, loss_scale)
    raise ValueError('"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, but got: ' + str(opt))


def disable_mixed_precision_graph_rewrite() -> None:
    """Nothing: operations were not made narrow."""
