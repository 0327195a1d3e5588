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

    # layers between products
    images = np.arange(0, 240, 2, dtype=np.uint8).reshape(2, 5, 4, 3) * np.uint8(7)
    for low, high in ((-1.0, 2.0), (0.0, 9.0), (-20.0, 3.0)):
        name = "%g to %g" % (low, high)
        yield "quantized bias " + name, lambda a=low, b=high: plain(raw.QuantizedBiasAdd(
            input=as_quantized(images, tf.quint8), bias=as_quantized(np.uint8([3, 128, 250]), tf.quint8), min_input=a, max_input=b, min_bias=-0.5,
            max_bias=1.5, out_type=tf.qint32), tf.int32)
        yield "quantized relu6 " + name, lambda a=low, b=high: plain(raw.QuantizedRelu6(
            features=as_quantized(octets, tf.quint8), min_features=a, max_features=b), tf.uint8)
        yield "quantized concat " + name, lambda a=low, b=high: plain(tf.quantization.quantized_concat(
            3, [as_quantized(images, tf.quint8), as_quantized(images[..., :2], tf.quint8)], [a, -1.0], [b, 2.0]), tf.uint8)
    yield "quantized bias of signed integers", lambda: plain(raw.QuantizedBiasAdd(
        input=as_quantized(images.view(np.int8), tf.qint8), bias=as_quantized(np.int8([3, -128, 127]), tf.qint8), min_input=-1.0, max_input=2.0,
        min_bias=-0.5, max_bias=1.5, out_type=tf.qint32), tf.int32)
    yield "quantized bias that does not fit", lambda: raw.QuantizedBiasAdd(
        input=as_quantized(images, tf.quint8), bias=as_quantized(np.uint8([3, 128]), tf.quint8), min_input=-1.0, max_input=2.0, min_bias=-0.5,
        max_bias=1.5, out_type=tf.qint32)
    yield "quantized relu6 of sums", lambda: plain(raw.QuantizedRelu6(
        features=product()[0], min_features=product()[1], max_features=product()[2], out_type=tf.qint32), tf.int32)
    for ksize, stride, padding in ((2, 2, "VALID"), (3, 2, "SAME")):
        for pool in ("avg", "max"):
            yield "quantized %s pool %s" % (pool, padding), lambda f=pool, k=ksize, s=stride, p=padding: plain(
                getattr(tf.nn, "quantized_%s_pool" % f)(as_quantized(images, tf.quint8), -1.0, 2.0, [1, k, k, 1], [1, s, s, 1], p), tf.uint8)
    yield "quantized reshape", lambda: plain(raw.QuantizedReshape(
        tensor=as_quantized(images, tf.quint8), shape=[2, -1], input_min=-1.0, input_max=2.0), tf.uint8)
    yield "quantized concat that does not fit", lambda: tf.quantization.quantized_concat(
        0, [as_quantized(images, tf.quint8), as_quantized(images[..., :2], tf.quint8)], [0.0, -1.0], [1.0, 2.0])
    yield "quantized down and shrunk", lambda: plain(raw.QuantizeDownAndShrinkRange(
        input=product()[0], input_min=product()[1], input_max=product()[2], out_type=tf.quint8), tf.uint8)
