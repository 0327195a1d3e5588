"""``tf.image``: geometry of images, composed of other operations. Images are [height, width, channels], or batches of them with an axis in front."""
from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph.convert import to_tensor
from penstock.graph.graph import default_graph
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.static import constant_value, constant_value_as_shape
from penstock.ops.array.cast import cast
from penstock.ops.array.pack import stack
from penstock.ops.array.pad import pad
from penstock.ops.array.permute import reverse, transpose
from penstock.ops.array.select import where
from penstock.ops.array.shape_ops import expand_dims, reshape, shape, squeeze
from penstock.ops.array.slicing import slice_
from penstock.ops.constant import identity
from penstock.ops.flow.control_flow import case
from penstock.ops.flow.misc import Assert, with_dependencies
from penstock.ops.image.image_color import convert_image_dtype
from penstock.ops.image.image_resize import resize_area, resize_bicubic, resize_bilinear, resize_nearest_neighbor
from penstock.ops.math.compare import equal, greater, greater_equal, less
from penstock.ops.math.division import mod
from penstock.ops.math.elementwise import RealDiv, maximum, minimum
from penstock.ops.math.powers import rsqrt
from penstock.ops.math.reduce import reduce_all, reduce_mean, reduce_prod
from penstock.ops.math.rounding import round as round_
from penstock.ops.math.statistics import reduce_std
from penstock.ops.random.random import random_uniform
from penstock.platform.deprecation import warn_of_order


class ResizeMethod:
    """How ``resize_images`` makes a pixel from those around it."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_RESIZERS = {ResizeMethod.BILINEAR: resize_bilinear, ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
             ResizeMethod.BICUBIC: resize_bicubic, ResizeMethod.AREA: resize_area}


def _as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """(a batch of images, whether an axis was added to make it one)."""
    ndims = image.shape.ndims
    if ndims not in (None, 3, 4):
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    added = ndims != 4  # what nothing is known of is one image
    if added:
        image = expand_dims(image, 0)
        image.set_shape([None] * 4)
    return image, added


def _refuse_empty(image: Tensor) -> list[Any]:
    """Raises if an extent of the image is known to be zero; the operations that check the unknown ones when they run."""
    extents = image.shape.as_list() if image.shape.ndims is not None else [None]
    if 0 in extents:
        raise ValueError(f"all dims of 'image.shape' must be > 0: {image.shape}")
    return [Assert(reduce_all(greater(shape(image), 0)), ["all dims of 'image.shape' must be > 0."])] if None in extents else []


def _image_batch(image: Any) -> tuple[Tensor, bool]:
    """`_as_batch` of images that must not be empty."""
    image, added = _as_batch(to_tensor(image, None, "image"))
    checks = _refuse_empty(image)
    return (with_dependencies(checks, image) if checks else image), added


def _extents(image: Tensor) -> list[Any]:
    """The extents of an image: numbers where they are known, else scalar tensors."""
    known = image.shape.as_list()
    dynamic = shape(image) if None in known else None
    return [extent if extent is not None else dynamic[axis] for axis, extent in enumerate(known)]


def _with_older_order(resize: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Before TensorFlow 1.0 height and width were two arguments: ``resize_images(images, new_height, new_width, method, align_corners)``."""

    @functools.wraps(resize)
    def resize_in_any_order(images: Any, *args: Any, **kwargs: Any) -> Tensor:
        names = ("new_height", "new_width", "method", "align_corners")
        size = args[0] if args else None
        is_method = len(args) == 2 and isinstance(args[1], numbers.Integral) and args[1] in _RESIZERS  # beside a tensor: a size of the wrong rank
        is_height = isinstance(size, numbers.Integral) or (isinstance(size, Tensor) and size.shape.ndims == 0 and not is_method)
        if "new_width" in kwargs or (is_height and len(args) > 1):
            warn_of_order("tf.image.resize_images", "tf.image.resize_images(images, [new_height, new_width], ...)")
            kwargs.update(zip(names, args))
            height, width = kwargs.pop("new_height"), kwargs.pop("new_width")
            return resize(images, stack([height, width]), **kwargs)
        return resize(images, *args, **kwargs)

    return resize_in_any_order


