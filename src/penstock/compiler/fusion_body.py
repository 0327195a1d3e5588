"""What a fused kernel computes: a straight-line list of elementwise ops, and how their results are reduced.

A Body knows types and structure but no shapes: one compiled kernel serves all shapes, and two graphs that compute the same share it.
"""
from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType
from penstock.graph.opdef import OpDef

KINDS = ("sum", "mean", "max", "min", "prod")
AXES = ("all", "last", "first")


class Unsupported(Exception):
    """There is no native code for this body, and there never will be in this process; the message says why. NumPy has to run it."""


@dataclass(frozen=True)
class Instruction:
    """One op. Operands are ids: 0 to n_inputs - 1 are the body's inputs, after them each instruction has one."""

    definition: OpDef
    attrs: dict[str, Any]
    operands: tuple[int, ...]

    @property
    def dtype(self) -> DType:
        """The type of its result."""
        (dtype,) = self.definition.output_dtypes(self.attrs)
        return dtype


@dataclass(frozen=True)
class Reduction:
    """How every output is reduced: over all axes, the last ``count`` or the first ``count`` of them. Reduced axes are dropped."""

    kind: str
    axes: str = "all"
    count: int = 0  # for "last" and "first"

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.axes not in AXES or self.count < 0:
            raise ValueError(f"no such reduction: {self.kind} over {self.axes} {self.count}")

    def split(self, rank: int) -> int:
        """Where the axes of a space of this rank are cut in two: kept and reduced ("all", "last"), or reduced and kept ("first")."""
        if self.count > rank:
            raise ValueError(f"{self.kind} over the {self.axes} {self.count} axes of a space of rank {rank}")
        return {"all": 0, "last": rank - self.count, "first": self.count}[self.axes]


@dataclass(frozen=True)
class Body:
    """Inputs of these types, instructions in order, and the ids of the values that come out."""

    input_dtypes: tuple[DType, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]
    reduce: Reduction | None = None

    def __post_init__(self) -> None:
        for index, instruction in enumerate(self.instructions):
            known = len(self.input_dtypes) + index
            if any(not 0 <= operand < known for operand in instruction.operands):
                raise ValueError(f"instruction {index} ({instruction.definition.type}) uses a value that is not computed before it")
        if not self.outputs or any(not 0 <= output < len(self.dtypes) for output in self.outputs):
            raise ValueError(f"a body of {len(self.dtypes)} values cannot have the outputs {self.outputs}")

    @functools.cached_property
    def dtypes(self) -> tuple[DType, ...]:
        """The type of each id."""
        return (*self.input_dtypes, *[instruction.dtype for instruction in self.instructions])

    @functools.cached_property
    def output_dtypes(self) -> tuple[DType, ...]:
        """The type of each output."""
        return tuple(self.dtypes[output] for output in self.outputs)

    @functools.cached_property
    def _key(self) -> str:
        lines = [" ".join(dtype.name for dtype in self.input_dtypes)]
        for each in self.instructions:
            attrs = ",".join(f"{name}={_text(value)}" for name, value in sorted(each.attrs.items()))
            lines.append(f"{each.definition.type}({attrs}) {each.operands}")
        text = "\n".join([*lines, str(self.outputs), repr(self.reduce)])
        return hashlib.sha256(text.encode()).hexdigest()

    def key(self) -> str:
        """Names the structure: ops, attributes, types and who feeds whom. Equal keys, equal code."""
        return self._key


def _text(value: Any) -> str:
    """An attribute's value, in full: NumPy would shorten large arrays, and 0.0 equals -0.0."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{value.tobytes().hex() if not value.dtype.hasobject else value.tolist()!r}"
    return repr(value)


def single(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType], reduce: Reduction | None = None) -> Body:
    """The body of one op."""
    count = len(input_dtypes)
    return Body(tuple(input_dtypes), (Instruction(definition, attrs, tuple(range(count))),), (count,), reduce)
