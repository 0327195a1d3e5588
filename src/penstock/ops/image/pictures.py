"""Picture files to arrays and back. Pillow reads and writes JPEG, GIF and BMP and reads PNG; it is imported when a picture is first decoded.

JPEG pixels equal TensorFlow's with ``dct_method="INTEGER_ACCURATE"``; its default is a quicker transform that is off by one or two here and there.

Data may be hostile: the size that a header claims is checked before any pixel is decoded, and whatever Pillow says against the data becomes
InvalidArgumentError.
"""
from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

from penstock.errors import KernelError, UnimplementedError, invalid_argument

_MAX_BYTES = 2**29  # of a decoded picture
_MAGIC = ((b"\xff\xd8\xff", "JPEG"), (b"\x89PNG\r\n\x1a\n", "PNG"), (b"GIF8", "GIF"), (b"BM", "BMP"))


def kind_of(content: bytes) -> str | None:
    """JPEG, PNG, GIF or BMP, by the first bytes; None for anything else."""
    return next((kind for magic, kind in _MAGIC if content.startswith(magic)), None)


def _open(content: bytes, allowed: tuple[str, ...]) -> Any:
    """The picture, with its header read and its size checked."""
    from PIL import Image  # here, because programs without pictures should not pay for it

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
    if width <= 0 or height <= 0 or width * height * max(depth, 3) > _MAX_BYTES:
        raise invalid_argument(f"{kind} image is too large or empty: {width} x {height} x {depth}")
    return image


def _invalid(kind: str, content: bytes, error: Exception) -> KernelError:
    reason = f"Invalid {kind} data or crop window, data size {len(content)}" if kind == "JPEG" else f"Invalid {kind} data, size {len(content)}"
    return invalid_argument(f"{reason} ({error})")


def decode(content: bytes, channels: int, allowed: tuple[str, ...], ratio: int = 1, wide: bool = False) -> np.ndarray:
    """The picture as [height, width, channels]; ``channels`` 0 takes what the file has. ``wide`` gives uint16."""
    image = _open(content, allowed)
    kind = image.format
    try:
        if kind == "JPEG":
            pixels = _jpeg(image, channels, ratio)
        elif image.mode.startswith("I;16"):
            image.load()
            pixels = np.asarray(image)[:, :, None].astype(np.uint16)
        else:
            pixels = _plain(image)
    except KernelError:
        raise
    except Exception as error:  # Pillow raises what the parsers of the formats raise: OSError, SyntaxError, struct.error, ...
        raise _invalid(kind, content, error) from None
    if kind == "PNG" and content[24:25] == b"\x10" and pixels.dtype == np.uint8 and wide:
        raise KernelError(UnimplementedError, "PNG files with 16 bits per channel and more than one channel are not decoded to uint16")
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
    image = image.convert("L" if gray else "RGB")
    if ratio > 1 and image.size != size:
        image = image.resize(size)
    pixels = np.asarray(image)
    return pixels[:, :, None] if gray else pixels


def _plain(image: Any) -> np.ndarray:
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode not in ("L", "LA", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    pixels = np.asarray(image)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def _with_channels(pixels: np.ndarray, wanted: int) -> np.ndarray:
    """The same picture with another number of channels."""
    if wanted not in (1, 2, 3, 4):
        raise invalid_argument(f"channels must be 0, 1, 3, or 4, got {wanted}")
    found = pixels.shape[2]
    if found == wanted:
        return pixels
    opaque = np.full(pixels.shape[:2] + (1,), np.iinfo(pixels.dtype).max, pixels.dtype)
    alpha = pixels[:, :, -1:] if found in (2, 4) else opaque
    color = pixels[:, :, :found - (found in (2, 4))]
    if wanted <= 2 and color.shape[2] == 3:
        weighted = color.astype(np.int64) @ np.array([9798, 19234, 3736])  # libpng's fixed point; it does not round
        color = (weighted >> 15).astype(pixels.dtype)[:, :, None]
    elif wanted >= 3 and color.shape[2] == 1:
        color = np.repeat(color, 3, axis=2)
    return np.concatenate([color, alpha], axis=2) if wanted in (2, 4) else color


def decode_gif(content: bytes) -> np.ndarray:
    """All frames, as [frames, height, width, 3]."""
    image = _open(content, ("GIF",))
    frames, size = [], image.size[0] * image.size[1] * 3
    try:
        for index in range(getattr(image, "n_frames", 1)):
            if (index + 1) * size > _MAX_BYTES:
                raise invalid_argument(f"GIF has more than {index} frames of {image.size}: too large")
            image.seek(index)
            frames.append(np.asarray(image.convert("RGB")))
    except KernelError:
        raise
    except Exception as error:
        raise _invalid("GIF", content, error) from None
    return np.stack(frames)


def jpeg_shape(content: bytes) -> tuple[int, int, int]:
    """(height, width, channels) from the header alone."""
    image = _open(content, ("JPEG",))
    return image.size[1], image.size[0], len(image.getbands())


def encode_jpeg(pixels: np.ndarray, **options: Any) -> bytes:
    """A JPEG file of [height, width, 1 or 3] bytes; options are Pillow's."""
    from PIL import Image  # here, because programs without pictures should not pay for it

    out = io.BytesIO()
    Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels).save(out, "JPEG", **options)
    return out.getvalue()


def encode_png(pixels: np.ndarray, compression: int) -> bytes:
    """A PNG file of [height, width, 1 to 4] elements with 8 or 16 bits. Each row is stored as differences to the pixel before."""
    height, width, channels = pixels.shape
    raw = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder(">"))).view(np.uint8).reshape(height, width, -1)
    rows = np.concatenate([raw[:, :1], raw[:, 1:] - raw[:, :-1]], axis=1).reshape(height, -1)
    rows = np.concatenate([np.ones((height, 1), np.uint8), rows], axis=1)  # 1: the filter "Sub"
    color = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    header = struct.pack(">IIBBBBB", width, height, 8 * pixels.dtype.itemsize, color, 0, 0, 0)
    body = zlib.compress(rows.tobytes(), compression)
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, data) for name, data in ((b"IHDR", header), (b"IDAT", body), (b"IEND", b"")))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
