"""Colours: types of pixels, brightness, contrast, hue, saturation, gray."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.ops.array.cast import cast
from penstock.ops.array.fill import ones
from penstock.ops.array.pack import concat
from penstock.ops.array.permute import tile
from penstock.ops.array.shape_ops import expand_dims, rank
from penstock.ops.common import FLOATS, at_least, like
from penstock.ops.constant import identity
from penstock.ops.linalg.einsum import tensordot
from penstock.ops.math.clip import saturate_cast
from penstock.ops.math.elementwise import Add, multiply
from penstock.ops.math.reduce import reduce_mean
from penstock.ops.public import function
from penstock.ops.random.random import random_uniform

_FLOAT = types(*FLOATS, default=dt.float32)
_ADJUSTABLE = types(dt.float16, dt.float32, default=dt.float32)


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """``tf.image.convert_image_dtype``: pixels of another type: floats span [0, 1], integers their whole positive range."""
    image, dtype = to_tensor(image, None, "image"), dt.as_dtype(dtype)
    source = image.dtype.base_dtype
    if source is dtype:
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as scope:
        convert = saturate_cast if saturate else cast
        if source.is_integer and dtype.is_integer:
            return _between_integers(image, source, dtype, convert, scope)
        if source.is_floating and dtype.is_floating:
            return cast(image, dtype, name=scope)
        if source.is_integer:
            return multiply(cast(image, dtype), 1.0 / source.max, name=scope)
        return convert(multiply(image, dtype.max + 0.5), dtype, name=scope)  # half a step more, so that 1.0 becomes the maximum


def _between_integers(image: Tensor, source: dt.DType, dtype: dt.DType, convert: Any, scope: str) -> Tensor:
    if source.max > dtype.max:
        return convert(image // ((int(source.max) + 1) // (int(dtype.max) + 1)), dtype, name=scope)
    return multiply(convert(image, dtype), (int(dtype.max) + 1) // (int(source.max) + 1), name=scope)


def as_float(image: Tensor) -> Tensor:
    """The image as float32; float16 and float32 as they are."""
    return image if image.dtype.base_dtype in (dt.float16, dt.float32) else convert_image_dtype(image, dt.float32)


# --- operations ------------------------------------------------------------------------------------------------------

def _colors(images):
    known = images.shape.with_rank_at_least(1)
    if known.ndims is not None and known.extent(-1) not in (None, 3):
        raise ValueError(f"Dimension must be 3 but is {known[-1]}: the last axis holds three colours")
    return images.shape


def _check_colors(images: np.ndarray) -> np.ndarray:
    if not images.ndim or images.shape[-1] != 3:
        raise invalid_argument(f"input must have 3 channels but instead has {images.shape[-1] if images.ndim else 0} channels.")
    return images


def _no_gradient(op, dy):
    raise LookupError(f"No gradient defined for operation '{op.name}' (op type: {op.type})")  # TensorFlow has none either


def to_hsv(rgb: np.ndarray) -> np.ndarray:
    """Hue, saturation and value, each in [0, 1]."""
    work = rgb.astype(np.float32) if rgb.dtype.itemsize < 4 else rgb
    red, green, blue = work[..., 0], work[..., 1], work[..., 2]
    value = work.max(-1)
    spread = value - work.min(-1)
    safe = np.where(spread > 0, spread, 1)
    norm = (1 / (6 * safe)).astype(work.dtype)
    third = work.dtype.type(1 / 3)
    hue = np.where(red == value, norm * (green - blue),
                   np.where(green == value, norm * (blue - red) + third, norm * (red - green) + 2 * third))
    hue = np.where(spread > 0, hue, 0)
    saturation = np.where(value > 0, spread / np.where(value > 0, value, 1), 0)
    return np.stack([np.where(hue < 0, hue + 1, hue), saturation, value], -1).astype(rgb.dtype)


def to_rgb(hsv: np.ndarray) -> np.ndarray:
    """The inverse of ``to_hsv``."""
    work = hsv.astype(np.float32) if hsv.dtype.itemsize < 4 else hsv
    sixth, saturation, value = work[..., 0] * 6, work[..., 1], work[..., 2]
    parts = (np.abs(sixth - 3) - 1, 2 - np.abs(sixth - 2), 2 - np.abs(sixth - 4))
    return np.stack([(1 - saturation + saturation * np.clip(part, 0, 1)) * value for part in parts], -1).astype(hsv.dtype)


@op("RGBToHSV", "images: T -> output: T", T=_FLOAT)
class RGBToHSV:
    """Red, green, blue to hue, saturation, value, along the last axis."""

    shape = _colors

    def kernel(images):
        return to_hsv(_check_colors(images))

    gradient = _no_gradient


@op("HSVToRGB", "images: T -> output: T", T=_FLOAT)
class HSVToRGB:
    """Hue, saturation, value to red, green, blue, along the last axis."""

    shape = _colors

    def kernel(images):
        return to_rgb(_check_colors(images))

    gradient = _no_gradient


@op("AdjustContrastv2", "images: T, contrast_factor: float32 -> output: T", T=_ADJUSTABLE)
class AdjustContrastv2:
    """(x - mean) * factor + mean, with the mean of each channel of each image."""

    ranks = {"contrast_factor": 0}

    def shape(images):
        return images.shape.with_rank_at_least(3)

    def kernel(images, contrast_factor):
        if images.ndim < 3:
            raise invalid_argument(f"input must be at least 3-D, got shape{list(images.shape)}")
        work = images.astype(np.float32)
        mean = work.mean((-3, -2), keepdims=True, dtype=np.float64).astype(np.float32) if images.size else work[..., :1, :1, :]
        return ((work - mean) * np.float32(contrast_factor) + mean).astype(images.dtype)

    def gradient(op, dy):
        factor = cast(op.inputs[1], dy.dtype)
        return [dy * factor + reduce_mean(dy, [-3, -2], keepdims=True) * (1 - factor), None]


@op("AdjustHue", "images: T, delta: float32 -> output: T", T=_ADJUSTABLE)
class AdjustHue:
    """Turns the hue of each pixel; 1 is the whole circle."""

    ranks = {"images": at_least(3), "delta": 0}
    shape = like("images")

    def kernel(images, delta):
        hsv = to_hsv(_check_colors(images).astype(np.float32))
        hsv[..., 0] = (hsv[..., 0] + np.float32(delta)) % np.float32(1)
        return to_rgb(hsv).astype(images.dtype)

    gradient = _no_gradient


@op("AdjustSaturation", "images: T, scale: float32 -> output: T", T=_ADJUSTABLE)
class AdjustSaturation:
    """Scales the saturation of each pixel, up to 1."""

    ranks = {"images": at_least(3), "scale": 0}
    shape = like("images")

    def kernel(images, scale):
        hsv = to_hsv(_check_colors(images).astype(np.float32))
        hsv[..., 1] = np.clip(hsv[..., 1] * np.float32(scale), 0, 1)
        return to_rgb(hsv).astype(images.dtype)

    gradient = _no_gradient


rgb_to_hsv = function(RGBToHSV, "rgb_to_hsv")
hsv_to_rgb = function(HSVToRGB, "hsv_to_rgb")


# --- adjusting -------------------------------------------------------------------------------------------------------

def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """``tf.image.adjust_brightness``: adds ``delta`` (in the scale of floats) to each pixel."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        image = to_tensor(image, None, "image")
        work = as_float(image)
        return convert_image_dtype(Add(work, cast(delta, work.dtype), name=scope), image.dtype, saturate=True)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """``tf.image.adjust_contrast``: scales the distance of each pixel from the mean of its channel."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        images = to_tensor(images, None, "images")
        return convert_image_dtype(AdjustContrastv2(as_float(images), contrast_factor, name=scope), images.dtype, saturate=True)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """``tf.image.adjust_hue``: turns the hue of an RGB image; ``delta`` is in [-1, 1]."""
    with name_scope(name, "adjust_hue", [image]):
        image = to_tensor(image, None, "image")
        return convert_image_dtype(AdjustHue(as_float(image), delta), image.dtype)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """``tf.image.adjust_saturation``: scales the saturation of an RGB image."""
    with name_scope(name, "adjust_saturation", [image]):
        image = to_tensor(image, None, "image")
        return convert_image_dtype(AdjustSaturation(as_float(image), saturation_factor), image.dtype)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """``tf.image.adjust_gamma``: ``gain * image ** gamma``."""
    if not isinstance(gamma, Tensor) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        image = to_tensor(image, None, "image")
        return convert_image_dtype(gain * as_float(image) ** gamma, image.dtype, saturate=True)


def _check_interval(lower: Any, upper: Any) -> None:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``tf.image.random_brightness``: ``adjust_brightness`` by a number from [-max_delta, max_delta)."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``tf.image.random_contrast``: ``adjust_contrast`` by a number from [lower, upper)."""
    _check_interval(lower, upper)
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """``tf.image.random_hue``: ``adjust_hue`` by a number from [-max_delta, max_delta)."""
    if max_delta > 0.5:
        raise ValueError("max_delta must be <= 0.5.")
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """``tf.image.random_saturation``: ``adjust_saturation`` by a number from [lower, upper)."""
    _check_interval(lower, upper)
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


