"""What a dataset is while a graph runs, and what the dataset ops share.

The kernel of a dataset op returns a ``Source``, which travels along a variant edge. ``iter(source)`` starts an epoch. The contract of the iterators:
``next`` gives an element, a tuple with one value per component, or StopIteration at the end and ever after. Any other error belongs to the one
element that could not be made; the element after it can be asked for. An iterator is used by one thread at a time. Threads that work for one end
when nothing refers to it any more.

An iterator may also have ``next_batch(size)``: the next elements, at most ``size``, stacked as a batch is, without making each of them; fewer only at
the end, and None there. What follows the batch can be asked for either way. ``take_batch`` in ``dataset_batch.py`` asks any iterator for a batch.
``next_elements(size)``, if it is there, gives as many elements in a list, for readers who do not want them stacked.
"""
from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from penstock.errors import KernelError, NotFoundError, invalid_argument
from penstock.graph.attrs import Attr, type_list
from penstock.graph.dtypes import variant
from penstock.graph.function import FuncGraph
from penstock.graph.members import parameters_of, with_parameters
from penstock.graph.opdef import OpDef, op
from penstock.ops.common import fixed
from penstock.ops.data.vectorised import vectorised
from penstock.ops.flow.functional import by_value

Element = tuple[Any, ...]
Elements = Iterator[Element]

OUTPUTS = {"output_types": type_list(1), "output_shapes": Attr("list(shape)", minimum=1)}
ARGUMENTS = {"Targuments": type_list()}
_SEEDS = ("seed", "seed2")
INFINITE, UNKNOWN = -1, -2  # numbers of elements


class Source:
    """A dataset: ``start()`` makes the iterator of an epoch."""

    recipe: Recipe | None = None
    started = False  # is there an iterator that goes over it, or another dataset made of it?
    lightweight = False  # making an element takes hardly longer than handing it from one thread to another

    def __init__(self, start: Callable[[], Elements]) -> None:
        self._start = start

    def __iter__(self) -> Elements:
        return self._start()

    def cardinality(self) -> int:
        """How many elements an epoch has; INFINITE, or UNKNOWN if that cannot be told without making them."""
        return UNKNOWN if self.recipe is None else self.recipe.cardinality()

    def all_seeds(self) -> list[int]:
        """The seeds of this dataset and of those that it is made of."""
        return [] if self.recipe is None else self.recipe.all_seeds()

    def again(self, seeds: Iterator[int]) -> Source:
        """The dataset as it was before its first epoch, with these seeds: its epochs come in the same order again."""
        return self if self.recipe is None else self.recipe.follow(seeds)

    def pass_over(self) -> None:
        """Begins an epoch that nothing is taken of: what draws seeds for each epoch draws them."""
        if self.recipe is not None:
            self.recipe.pass_over()

    def for_iterator(self) -> Source:
        """What the next iterator goes over. In imperative style a dataset outlives its iterators, and each begins with the first order again."""
        source = self.again(iter(self.all_seeds())) if self.started else self
        source.started = True
        return source

    def for_dataset(self) -> Source:
        """What a dataset goes over that is made of this one: each of several begins with the first order, so that they stay side by side."""
        return self.for_iterator() if self.all_seeds() else self


