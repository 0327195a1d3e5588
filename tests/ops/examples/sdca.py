"""Examples of stochastic dual coordinate ascent."""
import numpy as np

from support.examples import example, strings, variable

ROWS, FEATURES, IDS = np.array([0, 0, 1, 2]), np.array([3, 5, 5, 3]), np.array([3, 5])
VALUES = np.array([1, 2, -1, 0.5], np.float32)
DENSE = np.array([[1, 2], [0.5, -1], [0, 1]], np.float32)
WEIGHTS, LABELS = np.array([1, 2, 1], np.float32), np.array([0, 1, 1], np.float32)
STATE = np.zeros((3, 4), np.float32)

example("SdcaFprint", strings("example", "another", "", "x" * 200))
example("SdcaShrinkL1", [variable(np.array([0.5, -0.25, 2], np.float32))], l1=0.5, l2=1.0)
for name, spelling in (("SdcaOptimizer", "adaptative"), ("SdcaOptimizerV2", "adaptive")):
    for loss, chosen in (("logistic_loss", True), ("squared_loss", False), ("hinge_loss", False), ("smooth_hinge_loss", True),
                         ("poisson_loss", False)):
        example(name, [ROWS], [FEATURES], [VALUES], [DENSE], WEIGHTS, LABELS, [IDS], [np.array([0.1, -0.2], np.float32)],
                [np.array([0.3, 0], np.float32)], STATE, loss_type=loss, l1=0.1, l2=1.0, num_loss_partitions=1, num_inner_iterations=1,
                **{spelling: chosen})
