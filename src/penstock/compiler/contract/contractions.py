"""All contractions of the emitter in one object, ``emit.contract``."""
from __future__ import annotations

from penstock.compiler.contract.depthwise import Depthwise


class Contractions(Depthwise):
    """Products of matrices (``contract``), convolutions (``convolution``, ``winograd``), depthwise ones (``depthwise``)."""
