"""All contractions of the emitter in one object, ``emit.contract``."""
from __future__ import annotations

from penstock.compiler.contract import Products
from penstock.compiler.convolution import Convolutions


class Contractions(Products, Convolutions):
    """Products of matrices; convolutions and their gradients."""
