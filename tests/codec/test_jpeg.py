"""JPEG files by native code: TensorFlow's pixels and libjpeg's, bit for bit; files that are not plain are left to others."""
from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from penstock.codec.jpeg import decode_file
from penstock.codec.jpeg_header import header_of
from penstock.errors import KernelError
from penstock.ops.image import image_files

pytestmark = pytest.mark.process
RECORDED = np.load(Path(__file__).parent / "data" / "jpeg.npz")  # by record_jpeg.py
NAMES = [name.removeprefix("file_") for name in RECORDED.files if name.startswith("file_")]
OPTIONS = {"default": {}, "accurate": {"fast": False}, "plain": {"fancy": False}, "gray": {"channels": 1}}


def picture(height, width, noise=False, seed=0):
    random = np.random.default_rng(seed)
    if noise:
        return random.integers(0, 256, (height, width, 3), np.uint8)
    coarse = Image.fromarray(random.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), np.uint8))
    return np.asarray(coarse.resize((width, height), Image.Resampling.BICUBIC))


def file_of(pixels, **options):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG", **options)
    return out.getvalue()


def by_libjpeg(content):
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image)


def by_native_code(content, channels=3, fancy=True, fast=False):
    found = header_of(content)
    return None if found is None else decode_file(content, *found, channels, fancy, fast)


@pytest.mark.parametrize("name", NAMES)
def test_pixels_are_tensorflows(name):
    content = RECORDED[f"file_{name}"].tobytes()
    assert header_of(content) is not None
    for option, given in OPTIONS.items():
        pixels = image_files.decode(content, given.get("channels", 0), ("JPEG",), fancy=given.get("fancy", True), fast=given.get("fast", True))
        np.testing.assert_array_equal(pixels, RECORDED[f"{option}_{name}"], err_msg=option)


@pytest.mark.parametrize("size", [(64, 256), (8, 8), (17, 33), (1, 5), (100, 7), (37, 300), (3, 700), (9, 1)])
@pytest.mark.parametrize("subsampling", ["4:4:4", "4:2:2", "4:2:0"])
def test_pixels_are_those_of_libjpeg(size, subsampling):
    for noise in (False, True):
        for options in ({"quality": 40}, {"quality": 95}, {"restart_marker_blocks": 3}):
            content = file_of(picture(*size, noise), subsampling=subsampling, **options)
            np.testing.assert_array_equal(by_native_code(content), by_libjpeg(content), err_msg=str(options))


def test_gray_files_and_their_colours():
    content = file_of(picture(21, 30)[:, :, 0])
    gray = by_libjpeg(content)[:, :, None]
    np.testing.assert_array_equal(by_native_code(content, 1), gray)
    np.testing.assert_array_equal(image_files.decode(content, 3, ("JPEG",), fast=False), np.repeat(gray, 3, 2))


def test_files_of_other_kinds_are_left_to_others():
    pixels = picture(20, 20)
    out = io.BytesIO()
    Image.fromarray(pixels).convert("CMYK").save(out, "JPEG")
    for content in (file_of(pixels, progressive=True), out.getvalue(), b"", b"\xff\xd8\xff", b"\xff\xd8" + b"\xff" * 99):
        assert header_of(content) is None
    content = file_of(pixels, progressive=True)
    np.testing.assert_array_equal(image_files.decode(content, 0, ("JPEG",)), by_libjpeg(content))


def test_a_file_that_ends_early_is_not_decoded():
    content = file_of(picture(64, 64, noise=True))
    _, start = header_of(content)
    for length in (start, start + 1, (start + len(content)) // 2, len(content) - 20):
        assert by_native_code(content[:length]) is None
    for length in range(start):
        assert header_of(content[:length]) is None


def test_what_a_broken_file_has_left_is_not_seen_in_the_next_image():
    content = file_of(picture(64, 64, noise=True))
    pixels = by_native_code(content)
    for length in range(len(content) // 2, len(content) - 2, 97):
        assert by_native_code(content[:length]) is None
        np.testing.assert_array_equal(by_native_code(content), pixels)


def without_end(content):
    return content[:-2]


def with_bad_marker(content):
    return content[:-1] + b"\x14"


def with_swapped_restarts(content):
    return content.replace(b"\xff\xd1", b"\xff\xd2")


def with_large_difference(content):
    """A table of first differences with a symbol of more bits than there are: nothing in the data refers to it."""
    place = content.index(b"\xff\xc4") + 5 + 16
    return content[:place + 11] + b"\x2b" + content[place + 12:]


def with_large_factors(content):
    place = content.index(b"\xff\xc0") + 11
    return content[:place] + b"\xff" + content[place + 1:]


@pytest.mark.parametrize("change", [without_end, with_bad_marker, with_swapped_restarts, with_large_difference, with_large_factors])
def test_a_file_that_libjpeg_refuses_or_mends_is_left_to_it(change):
    content = file_of(picture(64, 64, noise=True)[:, :, 0], restart_marker_blocks=3)
    assert by_native_code(content, 1) is not None
    changed = change(content)
    assert changed != content and by_native_code(changed, 1) is None


def test_what_stands_between_the_data_and_the_end_is_passed_over():
    content = file_of(picture(20, 20))
    pixels = by_native_code(content)
    for between in (b"\0\0", b"\xff", b"\xff\xd3", b"\xff\xfe\0\4no", b"\xff\xe1\0\x08\xff\xd9\xff\xd9ab"):
        np.testing.assert_array_equal(by_native_code(content[:-2] + between + content[-2:]), pixels)
    assert by_native_code(content[:-2] + b"\xff\xfe\xff\xff" + content[-2:]) is None  # a comment that is longer than the file


@pytest.mark.parametrize("options", [{}, {"subsampling": "4:4:4"}, {"restart_marker_blocks": 2}])
def test_damaged_files_never_crash(options):
    random = np.random.default_rng(1)
    source = file_of(picture(40, 50, noise=True), **options)
    for _ in range(300):
        damaged = bytearray(source)
        for place in random.integers(2, len(source), random.integers(1, 5)):
            damaged[place] = random.integers(256)
        try:
            pixels = image_files.decode(bytes(damaged), 0, ("JPEG",))
        except KernelError:
            continue
        assert pixels.ndim == 3
