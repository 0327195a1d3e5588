"""How images differ from each other and within themselves: ``tf.image.psnr``, ``ssim``, ``total_variation``, edges; what JPEG makes of them."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import concat, stack
from penstock.ops.array.pad import pad
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import reshape, shape
from penstock.ops.constant import constant
from penstock.ops.image.image_codec import DecodeJpeg, EncodeJpegVariableQuality
from penstock.ops.image.image_color import convert_image_dtype
from penstock.ops.math.elementwise import abs as abs_
from penstock.ops.math.elementwise import squared_difference
from penstock.ops.math.powers import log
from penstock.ops.math.powers import pow as pow_
from penstock.ops.math.reduce import reduce_mean, reduce_prod, reduce_sum
from penstock.ops.nn.activations import relu
from penstock.ops.nn.pooling_functions import avg_pool
from penstock.ops.nn.space_to_batch_conv import depthwise_conv2d
from penstock.ops.random.random import random_uniform

_SCALE_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)  # of five scales, as the authors of MS-SSIM found them


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """``tf.image.total_variation``: the sum of the absolute differences of neighbouring pixels, per image."""
    with name_scope(name, "total_variation"):
        images = to_tensor(images)
        ndims = images.shape.ndims
        if ndims not in (3, 4):
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        down, across = ((images[1:] - images[:-1], images[:, 1:] - images[:, :-1]) if ndims == 3 else
                        (images[:, 1:] - images[:, :-1], images[:, :, 1:] - images[:, :, :-1]))
        axes = None if ndims == 3 else [1, 2, 3]
        return reduce_sum(abs_(down), axes) + reduce_sum(abs_(across), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """``tf.image.image_gradients``: the differences to the next pixel, downwards and to the right; 0 at the last row and column."""
    image = to_tensor(image)
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    extents = shape(image)
    batch, height, width, depth = (extents[axis] for axis in range(4))
    down, across = image[:, 1:] - image[:, :-1], image[:, :, 1:] - image[:, :, :-1]
    zeros_row, zeros_column = image[:, :1] * 0, image[:, :, :1] * 0
    down = reshape(concat([down, zeros_row], 1), [batch, height, width, depth])
    across = reshape(concat([across, zeros_column], 2), [batch, height, width, depth])
    for result in (down, across):
        result.set_shape(image.shape)
    return down, across


def sobel_edges(image: Any) -> Tensor:
    """``tf.image.sobel_edges``: [batch, height, width, channels, 2], how fast pixels change downwards and to the right, by Sobel's filters."""
    image = to_tensor(image)
    channels = shape(image)[-1] if image.shape.extent(-1) is None else image.shape.extent(-1)
    filters = np.array([[[-1, -2, -1], [0, 0, 0], [1, 2, 1]], [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]]).transpose(1, 2, 0)[:, :, None]
    kernels = tile(constant(filters, image.dtype), [1, 1, channels, 1], name="sobel_filters")
    edges = depthwise_conv2d(pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT"), kernels, [1, 1, 1, 1], "VALID")
    result = reshape(edges, concat([shape(image), [2]], 0))
    result.set_shape(image.shape.concatenate([2]))
    return result


def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """``tf.image.adjust_jpeg_quality``: an image after it was a JPEG file of some quality, 0 to 100."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = to_tensor(image, name="image")
        file = EncodeJpegVariableQuality(convert_image_dtype(image, dt.uint8), to_tensor(jpeg_quality, dt.int32))
        return convert_image_dtype(DecodeJpeg(file), image.dtype)


def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None) -> Tensor:
    """``tf.image.random_jpeg_quality``: `adjust_jpeg_quality` with a random quality in [min, max)."""
    if not all(0 <= quality <= 100 for quality in (min_jpeg_quality, max_jpeg_quality)):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    return adjust_jpeg_quality(image, random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=dt.int32))


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """``tf.image.psnr``: the peak signal-to-noise ratio in decibels, per image."""
    with name_scope(name, "PSNR", [a, b]):
        a, b = to_tensor(a), to_tensor(b)
        limit = convert_image_dtype(cast(max_val, a.dtype.base_dtype), dt.float32)
        a, b = convert_image_dtype(a, dt.float32), convert_image_dtype(b, dt.float32)
        error = reduce_mean(squared_difference(a, b), [-3, -2, -1])
        return 20 * log(limit) / math.log(10.0) - (10 / math.log(10)) * log(error)


def _window(size: int, sigma: float, channels: int) -> np.ndarray:
    """A Gaussian [size, size, channels, 1] that sums to 1 for each channel."""
    squares = -0.5 * ((np.arange(size) - (size - 1) / 2) / sigma) ** 2
    weights = np.exp(squares[:, None] + squares[None, :])
    return np.repeat((weights / weights.sum())[:, :, None, None], channels, axis=2).astype(np.float32)


def _similarities(x: Tensor, y: Tensor, limit: Tensor, size: int, sigma: float, k1: float, k2: float) -> tuple[Tensor, Tensor]:
    """(similarity of structure and luminance, of structure and contrast alone), per image and channel."""
    channels = x.shape.extent(-1)
    if channels is None:
        raise ValueError("ssim needs images with a known number of channels")
    window = _window(size, sigma, channels)

    def mean(image: Tensor) -> Tensor:
        leading = shape(image)[:-3]
        flat = reshape(image, concat([[-1], shape(image)[-3:]], 0))
        result = depthwise_conv2d(flat, window, strides=[1, 1, 1, 1], padding="VALID")
        return reshape(result, concat([leading, shape(result)[1:]], 0))

    c1, c2 = (k1 * limit) ** 2, (k2 * limit) ** 2
    mean_x, mean_y = mean(x), mean(y)
    product, squares = mean_x * mean_y * 2.0, mean_x ** 2 + mean_y ** 2
    contrast = (mean(x * y) * 2.0 - product + c2) / (mean(x ** 2 + y ** 2) - squares + c2)
    luminance = (product + c1) / (squares + c1)
    return reduce_mean(luminance * contrast, [-3, -2]), reduce_mean(contrast, [-3, -2])


def ssim(img1: Any, img2: Any, max_val: Any, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03) -> Tensor:
    """``tf.image.ssim``: the structural similarity (Wang et al., 2004) of two images or batches of them, averaged over channels."""
    with name_scope(None, "SSIM", [img1, img2]):
        img1, img2 = to_tensor(img1), to_tensor(img2)
        limit = convert_image_dtype(cast(max_val, img1.dtype.base_dtype), dt.float32)
        first, second = convert_image_dtype(img1, dt.float32), convert_image_dtype(img2, dt.float32)
        return reduce_mean(_similarities(first, second, limit, filter_size, filter_sigma, k1, k2)[0], [-1])


def ssim_multiscale(img1: Any, img2: Any, max_val: Any, power_factors: Any = _SCALE_WEIGHTS, filter_size: int = 11, filter_sigma: float = 1.5,
                    k1: float = 0.01, k2: float = 0.03) -> Tensor:
    """``tf.image.ssim_multiscale``: structural similarity at several scales (Wang et al., 2003), each half of the one before."""
    with name_scope(None, "MS-SSIM", [img1, img2]):
        img1, img2 = to_tensor(img1, name="img1"), to_tensor(img2, name="img2")
        limit = convert_image_dtype(cast(max_val, img1.dtype.base_dtype), dt.float32)
        pair = [convert_image_dtype(each, dt.float32) for each in (img1, img2)]
        parts: list[Tensor] = []
        for scale in range(len(power_factors)):
            with name_scope(None, f"Scale{scale}", pair):
                pair = [_halve(each) for each in pair] if scale else pair
                whole, contrast = _similarities(pair[0], pair[1], limit, filter_size, filter_sigma, k1, k2)
            parts.append(relu(whole if scale == len(power_factors) - 1 else contrast))
        return reduce_mean(reduce_prod(pow_(stack(parts, axis=-1), list(power_factors)), [-1]), [-1])


def _halve(images: Tensor) -> Tensor:
    """Means of 2 x 2 pixels; a last odd row or column counts twice."""
    leading, channels = shape(images)[:-3], images.shape.extent(-1)
    flat = reshape(images, concat([[-1], shape(images)[-3:]], 0))
    odd = shape(flat)[1:3] % 2
    flat = pad(flat, [[0, 0], [0, odd[0]], [0, odd[1]], [0, 0]], mode="SYMMETRIC")
    flat.set_shape([None, None, None, channels])
    halves = avg_pool(flat, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
    result = reshape(halves, concat([leading, shape(halves)[1:]], 0))
    result.set_shape([*[None] * (images.shape.rank - 1), channels])
    return result
