"""Fingerprints and resizing: bit for bit what Python and NumPy give."""
from __future__ import annotations

import random

import numpy as np
import pytest

from penstock.codec.hashes import buckets_of
from penstock.codec.resizing import resized
from penstock.ops.image import image_resize
from penstock.platform.hashing import fingerprint64

pytestmark = pytest.mark.process


@pytest.mark.parametrize("buckets", [1, 7, 1000003, 2**62])
def test_fingerprints(buckets):
    generator = random.Random(0)
    items = [generator.randbytes(length) for length in range(65) for _ in range(3)]
    assert buckets_of(np.array([*items, None], object)[:-1], buckets).tolist() == [fingerprint64(item) % buckets for item in items]


def test_long_strings_and_other_objects_are_left_to_python():
    assert buckets_of(np.array([b"x" * 65], object), 5) is None
    assert buckets_of(np.array(["x"], object), 5) is None


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("align_corners, half_pixel_centers", [(False, False), (True, False), (False, True)])
def test_resizing(monkeypatch, dtype, align_corners, half_pixel_centers):
    generator = np.random.default_rng(0)
    for _ in range(10):
        height, width, channels, *size = generator.integers(1, 30, 5).tolist()
        images = (generator.random((2, height, width, channels)) * 255).astype(dtype)[:, :, ::-1]
        arguments = (images, np.array(size, np.int32), align_corners, half_pixel_centers)
        natively = image_resize.ResizeBilinear.kernel(*arguments)
        with monkeypatch.context() as patch:
            patch.setattr(image_resize, "resized", lambda *_: None)
            assert np.array_equal(natively, image_resize.ResizeBilinear.kernel(*arguments))


def test_places_outside_of_the_picture_are_refused():
    images, axis = np.zeros((1, 2, 2, 1), np.float32), (np.array([0]), np.array([2]), np.zeros(1, np.float32))
    assert resized(images, axis, axis) is None