@_with_older_order
def resize_images(images: Any, size: Any, method: Any = ResizeMethod.BILINEAR, align_corners: bool = False, preserve_aspect_ratio: bool = False,
                  name: str | None = None) -> Tensor:
    """``tf.image.resize_images``: images of another size; float32, except from ``NEAREST_NEIGHBOR`` or if the size stays as it is."""
    with name_scope(name, "resize", [images, size]):
        images, added = _as_batch(to_tensor(images, None, "images"))
        try:
            size = to_tensor(size, dt.int32, "size")
        except (TypeError, ValueError) as error:
            raise ValueError("'size' must be a 1-D int32 Tensor") from error
        if not size.shape.is_compatible_with([2]):
            raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
        if preserve_aspect_ratio:
            size = _fitting_size(images, size)
        wanted = constant_value_as_shape(size)
        if wanted.is_fully_defined() and wanted.as_list() == images.shape.as_list()[1:3]:
            return squeeze(images, axis=[0]) if added else images
        resizer = _RESIZERS.get(method)
        if resizer is None:
            raise ValueError("Resize method is not implemented.")
        images = resizer(images, size, align_corners=align_corners)
        return squeeze(images, axis=[0]) if added else images


def _fitting_size(images: Tensor, size: Tensor) -> Tensor:
    """The largest size within ``size`` that has the images' proportions."""
    current = cast(shape(images)[1:3], dt.float32)
    factors = cast(size, dt.float32) / current
    return cast(round_(current * minimum(factors[0], factors[1])), dt.int32)


def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """``tf.image.crop_to_bounding_box``: the part of the image at this place and of this size."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        image, added = _image_batch(image)
        _, height, width, _ = _extents(image)
        checks = [*_check(offset_width, 0, "offset_width must be >= 0."), *_check(offset_height, 0, "offset_height must be >= 0."),
                  *_check(target_width, 1, "target_width must be > 0."), *_check(target_height, 1, "target_height must be > 0."),
                  *_check(width, target_width + offset_width, "width must be >= target + offset."),
                  *_check(height, target_height + offset_height, "height must be >= target + offset.")]
        image = with_dependencies(checks, image)
        cropped = slice_(image, _vector(0, offset_height, offset_width, 0), _vector(-1, target_height, target_width, -1))
        cropped.set_shape([image.shape[0], _static_extent(target_height), _static_extent(target_width), image.shape[3]])
        return squeeze(cropped, axis=[0]) if added else cropped


def _vector(*parts: Any) -> Any:
    return stack(list(parts)) if any(isinstance(part, Tensor) for part in parts) else list(parts)


def _static_extent(extent: Any) -> int | None:
    value = constant_value(extent) if isinstance(extent, Tensor) else extent
    return None if value is None else int(value)


def _check(value: Any, least: Any, message: str) -> list[Any]:
    """Raises if ``value < least`` is known now; otherwise the operation that checks it when it runs, if one is needed."""
    known, bound = _static_extent(value), _static_extent(least)
    if known is not None and bound is not None:
        if known < bound:
            raise ValueError(message)
        return []
    return [Assert(greater_equal(value, least), [message])]


def pad_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """``tf.image.pad_to_bounding_box``: the image at this place of a larger one that is zero elsewhere."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        image, added = _image_batch(image)
        _, height, width, _ = _extents(image)
        after_height, after_width = target_height - offset_height - height, target_width - offset_width - width
        checks = [*_check(offset_height, 0, "offset_height must be >= 0"), *_check(offset_width, 0, "offset_width must be >= 0"),
                  *_check(after_width, 0, "width must be <= target - offset"), *_check(after_height, 0, "height must be <= target - offset")]
        image = with_dependencies(checks, image)
        paddings = reshape(_vector(0, 0, offset_height, after_height, offset_width, after_width, 0, 0), [4, 2])
        padded = pad(image, paddings)
        padded.set_shape([image.shape[0], _static_extent(target_height), _static_extent(target_width), image.shape[3]])
        return squeeze(padded, axis=[0]) if added else padded