class Recipe:
    """How a dataset was made: the kernel of which op, and what it was called with. A dataset without seeds gets some here, so that it can be made
    again.
    """

    def __init__(self, op_type: str, kernel: Callable[..., Source], arguments: dict[str, Any], count: Callable[..., int] | None = None,
                 lightweight: bool = False) -> None:
        self.op_type, self._kernel, self.arguments, self._count, self._lightweight = op_type, kernel, arguments, count, lightweight
        self.arguments = self._change(lambda seed: seed, lambda source: source.for_dataset())
        if all(name in arguments and integer(arguments[name]) == 0 for name in _SEEDS):  # which stands for none
            self.arguments.update(zip(_SEEDS, np.random.SeedSequence().generate_state(len(_SEEDS)).astype(np.int64)))

    def make(self) -> Source:
        """The dataset."""
        source = self._kernel(**self.arguments)
        source.recipe = source.recipe or self  # an op that changes nothing gives its input
        source.lightweight = source.lightweight or self._lightweight
        return source

    def cardinality(self) -> int:
        """See ``Source``: what the ``_count`` of the op says."""
        return UNKNOWN if self._count is None else self._count(*[self.arguments[name] for name in parameters_of(self._count)])

    def all_seeds(self) -> list[int]:
        """The seeds that went into it, in the order of the arguments."""
        seeds: list[int] = []
        self._change(lambda seed: seeds.append(integer(seed)), lambda source: seeds.extend(source.all_seeds()))
        return seeds

    def pass_over(self) -> None:
        """See ``Source``: its inputs begin one, too."""
        self._change(lambda seed: seed, lambda source: source.pass_over())

    def follow(self, seeds: Iterator[int]) -> Source:
        """Makes the dataset again, with these seeds, of inputs that are made again."""
        return Recipe(self.op_type, self._kernel, self._change(lambda _: np.int64(next(seeds)), lambda source: source.again(seeds)),
                      self._count, self._lightweight).make()

    def _change(self, seed: Callable[[Any], Any], source: Callable[[Source], Any]) -> dict[str, Any]:
        """The arguments with seeds and datasets, which may be in lists, replaced."""
        def changed(value: Any) -> Any:
            return source(value) if isinstance(value, Source) else [changed(item) for item in value] if isinstance(value, list) else value
        return {name: seed(value) if name in _SEEDS else changed(value) for name, value in self.arguments.items()}


def _remembering(op_type: str, kernel: Any, lightweight: bool, count: Any) -> Callable[..., Source]:
    """The kernel of a dataset op; what it makes knows how it was made."""
    names = parameters_of(kernel)

    def remembering(*inputs: Any, **others: Any) -> Source:
        return Recipe(op_type, kernel, dict(zip(names, inputs)) | others, count, lightweight).make()

    return with_parameters(remembering, names)


class BoundFunction:
    """A function of a dataset op, together with the outer values that it uses."""

    def __init__(self, ctx: Any, function: Any, captured: list[Any]) -> None:
        if not isinstance(function, FuncGraph):
            raise KernelError(NotFoundError, f"Function {function} is not defined: {getattr(function, 'reason', 'it is not part of the graph')}")
        self._function, self._call = function, ctx.calls(function, _draws(function))
        self._captured = by_value(function.inputs[len(function.inputs) - len(captured):], captured)

    def __call__(self, *components: Any) -> Element:
        return tuple(self._call(self._function, [*components, *self._captured]))

    def makes_lightweight(self) -> bool:
        """Does the function only make datasets whose elements cost little?"""
        made = [op.definition for op in self._function.get_operations() if any(output.dtype is variant for output in op.outputs)]
        return all(definition.lightweight for definition in made)

    def vectorised(self) -> Callable[[Element], Element] | None:
        """The function for many elements at once, stacked; None if there is none that gives the same results."""
        form = vectorised(self._function, len(self._captured))
        return None if form is None else lambda batch: form.components(self._call(form.graph, [*batch, *self._captured]))


_drawing: WeakKeyDictionary[FuncGraph, tuple[int, bool]] = WeakKeyDictionary()  # (which state of the function, does it draw)


def _draws(function: FuncGraph) -> bool:
    """Whether a function, or one that it calls, draws random numbers."""
    known = _drawing.get(function)
    if known is None or known[0] != function._mutations:
        draws = any((op.definition.stateful and set(_SEEDS) <= op.attrs.keys())
                    or any(_draws(each) for each in op.attrs.values() if isinstance(each, FuncGraph)) for op in function.get_operations())
        known = _drawing[function] = (function._mutations, draws)
    return known[1]


