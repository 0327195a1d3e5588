"""What NumPy itself does: the limit for a large matrix product."""
from __future__ import annotations

import numpy  # noqa: F401 (its version is told by its name)

from models import architectures as sizes
from models import data
from models.architectures import Step


def make(case, variant):
    """The matrix product; there is no other case."""
    if case != "matmul":
        raise LookupError(f"NumPy has no case {case}")
    a, b = (data.normal(sizes.MATMUL, sizes.MATMUL, seed=seed) for seed in range(2))
    return Step(lambda: a @ b, 2 * sizes.MATMUL ** 2)
