"""All contractions of the emitter in one object, ``emit.contract``."""
from __future__ import annotations

from penstock.compiler.contract import Products


class Contractions(Products):
    """``matmul``."""
