"""TensorShape and Dimension: shapes of which some extents, or all, may be unknown.

The algebra: ``None`` is unknown; two shapes are *compatible* if some full shape fits both; ``merge_with`` is what both know together.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

Extent = int | None


class Dimension:
    """One extent of a shape: a number or unknown. Arithmetic with an unknown one gives an unknown one."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value: Extent = _extent(value)

    @property
    def value(self) -> Extent:
        """The extent as an int, or None."""
        return self._value

    def is_compatible_with(self, other: Any) -> bool:
        """True if both may be the same number."""
        other = as_dimension(other)
        return self._value is None or other._value is None or self._value == other._value

    def assert_is_compatible_with(self, other: Any) -> None:
        """ValueError if the two cannot be the same number."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")

    def merge_with(self, other: Any) -> Dimension:
        """What is known of both together; ValueError if they contradict each other."""
        other = as_dimension(other)
        self.assert_is_compatible_with(other)
        return other if self._value is None else self

    def _binary(self, other: Any, function: Callable[[int, int], int], swap: bool = False) -> Dimension:
        try:
            other_value = _extent(other)
        except (TypeError, ValueError):
            return NotImplemented  # ``[0] * Dimension(2)`` is a list
        if self._value is None or other_value is None:
            return Dimension(None)
        return Dimension(function(other_value, self._value) if swap else function(self._value, other_value))

    def __add__(self, other: Any) -> Dimension:
        return self._binary(other, operator.add)

    def __radd__(self, other: Any) -> Dimension:
        return self._binary(other, operator.add, True)

    def __sub__(self, other: Any) -> Dimension:
        return self._binary(other, operator.sub)

    def __rsub__(self, other: Any) -> Dimension:
        return self._binary(other, operator.sub, True)

    def __mul__(self, other: Any) -> Dimension:
        return self._binary(other, operator.mul)

    def __rmul__(self, other: Any) -> Dimension:
        return self._binary(other, operator.mul, True)

    def __floordiv__(self, other: Any) -> Dimension:
        return self._binary(other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Dimension:
        return self._binary(other, operator.floordiv, True)

    __div__ = __floordiv__

    def __truediv__(self, other: Any) -> Dimension:
        raise TypeError(f"unsupported operand type(s) for /: 'Dimension' and {type(other).__name__!r}, please use // instead")

    def __mod__(self, other: Any) -> Dimension:
        return self._binary(other, operator.mod)

    def __rmod__(self, other: Any) -> Dimension:
        return self._binary(other, operator.mod, True)

    def _compare(self, other: Any, function: Callable[[int, int], bool]) -> bool | None:
        try:
            other_value = _extent(other)
        except (TypeError, ValueError):
            return NotImplemented
        return None if self._value is None or other_value is None else function(self._value, other_value)

    def __eq__(self, other: object) -> bool | None:  # type: ignore[override]
        return self._compare(other, operator.eq)

    def __ne__(self, other: object) -> bool | None:  # type: ignore[override]
        return self._compare(other, operator.ne)

    def __lt__(self, other: Any) -> bool | None:
        return self._compare(other, operator.lt)

    def __le__(self, other: Any) -> bool | None:
        return self._compare(other, operator.le)

    def __gt__(self, other: Any) -> bool | None:
        return self._compare(other, operator.gt)

    def __ge__(self, other: Any) -> bool | None:
        return self._compare(other, operator.ge)

    def __hash__(self) -> int:
        return hash(self._value)

    def __int__(self) -> int:
        if self._value is None:
            raise TypeError("an unknown Dimension has no int value")
        return self._value

    __index__ = __int__

    def __str__(self) -> str:
        return "?" if self._value is None else str(self._value)

    def __repr__(self) -> str:
        return f"Dimension({self._value})"


_integers = False  # are the elements of shapes integers? See ``give_integers``


def give_integers(switch: bool) -> None:
    """Says whether the elements of shapes are integers and None, as in TensorFlow 2, or Dimensions."""
    global _integers
    _integers = switch


def as_dimension(value: Any) -> Dimension:
    """A Dimension for an int, None or Dimension."""
    return value if isinstance(value, Dimension) else Dimension(value)


def _extent(value: Any) -> Extent:
    if value is None:
        return None
    if isinstance(value, Dimension):
        return value._value
    if isinstance(value, (str, bytes)):
        extent = int(value)
    else:
        try:
            extent = operator.index(value)
        except TypeError:
            extent = int(value)
            if extent != value:
                raise ValueError(f"Ambiguous dimension: {value}") from None
    if extent < 0:
        raise ValueError(f"Dimension {extent} must be >= 0; an extent that is not known is None")
    return extent


class TensorShape:
    """The shape of a tensor as far as it is known.

    >>> TensorShape([None, 3]).merge_with([2, None]).as_list()
    [2, 3]
    >>> TensorShape(None).ndims is None
    True
    """

    __slots__ = ("_dims",)

    def __init__(self, dims: Any = None) -> None:
        self._dims: tuple[Extent, ...] | None
        if dims is None:
            self._dims = None
        elif isinstance(dims, TensorShape):
            self._dims = dims._dims
        elif isinstance(dims, TensorShapeProto):
            self._dims = None if dims.unknown_rank else tuple(None if d.size < 0 else d.size for d in dims.dim)
        elif isinstance(dims, (str, bytes)):
            raise TypeError(f"a shape is a list of extents, not {dims!r}")
        else:
            try:
                items: Iterator[Any] = iter(dims)
            except TypeError:  # a single extent
                self._dims = (_extent(dims),)
            else:
                self._dims = tuple(_extent(d) for d in items)

    @classmethod
    def _of(cls, dims: tuple[Extent, ...] | None) -> TensorShape:
        """Without checks, from a tuple that is known to be right."""
        shape = cls.__new__(cls)
        shape._dims = dims
        return shape

    @property
    def extents(self) -> tuple[Extent, ...] | None:
        """The extents as a tuple of ints and None; None for an unknown rank."""
        return self._dims

    @property
    def dims(self) -> list[Dimension] | None:
        """The extents as Dimensions; None for an unknown rank."""
        return None if self._dims is None else [Dimension(d) for d in self._dims]

    @property
    def ndims(self) -> int | None:
        """The rank, or None."""
        return None if self._dims is None else len(self._dims)

    rank = ndims

    def __len__(self) -> int:
        if self._dims is None:
            raise ValueError("Cannot take the length of Shape with unknown rank.")
        return len(self._dims)

    def __bool__(self) -> bool:
        return self._dims is not None

    def __iter__(self) -> Iterator[Any]:
        if self._dims is None:
            raise ValueError("Cannot iterate over a shape with unknown rank.")
        return iter(self._dims if _integers else [Dimension(d) for d in self._dims])

    def __getitem__(self, key: Any) -> Any:
        if self._dims is not None and isinstance(key, slice):
            return TensorShape._of(self._dims[key])
        if not isinstance(key, slice):
            return self.extent(key) if _integers else Dimension(self.extent(key))
        start, stop = key.start or 0, key.stop
        if key.step is not None:
            raise ValueError("Steps are not yet handled for shapes of unknown rank")
        if stop is None or start < 0 or stop < 0:
            return unknown_shape()
        return unknown_shape(max(0, stop - start))

    def extent(self, axis: int) -> Extent:
        """The extent along an axis; None if it is not known."""
        return None if self._dims is None else self._dims[axis]

    def num_elements(self) -> int | None:
        """The number of elements, or None if it is not known."""
        if self._dims is None or None in self._dims:
            return None
        count = 1
        for extent in self._dims:
            count *= extent  # type: ignore[operator]
        return count

    def is_fully_defined(self) -> bool:
        """True if every extent is known."""
        return self._dims is not None and None not in self._dims

    def assert_is_fully_defined(self) -> None:
        """ValueError unless every extent is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def is_compatible_with(self, other: Any) -> bool:
        """True if some full shape fits both."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return True
        return len(self._dims) == len(other._dims) and all(
            a is None or b is None or a == b for a, b in zip(self._dims, other._dims))

    def assert_is_compatible_with(self, other: Any) -> None:
        """ValueError if no full shape fits both."""
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {as_shape(other)} are incompatible")

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """The most specific shape that both fit."""
        other = as_shape(other)
        if self._dims is None or other._dims is None or len(self._dims) != len(other._dims):
            return unknown_shape()
        return TensorShape._of(tuple(a if a == b else None for a, b in zip(self._dims, other._dims)))

    def merge_with(self, other: Any) -> TensorShape:
        """What is known of both together; ValueError if they contradict each other."""
        other = as_shape(other)
        if self._dims is None:
            return as_shape(other)
        if other._dims is None or other._dims == self._dims:
            return self
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        return TensorShape._of(tuple(b if a is None else a for a, b in zip(self._dims, other._dims)))

    def concatenate(self, other: Any) -> TensorShape:
        """This shape's extents, then the other's."""
        other = as_shape(other)
        if self._dims is None or other._dims is None:
            return unknown_shape()
        return TensorShape._of(self._dims + other._dims)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def with_rank(self, rank: int) -> TensorShape:
        """This shape, known to have this rank; ValueError if it has another one."""
        if self._dims is None:
            return unknown_shape(rank)
        if len(self._dims) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """ValueError if the rank is known to be another one."""
        self.with_rank(rank)

    def assert_same_rank(self, other: Any) -> None:
        """ValueError if the ranks are known and differ."""
        other = as_shape(other)
        if self.ndims is not None and other.ndims is not None and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape; ValueError if its rank is known to be smaller."""
        if self._dims is not None and len(self._dims) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape; ValueError if its rank is known to be larger."""
        if self._dims is not None and len(self._dims) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def as_list(self) -> list[Extent]:
        """The extents as a list of ints and None; ValueError for an unknown rank."""
        if self._dims is None:
            raise ValueError("as_list() is not defined on an unknown TensorShape.")
        return list(self._dims)

    def as_proto(self) -> TensorShapeProto:
        """The shape as TensorFlow's proto."""
        if self._dims is None:
            return TensorShapeProto(unknown_rank=True)
        return TensorShapeProto(dim=[TensorShapeProto.Dim(size=-1 if d is None else d) for d in self._dims])

    def is_same_as(self, other: TensorShape) -> bool:
        """Is as much known of both, and is it equal? ``==`` says no where an extent is unknown, as programs count on."""
        return self._dims == other._dims

    def __eq__(self, other: object) -> bool:
        """Equal extents, all of them known: ``if x.shape != y.shape`` adds a projection where the batch is unknown, as in TensorFlow."""
        try:
            dims = as_shape(other)._dims
        except (TypeError, ValueError):
            return NotImplemented
        return self is other or (self._dims == dims and (dims is None or None not in dims))

    def __ne__(self, other: object) -> bool:
        try:
            other = as_shape(other)
        except (TypeError, ValueError):
            return NotImplemented
        if self._dims is None or other._dims is None:
            raise ValueError("The inequality of unknown TensorShapes is undefined.")
        return not self == other

    def __hash__(self) -> int:
        return hash(self._dims)

    def __str__(self) -> str:
        if self._dims is None:
            return "<unknown>"
        unknown = None if _integers else "?"
        if len(self._dims) == 1:
            return f"({unknown if self._dims[0] is None else self._dims[0]},)"
        return "(" + ", ".join(str(unknown) if d is None else str(d) for d in self._dims) + ")"

    def __repr__(self) -> str:
        return "TensorShape(None)" if self._dims is None else f"TensorShape({list(self)})"


