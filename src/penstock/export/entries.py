"""Entry points: what of a model can be called, under which name, with which arrays."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.graph.dtypes import DType, int32
from penstock.graph.node import Operation, Tensor

# What cannot be a name in C, in C++, or beside the macros of their headers: a model may be called from either.
_RESERVED = frozenset("""
    alignas alignof auto bool break case char const constexpr continue default do double else enum extern false float for goto if inline int long
    nullptr register restrict return short signed sizeof static static_assert struct switch thread_local true typedef typeof typeof_unqual union
    unsigned void volatile while and and_eq asm bitand bitor catch char8_t char16_t char32_t class co_await co_return co_yield compl concept
    const_cast consteval constinit decltype delete dynamic_cast explicit export friend mutable namespace new noexcept not not_eq operator or or_eq
    private protected public reinterpret_cast requires static_cast template this throw try typeid typename using virtual wchar_t xor xor_eq
    main linux unix errno stdin stdout stderr assert complex imaginary noreturn I NULL EOF NAN INFINITY""".split())
_PARAMETERS = ("model", "batch")  # of every function
_FUNCTIONS = ("init", "message", "start", "stop")  # of every model


def identifier(name: str) -> str:
    """A name for C, of whatever name."""
    made = re.sub(r"\W+", "_", name.split(":")[0], flags=re.ASCII).strip("_") or "value"
    return f"{made}_" if made in _RESERVED else f"_{made}" if made[0].isdigit() else made


def identifiers(names: Sequence[str], taken: Sequence[str] = _PARAMETERS) -> list[str]:
    """Names for C, each another one, and none that is taken."""
    made = list(taken)
    for name in map(identifier, names):
        made.append(name if name not in made else next(f"{name}_{k}" for k in range(2, len(made) + 2) if f"{name}_{k}" not in made))
    return made[len(taken):]


def entry_names(names: Sequence[str]) -> list[str]:
    """Names of entry points, which differ from those of the functions that every model has."""
    return identifiers(names, _FUNCTIONS)


@dataclass
class EntryArgument:
    """A feed or a fetch: ``shape`` has None for the batch, ``count`` is the output that tells how many rows of it count, if these are not all."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]
    count: str = ""

    def of_batch(self, batch: int) -> tuple[int, ...]:
        """Its shape for a batch."""
        return tuple(batch if extent is None else extent for extent in self.shape)


@dataclass
class EntryPoint:
    """A function of the model."""

    name: str
    feeds: list[Tensor]
    fetches: list[Tensor]
    targets: list[Operation]
    batches: list[int]  # the sizes that there is a table for, [1] if no argument has a batch
    inputs: list[EntryArgument] = field(default_factory=list)
    outputs: list[EntryArgument] = field(default_factory=list)
    any_batch: bool = False  # other sizes are cut into these

    def add_counts(self, counts: dict[int, int]) -> None:
        """Adds outputs: by the number of an output, that of the one which tells how many of its rows count."""
        for position, place in counts.items():
            if place == len(self.outputs):
                (name,) = identifiers([f"{self.outputs[position].name}_count"], [each.name for each in (*self.inputs, *self.outputs)])
                self.outputs.append(EntryArgument(name, int32, ()))
            self.outputs[position].count = self.outputs[place].name

    @property
    def takes_batch(self) -> bool:
        """Is the size of the batch an argument?"""
        return any(None in each.shape for each in self.inputs)
