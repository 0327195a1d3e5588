"""Seeds of datasets: as of random ops, but as tensors, since a dataset's seed may be one."""
from __future__ import annotations

from typing import Any

from penstock.graph import dtypes as dt
from penstock.graph import seeds
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array.select import where
from penstock.ops.constant import constant
from penstock.ops.math.compare import equal, logical_and


def seed_tensors(seed: Any) -> tuple[Tensor, Tensor]:
    """The inputs ``seed`` and ``seed2`` of a dataset op. Two zeros mean unseeded; if they were asked for, another second seed takes their place."""
    of_graph, of_op = (seeds.get_seed(0)[0], seed) if isinstance(seed, Tensor) else seeds.get_seed(seed)
    first = to_tensor(0 if of_graph is None else of_graph, dt.int64, name="seed")
    if of_op is None:
        return first, constant(0, dt.int64, name="seed2")
    with name_scope("seed2") as scope:
        second = to_tensor(of_op, dt.int64)
        both_zero = logical_and(equal(first, 0), equal(second, 0))
        return first, where(both_zero, constant(2**31 - 1, dt.int64), second, name=scope)
