"""Components: the tensors that an element of a queue or of a staging area consists of."""
from __future__ import annotations

from typing import Any, ClassVar

from penstock.graph import dtypes as dt
from penstock.graph.shape import TensorShape, as_shape, unknown_shape


class Components:
    """The types, shapes and names of the components; ``names`` turns elements into dictionaries."""

    _unequal_length: ClassVar[str]  # the error for shapes or names of another number

    def __init__(self, dtypes: list[dt.DType], shapes: Any, names: Any) -> None:
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(self._unequal_length.format(what))
        self._dtypes, self._names = dtypes, None if names is None else list(names)
        self._shapes = [unknown_shape()] * len(dtypes) if shapes is None else [as_shape(shape) for shape in shapes]

    @property
    def dtypes(self) -> list[dt.DType]:
        """The types of the components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of the components."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of the components, or None."""
        return self._names
