"""The names of filters that Pillow had before version 10."""
from __future__ import annotations

from types import ModuleType

_FILTERS = {"ANTIALIAS": "LANCZOS", "CUBIC": "BICUBIC", "LINEAR": "BILINEAR", "NONE": "NEAREST"}


def restore(image: ModuleType) -> None:
    """Gives ``PIL.Image`` the old names."""
    for old, new in _FILTERS.items():
        if not hasattr(image, old):
            setattr(image, old, getattr(image.Resampling, new))
