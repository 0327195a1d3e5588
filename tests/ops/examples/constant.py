"""Examples of ops/constant."""
import numpy as np

from support.examples import example, normal, strings

example("Const", value=np.arange(6.0).reshape(2, 3), dtype=np.float64)
example("Const", value=strings("a", "bc"), dtype=str)
example("Placeholder", dtype=np.float32, shape=[2, None], run=False)
example("PlaceholderWithDefault", normal(2, 3), shape=[2, 3])
example("Identity", normal(2, 3))
