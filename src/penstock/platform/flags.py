"""``tf.flags``, also ``tf.app.flags``: command-line flags, from absl, with what TensorFlow adds to them.

``FLAGS`` parses ``sys.argv`` by itself when a flag is read before the program has parsed it; ``FLAGS.__flags`` and ``FLAGS._parse_flags()`` are there
for programs from before TensorFlow 1.5. The ``DEFINE_`` functions take ``flag_name``, ``default_value`` and ``docstring`` as argument names too.
"""
from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from absl import flags as _absl
from absl.flags import *  # noqa: F403 (the public names of absl.flags are those of tf.flags)

_absl.disclaim_key_flags()  # the flags belong to the module that calls a function of this one

_OLD_NAMES = {"flag_name": "name", "default_value": "default", "docstring": "help"}


class FlagsThatParseThemselves:
    """absl's ``FLAGS``, which parses the command line when a flag is first read."""

    def __init__(self, wrapped: _absl.FlagValues) -> None:
        # The second is how programs list all flags: `FLAGS.__flags`, or `FLAGS.__dict__["__flags"]`.
        self.__dict__.update({"_wrapped": wrapped, "__flags": wrapped._flags()})

    def __getattr__(self, name: str) -> Any:
        wrapped = self.__dict__["_wrapped"]
        if name in wrapped and not wrapped.is_parsed():
            wrapped(sys.argv)
        return getattr(wrapped, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._wrapped, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._wrapped, name)

    def _parse_flags(self, args: list[str] | None = None) -> None:
        self._wrapped(sys.argv if args is None else [sys.argv[0], *args])

    def flag_values_dict(self) -> dict[str, Any]:
        """All flags with their values."""
        if not self._wrapped.is_parsed():
            self._wrapped(sys.argv)
        return self._wrapped.flag_values_dict()

    def __call__(self, *args: Any, **kwargs: Any) -> list[str]:
        return self._wrapped(*args, **kwargs)

    def __getitem__(self, name: str) -> _absl.Flag[Any]:
        return self._wrapped[name]

    def __setitem__(self, name: str, flag: _absl.Flag[Any]) -> None:
        self._wrapped[name] = flag

    def __contains__(self, name: str) -> bool:
        return name in self._wrapped

    def __iter__(self) -> Iterator[str]:
        return iter(self._wrapped)

    def __len__(self) -> int:
        return len(self._wrapped)

    def __dir__(self) -> list[str]:
        return dir(self._wrapped)

    def __repr__(self) -> str:
        return repr(self._wrapped)

    __str__ = __repr__


FLAGS = FlagsThatParseThemselves(_absl.FLAGS)  # type: ignore[assignment]


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    """``define``, which also knows the argument names of TensorFlow's first flags; ``FLAGS`` among the arguments becomes absl's."""

    @functools.wraps(define)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        named = {_OLD_NAMES.get(name, name): _unwrap(value) for name, value in kwargs.items()}
        return define(*map(_unwrap, args), **named)

    return wrapper


def _unwrap(value: Any) -> Any:
    return value._wrapped if isinstance(value, FlagsThatParseThemselves) else value


for _name in _absl.__all__:
    if _name.startswith("DEFINE") or _name.endswith(("validator", "required", "exclusive")):
        globals()[_name] = _with_old_names(getattr(_absl, _name))

__all__ = [*(name for name in _absl.__all__ if name != "FLAGS"), "FLAGS"]
