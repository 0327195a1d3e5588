"""Resizing of images on a device: a sparse matrix applied along one axis, then along the other."""
from __future__ import annotations

import math

import numpy as np

from penstock.native.calls import Array
from penstock.native.kernels.resampling import Resampling
from penstock.opencl.source import Operand, kernel_text

_BODY = """
  long e = get_global_id(0), out = get_global_id(1), entry = get_global_id(2); if (e >= inner || out >= outputs) return;
  float total = 0;
  for (long t = starts[out]; t < starts[out + 1]; t++) total += weights[t] * source[(entry * inputs + indices[t]) * inner + e];
  result[(entry * outputs + out) * inner + e] = total;
"""


class DeviceResampling(Resampling):
    """Batches of images, [n, height, width, channels], of float32."""

    def _along(self, array: Array, axis: int, matrix: np.ndarray) -> Array:
        outer, inner = math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1:])
        result = self.emit.empty([*array.shape[:axis], len(matrix), *array.shape[axis + 1:]], array.dtype)
        if result.size:
            lines, indices = np.nonzero(matrix)
            starts = np.searchsorted(lines, np.arange(len(matrix) + 1)).astype(np.int64)
            tables = [self.emit.constant(each) for each in (starts, indices.astype(np.int64), matrix[lines, indices].astype(np.float32))]
            names = [Operand("source", "float"), Operand("starts", "long"), Operand("indices", "long"), Operand("weights", "float"),
                     Operand("result", "float")]
            self.emit.launch(kernel_text(names, ["inner", "outputs", "inputs"], _BODY), [self.emit.contiguous(array), *tables, result],
                             [inner, len(matrix), matrix.shape[1]], (inner, len(matrix), outer), "resample", flops=2 * outer * inner * len(indices))
        return result