def dataset_op(op_type: str, inputs: str = "", output: str = "handle", **declared: Any) -> Callable[[type], OpDef]:
    """``@op`` for an op whose only output is a dataset: it says of all of them what is the same.

    ``_count`` of the class, if it is there, tells the number of elements from arguments of the kernel.
    """
    def register(body: type) -> OpDef:
        body.kernel = _remembering(op_type, body.kernel, getattr(body, "lightweight", False), getattr(body, "_count", None))  # type: ignore[attr-defined]
        body.calls_later = True  # type: ignore[attr-defined]
        body.stateful = True  # type: ignore[attr-defined]  (a dataset has state: its cache, its random numbers; no two are one)
        body.shape, body.gradient = fixed(), None  # type: ignore[attr-defined]
        body.passes_references = "Targuments" in declared  # type: ignore[attr-defined]  (functions read variables whenever they run)
        return op(op_type, f"{inputs} -> {output}: variant", **declared)(body)
    return register


def batches(source: Source, size: Any, drop_remainder: Any = False) -> int:
    """The number of batches of a dataset."""
    count, number = source.cardinality(), integer(size)
    return count if count < 0 else count // number + (count % number > 0 and not drop_remainder)


def repeated(source: Source, times: Any) -> int:
    """The number of elements of a dataset that is repeated."""
    count, number = source.cardinality(), integer(times)
    if count == 0 or number == 0:
        return 0
    return INFINITE if number < 0 else count if count < 0 else count * number


def integer(value: Any) -> int:
    """A scalar input as an int; InvalidArgumentError if it is none."""
    array = np.asarray(value)
    if array.ndim:
        raise invalid_argument(f"a scalar is needed, not an array of shape {list(array.shape)}")
    return int(array[()])


def positive(value: Any, name: str) -> int:
    """A scalar input that must be greater than zero."""
    number = integer(value)
    if number <= 0:
        raise invalid_argument(f"{name} must be greater than zero.")
    return number


def text(value: Any) -> str:
    """A string scalar input as text."""
    item = np.asarray(value, object)
    if item.ndim:
        raise invalid_argument(f"a string is needed, and an array of shape {list(item.shape)} was given")
    name = os.fsdecode(item[()]) if isinstance(item[()], bytes) else str(item[()])
    if "\0" in name:
        raise invalid_argument(f"{name!r} has a null byte, which no file name can")
    return name


def scalar(item: Any) -> np.ndarray:
    """A Python object (bytes, a dataset) as the array of rank 0 that kernels get."""
    array = np.empty((), object)
    array[()] = item
    return array


def rows(arrays: list[np.ndarray]) -> Elements:
    """The slices of all arrays along their first axis."""
    return zip(*[map(scalar, array) if array.dtype == object and array.ndim == 1 else array for array in arrays])


def check_element(element: Any, output_types: Any, output_shapes: Any) -> None:
    """InvalidArgumentError unless an element is of the types and shapes that the op says."""
    if len(element) != len(output_types):
        raise invalid_argument(f"Number of components does not match: expected {len(output_types)} types but got {len(element)}.")
    for index, (value, dtype, shape) in enumerate(zip(element, output_types, output_shapes)):
        given = getattr(value, "dtype", dtype.np)
        if dtype.is_numpy_compatible and given != dtype.np:
            raise invalid_argument(f"Data type mismatch at component {index}: expected {dtype.name} but got {given}.")
        if hasattr(value, "shape") and value.shape != shape.extents and not _fits(value.shape, shape.extents):
            raise invalid_argument(f"Incompatible shapes at component {index}: expected {shape} but got {list(value.shape)}.")


def _fits(given: tuple[int, ...], extents: tuple[int | None, ...] | None) -> bool:
    """Is a shape one of those that known and unknown extents stand for?"""
    return extents is None or (len(given) == len(extents) and all(extent is None or extent == size for size, extent in zip(given, extents)))
