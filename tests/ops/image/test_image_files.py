"""Decoders against hostile data: InvalidArgumentError, quickly, and never a crash or a huge allocation."""
from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest

import penstock as tf
from penstock.ops.image import image_files, png
from support.memory import peak_of

PIXELS = np.arange(60, dtype=np.uint8).reshape(4, 5, 3) * 4
PNG = png.encode(PIXELS, -1)
JPEG = image_files.encode_jpeg(PIXELS, quality=95)


def decode(build, content):
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(build(tf.constant(content)))


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_of(width, height):
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize("content", [b"", b"junk", PNG[:30], PNG[:50], b"\x89PNG\r\n\x1a\n" + b"\0" * 50, png_of(2**31 - 1, 2**31 - 1),
                                     png_of(100_000, 100_000), png_of(0, 5), JPEG[:20],
                                     b"\xff\xd8\xff\xe0" + b"\xff" * 500, b"GIF89a" + b"\xff" * 20], ids=range(11))
@pytest.mark.parametrize("build", [tf.image.decode_png, tf.image.decode_jpeg, tf.image.decode_gif, tf.image.decode_bmp, tf.image.decode_image,
                                   tf.image.extract_jpeg_shape])
def test_hostile_data(build, content):
    if build is tf.image.extract_jpeg_shape and content == JPEG[:20]:
        pytest.skip("its header may be complete")
    with pytest.raises(tf.errors.InvalidArgumentError):
        decode(build, content)


def test_damaged_bytes_never_crash():
    random = np.random.RandomState(0)
    for source in (PNG, JPEG):
        for _ in range(60):
            damaged = bytearray(source)
            for place in random.randint(8, len(source), 4):
                damaged[place] = random.randint(256)
            try:
                pixels = decode(tf.image.decode_png, bytes(damaged))
            except tf.errors.InvalidArgumentError:
                continue
            assert pixels.ndim == 3


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_png_file_is_what_others_read(channels, dtype):
    image = pytest.importorskip("PIL.Image")

    pixels = np.random.RandomState(channels).randint(0, np.iinfo(dtype).max, (7, 6, channels)).astype(dtype)
    with image.open(io.BytesIO(png.encode(pixels, 9))) as opened:
        assert opened.size == (6, 7)
        if dtype == np.uint8:
            assert np.array_equal(np.asarray(opened).reshape(pixels.shape), pixels)


def test_crop_window_outside():
    with pytest.raises(tf.errors.InvalidArgumentError, match="crop window"):
        decode(lambda content: tf.image.decode_and_crop_jpeg(content, [2, 2, 9, 9]), JPEG)


def small_png(extent):
    """A black image: a thousandth of its pixels."""
    rows = zlib.compress(bytes((3 * extent + 1) * extent), 9)
    header = struct.pack(">IIBBBBB", extent, extent, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_a_small_image_that_turns_gray_takes_little():
    content = small_png(4000)
    assert len(content) < 60_000
    pixels = np.zeros(0)

    def run():
        nonlocal pixels
        pixels = image_files.decode(content, 1, ("PNG",))

    assert peak_of(run) < 150 << 20  # (48 MB of colours, and what turns some of them gray)
    assert pixels.shape == (4000, 4000, 1) and not pixels.any()


def test_gray_is_the_same_in_blocks(monkeypatch):
    wide = np.random.default_rng(0).integers(0, 65536, (7, 5, 3)).astype(np.uint16)
    whole = image_files._gray(wide)
    monkeypatch.setattr(image_files, "_ROWS", 10)
    np.testing.assert_array_equal(image_files._gray(wide), whole)
    assert whole.dtype == np.uint16 and image_files._gray(np.full((1, 1, 3), 65535, np.uint16)).item() == 65535


def gif(*frames):
    """Frames of (width, height) on a canvas of 2 x 2, with hardly any data."""
    parts = [b"GIF89a", struct.pack("<HHBBB", 2, 2, 0x80, 0, 0), bytes(6)]
    for width, height in frames:
        parts += [b"\x2c", struct.pack("<4HB", 0, 0, width, height, 0), b"\x02\x02\x44\x01\x00"]
    return b"".join(parts) + b"\x3b"


def test_a_gif_whose_later_frames_are_larger():
    assert image_files._gif_extent(gif((2, 2), (60_000, 50_000))) == (2, 60_000, 50_000)
    with pytest.raises(tf.errors.InvalidArgumentError, match="2 frames of 60000 x 50000"):
        decode(tf.image.decode_gif, gif((2, 2), (60_000, 50_000)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        decode(tf.image.decode_gif, gif(*[(4000, 4000)] * 9))


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_16_bits_come_back(channels):
    pixels = np.random.RandomState(channels).randint(0, 65536, (9, 7, channels)).astype(np.uint16)
    pixels[3:] = 1000 * np.arange(7)[:, None]  # smooth rows have other filters than noise
    np.testing.assert_array_equal(image_files.decode(png.encode(pixels, 9), 0, ("PNG",), wide=True), pixels)


@pytest.mark.parametrize("kind", range(5))
def test_filters_of_16_bits(kind):
    """Rows that all have one filter, computed here element by element."""
    pixels = np.random.RandomState(kind).randint(0, 65536, (4, 5, 3)).astype(">u2")
    raw = pixels.view(np.uint8).reshape(4, -1).astype(int)
    rows = []
    for line, row in enumerate(raw):
        coded = [kind]
        for index, value in enumerate(row):
            left = row[index - 6] if index >= 6 else 0
            above = raw[line - 1][index] if line else 0
            corner = raw[line - 1][index - 6] if line and index >= 6 else 0
            estimate = left + above - corner
            paeth = min((left, above, corner), key=lambda each: abs(estimate - each))
            coded.append((value - (0, left, above, (left + above) // 2, paeth)[kind]) % 256)
        rows.append(bytes(coded))
    header = struct.pack(">IIBBBBB", 5, 4, 16, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"".join(rows))) + chunk(b"IEND", b"")
    np.testing.assert_array_equal(image_files.decode(content, 0, ("PNG",), wide=True), pixels)


def test_smooth_images_become_small_files():
    ramp = np.stack(np.broadcast_arrays(np.arange(0, 256, 2)[:, None], np.arange(128), 7), axis=2).astype(np.uint8)
    assert len(png.encode(ramp, 7)) < 1000


def test_frames_need_a_decoder_of_frames():
    frames = io.BytesIO()
    image = pytest.importorskip("PIL.Image")
    pages = [image.fromarray(np.full((4, 4), value, np.uint8)) for value in (0, 90, 200)]
    pages[0].save(frames, "GIF", save_all=True, append_images=pages[1:])
    for build in (tf.image.decode_png, tf.image.decode_jpeg):
        with pytest.raises(tf.errors.InvalidArgumentError, match="Got 3 frames"):
            decode(build, frames.getvalue())
