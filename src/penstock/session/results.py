"""Results as the caller gets them: scalars for rank 0, and arrays that no later step touches."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np

from penstock.state.result_memory import LARGE, RESULTS


def hand_out(values: list[Any], keep: bool = False) -> list[Any]:
    """The list, with its values as the caller gets them. What only the list holds is handed over; what something else still holds is copied.

    ``keep``: the memory of large ones is to be used again when the caller has dropped them.
    """
    place = -1
    for value in values:  # not with ``enumerate``, whose tuple would be one more that holds the value
        place += 1
        if type(value) is np.ndarray:
            if value.ndim == 0:
                values[place] = value[()]
                continue
            if (base := value.base) is None:
                if sys.getrefcount(value) > _ALONE or not value.flags.writeable:
                    values[place] = value = value.copy()
            elif not isinstance(base, np.ndarray) or sys.getrefcount(base) > _BASE_ALONE or not value.flags.writeable:  # a repeated value, at last
                values[place] = value = value.copy()
            base = None
            if keep and value.nbytes >= LARGE:
                RESULTS.keep(value)
    return values


def _counts() -> tuple[int, int]:
    """What getrefcount says in ``hand_out`` of an array that only its list holds, and of the base of such a view."""
    values = [np.zeros(2), np.zeros((2, 2)).reshape(4)]
    value = values[0]
    alone = sys.getrefcount(value)
    view = values[1]
    base = view.base
    return alone, sys.getrefcount(base)


_ALONE, _BASE_ALONE = _counts()
