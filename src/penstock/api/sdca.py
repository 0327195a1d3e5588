"""The functions of stochastic dual coordinate ascent that ``tf.train`` has: as TensorFlow generates them from their operations."""
from __future__ import annotations

from penstock.api.generated import function_of
from penstock.ops.state.sdca import SdcaFprint, SdcaOptimizer, SdcaShrinkL1

sdca_fprint = function_of(SdcaFprint, "sdca_fprint")
sdca_optimizer = function_of(SdcaOptimizer, "sdca_optimizer")
sdca_shrink_l1 = function_of(SdcaShrinkL1, "sdca_shrink_l1")
