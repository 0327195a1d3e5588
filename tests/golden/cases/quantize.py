"""Simulated quantization."""


def cases(tf, np):
    """(name, function) pairs."""
    def gradients(function, *inputs):
        xs = [tf.constant(x) for x in inputs]
        return [tf.identity(g) for g in tf.gradients(function(*xs), xs)]

    quantization = tf.quantization
    values = np.float32([[-10.0, -0.55, -0.1, 0.0], [0.1, 0.7, 3.0, 20.0]])
    bounds = np.float32([-1.0, -2.0, 0.0, 0.5]), np.float32([1.0, 0.3, 0.0, 5.0])

    yield "args", lambda: quantization.fake_quant_with_min_max_args(values)
    yield "args range", lambda: quantization.fake_quant_with_min_max_args(values, -1, 2, num_bits=4, narrow_range=True)
    yield "args bad range", lambda: quantization.fake_quant_with_min_max_args(values, 2, 1)
    yield "args gradient", lambda: gradients(lambda x: quantization.fake_quant_with_min_max_args(x, -1, 2), values)
    yield "vars", lambda: [quantization.fake_quant_with_min_max_vars(values, low, high) for low, high in [(-1.0, 2.0), (0.5, 5.0), (-3.0, -1.0)]]
    yield "vars empty range", lambda: quantization.fake_quant_with_min_max_vars(values, 0.0, 0.0)
    yield "vars gradient", lambda: gradients(quantization.fake_quant_with_min_max_vars, values, np.float32(-0.5), np.float32(2.0))
    yield "channels", lambda: quantization.fake_quant_with_min_max_vars_per_channel(values, bounds[0], bounds[1], num_bits=6)
    yield "channels gradient", lambda: gradients(quantization.fake_quant_with_min_max_vars_per_channel, values, bounds[0], bounds[1])
    yield "round trip", lambda: quantization.quantize_and_dequantize(values, 0.0, 0.0)
    yield "round trip range", lambda: quantization.quantize_and_dequantize(values, -1.0, 2.0, range_given=True, num_bits=5)
    yield "round trip unsigned", lambda: quantization.quantize_and_dequantize(np.abs(values), 0.0, 2.0, range_given=True, signed_input=False)
    yield "round trip half up", lambda: quantization.quantize_and_dequantize(
        np.float32([0.5, 1.5, -0.5, -1.5]), -128.0, 127.0, range_given=True, round_mode="HALF_UP", narrow_range=True)
    yield "round trip gradient", lambda: gradients(lambda x: quantization.quantize_and_dequantize(x, -1.0, 2.0, range_given=True), values)
