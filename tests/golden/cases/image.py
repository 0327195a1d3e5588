"""Images: resizing, cropping, colours, boxes, decoding."""
import base64


def cases(tf, np):
    """(name, function) pairs."""
    def fed(value, shape=None):
        array = np.asarray(value)
        narrow = {"float64": np.float32, "int64": np.int32}.get(array.dtype.name)
        return tf.placeholder_with_default(array if narrow is None else array.astype(narrow), shape)

    rng = np.random.RandomState(7)
    photo = rng.uniform(0, 1, [4, 5, 3]).astype(np.float32)
    batch = rng.uniform(0, 1, [2, 7, 5, 3]).astype(np.float32)
    pixels = rng.randint(0, 256, [4, 5, 3]).astype(np.uint8)

    rng_large = rng.uniform(0, 1, [2, 16, 14, 3]).astype(np.float32)

    # resizing
    for method in ("bilinear", "nearest_neighbor", "bicubic", "area"):
        for size in ((3, 4), (14, 10), (7, 5), (1, 1)):
            for align in (False, True):
                yield f"resize_{method} {size} {align}", lambda method=method, size=size, align=align: getattr(
                    tf.image, "resize_" + method)(batch, size, align_corners=align)
    for method in ("bilinear", "nearest_neighbor", "bicubic"):
        yield f"resize_{method} half pixel", lambda method=method: getattr(tf.image, "resize_" + method)(
            batch, [4, 9], half_pixel_centers=True)
        yield f"resize_{method} gradient", lambda method=method: (lambda x: tf.gradients(getattr(tf.image, "resize_" + method)(
            x, [9, 3]) ** 2, x))(tf.constant(batch))
    yield "resize_images", lambda: tf.image.resize_images(photo, [2, 3])
    yield "resize_images methods", lambda: [tf.image.resize_images(pixels, [3, 3], method=method) for method in range(4)]
    yield "resize_images same size", lambda: tf.image.resize_images(pixels, [4, 5])
    yield "resize_images fed size", lambda: tf.image.resize_images(photo, fed([2, 2], [2]))
    yield "resize_images aspect", lambda: tf.image.resize_images(photo, [8, 8], preserve_aspect_ratio=True)
    yield "resize_images rank", lambda: tf.image.resize_images(photo[0], [8, 8])
    yield "resize to nothing", lambda: tf.image.resize_bilinear(batch, fed([0, 3]))

    # parts
    yield "crop_to_bounding_box", lambda: tf.image.crop_to_bounding_box(photo, 1, 2, 2, 3)
    yield "crop_to_bounding_box too large", lambda: tf.image.crop_to_bounding_box(photo, 1, 2, 4, 3)
    yield "pad_to_bounding_box", lambda: tf.image.pad_to_bounding_box(photo, 1, 2, 6, 9)
    yield "crop_or_pad", lambda: [tf.image.resize_image_with_crop_or_pad(pixels, *size) for size in ((5, 3), (3, 7), (6, 6), (2, 2))]
    yield "central_crop", lambda: [tf.image.central_crop(batch, 0.5), tf.image.central_crop(photo, 0.8)]
    yield "central_crop all", lambda: tf.identity(tf.image.central_crop(photo, 1.0))
    yield "crop_and_resize", lambda: tf.image.crop_and_resize(batch, [[0.1, 0.2, 0.8, 0.9], [-0.2, 0.0, 1.0, 1.3]], [0, 1], [3, 4])
    yield "crop_and_resize nearest", lambda: tf.image.crop_and_resize(batch, [[0.1, 0.2, 0.8, 0.9]], [1], [3, 4], method="nearest",
                                                                      extrapolation_value=2.0)
    yield "crop_and_resize one", lambda: tf.image.crop_and_resize(batch, [[0.1, 0.2, 0.8, 0.9]], [1], [1, 1])
    yield "crop_and_resize gradients", lambda: (lambda x, b: tf.gradients(tf.image.crop_and_resize(x, b, [0, 1], [3, 4]) ** 2, [x, b]))(
        tf.constant(batch), tf.constant([[0.1, 0.2, 0.8, 0.9], [-0.2, 0.0, 1.0, 1.3]]))
    yield "crop_and_resize index", lambda: tf.image.crop_and_resize(batch, [[0.1, 0.2, 0.8, 0.9]], fed(np.array([5], np.int32), [1]), [3, 4])
    yield "extract_glimpse", lambda: tf.image.extract_glimpse(batch, [3, 3], [[0.0, 0.0], [0.2, -0.2]])
    yield "random_flip seeds", lambda: [tf.identity(tf.image.random_flip_left_right(photo, seed=seed)) for seed in range(4)]
    yield "random_flip batch", lambda: tf.identity(tf.image.random_flip_up_down(np.stack([photo] * 5), seed=3))

    # turning
    yield "flips", lambda: [tf.identity(tf.image.flip_left_right(photo)), tf.identity(tf.image.flip_up_down(photo)),
                            tf.identity(tf.image.flip_left_right(batch))]
    yield "rot90", lambda: [tf.identity(tf.image.rot90(photo, k)) for k in range(5)]
    yield "transpose", lambda: tf.identity(tf.image.transpose_image(batch))

    # colours
    yield "convert up", lambda: [tf.image.convert_image_dtype(pixels, dtype) for dtype in (tf.float32, tf.uint16, tf.int16, tf.int32)]
    yield "convert down", lambda: [tf.image.convert_image_dtype(photo, tf.uint8), tf.image.convert_image_dtype(photo * 2, tf.uint8, saturate=True)]
    yield "convert ints", lambda: tf.image.convert_image_dtype(tf.constant([1000, 30000], tf.int16), tf.uint8)
    yield "convert same", lambda: tf.image.convert_image_dtype(pixels, tf.uint8)
    yield "brightness", lambda: [tf.image.adjust_brightness(photo, 0.2), tf.image.adjust_brightness(pixels, -0.2)]
    yield "contrast", lambda: [tf.image.adjust_contrast(photo, 1.7), tf.image.adjust_contrast(pixels, 0.5)]
    yield "hue", lambda: [tf.image.adjust_hue(photo, 0.3), tf.image.adjust_hue(photo, -0.4)]
    yield "saturation", lambda: [tf.image.adjust_saturation(photo, 1.5), tf.image.adjust_saturation(photo, 0.2)]
    yield "gamma", lambda: tf.identity(tf.image.adjust_gamma(photo, 0.5, 2.0))
    yield "random colours", lambda: [tf.image.random_brightness(photo, 0.3, seed=1), tf.image.random_contrast(photo, 0.5, 1.5, seed=2),
                                     tf.image.random_hue(photo, 0.2, seed=3), tf.image.random_saturation(photo, 0.5, 1.5, seed=4)]
    yield "rgb_to_hsv", lambda: tf.image.rgb_to_hsv(photo)
    yield "hsv_to_rgb", lambda: tf.image.hsv_to_rgb(photo)
    yield "hsv gray and black", lambda: tf.image.rgb_to_hsv([[[0.0, 0.0, 0.0], [0.5, 0.5, 0.5], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    yield "grayscale", lambda: [tf.image.rgb_to_grayscale(photo), tf.image.rgb_to_grayscale(batch)]
    yield "grayscale_to_rgb", lambda: tf.image.grayscale_to_rgb(tf.constant(photo[:, :, :1]))
    yield "standardization", lambda: [tf.image.per_image_standardization(photo), tf.image.per_image_standardization(batch)]
    yield "standardization uniform", lambda: tf.image.per_image_standardization(np.ones([2, 2, 3], np.float32))

    # differences
    yield "total_variation", lambda: [tf.identity(tf.image.total_variation(tf.constant(images))) for images in (photo, batch)]
    yield "image_gradients", lambda: [tf.identity(part) for part in tf.image.image_gradients(tf.constant(batch))]
    yield "psnr", lambda: tf.identity(tf.image.psnr(batch, batch * 0.9, 1.0))
    yield "psnr bytes", lambda: tf.identity(tf.image.psnr(pixels, pixels // 2, 255))
    yield "ssim", lambda: tf.identity(tf.image.ssim(tf.constant(rng_large), tf.constant(rng_large * 0.8), 1.0), name="result")

    # boxes
    boxes = np.array([[0, 0, 1, 1], [0, .1, 1, 1.1], [0, -.1, 1, .9], [0, 10, 1, 11], [0, 10.1, 1, 11.1], [0, 100, 1, 101]], np.float32)
    scores = np.array([.9, .75, .6, .95, .5, .3], np.float32)
    yield "non_max_suppression", lambda: [tf.image.non_max_suppression(boxes, scores, 3), tf.image.non_max_suppression(boxes, scores, 30)]
    yield "non_max_suppression score", lambda: tf.image.non_max_suppression(boxes, scores, 30, 0.3, score_threshold=0.4)
    yield "non_max_suppression_padded", lambda: tf.image.non_max_suppression_padded(boxes, scores, 5, pad_to_max_output_size=True)
    yield "draw_bounding_boxes", lambda: tf.image.draw_bounding_boxes(np.zeros([1, 6, 6, 3], np.float32), [[[0.1, .1, .7, .7], [.5, .5, 1., 1.]]])
    yield "sample_distorted_bounding_box", lambda: [tf.image.sample_distorted_bounding_box(
        [100, 120, 3], [[[0.1, 0.2, 0.6, 0.8], [.3, .3, .5, .5]]], seed=seed, min_object_covered=.3) for seed in range(1, 8)]
    yield "sample_distorted_bounding_box narrow", lambda: tf.image.sample_distorted_bounding_box(
        [101, 80, 3], [[[0.1, 0.2, 0.6, 0.8]]], seed=3, min_object_covered=.9, aspect_ratio_range=[.5, 2.], area_range=[.1, .9])
    yield "sample_distorted_bounding_box none", lambda: tf.image.sample_distorted_bounding_box([100, 120, 3], np.zeros([0, 0, 4], np.float32), seed=3)

    # files
    png = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAFklEQVR4nGP4z8DAwMDAAKaZ/v9nYAAANRsF/TmjgGkAAAAASUVORK5CYII=")
    yield "png round trip", lambda: [tf.image.decode_png(tf.image.encode_png(pixels)), tf.image.decode_png(tf.image.encode_png(pixels[:, :, :1]))]
    yield "png uint16", lambda: tf.image.decode_png(tf.image.encode_png(pixels[:, :, :1].astype(np.uint16) * 200), dtype=tf.uint16)
    yield "png channels", lambda: [tf.image.decode_png(tf.image.encode_png(pixels), channels=channels) for channels in (1, 3, 4)]
    yield "decode_image", lambda: tf.identity(tf.image.decode_image(tf.image.encode_png(pixels)))
    yield "decode junk", lambda: tf.image.decode_jpeg("junk")
    yield "decode broken png", lambda: tf.image.decode_png(png[:40])
    yield "decode broken jpeg", lambda: tf.image.decode_jpeg(b"\xff\xd8\xff\xe0aaaa")
    yield "jpeg shape", lambda: tf.image.extract_jpeg_shape(tf.image.encode_jpeg(pixels))
    yield "jpeg accurate", lambda: [tf.image.decode_jpeg(tf.image.encode_jpeg(pixels, quality=90), dct_method="INTEGER_ACCURATE", channels=channels)
                                    for channels in (0, 1, 3)]
    yield "jpeg ratio", lambda: tf.image.decode_jpeg(tf.image.encode_jpeg((rng_large[0] * 255).astype(np.uint8)), ratio=2,
                                                     dct_method="INTEGER_ACCURATE")
    yield "jpeg flat", lambda: tf.image.decode_jpeg(tf.image.encode_jpeg(np.full([8, 8, 3], 128, np.uint8)))