def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """``tf.image.resize_image_with_crop_or_pad``: the middle of the image, or the image in the middle, without resampling."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image, added = _image_batch(image)
        for value, label in ((target_width, "target_width"), (target_height, "target_height")):
            image = with_dependencies(_check(value, 1, f"{label} must be > 0."), image)
        _, height, width, _ = _extents(image)
        down, across = target_height - height, target_width - width
        cropped = crop_to_bounding_box(image, _at_least_0(_half(-down)), _at_least_0(_half(-across)),
                                       _smaller(target_height, height), _smaller(target_width, width))
        resized = pad_to_bounding_box(cropped, _at_least_0(_half(down)), _at_least_0(_half(across)), target_height, target_width)
        return squeeze(resized, axis=[0]) if added else resized


def _half(difference: Any) -> Any:
    return difference // 2


def _at_least_0(value: Any) -> Any:
    return maximum(value, 0) if isinstance(value, Tensor) else max(value, 0)


def _smaller(a: Any, b: Any) -> Any:
    return minimum(a, b) if isinstance(a, Tensor) or isinstance(b, Tensor) else min(a, b)


def resize_image_with_pad(image: Any, target_height: int, target_width: int, method: Any = ResizeMethod.BILINEAR,
                          align_corners: bool = False) -> Tensor:
    """``tf.image.resize_image_with_pad``: the image, resized with its proportions kept, in the middle of zeros."""
    with name_scope(None, "resize_image_with_pad", [image]):
        image, added = _as_batch(to_tensor(image, None, "image"))
        resized = resize_images(image, [target_height, target_width], method, align_corners, preserve_aspect_ratio=True)
        _, height, width, _ = _extents(resized)
        padded = pad_to_bounding_box(resized, (target_height - height) // 2, (target_width - width) // 2, target_height, target_width)
        return squeeze(padded, axis=[0]) if added else padded


def central_crop(image: Any, central_fraction: float) -> Tensor:
    """``tf.image.central_crop``: the middle, as a fraction of height and width."""
    with name_scope(None, "central_crop", [image]):
        image = to_tensor(image, None, "image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError("central_fraction must be within (0, 1]")
        if central_fraction == 1.0:
            return image
        if image.shape.ndims not in (3, 4):
            raise ValueError("`image` should either be a Tensor with rank = 3 or rank = 4.")
        image = identity(image, name="control_dependency")
        leading = [0] * (image.shape.ndims - 3)
        height, width = _extents(image)[-3:-1]
        top, left = _margin(height, central_fraction), _margin(width, central_fraction)
        begin = _vector(*leading, top, left, 0)
        size = _vector(*[-1 for _ in leading], height - top * 2, width - left * 2, -1)
        return slice_(image, begin, size)


def _margin(extent: Any, fraction: float) -> Any:
    if isinstance(extent, int):
        return int((extent - extent * fraction) / 2)
    exact = cast(extent, dt.float64)
    return cast((exact - exact * fraction) / 2, dt.int32)


# --- turning ---------------------------------------------------------------------------------------------------------

def _flip(image: Any, axis: int, default_name: str) -> Tensor:
    """Reverses one of the axes (height 0, width 1) of an image or a batch."""
    with name_scope(None, default_name, [image]):
        return _reverse_axis(_behind_rank_check(image), axis)


def _count_check(image: Tensor) -> None:
    """TensorFlow checks an image of which not all extents are known."""
    default_graph().imply(0 if image.shape.is_fully_defined() else 22)


def _behind_rank_check(image: Any) -> Tensor:
    """The image, of rank 3 or 4 (an unknown rank counts as 3), behind the node where TensorFlow's check of its rank stands: later ops that take
    their seed from the count of ops before them then draw TensorFlow's numbers."""
    image = _with_rank(image)
    _count_check(image)
    checked = identity(image, name="control_dependency")
    checked.set_shape(image.shape if image.shape.ndims is not None else [None] * 3)
    return checked


def _with_rank(image: Any) -> Tensor:
    """The image as a tensor; ValueError if it has less than three axes, more than four, or is known to be empty."""
    image = to_tensor(image, None, "image")
    ndims = image.shape.ndims
    if ndims is not None and ndims < 3:
        raise ValueError("'image' must be at least three-dimensional.")
    if ndims is not None and ndims > 4:
        raise ValueError("'image' must have either 3 or 4 dimensions.")
    if ndims is not None and 0 in image.shape.as_list()[-3:]:
        raise ValueError(f"all dims of 'image.shape' must be > 0: {image.shape}")
    return image


