"""tf.image: edges, qualities of JPEG, similarity at several scales, boxes of several classes; tf.nn: CTC with dense labels."""


def cases(tf, np):
    yield from _images(tf, np)
    yield from _boxes(tf, np)
    yield from _ctc(tf, np)


def _images(tf, np):
    smooth = (np.sin(np.arange(2 * 48 * 50 * 3) / 97.0).reshape(2, 48, 50, 3) * 0.4 + 0.5).astype(np.float32)
    small = smooth[:, :5, :6]
    yield "sobel edges", lambda: [tf.image.sobel_edges(tf.constant(each)) for each in (small, small[..., :1].astype(np.float64))]
    yield "sobel edges hidden", lambda: tf.image.sobel_edges(tf.placeholder_with_default(small, [None, None, None, 3]))
    yield "sobel gradient", lambda: (lambda x: tf.identity(tf.gradients(tf.image.sobel_edges(x) ** 2, x)[0], name="gradient"))(tf.constant(small))
    flat = np.full([16, 16, 3], 128, np.uint8)
    yield "jpeg quality", lambda: [tf.image.adjust_jpeg_quality(flat, 75), tf.image.adjust_jpeg_quality(flat[..., :1], tf.constant(30)),
                                   tf.image.adjust_jpeg_quality(flat.astype(np.float32) / 255, 90)]
    yield "jpeg quality random", lambda: tf.image.random_jpeg_quality(flat, 40, 90, seed=3)
    for label, low, high in (("range", -1, 50), ("order", 60, 50)):
        yield "jpeg quality " + label, (lambda low, high: lambda: tf.image.random_jpeg_quality(flat, low, high))(low, high)
    other = np.clip(smooth + 0.05 * np.cos(np.arange(smooth.size)).reshape(smooth.shape), 0, 1).astype(np.float32)
    yield "similarity at scales", lambda: [tf.image.ssim_multiscale(smooth, other, 1.0, power_factors=(0.3, 0.7), filter_size=5),
                                           tf.image.ssim_multiscale(smooth[:, :45, :43], other[:, :45, :43], 1.0, (0.5, 0.3, 0.2), filter_size=7)]
    yield "similarity of bytes", lambda: tf.image.ssim_multiscale((smooth * 255).astype(np.uint8), (other * 255).astype(np.uint8), 255, (0.5, 0.5))


def _boxes(tf, np):
    base = np.array([[0.0, 0.0, 1.0, 1.0], [0.0, 0.1, 1.0, 1.1], [0.0, -0.1, 1.0, 0.9], [0.0, 10.0, 1.0, 11.0], [0.0, 10.1, 1.0, 11.1],
                     [0.0, 100.0, 1.0, 101.0]], np.float32)
    scores = np.array([[[0.9, 0.01], [0.75, 0.05], [0.6, 0.01], [0.95, 0.0], [0.5, 0.3], [0.3, 0.8]]], np.float32)
    boxes = base[None, :, None]
    yield "combined", lambda: list(tf.image.combined_non_max_suppression(boxes, scores, 3, 4))
    yield "combined not clipped", lambda: list(tf.image.combined_non_max_suppression(boxes, scores, 3, 9, clip_boxes=False))
    yield "combined thresholds", lambda: list(tf.image.combined_non_max_suppression(boxes, scores, 3, 6, iou_threshold=0.9, score_threshold=0.4))
    yield "combined padded per class", lambda: list(tf.image.combined_non_max_suppression(boxes, scores, 2, 9, pad_per_class=True))
    yield "combined boxes per class", lambda: list(tf.image.combined_non_max_suppression(
        np.concatenate([boxes, boxes[:, ::-1]], 2), np.concatenate([scores, scores * 0.5], 0)[:1], 3, 5))
    yield "combined wrong threshold", lambda: list(tf.image.combined_non_max_suppression(boxes, scores, 3, 4, iou_threshold=1.5))


def _ctc(tf, np):
    logits = np.sin(np.arange(6 * 2 * 5)).reshape(6, 2, 5).astype(np.float32)
    labels = np.array([[1, 2, 2], [3, 1, 0]], np.int32)
    lengths, times = np.array([3, 2], np.int32), np.array([6, 6], np.int32)

    def with_gradient(make):
        def case():
            x = tf.constant(logits)
            loss = tf.identity(make(x), name="loss")
            return [loss, tf.identity(tf.gradients(loss, x)[0], name="gradient")]
        return case
    yield "ctc dense", with_gradient(lambda x: tf.nn.ctc_loss_v2(labels, x, lengths, times))
    yield "ctc dense blank", with_gradient(lambda x: tf.nn.ctc_loss_v2(labels, x, lengths, times, blank_index=4))
    yield "ctc dense blank from the end", with_gradient(lambda x: tf.nn.ctc_loss_v2(labels, x, lengths, times, blank_index=-1))
    yield "ctc dense batch major", with_gradient(lambda x: tf.nn.ctc_loss_v2(labels, tf.transpose(x, [1, 0, 2]), lengths, times, False))
    yield "ctc dense unique", with_gradient(lambda x: tf.nn.ctc_loss_v2(labels, x, lengths, times, unique=tf.nn.ctc_unique_labels(labels)))

    def sparse(blank):
        values = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [1, 2, 3], [2, 2])
        return with_gradient(lambda x: tf.nn.ctc_loss_v2(values, x, None, times, blank_index=blank))
    yield "ctc sparse", sparse(4)
    yield "ctc sparse blank first", sparse(0)
    yield "ctc sparse without blank", sparse(None)
    yield "ctc shorter", lambda: tf.identity(tf.nn.ctc_loss_v2(labels, logits, lengths, [6, 4]), name="loss")
    yield "collapse repeated", lambda: [tf.identity(each, name="told") for each in tf.nn.collapse_repeated(
        [[1, 1, 2, 2, 1], [1, 1, 1, 2, 3]], [5, 4])]
    yield "unique labels", lambda: [tf.identity(each, name="told") for each in tf.nn.ctc_unique_labels([[3, 4, 4, 3], [1, 1, 1, 1]])]
