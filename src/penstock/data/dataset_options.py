"""``tf.data.Options``: preferences about how a pipeline runs. They change no element."""
from __future__ import annotations

import enum
from typing import Any


class Options:
    """Attributes that a program sets and reads back; an attribute that was not set is None, or a further set of options."""

    _GROUPS = ("experimental_optimization", "experimental_distribute", "experimental_threading", "experimental_stats")
    _NAMES = ("experimental_deterministic", "experimental_slack", "experimental_external_state_policy", "experimental_autotune",
              "experimental_numa_aware")

    def __init__(self) -> None:
        self.__dict__["_values"] = {name: OptionGroup() for name in self._GROUPS}

    def __getattr__(self, name: str) -> Any:
        if name in self._NAMES or name in self._values:
            return self._values.get(name)
        raise AttributeError(f"Cannot get the property {name} on Options.")

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._NAMES and name not in self._GROUPS:
            raise AttributeError(f"Cannot set the property {name} on Options.")
        self._values[name] = value

    def merge(self, options: Options) -> Options:
        """These options, with those that are set in ``options`` in their place."""
        merged = Options()
        for source in (self, options):
            for name, value in source._values.items():
                if isinstance(value, OptionGroup):
                    merged._values[name].__dict__.update(value.__dict__)
                elif value is not None:
                    merged._values[name] = value
        return merged

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Options) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]


class OptionGroup:
    """Options of one kind: any attribute can be set, and is None before."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OptionGroup) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is to be divided among workers."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
