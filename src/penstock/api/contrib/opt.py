"""``tf.contrib.opt``: optimizers beyond those of ``tf.train``, optimizers around others, and SciPy's."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.contrib.opt.adam": "AdaMaxOptimizer AdamGSOptimizer LazyAdamGSOptimizer LazyAdamOptimizer NadamOptimizer",
    "penstock.contrib.opt.signs": "AddSignOptimizer PowerSignOptimizer",
    "penstock.contrib.opt.weight_decay": "AdamWOptimizer DecoupledWeightDecayExtension MomentumWOptimizer extend_with_decoupled_weight_decay",
    "penstock.contrib.opt.layerwise": "LARSOptimizer RegAdagradOptimizer",
    "penstock.contrib.opt.wrappers": "DropStaleGradientOptimizer MovingAverageOptimizer MultitaskOptimizerWrapper VariableClippingOptimizer "
                                     "clip_gradients_by_global_norm",
    "penstock.contrib.opt.averaging": "AGNCustomGetter AGNOptimizer ElasticAverageCustomGetter ElasticAverageOptimizer ModelAverageCustomGetter "
                                      "ModelAverageOptimizer",
    "penstock.contrib.opt.second_order": "GGTOptimizer ShampooOptimizer",
    "penstock.contrib.opt.external": "ExternalOptimizerInterface ScipyOptimizerInterface",
}
publish(__name__, TABLE)
