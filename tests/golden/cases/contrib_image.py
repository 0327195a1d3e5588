"""tf.contrib.image: projective transforms and warps, with gradients."""


def _image(tf, np, *shape, **more):
    return tf.constant((np.cos(np.arange(np.prod(shape)) * 0.9).reshape(shape) * 50 + 60), more.get("dtype", tf.float32))


def transforms(tf, np):
    module = tf.contrib.image

    def case(call, *shape, **more):
        def build():
            x = _image(tf, np, *shape, **more)
            result = tf.identity(call(x), name="result")
            if not x.dtype.is_floating:
                return result
            weights = tf.cast(tf.reshape(tf.range(tf.size(result)) % 7, tf.shape(result)), x.dtype)
            return [result, tf.identity(tf.gradients(result * weights, x)[0], name="gradient")]
        return build

    for mode in ("NEAREST", "BILINEAR"):
        yield "rotate " + mode, case(lambda x, m=mode: module.rotate(x, 0.4, interpolation=m), 5, 6)
        yield "rotate each " + mode, case(lambda x, m=mode: module.rotate(x, [0.3, -1.2], interpolation=m), 2, 5, 4, 3)
        yield "translate " + mode, case(lambda x, m=mode: module.translate(x, [1.5, -0.75], interpolation=m), 5, 6, 2)
        yield "translate each " + mode, case(lambda x, m=mode: module.translate(x, [[1.0, 0.0], [-2.0, 1.25]], interpolation=m), 2, 4, 4, 1)
        yield "transform " + mode, case(
            lambda x, m=mode: module.transform(x, [0.9, 0.2, 0.5, -0.1, 1.1, -0.3, 0.02, 0.01], interpolation=m), 2, 5, 5, 2)
        yield "transform larger " + mode, case(
            lambda x, m=mode: module.transform(x, [0.5, 0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0], interpolation=m, output_shape=[8, 7]), 1, 4, 4, 1)
    yield "rotate bytes", case(lambda x: module.rotate(x, 0.4), 5, 6, 3, dtype=tf.uint8)
    yield "rotate doubles", lambda: tf.identity(module.rotate(_image(tf, np, 5, 6, 3, dtype=tf.float64), 0.4, "BILINEAR"), name="result")
    yield "transform without a place", case(lambda x: module.transform(x, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, -0.5, 0.0]), 4, 4, dtype=tf.int32)
    yield "rotate strings", lambda: module.rotate(tf.constant([["a"]]), 0.4)
    yield "rotate rank 1", lambda: module.rotate(tf.constant([1.0]), 0.4)
    yield "angles of rank 2", lambda: module.angles_to_projective_transforms([[1.0]], 3.0, 3.0)
    yield "translations of rank 3", lambda: module.translations_to_projective_transforms([[[1.0, 2.0]]])
    yield "output_shape of three", lambda: module.transform(tf.ones([3, 3]), [1.0] * 8, output_shape=[1, 2, 3])
    yield "angles", lambda: tf.identity(module.angles_to_projective_transforms([0.1, 2.0], 5.0, 4.0), name="result")
    yield "translations", lambda: tf.identity(module.translations_to_projective_transforms([3.0, -1.0]), name="result")
    yield "compose", lambda: tf.identity(module.compose_transforms([0.9, 0.2, 0.5, -0.1, 1.1, -0.3, 0.02, 0.01], [1.0, 0, 2, 0, 1, 3, 0, 0]),
                                         name="result")
    yield "matrices", lambda: tf.identity(module.flat_transforms_to_matrices([[0.9, 0.2, 0.5, -0.1, 1.1, -0.3, 0.02, 0.01]]), name="result")
    yield "flat", lambda: tf.identity(module.matrices_to_flat_transforms([[2.0, 0.0, 4.0], [0.0, 2.0, 6.0], [0.0, 0.0, 2.0]]), name="result")
    yield "matrices of rank 3", lambda: module.flat_transforms_to_matrices(np.ones([1, 1, 8], np.float32))


def warps(tf, np):
    module = tf.contrib.image

    def dense():
        image = _image(tf, np, 2, 4, 5, 2)
        flow = tf.constant(np.sin(np.arange(80) * 1.3).reshape(2, 4, 5, 2) * 1.7, tf.float32)
        result = tf.identity(module.dense_image_warp(image, flow), name="result")
        return [result] + [tf.identity(g, name="gradient") for g in tf.gradients(result * result * 0.01, [image, flow])]
    yield "dense_image_warp", dense
    yield "dense_image_warp of one row", lambda: module.dense_image_warp(tf.ones([1, 1, 3, 1]), tf.zeros([1, 1, 3, 2]))
    for order in (1, 2, 3, 4, 6):
        for weight in (0.0, 0.1):
            def spline(order=order, weight=weight):
                points = tf.constant([[[0.0, 0.0], [1.0, 0.2], [0.3, 1.0], [0.9, 1.1], [0.5, 0.4]]])
                values = tf.constant([[[1.0], [2.0], [-1.0], [0.5], [0.0]]])
                queries = tf.constant([[[0.4, 0.5], [0.8, 0.1]]])
                result = module.interpolate_spline(points, values, queries, order, weight)
                return [tf.identity(result, name="result")] + [tf.identity(g, name="gradient") for g in tf.gradients(result, [values, queries])]
            yield "interpolate_spline {} {}".format(order, weight), spline
    for border in (0, 1, 2):
        def sparse(border=border):
            image = _image(tf, np, 1, 6, 7, 1)
            source = tf.constant([[[1.0, 2.0], [4.0, 3.0], [2.0, 5.0]]])
            target = tf.constant([[[1.5, 2.5], [4.0, 2.0], [2.5, 5.0]]])
            return [tf.identity(each, name="result") for each in module.sparse_image_warp(image, source, target, num_boundary_points=border)]
        yield "sparse_image_warp {}".format(border), sparse


def cases(tf, np):
    for family in (transforms, warps):
        yield from family(tf, np)
