"""A graph made native for the shapes of given values, by itself: for tests of what is fused into what."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import penstock as tf
from penstock.native.calls import KernelCall
from penstock.native.emitter import Emitter
from penstock.native.specialise.specialisation import Specialisation
from penstock.program import ir
from support.compare import difference
from support.native import guarded, untouched


class Special:
    """Fetches as a function of the fed values."""

    def __init__(self, fetches: Sequence[Any], feeds: dict[Any, np.ndarray], threads: int = 2) -> None:
        program = ir.prune(fetches, (), list(feeds))
        nodes = [node for node in program.nodes if node not in program.args]
        shapes = [(np.shape(value), tensor.dtype) for tensor, value in feeds.items()]
        self._made = Specialisation(nodes, program.args, program.fetches, shapes, Emitter(threads))
        self._made.table.compile()

    @property
    def calls(self) -> list[KernelCall]:
        """The calls of the table."""
        return self._made.table.calls

    @property
    def arena_bytes(self) -> int:
        """The size of the arena."""
        return self._made.table.arena_bytes

    def __call__(self, values: Sequence[np.ndarray]) -> list[np.ndarray]:
        results = [guarded(shape, dtype) for shape, dtype in self._made.fresh]
        failed = self._made.table.run([*values, *[array for array, _ in results]])
        if failed is not None:
            raise RuntimeError(f"'{failed.call.label}' refused its inputs")
        assert all(untouched(memory) for _, memory in results), "wrote beyond an output"
        return [results[what][0] if how == "output" else what if how == "known" else values[what] for how, what in self._made.results]


def check(fetches: Sequence[Any], feeds: dict[Any, np.ndarray], threads: int = 2, factor: float = 1.0) -> Special:
    """Compares native code with a session that runs NumPy kernels."""
    special = Special(fetches, feeds, threads)
    with tf.Session() as session:
        wanted = session.run(list(fetches), feeds)
    for tensor, found, want in zip(fetches, special(list(feeds.values())), wanted, strict=True):
        assert found.dtype == want.dtype, f"{tensor.name} is of {found.dtype}, not {want.dtype}"
        problem = difference(found, want, factor)
        assert problem is None, f"{tensor.name}: {problem}"
    return special
