"""What ops call, for any float type: ``emit.contract``, products of matrices."""
from __future__ import annotations

from penstock.native.calls import Array
from penstock.native.contract.narrow import by_float32, convert
from penstock.native.contract.products import Products


class Contractions(Products):
    """Products of matrices (``products``). Convolutions are a family of their own: most programs have none."""

    matmul = by_float32(Products.matmul)
    batch_matmul = by_float32(Products.batch_matmul)

    def convert(self, source: Array, result: Array) -> None:
        """Floats as floats of another size, element after element, as they lie in memory."""
        convert(self.b, source, result)
