"""Decoding and encoding of images: the operations. Formats are handled in ``ops/image/image_files.py``."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph import dtypes as dt
from penstock.graph.attrs import one_of, types
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.opdef import op
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape
from penstock.ops.array.shape_ops import known_elements
from penstock.ops.common import fixed
from penstock.ops.flow.control_flow import cond
from penstock.ops.image import image_files, png
from penstock.ops.image.image_color import convert_image_dtype
from penstock.ops.math.compare import equal
from penstock.ops.public import function
from penstock.ops.text.files import text
from penstock.ops.text.strings import substr

_JPEG = {"channels": 0, "ratio": 1, "fancy_upscaling": True, "try_recover_truncated": False, "acceptable_fraction": 1.0, "dct_method": ""}
_ANY = ("JPEG", "PNG", "GIF", "BMP")
_ACCURATE = "INTEGER_ACCURATE"  # the other transform is TensorFlow's default


def _image_shape(contents, channels):
    contents.shape.assert_has_rank(0)
    return TensorShape([None, None, channels or None])


def _check_ratio(ratio: int) -> None:
    if ratio not in (1, 2, 4, 8):
        raise invalid_argument(f"ratio must be 1, 2, 4, or 8, got {ratio}")


@op("DecodeJpeg", "contents: string -> image: uint8", **_JPEG)
class DecodeJpeg:
    """A JPEG (or PNG or GIF) image as [height, width, channels]."""

    shape = _image_shape
    gradient = None

    def kernel(contents, channels, ratio, fancy_upscaling, dct_method):
        _check_ratio(ratio)
        return image_files.decode(text(contents), channels, _ANY[:3], ratio, fancy=fancy_upscaling, fast=dct_method != _ACCURATE)


@op("DecodeAndCropJpeg", "contents: string, crop_window: int32 -> image: uint8", **_JPEG)
class DecodeAndCropJpeg:
    """A part of a JPEG image: the window is (top, left, height, width)."""

    ranks = {"crop_window": 1}
    gradient = None

    def shape(contents, crop_window, channels):
        contents.shape.assert_has_rank(0)
        window = known_elements(crop_window) or [None] * 4
        if len(window) != 4:
            raise ValueError(f"Dimension must be 4 but is {len(window)}")
        return TensorShape([window[2], window[3], channels or None])

    def kernel(contents, crop_window, channels, ratio, fancy_upscaling, dct_method):
        _check_ratio(ratio)
        content = text(contents)
        pixels = image_files.decode(content, channels, ("JPEG",), ratio, fancy=fancy_upscaling, fast=dct_method != _ACCURATE)
        if np.shape(crop_window) != (4,):
            raise invalid_argument(f"crop_window must have four elements {list(np.shape(crop_window))}")
        top, left, height, width = map(int, crop_window)
        if min(top, left) < 0 or min(height, width) <= 0 or top + height > pixels.shape[0] or left + width > pixels.shape[1]:
            raise invalid_argument(f"Invalid JPEG data or crop window, data size {len(content)}")
        return pixels[top:top + height, left:left + width]


@op("DecodePng", "contents: string -> image: dtype", channels=0, dtype=types(dt.uint8, dt.uint16, default=dt.uint8))
class DecodePng:
    """A PNG (or JPEG or GIF) image as [height, width, channels]."""

    shape = _image_shape
    gradient = None

    def kernel(contents, channels, dtype):
        return image_files.decode(text(contents), channels, _ANY, wide=dtype is dt.uint16)


@op("DecodeBmp", "contents: string -> image: uint8", channels=0)
class DecodeBmp:
    """A BMP image as [height, width, channels]."""

    shape = _image_shape
    gradient = None

    def kernel(contents, channels):
        return image_files.decode(image_files.with_magic(text(contents)), channels, ("BMP",))


@op("DecodeGif", "contents: string -> image: uint8")
class DecodeGif:
    """All frames of a GIF image as [frames, height, width, 3]."""

    ranks = {"contents": 0}
    shape = fixed(None, None, None, 3)
    gradient = None

    def kernel(contents):
        content = text(contents)
        if image_files.kind_of(content) in ("JPEG", "PNG"):
            return image_files.decode(content, 3, _ANY)[None]
        return image_files.decode_gif(content)


@op("ExtractJpegShape", "contents: string -> image_shape: output_type", output_type=types(dt.int32, dt.int64, default=dt.int32))
class ExtractJpegShape:
    """(height, width, channels) of a JPEG image, from its header."""

    ranks = {"contents": 0}
    shape = fixed(3)
    gradient = None

    def kernel(contents, output_type):
        return np.array(image_files.jpeg_shape(text(contents)), output_type.np)


@op("EncodeJpeg", "image: uint8 -> contents: string", format=one_of("", "grayscale", "rgb", default=""), quality=95, progressive=False,
    optimize_size=False, chroma_downsampling=True, density_unit=one_of("in", "cm", default="in"), x_density=300, y_density=300, xmp_metadata="")
class EncodeJpeg:
    """An image [height, width, 1 or 3] as a JPEG file."""

    ranks = {"image": 3}
    shape = fixed()
    gradient = None

    def kernel(image, format, quality, progressive, optimize_size, chroma_downsampling, density_unit, x_density, y_density):
        if image.ndim != 3:
            raise invalid_argument(f"image must be 3-dimensional{list(image.shape)}")
        if not 0 <= quality <= 100:
            raise invalid_argument(f"quality must be in [0,100], got {quality}")
        wanted = {"": image.shape[2], "grayscale": 1, "rgb": 3}[format]
        if image.shape[2] not in (1, 3) or image.shape[2] != wanted or not image.size:
            raise invalid_argument(f"image must have {wanted if format else '1 or 3'} channels and pixels, got shape {list(image.shape)}")
        dots = (x_density, y_density) if density_unit == "in" else (round(x_density * 2.54), round(y_density * 2.54))
        return np.asarray(image_files.encode_jpeg(image, quality=quality, progressive=progressive, optimize=optimize_size,
                                               subsampling=2 if chroma_downsampling else 0, dpi=dots), object)


@op("EncodeJpegVariableQuality", "images: uint8, quality: int32 -> contents: string")
class EncodeJpegVariableQuality:
    """An image [height, width, 1 or 3] as a JPEG file, of a quality that is computed."""

    ranks = {"images": 3, "quality": 0}
    shape = fixed()
    gradient = None

    def kernel(images, quality):
        if not 0 <= quality <= 100:
            raise invalid_argument(f"quality must be in [0,100], got {quality}")
        if images.ndim != 3 or images.shape[2] not in (1, 3) or not images.size:
            raise invalid_argument(f"image must have 1 or 3 channels and pixels, got shape {list(images.shape)}")
        file = image_files.encode_jpeg(images, quality=int(quality), progressive=False, optimize=False, subsampling=2, dpi=(300, 300))
        return np.asarray(file, object)


@op("EncodePng", "image: T -> contents: string", compression=-1, T=types(dt.uint8, dt.uint16, default=dt.uint8))
class EncodePng:
    """An image [height, width, 1 to 4] as a PNG file."""

    ranks = {"image": 3}
    gradient = None

    def shape(compression):
        if not -1 <= compression <= 9:
            raise ValueError(f"compression should be in [-1,9], got {compression}")
        return []

    def kernel(image, compression):
        if image.ndim != 3 or not image.size:
            raise invalid_argument(f"image must be 3-dimensional and not empty, got shape {list(image.shape)}")
        if image.shape[2] not in (1, 2, 3, 4):
            raise invalid_argument(f"image must have 1, 2, 3, or 4 channels, got {image.shape[2]}")
        return np.asarray(png.encode(image, compression), object)


encode_jpeg = function(EncodeJpeg, "encode_jpeg")
extract_jpeg_shape = function(ExtractJpegShape, "extract_jpeg_shape")
decode_jpeg = function(DecodeJpeg, "decode_jpeg")
decode_and_crop_jpeg = function(DecodeAndCropJpeg, "decode_and_crop_jpeg")
decode_png = function(DecodePng, "decode_png")
decode_bmp = function(DecodeBmp, "decode_bmp")
decode_gif = function(DecodeGif, "decode_gif")


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """``tf.image.encode_png``: the image as the bytes of a PNG file."""
    return EncodePng(image, compression=compression, name=name)


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """``tf.image.is_jpeg``: whether the bytes start like a JPEG file."""
    with name_scope(name, "is_jpeg", [contents]):
        return equal(substr(contents, 0, 3), b"\xff\xd8\xff", name="Equal")


def decode_image(contents: Any, channels: int | None = None, dtype: Any = dt.uint8, name: str | None = None,
                 expand_animations: bool = True) -> Tensor:
    """``tf.image.decode_image``: a JPEG, PNG, GIF or BMP image; a GIF has a fourth axis in front, unless ``expand_animations`` is False."""
    if channels not in (None, 0, 1, 3, 4):
        raise ValueError("channels must be in (None, 0, 1, 3, 4)")
    with name_scope(name, "decode_image", [contents]):
        contents = to_tensor(contents, dt.string, "contents")

        def single() -> Tensor:
            return DecodePng(contents, channels=channels or 0)

        image = cond(equal(substr(contents, 0, 3), b"GIF", name="is_gif"), lambda: DecodeGif(contents), single,
                     name="cond_gif") if expand_animations else single()
        return convert_image_dtype(image, dtype)