_UNKNOWN = TensorShape(None)
_SCALAR = TensorShape(())


def as_shape(value: Any) -> TensorShape:
    """A TensorShape for anything that describes one."""
    return value if isinstance(value, TensorShape) else TensorShape(value)


def unknown_shape(ndims: int | None = None) -> TensorShape:
    """A shape of which nothing, or only the rank, is known."""
    return _UNKNOWN if ndims is None else TensorShape._of((None,) * ndims)


def scalar() -> TensorShape:
    """The shape of a scalar."""
    return _SCALAR


def vector(length: Any) -> TensorShape:
    """The shape of a vector."""
    return TensorShape([length])


def matrix(rows: Any, columns: Any) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape([rows, columns])


def broadcast(a: TensorShape, b: TensorShape) -> TensorShape:
    """The shape of an elementwise result, by NumPy's rules; ValueError if the two do not go together."""
    x, y = a._dims, b._dims
    if x is None or y is None:
        return _UNKNOWN
    if x == y and None not in x:
        return a
    if len(x) < len(y):
        x, y = y, x
    y = (1,) * (len(x) - len(y)) + y
    return TensorShape._of(tuple(_broadcast_extent(p, q, a, b) for p, q in zip(x, y)))


def _broadcast_extent(p: Extent, q: Extent, a: TensorShape, b: TensorShape) -> Extent:
    if p == 1:
        return q
    if q == 1 or p == q:
        return p
    if p is None or q is None:
        return q if p is None else p
    raise ValueError(f"Dimensions must be equal, but are {p} and {q}: shapes {a} and {b} do not broadcast")


def broadcast_all(shapes: Iterable[TensorShape]) -> TensorShape:
    """The common broadcast shape of several."""
    result = _SCALAR
    for shape in shapes:
        result = broadcast(result, shape)
    return result


def brackets(shape: TensorShape | Sequence[Extent] | None) -> str:
    """A shape, or its extents, as TensorFlow writes them in messages.

    >>> brackets([2, None])
    '[2,?]'
    """
    extents = shape.extents if isinstance(shape, TensorShape) else shape
    return "<unknown>" if extents is None else "[" + ",".join("?" if extent is None else str(extent) for extent in extents) + "]"


def dimension_value(dimension: Any) -> Extent:
    """``tf.compat.dimension_value``: the int or None of a Dimension; ints and None stay as they are."""
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: Any, index: int) -> Dimension:
    """``tf.compat.dimension_at_index``: one Dimension of a shape, unknown if the rank is."""
    shape = as_shape(shape)
    return Dimension(None) if shape.ndims is None else shape.dims[index]
