"""Image files to arrays and back. Usual JPEG files are decoded by native code (``codec/jpeg.py``), to TensorFlow's pixels, bit for bit. Pillow reads
other ones, GIF, BMP and PNG, and writes JPEG; ``png.py`` writes PNG. Pillow is imported when it is first needed.

Pillow has one way to decode JPEG: that of ``dct_method="INTEGER_ACCURATE"`` and ``fancy_upscaling``, to the same pixels. TensorFlow's default is less
accurate: of other files (progressive ones, CMYK, and all of them where there is no compiler) most of its pixels are a little different, by up to 11
of 255 in a file of high quality, and by 1 or 2 in most.

Data may be hostile: the size that a header claims is checked before any pixel is decoded, and whatever Pillow says against the data becomes
InvalidArgumentError.
"""
from __future__ import annotations

import io
import struct
from typing import Any

import numpy as np

from penstock.codec.jpeg import decode_file
from penstock.codec.jpeg_header import header_of
from penstock.errors import KernelError, invalid_argument
from penstock.ops.image.png import decode_16_bits, has_16_bits

_MAX_BYTES = 2**29  # of a decoded image,
_SMALL, _FACTOR = 2**26, 1000  # and of one that is decoded from a file of so few bytes that this is less: these, or so many times the file's size
_ROWS = 2**20  # pixels that are made gray at a time
_MAGIC = ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP"))


def kind_of(content: bytes) -> str | None:
    """JPEG, PNG, GIF or BMP, by the first bytes; None for anything else."""
    return next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)


def with_magic(content: bytes) -> bytes:
    """The content of a BMP file with its first two bytes, which TensorFlow does not look at, as the format has them."""
    return b"BM" + content[2:] if kind_of(content) is None and len(content) >= 32 else content


def _open(content: bytes, allowed: tuple[str, ...]) -> Any:
    """The image, with its header read and its size checked."""
    from PIL import Image  # here, because programs without images should not pay for it

    kind = kind_of(content)
    if kind not in allowed:
        start = "".join(chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}" for byte in content[:16])
        raise invalid_argument(f"Expected image ({', '.join(allowed)}), got {kind or f'unknown format starting with {start!r}'}")
    try:
        image = Image.open(io.BytesIO(content), formats=[kind])
        width, height = image.size
        depth = len(image.getbands())
    except Exception as error:
        raise _invalid(kind, content, error) from None
    if width <= 0 or height <= 0 or width * height * max(depth, 3) > _limit(content):
        raise invalid_argument(f"{kind} image is too large or empty: {width} x {height} x {depth}")
    return image


def _limit(content: bytes) -> int:
    """How many bytes an image may have that is decoded from this."""
    return min(_MAX_BYTES, max(_SMALL, _FACTOR * len(content)))


def _invalid(kind: str, content: bytes, error: Exception) -> KernelError:
    reason = f"Invalid {kind} data or crop window, data size {len(content)}" if kind == "JPEG" else f"Invalid {kind} data, size {len(content)}"
    return invalid_argument(f"{reason} ({error})")


def decode(content: bytes, channels: int, allowed: tuple[str, ...], ratio: int = 1, wide: bool = False, fancy: bool = True,
           fast: bool = True) -> np.ndarray:
    """The image as [height, width, channels]; ``channels`` 0 takes what the file has. ``wide`` gives uint16. Of JPEG: ``fancy`` interpolates colours,
    ``fast`` is the less accurate transform."""
    if ratio == 1 and "JPEG" in allowed and (pixels := _usual_jpeg(content, channels, fancy, fast)) is not None:
        return _depth(pixels, wide)
    image = _open(content, allowed)
    kind = image.format
    if kind == "GIF" and (frames := getattr(image, "n_frames", 1)) > 1:
        raise invalid_argument(f"Got {frames} frames, but animated gifs can only be decoded by tf.image.decode_gif or tf.image.decode_image")
    try:
        if kind == "JPEG":
            pixels = _jpeg(image, channels, ratio)
        elif wide and has_16_bits(content):
            image.load()  # which finds what is broken
            pixels = decode_16_bits(content)
        elif image.mode.startswith("I;16"):
            image.load()
            pixels = np.asarray(image)[:, :, None].astype(np.uint16)
        else:
            pixels = _plain(image)
    except KernelError:
        raise
    except Exception as error:  # Pillow raises what the parsers of the formats raise: OSError, SyntaxError, struct.error, ...
        raise _invalid(kind, content, error) from None
    if kind != "JPEG":
        pixels = _with_channels(pixels, channels or pixels.shape[2])
    return _depth(pixels, wide)


def _depth(pixels: np.ndarray, wide: bool) -> np.ndarray:
    """8 bits widen by repetition (255 becomes 65535), 16 narrow to their upper half."""
    if wide:
        return pixels if pixels.dtype == np.uint16 else pixels.astype(np.uint16) * np.uint16(257)
    return (pixels >> 8).astype(np.uint8) if pixels.dtype == np.uint16 else pixels


