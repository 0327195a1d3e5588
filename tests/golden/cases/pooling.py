"""Pooling, with gradients."""


def cases(tf, np):
    random = np.random.RandomState(13)
    images = random.standard_normal((2, 6, 7, 4)).astype(np.float32)
    ties = random.randint(0, 3, (2, 6, 7, 4)).astype(np.float32)
    volume = random.standard_normal((1, 4, 5, 4, 2)).astype(np.float32)
    line = random.standard_normal((2, 7, 3)).astype(np.float32)

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

    for kind in ("max_pool", "avg_pool"):
        function = getattr(tf.nn, kind)
        for padding in ("SAME", "VALID"):
            for size, stride in (((2, 2), (2, 2)), ((3, 3), (2, 2)), ((3, 2), (1, 1)), ((1, 1), (2, 2)),
                                 ((2, 3), (3, 1))):
                name = f"{kind} {padding} {size} {stride}"

                def pool(x, function=function, padding=padding, size=size, stride=stride):
                    return function(x, [1, size[0], size[1], 1], [1, stride[0], stride[1], 1], padding)

                yield name, lambda pool=pool: pool(images)
                yield name + " gradient", gradient(pool, images)
                yield name + " gradient of ties", gradient(pool, ties)
            yield f"{kind} {padding} second order", second(
                lambda x, function=function, padding=padding: function(x, [1, 2, 3, 1], [1, 2, 2, 1], padding), images)
        yield kind + " numbers", lambda function=function: function(images, 2, 2, "SAME", name="p")
        yield kind + " pairs", lambda function=function: function(images, [2, 1], [1, 2], "SAME")
        yield kind + " half", lambda function=function: function(tf.constant(images, tf.float16), 3, 2, "SAME")
        yield kind + " double", lambda function=function: function(tf.constant(images, tf.float64), 3, 2, "SAME")
        yield kind + " unknown batch", lambda function=function: function(
            tf.placeholder_with_default(images, [None, 6, None, 4]), 3, 2, "SAME")
        yield kind + " unknown rank", lambda function=function: function(
            tf.placeholder_with_default(images, None), 3, 2, "VALID")
        yield kind + " too large", lambda function=function: function(images, 8, 1, "VALID")
        yield kind + " wrong rank", lambda function=function: function(images[0], 2, 1, "VALID")
        yield kind + " bad length", lambda function=function: function(images, [1, 2, 2], 1, "VALID")
    yield "max_pool integers", lambda: tf.nn.max_pool(tf.constant(ties, tf.int32), 2, 1, "SAME")
    yield "max_pool of an integer array", lambda: tf.nn.max_pool(ties.astype(np.int32), 2, 1, "SAME")  # becomes float32
    yield "max_pool of strings", lambda: tf.nn.max_pool([[[["a"]]]], 2, 1, "SAME")
    yield "max_pool depth", lambda: tf.nn.max_pool(images, [1, 1, 1, 2], [1, 1, 1, 2], "VALID")
    yield "max_pool of negative values", lambda: tf.nn.max_pool(-np.abs(images), 3, 1, "SAME")
    yield "max_pool2d", lambda: tf.nn.max_pool2d(images, 2, 2, "SAME")
    yield "max_pool1d", lambda: tf.nn.max_pool1d(line, 3, 2, "SAME")
    yield "avg_pool1d", lambda: tf.nn.avg_pool1d(line, 3, 2, "VALID")
    yield "avg_pool_v2", lambda: tf.nn.avg_pool_v2(images, 3, 2, "VALID")
    yield "max_pool_v2 3d", lambda: tf.nn.max_pool_v2(volume, 2, 2, "VALID")
    for kind in ("max_pool3d", "avg_pool3d"):
        function = getattr(tf.nn, kind)
        for padding in ("SAME", "VALID"):
            def pool3d(x, function=function, padding=padding):
                return function(x, [1, 2, 3, 2, 1], [1, 2, 1, 2, 1], padding)

            yield f"{kind} {padding}", lambda pool3d=pool3d: pool3d(volume)
            yield f"{kind} {padding} gradient", gradient(pool3d, volume)
    yield "max_pool3d second order", second(lambda x: tf.nn.max_pool3d(x, 2, 1, "VALID"), volume)
    yield "avg_pool3d second order", second(lambda x: tf.nn.avg_pool3d(x, 2, 1, "SAME"), volume)
    yield "argmax", lambda: tf.nn.max_pool_with_argmax(images, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    yield "argmax of ties", lambda: tf.nn.max_pool_with_argmax(ties, [1, 3, 3, 1], [1, 2, 2, 1], "VALID")
    yield "argmax with batch", lambda: tf.nn.max_pool_with_argmax(
        images, [1, 2, 2, 1], [1, 2, 2, 1], "SAME", include_batch_in_index=True)
    yield "argmax gradient", gradient(lambda x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")[0],
                                      images)
    for kind in ("MAX", "AVG"):
        yield f"pool {kind}", lambda kind=kind: tf.nn.pool(images, [2, 3], kind, "SAME")
        yield f"pool {kind} strides", lambda kind=kind: tf.nn.pool(
            images, [2, 3], kind, "VALID", strides=[2, 2], name="p")
        yield f"pool {kind} dilated", lambda kind=kind: tf.nn.pool(images, [2, 2], kind, "VALID", dilation_rate=[2, 3])
        yield f"pool {kind} 1d", lambda kind=kind: tf.nn.pool(line, [2], kind, "VALID", strides=[2])
        yield f"pool {kind} 3d", lambda kind=kind: tf.nn.pool(volume, [2, 2, 2], kind, "SAME")
    yield "pool bad type", lambda: tf.nn.pool(images, [2, 2], "MEDIAN", "SAME")
    for kind in ("fractional_max_pool", "fractional_avg_pool"):
        for pseudo_random in (False, True):
            for overlapping in (False, True):
                def fractional(x, kind=kind, pseudo_random=pseudo_random, overlapping=overlapping):
                    return getattr(tf.nn, kind)(x, [1.0, 1.44, 1.73, 1.0], pseudo_random, overlapping, True, 5, 2)

                name = f"{kind} {pseudo_random} {overlapping}"
                yield name, lambda fractional=fractional: fractional(images)[0]
                yield name + " gradient", gradient(lambda x, fractional=fractional: fractional(x)[0], images)
    yield "fractional_max_pool sequences", lambda: [  # (whose static shapes TensorFlow gets wrong)
        tf.reduce_sum(sequence * sequence)
        for sequence in tf.nn.fractional_max_pool(images, [1.0, 1.44, 1.73, 1.0], seed=1, deterministic=True)[1:]]
