"""Convolutions in all their forms, with gradients."""


def cases(tf, np):
    random = np.random.RandomState(11)

    def array(*shape):
        return random.standard_normal(shape).astype(np.float32)

    def gradient(function, *values):
        def build():
            xs = [tf.constant(value) for value in values]
            return tf.gradients(tf.square(function(*xs)), xs)
        return build

    def second(function, *values):
        def build():
            xs = [tf.constant(value) for value in values]
            first = tf.gradients(tf.square(function(*xs)), xs)
            return [g + 0.0 for g in tf.gradients([tf.square(g) for g in first], xs)]
        return build

    images, odd = array(2, 6, 7, 3), array(2, 5, 5, 3)
    filters = {1: array(1, 1, 3, 2), 2: array(2, 2, 3, 4), 3: array(3, 3, 3, 2), 4: array(4, 2, 3, 2)}
    for padding in ("SAME", "VALID"):
        for size in sorted(filters):
            for stride in ((1, 1), (2, 2), (1, 3)):
                for dilation in ((1, 1), (2, 1)):
                    if dilation != (1, 1) and (size == 4 or stride == (1, 3)):
                        continue
                    name = f"conv2d {padding} {size} {stride} {dilation}"

                    def conv(x, f, stride=stride, padding=padding, dilation=dilation):
                        return tf.nn.conv2d(x, f, [1, stride[0], stride[1], 1], padding,
                                            dilations=[1, dilation[0], dilation[1], 1])

                    yield name, lambda conv=conv, size=size: conv(images, filters[size])
                    if dilation == (1, 1):  # the gradients of TensorFlow's own CPU kernels stop here
                        yield name + " gradient", gradient(conv, images, filters[size])
    yield "conv2d second order", second(lambda x, f: tf.nn.conv2d(x, f, 1, "SAME"), odd, filters[3])
    yield "conv2d strided second order", second(lambda x, f: tf.nn.conv2d(x, f, 2, "VALID"), odd, filters[3])
    yield "conv2d old names", lambda: tf.nn.conv2d(
        input=odd, filter=filters[2], strides=[1, 1, 1, 1], padding="SAME", use_cudnn_on_gpu=False, name="old")
    yield "conv2d filters", lambda: tf.nn.conv2d(odd, filters=filters[2], strides=[2, 1], padding="VALID")
    yield "conv2d explicit", lambda: tf.nn.conv2d(odd, filters[3], 1, [[0, 0], [1, 2], [0, 1], [0, 0]])
    yield "conv2d explicit gradient", gradient(
        lambda x, f: tf.nn.conv2d(x, f, [1, 2, 1, 1], [[0, 0], [1, 2], [3, 1], [0, 0]]), odd, filters[2])
    yield "conv2d half", lambda: tf.nn.conv2d(odd.astype(np.float16), filters[2].astype(np.float16), 1, "SAME")
    yield "conv2d double", lambda: tf.nn.conv2d(odd.astype(np.float64), filters[2].astype(np.float64), 1, "SAME")
    yield "conv2d empty batch", lambda: tf.nn.conv2d(odd[:0], filters[2], 1, "SAME")
    yield "conv2d unknown batch", lambda: tf.nn.conv2d(
        tf.placeholder_with_default(odd, [None, 5, 5, 3]), filters[2], 2, "SAME")
    yield "conv2d unknown size", lambda: tf.nn.conv2d(
        tf.placeholder_with_default(odd, [None, None, 5, 3]), filters[2], 1, "VALID")
    yield "conv2d unknown rank", lambda: tf.nn.conv2d(tf.placeholder_with_default(odd, None), filters[2], 1, "VALID")
    yield "conv2d wide filter", lambda: tf.nn.conv2d(odd[:, :2, :2], filters[3], 1, "SAME")
    yield "conv2d depth mismatch", lambda: tf.nn.conv2d(odd[..., :2], filters[2], 1, "SAME")
    yield "conv2d negative size", lambda: tf.nn.conv2d(odd[:, :2], filters[3], 1, "VALID")
    yield "conv2d bad stride", lambda: tf.nn.conv2d(odd, filters[2], [1, 0, 1, 1], "SAME")
    yield "conv2d bad stride length", lambda: tf.nn.conv2d(odd, filters[2], [1, 1, 1], "SAME")
    yield "conv2d bad padding", lambda: tf.nn.conv2d(odd, filters[2], 1, "HALF")
    yield "conv2d bad rank", lambda: tf.nn.conv2d(odd[0], filters[2], 1, "SAME")
    yield "conv2d integers", lambda: tf.nn.conv2d(
        np.ones((1, 2, 2, 1), np.int32), np.ones((1, 1, 1, 1), np.int32), 1, "SAME")
    yield "conv2d_backprop_input", lambda: tf.nn.conv2d_backprop_input(
        [2, 5, 5, 3], filters[2], odd[:, :3, :3, [0, 1, 2, 0]], [1, 2, 2, 1], "SAME")
    yield "conv2d_backprop_filter", lambda: tf.nn.conv2d_backprop_filter(
        odd, [2, 2, 3, 4], odd[:, :3, :3, [0, 1, 2, 0]], [1, 2, 2, 1], "SAME")
    yield "conv2d_backprop_input wrong size", lambda: tf.nn.conv2d_backprop_input(
        [2, 5, 5, 3], filters[2], np.ones((2, 4, 3, 4), np.float32), [1, 2, 2, 1], "SAME")

    small, transposed = array(2, 3, 4, 2), array(3, 3, 5, 2)
    for padding, shape in (("SAME", [2, 6, 8, 5]), ("SAME", [2, 5, 7, 5]), ("VALID", [2, 7, 9, 5]),
                           ("VALID", [2, 8, 10, 5])):
        name = f"conv2d_transpose {padding} {shape}"

        def transpose(x, f, shape=shape, padding=padding):
            return tf.nn.conv2d_transpose(x, f, shape, [1, 2, 2, 1], padding)

        yield name, lambda transpose=transpose: transpose(small, transposed)
        yield name + " gradient", gradient(transpose, small, transposed)
    yield "conv2d_transpose stride 1", lambda: tf.nn.conv2d_transpose(small, transposed, [2, 3, 4, 5], 1, name="up")
    yield "conv2d_transpose tensor", lambda: tf.nn.conv2d_transpose(
        small, transposed, tf.stack([tf.shape(tf.placeholder_with_default(small, [None, 3, 4, 2]))[0], 6, 8, 5]), 2)
    yield "conv2d_transpose wrong shape", lambda: tf.nn.conv2d_transpose(small, transposed, [2, 9, 8, 5], [1, 2, 2, 1])

    line, taps = array(2, 7, 3), array(3, 3, 4)
    yield "conv1d", lambda: tf.nn.conv1d(line, taps, 1, "SAME")
    yield "conv1d stride", lambda: tf.nn.conv1d(line, taps, stride=2, padding="VALID", name="c1")
    yield "conv1d dilations", lambda: tf.nn.conv1d(tf.constant(line), taps, 1, "SAME", dilations=2)
    yield "conv1d bad format", lambda: tf.nn.conv1d(line, taps, 1, "SAME", data_format="CWN")
    yield "conv1d gradient", gradient(lambda x, f: tf.nn.conv1d(x, f, 2, "SAME"), line, taps)
    yield "conv1d_transpose", lambda: tf.nn.conv1d_transpose(line, np.full((3, 4, 3), 0.5, np.float32), [2, 14, 4], 2)
    yield "conv_transpose", lambda: tf.nn.conv_transpose(line, np.ones((3, 4, 3), np.float32), [2, 14, 4], 2)

    volume, cube = array(1, 4, 5, 4, 2), array(2, 3, 2, 2, 3)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            def conv3d(x, f, padding=padding, stride=stride):
                return tf.nn.conv3d(x, f, [1, stride, stride, 1, 1], padding)

            yield f"conv3d {padding} {stride}", lambda conv3d=conv3d: conv3d(volume, cube)
            yield f"conv3d {padding} {stride} gradient", gradient(conv3d, volume, cube)
    yield "conv3d second order", second(lambda x, f: tf.nn.conv3d(x, f, [1, 1, 1, 1, 1], "SAME"), volume, cube)
    yield "conv3d_transpose", lambda: tf.nn.conv3d_transpose(
        volume, np.ones((2, 2, 2, 3, 2), np.float32), [1, 8, 10, 8, 3], [1, 2, 2, 2, 1])

    for padding in ("SAME", "VALID"):
        for rate in (1, 2, 3):
            if padding == "VALID" and rate == 3:
                continue

            def atrous(x, f, rate=rate, padding=padding):
                return tf.nn.atrous_conv2d(x, f, rate, padding)

            yield f"atrous_conv2d {padding} {rate}", lambda atrous=atrous: atrous(images, filters[3])
            yield f"atrous_conv2d {padding} {rate} gradient", gradient(atrous, images, filters[3])
    yield "atrous_conv2d unknown size", lambda: tf.nn.atrous_conv2d(
        tf.placeholder_with_default(images, [None, None, None, 3]), filters[3], 2, "SAME")
    yield "atrous_conv2d_transpose", lambda: tf.nn.atrous_conv2d_transpose(
        images[..., :2], filters[3], [2, 6, 7, 3], 2, "SAME")
    yield "atrous_conv2d_transpose valid", lambda: tf.nn.atrous_conv2d_transpose(
        images[:, :4, :5, :2], filters[2][..., :2], [2, 6, 7, 3], 2, "VALID")
    yield "convolution", lambda: tf.nn.convolution(images, filters[3], "SAME", strides=[2, 1])
    yield "convolution dilated", lambda: tf.nn.convolution(
        images, filters[2], "VALID", dilation_rate=[2, 3], name="conv")
    yield "convolution 1d dilated", lambda: tf.nn.convolution(line, taps, "SAME", dilation_rate=[2])
    yield "convolution 3d dilated", lambda: tf.nn.convolution(volume, cube, "SAME", dilation_rate=[1, 2, 1])
    yield "convolution strided and dilated", lambda: tf.nn.convolution(
        images, filters[2], "SAME", strides=[2, 2], dilation_rate=[2, 2])

    depthwise = array(3, 2, 3, 2)
    for padding in ("SAME", "VALID"):
        for stride in (1, 2):
            def separate(x, f, padding=padding, stride=stride):
                return tf.nn.depthwise_conv2d(x, f, [1, stride, stride, 1], padding)

            yield f"depthwise_conv2d {padding} {stride}", lambda separate=separate: separate(images, depthwise)
            yield f"depthwise_conv2d {padding} {stride} gradient", gradient(separate, images, depthwise)
    yield "depthwise_conv2d rate", lambda: tf.nn.depthwise_conv2d(images, depthwise, [1, 1, 1, 1], "SAME", rate=[2, 2])
    yield "depthwise_conv2d single", lambda: tf.nn.depthwise_conv2d(
        images, depthwise[..., :1], [1, 1, 1, 1], "SAME", name="dw")
    yield "depthwise_conv2d mismatch", lambda: tf.nn.depthwise_conv2d(images, depthwise[:, :, :2], [1, 1, 1, 1], "SAME")
    yield "depthwise_conv2d_native", lambda: tf.nn.depthwise_conv2d_native(images, depthwise, [1, 1, 1, 1], "SAME")
    yield "depthwise second order", second(
        lambda x, f: tf.nn.depthwise_conv2d(x, f, [1, 1, 1, 1], "SAME"), odd, depthwise)
    yield "separable_conv2d", lambda: tf.nn.separable_conv2d(
        images, depthwise, np.full((1, 1, 6, 4), 0.25, np.float32), [1, 2, 2, 1], "SAME")
    yield "separable_conv2d rate", lambda: tf.nn.separable_conv2d(
        images, depthwise, np.ones((1, 1, 6, 4), np.float32), [1, 1, 1, 1], "SAME", rate=[2, 2])
