"""Examples of the optimizers' update ops, dense and sparse, for both kinds of variables."""
import numpy as np

from penstock.graph.opdef import REGISTRY
from support.examples import example, ints, normal, positive, resource, variable

ROWS = ints(2, 0, 2)  # one row twice: applied one after the other
SCALARS = {"lr": 0.1, "alpha": 0.1, "momentum": 0.9, "rho": 0.9, "epsilon": 0.01, "beta1": 0.9, "beta2": 0.99, "beta1_power": 0.81,
           "beta2_power": 0.98, "l1": 0.05, "l2": 0.1, "l2_shrinkage": 0.2, "lr_power": -0.5, "sign_decay": 0.8, "beta": 0.9, "logbase": 1.0}
FLOATS = ["float16", "float32", "float64"]

for op_type in sorted(name for name, definition in REGISTRY.items() if definition.__module__ == "penstock.ops.state.training"):
    definition = REGISTRY[op_type]
    holder = resource if "Resource" in op_type else variable
    sparse = "Sparse" in op_type
    inputs = []
    for arg in definition.inputs:
        if arg.name in SCALARS:
            inputs.append(np.array(SCALARS[arg.name]))
        elif arg.name == "global_step":
            inputs.append(np.array(3, np.int64))
        elif arg.name == "indices":
            inputs.append(np.array([2, -1, 0], np.int32) if op_type.startswith("_Padded") else ROWS)
        elif arg.name in ("grad", "delta"):
            inputs.append(normal(3, 2) if sparse else normal(4, 2))
        else:  # the variable, or a slot
            inputs.append(holder(positive(4, 2)))
    example(op_type, *inputs, types=["float64"] if holder is resource else FLOATS, precision=20.0)
