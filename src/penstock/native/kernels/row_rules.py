"""Optimizers' rules over some rows of a variable and its slots: a rule, written with NumPy, as a kernel (``vector/tracing.py`` traces it)."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from penstock.graph.dtypes import DType, as_dtype
from penstock.native.calls import Array
from penstock.native.kernels.rows import RowRule
from penstock.native.vector.builder import VectorBuilder
from penstock.native.vector.tracing import trace
from penstock.native.vector.types import VectorValue, scalar_type
from penstock.native.vector.vectors import VOID, vector


def row_rule(rule: Callable[..., None], slots: int, given: dict[str, Any], grad: str) -> tuple[RowRule, list[Array]]:
    """The rule over rows of the states, with the gradient as its update; and the scalars that it needs, in order.

    ``given`` has the inputs (Arrays) and attributes of the op by name; the gradient is called ``grad`` there.
    """
    takes = list(inspect.signature(rule).parameters)
    rule_grad = "delta" if "delta" in takes else "grad"
    rest = [name for name in takes[slots:] if name != rule_grad]
    scalars = [name for name in rest if isinstance(given[name], Array)]
    attributes = {name: given[name] for name in rest if name not in scalars}
    known = {name: None if given[name].known is None else given[name].known[()] for name in scalars}
    kind = as_dtype(given[grad].dtype)

    def change(v: VectorBuilder, states: list[VectorValue], updates: list[VectorValue], uniform: list[VectorValue],
               answers: list[bool] | None = None) -> list[VectorValue]:
        return trace(v, rule, states, {**dict(zip(scalars, uniform)), **attributes, rule_grad: updates[0]}, known, answers)

    kinds = tuple(as_dtype(given[name].dtype) for name in scalars)
    answers = _answers(change, (kind,) * slots, kind, kinds)
    key = f"{rule.__module__}.{rule.__qualname__} {attributes} {answers}"
    return RowRule(key, change, (kind,) * slots, (kind,), kinds), [given[name] for name in scalars]


def _answers(change: Callable[..., Any], states: tuple[DType, ...], update: DType, scalars: tuple[DType, ...]) -> list[bool]:
    """What the rule asks for while it is traced; the code that is made here is thrown away."""
    kinds = [*states, update, *scalars]
    function = ir.Function(ir.Module(), ir.FunctionType(VOID, [vector(scalar_type(kind)) for kind in kinds]), "trial")
    v = VectorBuilder(ir.IRBuilder(function.append_basic_block()))
    values = [VectorValue(argument, kind) for argument, kind in zip(function.args, kinds)]
    answers: list[bool] = []
    change(v, values[:len(states)], [values[len(states)]], values[len(states) + 1:], answers)
    return answers
