"""Queues of other orders: at random, by priority, and one whose elements are padded to a common shape."""
from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.graph.shape import TensorShape, scalar
from penstock.state.queues import Element, Queue


class PaddingQueue(Queue):
    """First in, first out. Components may differ in the extents that their shape leaves open; taken together they are padded to the largest."""

    kind = "PaddingFIFOQueue"

    def _stack(self, elements: list[Element]) -> Element:
        if not elements:
            return tuple(np.empty((0, *(extent or 0 for extent in shape.extents or ())), dtype.np)
                         for dtype, shape in zip(self.dtypes, self.shapes))
        return tuple(_pad_and_stack(parts, dtype) for parts, dtype in zip(zip(*elements), self.dtypes))


def _pad_and_stack(parts: Sequence[Any], dtype: DType) -> np.ndarray:
    extents = np.max([np.shape(part) for part in parts], axis=0).astype(int)
    out = np.full((len(parts), *extents), b"" if dtype is dt.string else 0, dtype.np)
    for index, part in enumerate(parts):
        place: tuple[Any, ...] = (index, *map(slice, np.shape(part)), ...)
        out[place] = part
    return out


class ShuffleQueue(Queue):
    """Elements leave in random order; while the queue is open, ``min_after_dequeue`` of them stay, so that the order is random enough.

    ``draw`` gives random 32-bit numbers, which decide the order: the same numbers, the same order.
    """

    kind = "RandomShuffleQueue"

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int, min_after_dequeue: int,
                 draw: Callable[[], int]) -> None:
        super().__init__(name, dtypes, shapes, capacity)
        self._items: list[Element] = []
        self._min_after_dequeue, self._draw = min_after_dequeue, draw

    def _take(self) -> Element:
        index = self._draw() % len(self._items)
        self._items[index], self._items[-1] = self._items[-1], self._items[index]
        return self._items.pop()

    def _put_back(self, elements: list[Element]) -> None:
        self._items.extend(elements)

    def _available(self) -> int:
        return len(self._items) if self._closed else len(self._items) - self._min_after_dequeue


class PriorityQueue(Queue):
    """The element whose first component, an int64, is the smallest leaves first; among equals, the one that came first."""

    kind = "PriorityQueue"

    def __init__(self, name: str, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int) -> None:
        super().__init__(name, (dt.int64, *dtypes), (scalar(), *shapes), capacity)
        self._items: list[tuple[int, int, Element]] = []
        self._order = itertools.count()

    def _put(self, element: Element) -> None:
        heapq.heappush(self._items, (int(element[0]), next(self._order), element))

    def _take(self) -> Element:
        return heapq.heappop(self._items)[2]

    def _put_back(self, elements: list[Element]) -> None:
        for element in elements:
            self._put(element)

    def check_request(self, dtypes: Sequence[DType], shapes: Sequence[TensorShape], capacity: int) -> None:
        """As of any queue; the priority is not described."""
        super().check_request((dt.int64, *dtypes), (scalar(), *shapes), capacity)
