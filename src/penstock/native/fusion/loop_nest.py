"""What a fused loop computes: steps over one iteration space, some of whose axes may be reduced.

A value of a nest is either *per element* of the space, or *kept*: the same for all indices of the reduced axes (a result of a fold, an input that
does not run along them, and what is computed of those alone). A nest knows types and structure but no extents: one compiled kernel serves all shapes,
and two graphs that compute the same share it. There are three forms, by where the innermost axis stands:

    map        nothing is reduced
    rows       the innermost axis is reduced. After a fold has run through a row, further loops over the same row may use its result
    columns    the innermost axis is kept: one accumulator per column
"""
from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.graph.dtypes import DType
from penstock.graph.opdef import OpDef


@dataclass(frozen=True)
class NestInput:
    """An array that is read."""

    dtype: DType
    mode: str = "plain"  # along the innermost axis: plain (element after element), uniform (always the same), strided (some bytes apart)
    kept: bool = False  # the same for all indices of the reduced axes


@dataclass(frozen=True)
class OpStep:
    """One op, by its ``lower``. Operands are ids: first come the inputs, then the results of each step."""

    definition: OpDef
    attrs: dict[str, Any]
    operands: tuple[int, ...]

    @functools.cached_property
    def dtypes(self) -> tuple[DType, ...]:
        """The types of its results."""
        return result_types(self.definition, self.attrs, len(self.definition.updates))

    def on(self, operands: tuple[int, ...]) -> OpStep:
        """The same step of other operands."""
        return OpStep(self.definition, self.attrs, operands)


