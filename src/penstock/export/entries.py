"""Entry points: what of a model can be called, under which name, with which arrays."""
from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.graph.dtypes import DType
from penstock.graph.node import Operation, Tensor

# Words of C that cannot be names. C++ has more, and a model may be called from there.
_RESERVED = frozenset("auto break case char const continue default do double else enum extern float for goto if inline int long register restrict "
                      "return short signed sizeof static struct switch typedef union unsigned void volatile while bool class delete new operator "
                      "private public template this throw try using virtual".split())
_TAKEN = ["model", "batch"]  # parameters of every function


def identifier(name: str) -> str:
    """A name for C, of whatever name."""
    made = re.sub(r"\W+", "_", name.split(":")[0], flags=re.ASCII).strip("_") or "value"
    return f"{made}_" if made in _RESERVED else f"_{made}" if made[0].isdigit() else made


def identifiers(names: Sequence[str]) -> list[str]:
    """Names for C, each another one."""
    made = list(_TAKEN)
    for name in map(identifier, names):
        made.append(name if name not in made else next(f"{name}_{k}" for k in range(2, len(made) + 2) if f"{name}_{k}" not in made))
    return made[len(_TAKEN):]


@dataclass
class EntryArgument:
    """A feed or a fetch: ``shape`` has None for the batch."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]

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

    @property
    def takes_batch(self) -> bool:
        """Is the size of the batch an argument?"""
        return any(None in each.shape for each in self.inputs)
