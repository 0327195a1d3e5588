"""Models that take any batch: their rows must not depend on each other, for a batch is cut into pieces. That is tried with random numbers."""
from __future__ import annotations

from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.export.entries import EntryArgument, EntryPoint

_ROWS = 3


def check_rows(session: Any, entry: EntryPoint) -> None:
    """InvalidArgumentError if some rows together give other results than each alone."""
    random = np.random.RandomState(0)
    feeds = {tensor: _values(argument, random) for tensor, argument in zip(entry.feeds, entry.inputs)}
    together = session.run(entry.fetches, feeds)
    for row in range(_ROWS):
        alone = session.run(entry.fetches, {tensor: value[row:row + 1] if None in argument.shape else value
                                            for (tensor, value), argument in zip(feeds.items(), entry.inputs)})
        for name, all_rows, one in zip((each.name for each in entry.outputs), together, alone):
            if np.shape(all_rows)[:1] != (_ROWS,) or not np.allclose(all_rows[row:row + 1], one, rtol=1e-3, atol=1e-4, equal_nan=True):
                raise InvalidArgumentError(None, None, f"{entry.name} cannot take any batch: the rows of the batch depend on each other in {name}")


def _values(argument: EntryArgument, random: np.random.RandomState) -> np.ndarray:
    shape, dtype = argument.of_batch(_ROWS), argument.dtype
    if dtype.is_floating:
        return random.standard_normal(shape).astype(dtype.np)
    return random.randint(0, 2, shape).astype(dtype.np)  # indices that any table has
