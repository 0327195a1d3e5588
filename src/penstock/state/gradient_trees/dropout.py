"""Trees that sit out while another one grows, and what their weights become afterwards. Equal rolls of the dice choose equal trees."""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.errors import invalid_argument


def dropped_trees(rolls: Iterator[float], config: Any, weights: Sequence[float], stay: Collection[int]) -> list[int]:
    """The trees that sit out, by numbers between 0 and 1; those of ``stay`` never do."""
    for name in ("dropout_probability", "probability_of_skipping_dropout"):
        if not 0 <= getattr(config, name) <= 1:
            raise invalid_argument(f"{name} must be in [0,1] range, and it is {getattr(config, name)}.")
    if config.dropout_probability == 0 or config.probability_of_skipping_dropout == 1:
        return []
    if config.probability_of_skipping_dropout and next(rolls) < config.probability_of_skipping_dropout:
        return []
    return [tree for tree in range(len(weights)) if tree not in stay and next(rolls) < config.dropout_probability]


def reweighted(weights: Sequence[float], dropped: Sequence[int], new: int) -> dict[int, float]:
    """{tree: weight} after the tree ``new`` has grown while others sat out: it shares their weight with them."""
    count, total = len(dropped), np.float32(sum(weights[tree] for tree in dropped))
    return {new: float(total / np.float32(count + 1)), **{tree: float(np.float32(weights[tree]) * count / (count + 1)) for tree in dropped}}