@dataclass(frozen=True)
class Fold:
    """One operand over the reduced axes. It is accumulated in a wider type, and rounded to ``dtype`` at the end."""

    kind: str  # sum, prod, max, min, and, or
    operands: tuple[int, ...]
    dtype: DType

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The type of its result."""
        return (self.dtype,)

    def on(self, operands: tuple[int, ...]) -> Fold:
        """The same fold of another operand."""
        return Fold(self.kind, operands, self.dtype)


def result_types(definition: OpDef, attrs: dict[str, Any], updates: int) -> tuple[DType, ...]:
    """What ``lower`` gives: the outputs, or, of an op that updates variables, their new elements."""
    if updates:
        return (attrs.get("T") or attrs["dtype"],) * updates
    return tuple(dtype.base_dtype for dtype in definition.output_dtypes(attrs))


@dataclass(frozen=True)
class NestOutput:
    """A value that is stored: one per element of the space if it is ``whole``, else one per kept index."""

    value: int
    whole: bool = True


@dataclass(frozen=True)
class Nest:
    """Inputs, steps in order, and what is stored. In a map, *kept* is what is the same along the innermost axis. See ``nest_kernel`` for the axes."""

    form: str
    inputs: tuple[NestInput, ...]
    steps: tuple[OpStep | Fold, ...]
    outputs: tuple[NestOutput, ...]
    deep: tuple[bool, bool] = (True, True)  # are there outer, are there middle axes?

    def __post_init__(self) -> None:
        known = len(self.inputs)
        for step in self.steps:
            if any(not 0 <= operand < known for operand in step.operands):
                raise ValueError(f"a step uses a value that is not computed before it: {step}")
            known += len(step.dtypes)
        for output in self.outputs:
            if not 0 <= output.value < known or not (output.whole or self.kept[output.value]):
                raise ValueError(f"a nest of {known} values cannot have the output {output}")
        if self.form == "columns" and any(output.whole and self.phases[output.value] for output in self.outputs):
            raise ValueError("columns have one loop: what depends on a fold cannot be stored per element")

    @functools.cached_property
    def dtypes(self) -> tuple[DType, ...]:
        """The type of each id."""
        return (*[each.dtype for each in self.inputs], *[dtype for step in self.steps for dtype in step.dtypes])

    @functools.cached_property
    def makers(self) -> tuple[OpStep | Fold | None, ...]:
        """Which step gives each id; None: an input."""
        return (*[None for _ in self.inputs], *[step for step in self.steps for _ in step.dtypes])

    @functools.cached_property
    def starts(self) -> dict[int, int]:
        """The first id of each step, by the step's index."""
        starts, at = {}, len(self.inputs)
        for index, step in enumerate(self.steps):
            starts[index] = at
            at += len(step.dtypes)
        return starts

    @functools.cached_property
    def kept(self) -> tuple[bool, ...]:
        """For each id: is it the same for all indices of the reduced axes?"""
        kept = [each.kept for each in self.inputs]
        for step in self.steps:
            kept += [isinstance(step, Fold) or all(kept[operand] for operand in step.operands)] * len(step.dtypes)
        return tuple(kept)

    @functools.cached_property
    def phases(self) -> tuple[int, ...]:
        """For each id: how many loops over the reduced axes have to be over before it can be computed."""
        phases = [0 for _ in self.inputs]
        for step in self.steps:
            phases += [max((phases[operand] for operand in step.operands), default=0) + isinstance(step, Fold)] * len(step.dtypes)
        return tuple(phases)

    @functools.cached_property
    def loops(self) -> int:
        """How many loops over the reduced axes there are."""
        folds = [self.phases[start] for start in self.folds]
        return max([self.phases[output.value] + 1 for output in self.outputs if output.whole] + folds)

    @functools.cached_property
    def folds(self) -> dict[int, Fold]:
        """The folds by the ids of their results."""
        return {self.starts[index]: step for index, step in enumerate(self.steps) if isinstance(step, Fold)}

    def targets(self, loop: int) -> list[int]:
        """The ids that one of the loops over the reduced axes has to give: operands of its folds, outputs that it stores."""
        folded = [fold.operands[0] for start, fold in self.folds.items() if self.phases[start] == loop + 1]
        return folded + [output.value for output in self.outputs if output.whole and self.phases[output.value] == loop]

    def ready(self, loop: int) -> set[int]:
        """The ids that need not be computed in a loop: kept ones, and those that an earlier loop has stored."""
        kept = {each for each, (is_kept, phase) in enumerate(zip(self.kept, self.phases)) if is_kept and phase <= loop}
        return kept | {output.value for output in self.outputs if output.whole and self.phases[output.value] < loop}

    def ids_needed_for(self, targets: Iterable[int], ready: Iterable[int] = ()) -> set[int]:
        """The ids that are computed on the way to the targets, if some are ready."""
        ready, needed, waiting = set(ready), set(), list(targets)
        while waiting:
            each = waiting.pop()
            if each in needed or each in ready:
                continue
            needed.add(each)
            maker = self.makers[each]
            if maker is not None:
                waiting.extend(maker.operands)
        return needed

    @property
    def ours(self) -> bool:
        """True if all ops are Penstock's own: those of users may change without notice."""
        return all(isinstance(step, Fold) or step.definition.__module__.startswith("penstock.") for step in self.steps)

    @functools.cached_property
    def key(self) -> str:
        """Names the structure: ops, attributes, types and who feeds whom. Equal keys, equal code."""
        lines = [f"{self.form} {self.deep}", " ".join(f"{each.dtype.name}{each.mode[0]}{int(each.kept)}" for each in self.inputs)]
        for step in self.steps:
            if isinstance(step, Fold):
                lines.append(f"fold {step.kind} {step.dtype.name} {step.operands}")
            else:
                lines.append(f"{step.definition.type}({attrs_key(step.attrs)}) {step.operands}")
        return hashlib.sha256("\n".join([*lines, *map(repr, self.outputs)]).encode()).hexdigest()


def attrs_key(attrs: dict[str, Any]) -> str:
    """Attributes, in full."""
    return ",".join(f"{name}={_text(value)}" for name, value in sorted(attrs.items()))


def _text(value: Any) -> str:
    """An attribute's value, in full: NumPy would shorten large arrays, and 0.0 equals -0.0."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str}{value.shape}{value.tobytes().hex() if not value.dtype.hasobject else value.tolist()!r}"
    return repr(value)
