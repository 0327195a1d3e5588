"""Examples of simulated quantization, and of integers of 8 bits."""
from __future__ import annotations

import numpy as np

import penstock as tf
from support.examples import example, integers, normal, uniform


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


# --- integers of 8 bits ----------------------------------------------------------------------------------------------

def quantized(array, dtype="quint8"):
    """What builds a tensor of this quantized type: arrays have none."""
    return lambda: tf.bitcast(tf.constant(array), tf.as_dtype(dtype))


def octets(*shape):
    """All integers that 8 bits hold."""
    return integers(*shape, high=256, dtype=np.uint8)


_A, _B = (np.float32(-1), np.float32(2)), (np.float32(-0.5), np.float32(1))
for _mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
    example("QuantizeV2", single(3, 4), *_A, T=tf.quint8, mode=_mode, grad=False, types=())
    example("QuantizeV2", single(3, 4), *_B, T=tf.qint8, mode=_mode, grad=False, types=())
    example("Dequantize", quantized(octets(3, 4)), *_A, mode=_mode, grad=False, types=())
    example("Dequantize", quantized(octets(3, 4).view(np.int8), "qint8"), *_B, mode=_mode, grad=False, types=())
example("QuantizedMatMul", quantized(octets(3, 5)), quantized(octets(5, 2)), *_A, *_B, grad=False, types=())
example("QuantizedMatMul", quantized(octets(5, 3)), quantized(octets(2, 5).view(np.int8), "qint8"), *_A, *_B, transpose_a=True, transpose_b=True,
        grad=False, types=())
example("QuantizedConv2D", quantized(octets(2, 5, 4, 3)), quantized(octets(3, 2, 3, 2)), *_A, *_B, strides=[1, 2, 1, 1], padding="SAME", grad=False,
        types=())
example("RequantizationRange", quantized(integers(3, 4, low=-2000, high=3000), "qint32"), np.float32(-9e4), np.float32(9e4), grad=False, types=())
example("Requantize", quantized(integers(3, 4, low=-90000, high=90000), "qint32"), np.float32(-9e4), np.float32(9e4), np.float32(-3), np.float32(2),
        out_type=tf.quint8, grad=False, types=())
example("QuantizedRelu", quantized(octets(3, 4)), *_A, grad=False, types=())
example("QuantizedRelu6", quantized(octets(3, 4)), np.float32(-4), np.float32(9), grad=False, types=())
example("QuantizedReluX", quantized(octets(3, 4)), np.float32(1), *_A, grad=False, types=())
example("QuantizedBiasAdd", quantized(octets(3, 4)), quantized(octets(4)), *_A, *_B, out_type=tf.qint32, grad=False, types=())
for _pool in ("QuantizedMaxPool", "QuantizedAvgPool"):
    example(_pool, quantized(octets(2, 5, 4, 3)), *_A, ksize=[1, 2, 3, 1], strides=[1, 2, 1, 1], padding="SAME", grad=False, types=())
example("QuantizedConcat", np.int32(1), [quantized(octets(3, 4)), quantized(octets(3, 2))], [_A[0], _B[0]], [_A[1], _B[1]], grad=False, types=())
example("QuantizedReshape", quantized(octets(3, 4)), np.int32([2, 6]), *_A, grad=False, types=())
example("QuantizeDownAndShrinkRange", quantized(integers(3, 4, low=-2000, high=3000), "qint32"), np.float32(-9e4), np.float32(9e4),
        out_type=tf.quint8, grad=False, types=())
