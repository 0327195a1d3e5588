"""Examples of comparisons and logic."""
import numpy as np

from support.examples import bools, example, integers, ints, normal, strings

example("Equal", ints(1, 2, 3), ints(1, 3, 3))
example("Equal", strings("a", "b"), strings("a", "c"))
example("Equal", ints(1, 2, 3), ints(1, 2, 4), incompatible_shape_error=False)
example("NotEqual", ints(1, 2, 3), ints(1, 3, 3))
example("NotEqual", bools(3), bools(3))
for name in ("Less", "LessEqual", "Greater", "GreaterEqual"):
    example(name, integers(2, 3, high=3), integers(3, high=3))
    example(name, normal(2, 3), normal(2, 1))
example("LogicalAnd", bools(2, 3), bools(3))
example("LogicalOr", bools(2, 3), bools(3))
example("LogicalNot", bools(2, 3))
for name in ("IsNan", "IsInf", "IsFinite"):
    example(name, np.array([1.0, np.nan, np.inf, -np.inf]))
example("ApproximateEqual", np.array([1.0, 2.0]), np.array([1.0 + 1e-7, 2.5]))
example("ApproximateEqual", np.array([1, 2], np.uint8), np.array([2, 2], np.uint8))
