"""What the lowering of an op costs, and whether there is one for the types at hand. Answers are remembered: passes ask about every node."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.compiler.fusion.nest import Step, attrs_key
from penstock.compiler.unsupported import Unsupported
from penstock.compiler.vector.pieces import try_lowering
from penstock.graph.dtypes import DType
from penstock.graph.opdef import OpDef

_found: dict[tuple[Any, ...], int | str] = {}


def why_not(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> str | None:
    """Why an op of these types cannot be part of a kernel; None if it can."""
    found = _look(definition, attrs, input_dtypes)
    return found if isinstance(found, str) else None


def cost(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> int:
    """How many LLVM instructions an op is."""
    found = _look(definition, attrs, input_dtypes)
    return found if isinstance(found, int) else 0


def _look(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> int | str:
    key = definition, attrs_key(attrs), tuple(input_dtypes)
    if key not in _found:
        try:
            _found[key] = try_lowering(Step(definition, attrs, tuple(range(len(input_dtypes)))), input_dtypes)
        except Unsupported as reason:
            _found[key] = str(reason)
    return _found[key]
