"""What ops call, for any float type: ``emit.contract``, products of matrices."""
from __future__ import annotations

from penstock.native.contract.narrow import by_float32
from penstock.native.contract.products import Products


class Contractions(Products):
    """Products of matrices (``products``). Convolutions are a family of their own: most programs have none."""

    matmul = by_float32(Products.matmul)
    batch_matmul = by_float32(Products.batch_matmul)