def _reverse_axis(image: Tensor, axis: int) -> Tensor:
    return reverse(image, [axis + image.shape.rank - 3])


def flip_left_right(image: Any) -> Tensor:
    """``tf.image.flip_left_right``: the mirror image."""
    return _flip(image, 1, "flip_left_right")


def flip_up_down(image: Any) -> Tensor:
    """``tf.image.flip_up_down``: the image upside down."""
    return _flip(image, 0, "flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, default_name: str) -> Tensor:
    """Flips the image, or each image of a batch on its own, with probability one half."""
    with name_scope(None, default_name, [image]) as scope:
        image = _behind_rank_check(to_tensor(image, None, "image"))
        batched = image.shape.ndims == 4
        graph = default_graph()  # TensorFlow has a conditional, or sums for a batch, where there is one Select here
        graph.imply(batched)
        draws = random_uniform(shape(image)[:1] if batched else [], 0, 1.0, seed=seed)
        # Batches use round(), single images "less than one half", as TensorFlow does: the same seeds flip the same images.
        chosen = less(draws, 0.5) if not batched else greater_equal(round_(draws), 1.0)
        graph.imply(7 if batched else 6)
        return where(chosen, _reverse_axis(image, axis), image, name=scope)


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """``tf.image.random_flip_left_right``: the mirror image, in one of two cases."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """``tf.image.random_flip_up_down``: the image upside down, in one of two cases."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _order(image: Tensor) -> list[int]:
    """The axes with height and width exchanged."""
    return [1, 0, 2] if image.shape.ndims == 3 else [0, 2, 1, 3]


def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """``tf.image.transpose_image``: height and width exchanged."""
    with name_scope(name, "transpose", [image]):
        image = _behind_rank_check(image)
        return transpose(image, _order(image), name="transpose_image")


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """``tf.image.rot90``: the image rotated by ``k`` quarters against the clock."""
    with name_scope(name, "rot90", [image, k]):
        image, turns = _behind_rank_check(image), _static_extent(k)
        if turns is not None:
            with default_graph().counting_as(62):  # TensorFlow's case of the three turns
                return _rotate(image, turns % 4)
        k = to_tensor(k, dt.int32, "k")
        if not k.shape.is_compatible_with([]):
            raise ValueError(f"'k' must be a scalar, got shape {k.shape}")
        k = mod(k, 4)
        rotated = case([(equal(k, 1), lambda: _rotate(image, 1)), (equal(k, 2), lambda: _rotate(image, 2)),
                        (equal(k, 3), lambda: _rotate(image, 3))], default=lambda: image, exclusive=True)
        *batch, _, _, channels = image.shape.as_list()
        rotated.set_shape([*batch, None, None, channels])
        return rotated


def _rotate(image: Tensor, turns: int) -> Tensor:
    """The image rotated by 0, 1, 2 or 3 quarters."""
    if turns == 1:
        return transpose(_reverse_axis(image, 1), _order(image))
    if turns == 2:
        return _reverse_axis(_reverse_axis(image, 1), 0)
    return _reverse_axis(transpose(image, _order(image)), 1) if turns == 3 else image


# --- values ----------------------------------------------------------------------------------------------------------

def per_image_standardization(image: Any) -> Tensor:
    """``tf.image.per_image_standardization``: each image with mean 0 and deviation 1 (at most scaled by the root of its size)."""
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = to_tensor(image, None, "image")
        original = image.dtype.base_dtype
        if original not in (dt.float16, dt.float32):
            image = convert_image_dtype(image, dt.float32)
        _count_check(image)
        image = identity(image, name="control_dependency")
        count = reduce_prod(shape(image)[-3:])
        mean = reduce_mean(image, axis=[-1, -2, -3], keepdims=True)
        deviation = reduce_std(image, axis=[-1, -2, -3], keepdims=True)
        least = rsqrt(cast(count, image.dtype))  # a uniform image would be divided by zero
        result = RealDiv(image - mean, maximum(deviation, least), name=scope)
        return convert_image_dtype(result, original, saturate=True)

