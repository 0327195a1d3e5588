"""Datasets made of groups of elements that have the same key: group_by_window, group_by_reducer."""
from __future__ import annotations

import numpy as np

from penstock.errors import invalid_argument
from penstock.graph.attrs import FUNC, type_list
from penstock.ops.data.dataset_batch import in_memory
from penstock.ops.data.dataset_core import OUTPUTS, BoundFunction, Element, Elements, Source, dataset_op, integer
from penstock.ops.data.dataset_functions import dataset_of

_INPUT = "input_dataset: variant"


class _GroupByWindow:
    """Collects elements by key; a group that is full is handed to ``reduce``, whose dataset comes next. At the end, groups leave by key."""

    def __init__(self, elements: Elements, key: BoundFunction, reduce: BoundFunction, window_size: BoundFunction) -> None:
        self._elements, self._key, self._reduce, self._window_size = elements, key, reduce, window_size
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._current: Elements = iter(())

    def __iter__(self) -> _GroupByWindow:
        return self

    def __next__(self) -> Element:
        while True:
            for element in self._current:
                return element
            key = self._fill_group()
            if key is None:
                raise StopIteration
            self._current = iter(dataset_of(self._reduce(np.int64(key), in_memory(self._groups.pop(key)))))

    def _fill_group(self) -> int | None:
        """Reads until a group is full, or to the end; the key of a group that is to leave."""
        for element in self._elements:
            key = integer(self._key(*element)[0])
            if key not in self._sizes:
                self._sizes[key] = integer(self._window_size(np.int64(key))[0])
                if self._sizes[key] <= 0:
                    raise invalid_argument("Window size must be greater than zero, but got {}.".format(self._sizes.pop(key)))
            group = self._groups.setdefault(key, [])
            group.append(element)
            if len(group) >= self._sizes[key]:
                return key
        return min(self._groups, default=None)


_GROUPED = ("key_func_other_arguments: Tkey_func_other_arguments, reduce_func_other_arguments: Treduce_func_other_arguments, "
            "window_size_func_other_arguments: Twindow_size_func_other_arguments")


@dataset_op("GroupByWindowDataset", f"{_INPUT}, {_GROUPED}", key_func=FUNC, reduce_func=FUNC, window_size_func=FUNC,
            Tkey_func_other_arguments=type_list(), Treduce_func_other_arguments=type_list(), Twindow_size_func_other_arguments=type_list(), **OUTPUTS)
class GroupByWindowDataset:
    """What a function makes of groups of elements that have the same key."""

    def kernel(input_dataset, key_func_other_arguments, reduce_func_other_arguments, window_size_func_other_arguments, ctx, key_func, reduce_func,
               window_size_func):
        functions = [BoundFunction(ctx, key_func, key_func_other_arguments), BoundFunction(ctx, reduce_func, reduce_func_other_arguments),
                     BoundFunction(ctx, window_size_func, window_size_func_other_arguments)]
        return Source(lambda: _GroupByWindow(iter(input_dataset), *functions))


class _GroupByReducer:
    """A state per key, made by ``begin`` and changed by ``reduce`` for each element; at the end, what ``finish`` makes of each, by key."""

    def __init__(self, elements: Elements, key: BoundFunction, begin: BoundFunction, reduce: BoundFunction, finish: BoundFunction) -> None:
        self._elements, self._key, self._begin, self._reduce, self._finish = elements, key, begin, reduce, finish
        self._states: dict[int, Element] = {}

    def __iter__(self) -> _GroupByReducer:
        return self

    def __next__(self) -> Element:
        for element in self._elements:
            key = integer(self._key(*element)[0])
            state = self._states[key] if key in self._states else self._begin(np.int64(key))
            self._states[key] = self._reduce(*state, *element)
        if not self._states:
            raise StopIteration
        return self._finish(*self._states.pop(min(self._states)))


_FUNCTIONS = ("key_func", "init_func", "reduce_func", "finalize_func")


@dataset_op("GroupByReducerDataset", ", ".join([_INPUT, *(f"{name}_other_arguments: T{name}_other_arguments" for name in _FUNCTIONS)]),
            **{name: FUNC for name in _FUNCTIONS}, **{f"T{name}_other_arguments": type_list() for name in _FUNCTIONS}, **OUTPUTS)
class GroupByReducerDataset:
    """One element for each key: what functions make of all elements that have it."""

    def kernel(input_dataset, key_func_other_arguments, init_func_other_arguments, reduce_func_other_arguments, finalize_func_other_arguments, ctx,
               key_func, init_func, reduce_func, finalize_func):
        functions = [BoundFunction(ctx, key_func, key_func_other_arguments), BoundFunction(ctx, init_func, init_func_other_arguments),
                     BoundFunction(ctx, reduce_func, reduce_func_other_arguments), BoundFunction(ctx, finalize_func, finalize_func_other_arguments)]
        return Source(lambda: _GroupByReducer(iter(input_dataset), *functions))