def _jpeg(image: Any, channels: int, ratio: int) -> np.ndarray:
    if channels not in (0, 1, 3):
        raise invalid_argument(f"channels must be 0, 1, or 3 for JPEG, got {channels}")
    gray = channels == 1 or (channels == 0 and image.mode == "L")
    size = (-(-image.size[0] // ratio), -(-image.size[1] // ratio))
    # The decoder itself scales and drops the colour. It is asked for the size rounded down, and gives it rounded up.
    image.draft("L" if gray else "RGB", (max(image.size[0] // ratio, 1), max(image.size[1] // ratio, 1)))
    mode = "L" if gray else "RGB"
    image = image if image.mode == mode else image.convert(mode)  # which copies also what is right
    if ratio > 1 and image.size != size:
        image = image.resize(size)
    return _pixels(image)


def _pixels(image: Any) -> np.ndarray:
    """The pixels of an image of mode L or RGB."""
    image.load()
    return _pack(image.im, image.mode)


def _pack(image: Any, mode: str) -> np.ndarray:
    """The pixels of Pillow's inner image, packed in one go: NumPy would get them in pieces of 64 kB, and join those."""
    from PIL import Image  # here, because programs without images should not pay for it

    width, height = image.size
    encoder = Image._getencoder(mode, "raw", mode)
    encoder.setimage(image, (0, 0, width, height))
    size = width * height * len(mode)
    _, status, data = encoder.encode(size)
    if status < 0 or len(data) != size:
        raise OSError(f"{len(data)} of {size} bytes, status {status}")
    return np.frombuffer(data, np.uint8).reshape(height, width, len(mode))


def _usual_jpeg(content: bytes, channels: int, fancy: bool, fast: bool) -> np.ndarray | None:
    """The pixels of a JPEG file of the usual kind, by native code; None for any other, and for a broken one."""
    header_and_start = header_of(content) if kind_of(content) == "JPEG" else None
    if header_and_start is None:
        return None
    header, start = header_and_start
    depth = len(header.components)
    if not 0 < header.width * header.height * 3 <= _limit(content) or channels not in (0, 1, 3):
        return None
    pixels = decode_file(content, header, start, min(channels, depth) or depth, fancy, fast)
    return pixels if pixels is None or pixels.shape[2] >= channels else np.repeat(pixels, channels, axis=2)


def _plain(image: Any) -> np.ndarray:
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _with_channels(pixels: np.ndarray, wanted: int) -> np.ndarray:
    """The same image with another number of channels."""
    if wanted not in (1, 2, 3, 4):
        raise invalid_argument(f"channels must be 0, 1, 3, or 4, got {wanted}")
    channels = pixels.shape[2]
    if channels == wanted:
        return pixels
    color = pixels[:, :, :channels - (channels in (2, 4))]
    if wanted <= 2 and color.shape[2] == 3:
        color = _gray(color)
    elif wanted >= 3 and color.shape[2] == 1:
        color = np.repeat(color, 3, axis=2)
    if wanted in (1, 3):
        return color
    alpha = pixels[:, :, -1:] if channels in (2, 4) else np.full(pixels.shape[:2] + (1,), np.iinfo(pixels.dtype).max, pixels.dtype)
    return np.concatenate([color, alpha], axis=2)


def _gray(color: np.ndarray) -> np.ndarray:
    """One channel of three, some rows at a time: the numbers in between take several times the memory of the image."""
    height, width, _ = color.shape
    gray = np.empty((height, width, 1), color.dtype)
    rows = max(1, _ROWS // width)
    for start in range(0, height, rows):
        weighted = color[start:start + rows].astype(np.int64) @ np.array([9798, 19234, 3736])  # libpng's fixed point; it does not round
        gray[start:start + rows, :, 0] = weighted >> 15
    return gray


def decode_gif(content: bytes) -> np.ndarray:
    """All frames, as [frames, height, width, 3]."""
    image = _open(content, ("GIF",))
    try:
        count, width, height = _gif_extent(content)
        if count * width * height * 3 > _limit(content):
            raise invalid_argument(f"GIF is too large: {count} frames of {width} x {height}")
        frames = []
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            frames.append(np.asarray(image.convert("RGB")))
        return np.stack(frames)
    except KernelError:
        raise
    except Exception as error:
        raise _invalid("GIF", content, error) from None


def _gif_extent(content: bytes) -> tuple[int, int, int]:
    """(number of frames, width, height) that all frames of a GIF fit into, from its descriptors alone: a later frame may be larger."""
    width, height, flags = struct.unpack_from("<HHB", content, 6)
    position, count = 13 + _colors(flags), 0
    while position < len(content):
        kind = content[position]
        if kind == 0x2C:  # a frame
            left, top, wide, high, flags = struct.unpack_from("<4HB", content, position + 1)
            width, height, count = max(width, left + wide), max(height, top + high), count + 1
            position = _after_pieces(content, position + 11 + _colors(flags))
        elif kind == 0x21:  # an extension
            position = _after_pieces(content, position + 2)
        elif kind == 0x3B:  # the end
            break
        else:  # garbage, which Pillow passes over
            position += 1
    return max(count, 1), width, height


def _colors(flags: int) -> int:
    """The bytes of the table of colours that these flags announce."""
    return 3 << (flags & 7) + 1 if flags & 0x80 else 0


def _after_pieces(content: bytes, position: int) -> int:
    """Where the pieces that begin here end: each says its length, and the last one is empty."""
    while position < len(content) and content[position]:
        position += content[position] + 1
    return position + 1


def jpeg_shape(content: bytes) -> tuple[int, int, int]:
    """(height, width, channels) from the header alone."""
    image = _open(content, ("JPEG",))
    return image.size[1], image.size[0], len(image.getbands())


def encode_jpeg(pixels: np.ndarray, **options: Any) -> bytes:
    """A JPEG file of [height, width, 1 or 3] bytes; options are Pillow's."""
    from PIL import Image  # here, because programs without images should not pay for it

    out = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(out, "JPEG", **options)
    return out.getvalue()