# --- other colour spaces ---------------------------------------------------------------------------------------------

def _mix_channels(images: Tensor, mix: Any) -> Tensor:
    """Each pixel times a matrix (or vector) of weights."""
    return tensordot(images, np.asarray(mix, images.dtype.base_dtype.np), [[-1], [0]] if np.ndim(mix) == 2 else [[-1], [-1]])


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """``tf.image.rgb_to_grayscale``: the brightness of each pixel, as one channel."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = to_tensor(images, None, "images")
        work = convert_image_dtype(images, dt.float32)
        return convert_image_dtype(expand_dims(_mix_channels(work, [0.2989, 0.5870, 0.1140]), -1), images.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """``tf.image.grayscale_to_rgb``: the single channel, three times."""
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = to_tensor(images, None, "images")
        if images.shape.ndims is not None:
            return tile(images, [1] * (images.shape.ndims - 1) + [3], name=scope)
        return tile(images, concat([ones(expand_dims(rank(images) - 1, 0), dt.int32), [3]], 0), name=scope)


_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def rgb_to_yiq(images: Any) -> Tensor:
    """``tf.image.rgb_to_yiq``."""
    return _mix_channels(to_tensor(images), _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """``tf.image.yiq_to_rgb``."""
    return _mix_channels(to_tensor(images), _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """``tf.image.rgb_to_yuv``."""
    return _mix_channels(to_tensor(images), _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """``tf.image.yuv_to_rgb``."""
    return _mix_channels(to_tensor(images), _FROM_YUV)
