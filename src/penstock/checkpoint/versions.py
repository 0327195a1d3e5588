"""A checkpoint by its name, whichever version it is of."""
from __future__ import annotations

import os

from penstock.checkpoint.bundle import BundleReader
from penstock.checkpoint.reader import Checkpoint
from penstock.checkpoint.version1 import Version1Reader, files_of
from penstock.errors import NotFoundError


def open_checkpoint(path: str) -> Checkpoint:
    """The checkpoint that was saved as ``path``, of either version; NotFoundError if there is none."""
    if os.path.exists(f"{path}.index"):
        return BundleReader(path)
    files = files_of(path)
    if files:
        return Version1Reader(path, files)
    raise NotFoundError(None, None, f"Unsuccessful TensorSliceReader constructor: Failed to find any matching files for {path}{_neighbours(path)}")


def _neighbours(path: str) -> str:
    """The checkpoints that the folder does have."""
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        return f": there is no directory {folder}"
    names = sorted(name.removesuffix(".index") for name in os.listdir(folder) if name.endswith(".index"))
    return f". The checkpoints in {folder} are: {', '.join(names)}" if names else f". There are no checkpoints in {folder}"
