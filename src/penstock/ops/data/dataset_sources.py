"""Datasets made of tensors, of numbers, and of what functions give."""
from __future__ import annotations

import itertools
import logging
import sys
import threading
from typing import Any

import numpy as np

from penstock.errors import KernelError, OpError, OutOfRangeError, UnimplementedError, invalid_argument
from penstock.graph.attrs import FUNC, TYPE, Attr, type_list
from penstock.ops.data.dataset_core import INFINITE, OUTPUTS, BoundFunction, Element, Source, dataset_op, integer, rows
from penstock.ops.random.philox import Philox

_COMPONENTS = {"Toutput_types": type_list(1), "output_shapes": Attr("list(shape)", minimum=1)}
_log = logging.getLogger("tensorflow")
_WORDS = 1024  # blocks of random numbers that are made at once


@dataset_op("TensorDataset", "components: Toutput_types", **_COMPONENTS)
class TensorDataset:
    """One element: the components."""

    lightweight = True

    def _count():
        return 1

    def kernel(components):
        element = tuple(components)
        return Source(lambda: iter([element]))


class _SliceElements:
    """The rows of some arrays, from one on."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays, self._place, self._rows = arrays, 0, rows(arrays)

    def __iter__(self) -> _SliceElements:
        return self

    def __next__(self) -> Element:
        element = next(self._rows)
        self._place += 1
        return element

    def next_batch(self, size: int) -> Element | None:
        """The next rows of the arrays, as they are."""
        start, stop = self._place, min(self._place + size, len(self._arrays[0]))
        if start == stop:
            return None
        self._place, self._rows = stop, rows([array[stop:] for array in self._arrays])
        return tuple([array[start:stop] for array in self._arrays])


class Slices(Source):
    """The rows of arrays that have as many of them each."""

    def __init__(self, arrays: list[np.ndarray]) -> None:
        super().__init__(lambda: _SliceElements(arrays))
        self.arrays = arrays


@dataset_op("TensorSliceDataset", "components: Toutput_types", **_COMPONENTS)
class TensorSliceDataset:
    """The slices of the components along their first axis."""

    lightweight = True

    def _count(components):
        return len(components[0])

    def kernel(components):
        arrays = [np.asarray(component) for component in components]
        if any(array.ndim == 0 for array in arrays):
            raise invalid_argument("A scalar has no slices: all components must have at least one dimension")
        if len({len(array) for array in arrays}) > 1:
            raise invalid_argument(f"All components must have the same size in the 0th dimension, not {[len(array) for array in arrays]}")
        return Slices(arrays)


@dataset_op("SparseTensorSliceDataset", "indices: int64, values: Tvalues, dense_shape: int64", Tvalues=TYPE)
class SparseTensorSliceDataset:
    """The rows of a sparse tensor, each as its indices, values and shape."""

    def _count(dense_shape):
        return int(dense_shape[0])

    def kernel(indices, values, dense_shape):
        if indices.ndim != 2 or values.ndim != 1 or dense_shape.ndim != 1:
            raise invalid_argument("The indices, values and shape of a SparseTensor must have 2, 1 and 1 dimensions, "
                                   f"not {indices.ndim}, {values.ndim} and {dense_shape.ndim}")
        if not len(dense_shape) == indices.shape[1] > 0 or len(indices) != len(values) or dense_shape[0] < 0 or (
                indices[:, 0] < 0).any() or (indices[:, 0] >= dense_shape[0]).any():
            raise invalid_argument(f"{len(indices)} indices of rank {indices.shape[1]} and {len(values)} values do not make a SparseTensor of shape "
                                   f"{dense_shape.tolist()}")
        if len(indices) and (np.diff(indices[:, 0]) < 0).any():
            raise KernelError(UnimplementedError, "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is "
                              "not currently supported.", "sort it: tf.sparse_reorder")
        ends = np.cumsum(np.bincount(indices[:, 0], minlength=int(dense_shape[0])))
        starts = np.concatenate([[0], ends[:-1]]) if len(ends) else []
        return Source(lambda: ((indices[start:end, 1:], values[start:end], dense_shape[1:]) for start, end in zip(starts, ends)))


class _RangeElements:
    """Numbers one by one, or many in an array."""

    def __init__(self, numbers: range) -> None:
        self._left = numbers

    def __iter__(self) -> _RangeElements:
        return self

    def __next__(self) -> Element:
        if not self._left:
            raise StopIteration
        number, self._left = self._left[0], self._left[1:]
        return (np.int64(number),)

    def next_batch(self, size: int) -> Element | None:
        """The next numbers."""
        taken, self._left = self._left[:size], self._left[size:]
        return (np.arange(taken.start, taken.stop, taken.step, np.int64),) if taken else None


@dataset_op("RangeDataset", "start: int64, stop: int64, step: int64", **OUTPUTS)
class RangeDataset:
    """The numbers from start to stop."""

    lightweight = True

    def _count(start, stop, step):
        return len(range(integer(start), integer(stop), integer(step)))

    def kernel(start, stop, step):
        if integer(step) == 0:
            raise invalid_argument("step must be a non-zero integer.")
        numbers = range(integer(start), integer(stop), integer(step))
        return Source(lambda: _RangeElements(numbers))


class _Generated:
    """What ``next_func`` gives until it says that the end is reached; ``finalize_func`` then runs, or when nothing refers to this any more."""

    def __init__(self, ctx: Any, begin: BoundFunction, following: BoundFunction, finish: BoundFunction) -> None:
        self._ctx, self._begin, self._following, self._finish = ctx, begin, following, finish
        self._state: Element | None = None
        self._ended = False

    def __iter__(self) -> _Generated:
        return self

    def __next__(self) -> Element:
        if self._ended:
            raise StopIteration
        if self._state is None:
            self._state = self._begin()
        try:
            return self._following(*self._state)
        except OpError as error:
            if not isinstance(error, OutOfRangeError):
                raise
        self._ended = True
        self._finish(*self._state)
        raise StopIteration

    def __del__(self) -> None:
        if self._state is not None and not self._ended and not sys.is_finalizing():
            # A finalizer must not wait, and the function may.
            arguments = (self._ctx, self._finish, self._state)
            threading.Thread(target=_finish_later, args=arguments, name="penstock-data", daemon=True).start()


def _finish_later(ctx: Any, finish: BoundFunction, state: Element) -> None:
    with ctx.detached_step().working():
        try:
            finish(*state)
        except OpError as error:  # nothing can use it any more; often its graph, with the Python function in it, is gone
            _log.debug("A dataset that was given up could not be closed: %s", error)


@dataset_op("GeneratorDataset",
            "init_func_other_args: Tinit_func_args, next_func_other_args: Tnext_func_args, finalize_func_other_args: Tfinalize_func_args",
            init_func=FUNC, next_func=FUNC, finalize_func=FUNC, Tinit_func_args=type_list(), Tnext_func_args=type_list(),
            Tfinalize_func_args=type_list(), **OUTPUTS)
class GeneratorDataset:
    """What a function gives, called with the state that another one made, until it raises OutOfRangeError."""

    def kernel(init_func_other_args, next_func_other_args, finalize_func_other_args, ctx, init_func, next_func, finalize_func):
        begin = BoundFunction(ctx, init_func, init_func_other_args)
        following = BoundFunction(ctx, next_func, next_func_other_args)
        finish = BoundFunction(ctx, finalize_func, finalize_func_other_args)
        return Source(lambda: _Generated(ctx, begin, following, finish))


def random_words(seed: int, seed2: int) -> Any:
    """The 32-bit numbers of TensorFlow's generator for these seeds, one after the other; without seeds, unpredictable ones."""
    generator = Philox.for_op(seed, seed2)
    return itertools.chain.from_iterable(generator.reserve(_WORDS).blocks(_WORDS).reshape(-1).tolist() for _ in itertools.repeat(None))


@dataset_op("RandomDataset", "seed: int64, seed2: int64", **OUTPUTS)
class RandomDataset:
    """Random numbers of 32 bits, without end."""

    def _count():
        return INFINITE

    def kernel(seed, seed2):
        seeds = integer(seed), integer(seed2)
        return Source(lambda: ((np.int64(word),) for word in random_words(*seeds)))
