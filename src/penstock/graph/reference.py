"""``tensor.experimental_ref()``: a key for sets and dictionaries that tells objects apart by identity."""
from __future__ import annotations

from typing import Any


class Reference:
    """A hashable reference to an object. Two are equal if they refer to the same object."""

    def __init__(self, wrapped: Any) -> None:
        self._wrapped = wrapped

    def deref(self) -> Any:
        """The object."""
        return self._wrapped

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            raise TypeError("Cannot compare wrapped object with unwrapped object")
        return self._wrapped is other._wrapped

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return id(self._wrapped)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._wrapped!r}>"
