"""``tf.quantization``: simulated quantization, and integers of 8 bits."""
from __future__ import annotations

from penstock.api._table import publish

TABLE = {
    "penstock.ops.array.quantize": "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient fake_quant_with_min_max_vars "
                             "fake_quant_with_min_max_vars_gradient fake_quant_with_min_max_vars_per_channel "
                             "fake_quant_with_min_max_vars_per_channel_gradient quantize_and_dequantize",
    "penstock.ops.nn.quantized": "quantize dequantize",
    "penstock.ops.nn.quantized_layers": "quantized_concat",
}
publish(__name__, TABLE)
