"""Simulated quantization, and integers of 8 bits."""


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

    # integers of 8 bits
    raw = tf.raw_ops
    octets = np.arange(0, 252, 9, dtype=np.uint8)

    def as_quantized(array, dtype):
        return tf.bitcast(tf.constant(array), dtype)

    def plain(results, dtype):
        return [tf.bitcast(results[0], dtype), *[tf.identity(each) for each in results[1:]]]

    for dtype, stored in ((tf.quint8, tf.uint8), (tf.qint8, tf.int8)):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for low, high in ((-1.0, 2.0), (0.5, 3.0), (-3.0, -1.0)) if dtype == tf.qint8 or mode != "SCALED" else ((-1.0, 2.0), (0.5, 3.0)):
                name = "%s %s %g" % (dtype.name, mode, low)
                yield "quantize " + name, lambda d=dtype, s=stored, m=mode, a=low, b=high: plain(quantization.quantize(values, a, b, d, m), s)
                yield "dequantize " + name, lambda d=dtype, s=stored, m=mode, a=low, b=high: quantization.dequantize(
                    as_quantized(octets.astype(s.as_numpy_dtype), d), a, b, m)
    yield "quantize half to even", lambda: plain(quantization.quantize(
        np.float32([0.5, 1.5, 2.5, -0.5]), -128.0, 127.0, tf.qint8, "SCALED", "HALF_TO_EVEN"), tf.int8)
    yield "quantize bad range", lambda: quantization.quantize(values, 2.0, 1.0, tf.quint8)
    yield "quantize bad rounding", lambda: quantization.quantize(values, -1.0, 1.0, tf.quint8, round_mode="HALF_TO_EVEN")

    def multiplied(first, second, low=-1.0, **options):
        left, right = (as_quantized(octets.reshape(shape), tf.quint8) for shape in (first, second))
        return raw.QuantizedMatMul(a=left, b=right, min_a=low, max_a=2.0, min_b=-3.0, max_b=1.0, **options)

    def product(low=-1.0):
        return multiplied((4, 7), (7, 4), low)

    def requantized():
        sums = product()
        low, high = raw.RequantizationRange(input=sums[0], input_min=sums[1], input_max=sums[2])
        return raw.Requantize(input=sums[0], input_min=sums[1], input_max=sums[2], requested_output_min=low, requested_output_max=high,
                              out_type=tf.quint8)

    yield "quantized product", lambda: plain(product(), tf.int32)
    yield "quantized product without zero", lambda: plain(product(0.7), tf.int32)
    yield "quantized transposed product", lambda: plain(multiplied((7, 4), (4, 7), transpose_a=True, transpose_b=True), tf.int32)
    yield "quantized product that does not fit", lambda: multiplied((7, 4), (7, 4))
    for stride, padding in ((1, "SAME"), (2, "VALID")):
        yield "quantized convolution " + padding, lambda s=stride, p=padding: plain(tf.nn.quantized_conv2d(
            as_quantized(np.arange(0, 240, 2, dtype=np.uint8).reshape(2, 5, 4, 3), tf.quint8),
            as_quantized(np.arange(0, 216, 6, dtype=np.uint8).reshape(3, 2, 3, 2), tf.quint8), -1.0, 1.0, -0.5, 2.0, [1, s, s, 1], p), tf.int32)
    yield "requantization range", lambda: [tf.identity(each) for each in raw.RequantizationRange(
        input=product()[0], input_min=product()[1], input_max=product()[2])]
    yield "requantized", lambda: plain(requantized(), tf.uint8)
    yield "requantized bad range", lambda: raw.Requantize(input=product()[0], input_min=-1.0, input_max=1.0, requested_output_min=1.0,
                                                          requested_output_max=2.0, out_type=tf.quint8)
    yield "quantized relu", lambda: plain(raw.QuantizedRelu(features=as_quantized(octets, tf.quint8), min_features=-1.0, max_features=2.0), tf.uint8)
