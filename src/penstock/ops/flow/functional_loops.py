"""``tf.map_fn``, ``tf.foldl``, ``tf.foldr`` and ``tf.scan``: loops over the slices of tensors along their first axis."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.graph import nest
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import to_tensor
from penstock.graph.node import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape import TensorShape, dimension_at_index
from penstock.ops.array.shape_ops import shape
from penstock.ops.constant import constant
from penstock.ops.flow.control_flow import while_loop
from penstock.ops.flow.tensor_array_class import TensorArray

Function = Callable[..., Any]


class _Elements:
    """Tensors of the same length in a structure, to be read slice by slice.

    With ``as_given`` the arrays are filled from what was given: a variable is read once more, as TensorFlow's folds do.
    """

    def __init__(self, elems: Any, as_given: bool = False) -> None:
        self._structure = elems
        self.tensors = [to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        first = self.tensors[0].shape
        if first.ndims == 0:
            raise ValueError("elems must be a 1+ dimensional Tensor, not a scalar")
        self.static_length = dimension_at_index(first, 0)
        self.length = self.static_length.value or shape(self.tensors[0])[0] if self.static_length.value != 0 else 0
        for elem in self.tensors[1:]:
            self.static_length = self.static_length.merge_with(dimension_at_index(elem.shape, 0))
        given = nest.flatten(elems) if as_given else self.tensors
        self._arrays = [TensorArray(elem.dtype.base_dtype, size=self.length, dynamic_size=False, infer_shape=True).unstack(value)
                        for elem, value in zip(self.tensors, given)]

    def read(self, index: Any) -> Any:
        """The slices at ``index``, in the structure of the elements."""
        return nest.pack_sequence_as(self._structure, [array.read(index) for array in self._arrays])

    def stack(self, arrays: list[TensorArray]) -> list[Tensor]:
        """The results, one per element, with their length where it is known."""
        results = [array.stack() for array in arrays]
        for result in results:
            result.set_shape(TensorShape([self.static_length]).concatenate(result.shape[1:]))
        return results


def _check_callable(fn: Any) -> None:
    if not callable(fn):
        raise TypeError("fn must be callable.")


def map_fn(fn: Function, elems: Any, dtype: Any = None, parallel_iterations: int | None = None, back_prop: bool = True, swap_memory: bool = False,
           infer_shape: bool = True, name: str | None = None) -> Any:
    """``tf.map_fn``: ``fn`` of each slice, stacked.

    ``elems`` may be a structure of tensors; ``fn`` gets their slices in that structure. If it returns another structure or other types than it gets,
    ``dtype`` says which.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.map_fn(lambda x: x * x, tf.constant([1, 2, 3]))).tolist()
    [1, 4, 9]
    """
    _check_callable(fn)
    if isinstance(elems, SparseTensor):
        raise TypeError("To perform a map on the values of a sparse tensor use either SparseTensor(input.indices, fn(input.values), "
                        "input.dense_shape) or SparseTensor(input.indices, map_fn(fn, input.values), input.dense_shape)")
    with name_scope(name, "map", _tensors(elems)):
        elements = _Elements(elems)
        like = elems if dtype is None else dtype
        types = [elem.dtype.base_dtype for elem in elements.tensors] if dtype is None else nest.flatten(dtype)
        start = constant(0)
        results = [TensorArray(kind, size=elements.length, dynamic_size=False, infer_shape=infer_shape) for kind in types]

        def compute(i: Tensor, arrays: list[TensorArray]) -> Any:
            values = fn(elements.read(i))
            nest.assert_same_structure(like, values)
            return i + 1, [array.write(i, value) for array, value in zip(arrays, nest.flatten(values))]

        _, results = while_loop(lambda i, _: i < elements.length, compute, (start, results), parallel_iterations=parallel_iterations or 10,
                                back_prop=back_prop, swap_memory=swap_memory, maximum_iterations=elements.length)
        return nest.pack_sequence_as(like, elements.stack(results))


def foldl(fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """``tf.foldl``: ``fn(... fn(fn(initializer, elems[0]), elems[1]) ..., elems[-1])``; without an initializer it starts from the first slice."""
    _check_callable(fn)
    with name_scope(name, "foldl", _tensors(elems)):
        elements = _Elements(elems, as_given=True)
        total = elements.read(0) if initializer is None else initializer
        start = constant(1 if initializer is None else 0)
        _, result = while_loop(lambda i, _: i < elements.length, lambda i, total: (i + 1, fn(total, elements.read(i))), [start, total],
                               parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory,
                               maximum_iterations=elements.length)
        return result


def foldr(fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
          name: str | None = None) -> Any:
    """``tf.foldr``: as ``foldl``, from the last slice to the first."""
    _check_callable(fn)
    with name_scope(name, "foldr", _tensors(elems)):
        elements = _Elements(elems, as_given=True)
        start = elements.length if initializer is not None else elements.length - 1
        total = elements.read(start) if initializer is None else initializer

        def compute(i: Tensor, total: Any) -> Any:
            before = i - 1
            return before, fn(total, elements.read(before))

        _, result = while_loop(lambda i, _: i > 0, compute, [start, total],
                               parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory,
                               maximum_iterations=elements.length)
        return result


def scan(fn: Function, elems: Any, initializer: Any = None, parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
         infer_shape: bool = True, reverse: bool = False, name: str | None = None) -> Any:
    """``tf.scan``: all values that ``foldl`` (or, with ``reverse``, ``foldr``) goes through, stacked.

    >>> import penstock as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.scan(lambda total, x: total + x, tf.constant([1, 2, 3]))).tolist()
    [1, 3, 6]
    """
    _check_callable(fn)
    with name_scope(name, "scan", _tensors(elems)):
        elements = _Elements(elems)
        length, skipped = elements.length, int(initializer is None)
        like = elems if initializer is None else initializer
        first = elements.read(length - 1 if reverse else 0) if initializer is None else initializer
        totals = [to_tensor(total) for total in nest.flatten(first)]
        results = [TensorArray(total.dtype.base_dtype, size=length, element_shape=total.shape if infer_shape else None, dynamic_size=False,
                               infer_shape=infer_shape) for total in totals]
        if initializer is None:
            results = [array.write(length - 1 if reverse else 0, total) for array, total in zip(results, totals)]

        def compute(i: Tensor, totals: list[Tensor], arrays: list[TensorArray]) -> Any:
            values = fn(nest.pack_sequence_as(like, totals), elements.read(i))
            nest.assert_same_structure(like, values)
            flat = [to_tensor(value) for value in nest.flatten(values)]
            return i - 1 if reverse else i + 1, flat, [array.write(i, value) for array, value in zip(arrays, flat)]

        start = length - 1 - skipped if reverse else constant(skipped)
        _, _, results = while_loop((lambda i, *_: i >= 0) if reverse else (lambda i, *_: i < length), compute, (start, totals, results),
                                   parallel_iterations=parallel_iterations, back_prop=back_prop, swap_memory=swap_memory,
                                   maximum_iterations=length)
        return nest.pack_sequence_as(like, elements.stack(results))


def _tensors(elems: Any) -> list[Tensor]:
    return [elem for elem in nest.flatten(elems) if isinstance(elem, Tensor)]
