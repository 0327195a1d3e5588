"""Enumerations of TensorFlow's protocol buffers as its generated modules show them."""
from __future__ import annotations


class Enumeration:
    """Names and their numbers, with the methods of protobuf's wrapper of an enum."""

    def __init__(self, name: str, numbers: dict[str, int]) -> None:
        self.__name__, self._numbers = name, dict(numbers)

    def keys(self) -> list[str]:
        """The names."""
        return list(self._numbers)

    def values(self) -> list[int]:
        """The numbers."""
        return list(self._numbers.values())

    def items(self) -> list[tuple[str, int]]:
        """(name, number) pairs."""
        return list(self._numbers.items())

    def Name(self, number: int) -> str:
        """The name of a number; ValueError if there is none."""
        for name, value in self._numbers.items():
            if value == number:
                return name
        raise ValueError(f"Enum {self.__name__} has no name defined for value {number!r}")

    def Value(self, name: str) -> int:
        """The number of a name; ValueError if there is none."""
        if name not in self._numbers:
            raise ValueError(f"Enum {self.__name__} has no value defined for name {name!r}")
        return self._numbers[name]

    def __getattr__(self, name: str) -> int:
        try:
            return self.__dict__["_numbers"][name]  # type: ignore[no-any-return]
        except KeyError:
            raise AttributeError(name) from None
