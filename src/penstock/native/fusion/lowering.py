"""What an op's ``lower`` says, as vector code; what that costs, and whether there is any for the types at hand.

Answers are remembered: regions and fusion ask about every node.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from penstock.graph.dtypes import DType
from penstock.graph.opdef import OpDef
from penstock.native.fusion.loop_nest import OpStep, attrs_key, result_types
from penstock.native.unsupported import Unsupported
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.types import VectorValue, scalar_type
from penstock.native.vector.vectors import VOID, vector

_answers: dict[tuple[Any, ...], int | str] = {}


def lower(b: VectorBuilder, step: OpStep, operands: Sequence[VectorValue]) -> list[VectorValue]:
    """One step by the op's own ``lower``; its results."""
    definition, attrs = step.definition, step.attrs
    if definition.lower is None:
        raise Unsupported(f"op {definition.type} has no lowering")
    arguments = definition.arguments(operands, attrs)
    getters = definition.parameters_of(definition.lower)
    try:
        result = definition.lower(*[b if name == "b" else arguments[name] if isinstance(name, int) else attrs[name] for name in getters])
        dtypes = result_types(definition, attrs, len(definition.updates))
        return [b.typed(each, dtype) for each, dtype in zip(result if isinstance(result, tuple) else [result], dtypes, strict=True)]
    except Unsupported as reason:
        raise Unsupported(f"{definition.type}: {reason}") from None
    except NotImplementedError as reason:
        raise Unsupported(f"{definition.type}: {reason}") from reason
    except Exception as error:  # of a user's op: its kernel says what it does
        if definition.__module__.startswith("penstock."):
            raise
        raise Unsupported(f"{definition.type}: its `lower` fails: {error!r}") from error


def why_not(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> str | None:
    """Why an op of these types cannot be part of a kernel; None if it can."""
    answer = _look(definition, attrs, input_dtypes)
    return answer if isinstance(answer, str) else None


def cost(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> int:
    """How many LLVM instructions an op is."""
    answer = _look(definition, attrs, input_dtypes)
    return answer if isinstance(answer, int) else 0


def _look(definition: OpDef, attrs: dict[str, Any], input_dtypes: Sequence[DType]) -> int | str:
    key = definition, attrs_key(attrs), tuple(input_dtypes)
    if key not in _answers:
        try:
            _answers[key] = _try_lowering(OpStep(definition, attrs, tuple(range(len(input_dtypes)))), input_dtypes)
        except Unsupported as reason:
            _answers[key] = str(reason)
    return _answers[key]


def _try_lowering(step: OpStep, dtypes: Sequence[DType]) -> int:
    """How many LLVM instructions a step is; the code is thrown away. Raises Unsupported if it cannot be part of a kernel."""
    kinds = [vector(scalar_type(dtype)) for dtype in dtypes]
    function = ir.Function(ir.Module(), ir.FunctionType(VOID, kinds), "trial")
    builder = VectorBuilder(ir.IRBuilder(function.append_basic_block()))
    lower(builder, step, [VectorValue(argument, dtype) for argument, dtype in zip(function.args, dtypes)])
    return sum(len(block.instructions) for block in function.blocks)
