"""Examples of simulated quantization."""
from __future__ import annotations

import numpy as np

from support.examples import example, normal, uniform


def single(*shape: int) -> np.ndarray:
    """float32 numbers: these ops take nothing else."""
    return normal(*shape).astype(np.float32)


# The gradients pretend that nothing was rounded, so they differ from the numeric ones.
example("FakeQuantWithMinMaxArgs", single(3, 4), min=-1.0, max=1.5, grad=False)
example("FakeQuantWithMinMaxArgsGradient", single(3, 4), single(3, 4), min=-1.0, max=1.5, grad_inputs=(0,), tolerance=1e-2)
example("FakeQuantWithMinMaxVars", single(3, 4), np.float32(-1), np.float32(1.5), num_bits=4, grad=False)
example("FakeQuantWithMinMaxVarsGradient", single(3, 4), single(3, 4), np.float32(-1), np.float32(1.5), grad=False)
example("FakeQuantWithMinMaxVarsPerChannel", single(3, 2), np.float32([-1, -0.1]), np.float32([1.5, 0.2]), narrow_range=True, grad=False)
example("FakeQuantWithMinMaxVarsPerChannelGradient", single(3, 2), single(3, 2), np.float32([-1, -0.1]), np.float32([1.5, 0.2]), grad=False)
example("QuantizeAndDequantize", uniform(3, 4), grad=False)
example("QuantizeAndDequantizeV2", uniform(3, 4), -0.5, 0.8, range_given=True, num_bits=4, round_mode="HALF_UP", grad=False)
example("QuantizeAndDequantizeV3", uniform(3, 4), -0.5, 0.8, np.int32(5), narrow_range=True, grad=False)
