"""Ops that are made of others: while a region is made native, an item whose op says how (``compose``) is replaced by items of simpler ops.

    def compose(b, logits):                       # on an op: named inputs are Terms, attributes are themselves
        shifted = logits - b.max(logits, [-1])
        exponential = b.exp(shifted)
        return exponential / b.sum(exponential, [-1])

What fuses the simpler ops then fuses these with whatever stands around them. Reductions keep the reduced axes, with one element. An op that is made
of others for some types or shapes only says so (``b.unsupported``), and keeps its own kernel for the rest.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from penstock.graph import dtypes as dt
from penstock.graph.dtypes import DType
from penstock.graph.opdef import lookup
from penstock.native.fusion.cluster_space import Kind, kind_of
from penstock.native.items import Item, Value
from penstock.native.unsupported import Unsupported
from penstock.program.ir import Node

_NARROW = (dt.float16, dt.bfloat16)
_UNARY = {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "rsqrt": "Rsqrt", "square": "Square", "is_nan": "IsNan"}
_COMPARISONS = {"equal": "Equal", "less": "Less", "greater_equal": "GreaterEqual"}
_REDUCTIONS = {"sum": "Sum", "mean": "Mean", "max": "Max", "min": "Min"}


class Term:
    """A value in a composition, with the operators of Python."""

    __slots__ = ("b", "value")

    def __init__(self, b: Composer, value: Value) -> None:
        self.b, self.value = b, value

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape."""
        return self.value.shape

    @property
    def dtype(self) -> DType:
        """Its type."""
        return self.value.dtype

    def __add__(self, other: Any) -> Term:
        return self.b.binary("AddV2", self, other)

    def __sub__(self, other: Any) -> Term:
        return self.b.binary("Sub", self, other)

    def __mul__(self, other: Any) -> Term:
        return self.b.binary("Mul", self, other)

    def __truediv__(self, other: Any) -> Term:
        return self.b.binary("RealDiv", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.b.constant(other, self.dtype) / self

    __radd__, __rmul__ = __add__, __mul__


class Composer:
    """Makes the items that one item is made of."""

    def __init__(self, whole: Item) -> None:
        self.whole = whole
        self.items: list[Item] = []
        self.checks: list[Item] = []

    def unsupported(self, reason: str) -> NoReturn:
        """For these types or shapes the op is not made of others."""
        raise Unsupported(reason)

    def known(self, term: Term) -> np.ndarray:
        """The value of an argument that shapes depend on. Raises Unsupported if it is computed in the step."""
        if term.value.known is None:
            self.unsupported("an argument that shapes depend on is computed in the step")
        return term.value.known

    def constant(self, value: Any, dtype: DType) -> Term:
        """A value that is known."""
        array = np.asarray(value, dtype.np)
        return Term(self, Value(array.shape, dtype, array))

    def op(self, op_type: str, shape: Sequence[int], dtype: DType, *inputs: Term, **attrs: Any) -> Term:
        """One item."""
        definition = lookup(op_type)
        given = dict(attrs)
        definition.fill_defaults(given)
        node = Node(definition, f"{self.whole.node.name}/{op_type}_{len(self.items)}", given, origin=self.whole.node.origin)
        item = Item(node, [term.value for term in inputs], [], part_of=self.whole)
        item.outputs.append(Value(tuple(shape), dtype, item=item))
        self.items.append(item)
        return Term(self, item.outputs[0])

    def binary(self, op_type: str, x: Term, y: Any, result: DType | None = None) -> Term:
        """An elementwise op of two values, of which the second may be a number."""
        y = y if isinstance(y, Term) else self.constant(y, x.dtype)
        return self.op(op_type, np.broadcast_shapes(x.shape, y.shape), result or x.dtype, x, y, T=x.dtype)

    def __getattr__(self, name: str) -> Callable[..., Term]:
        for table, make in ((_UNARY, self._unary), (_COMPARISONS, self._comparison), (_REDUCTIONS, self._reduction)):
            if name in table:
                return functools.partial(make, table[name])
        raise AttributeError(name)

    def _unary(self, op_type: str, x: Term) -> Term:
        return self.op(op_type, x.shape, dt.bool_ if op_type == "IsNan" else x.dtype, x, T=x.dtype)

    def _comparison(self, op_type: str, x: Term, y: Any) -> Term:
        return self.binary(op_type, x, y, dt.bool_)

    def maximum(self, x: Term, y: Any) -> Term:
        """The larger one."""
        return self.binary("Maximum", x, y)

    def logical_or(self, x: Term, y: Term) -> Term:
        """x or y."""
        return self.op("LogicalOr", np.broadcast_shapes(x.shape, y.shape), dt.bool_, x, y)

    def _reduction(self, op_type: str, x: Term, axes: Sequence[int]) -> Term:
        axes = sorted({axis % len(x.shape) for axis in axes})
        shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
        return self.op(op_type, shape, x.dtype, x, self.constant(axes, dt.int32), T=x.dtype, Tidx=dt.int32, keep_dims=True)

    def reshape(self, x: Term, shape: Sequence[int]) -> Term:
        """Axes of one element added or removed."""
        return self.op("Reshape", shape, x.dtype, x, self.constant(np.array(shape, np.int32), dt.int32), T=x.dtype, Tshape=dt.int32)

    def cast(self, x: Term, dtype: DType) -> Term:
        """As another type."""
        return x if x.dtype is dtype else self.op("Cast", x.shape, dtype, x, SrcT=x.dtype, DstT=dtype, Truncate=False)

    def wide(self, x: Term) -> Term:
        """Half precision as float32; anything else as it is."""
        return self.cast(x, dt.float32) if x.dtype in _NARROW else x

    def select(self, condition: Term, x: Term, y: Any) -> Term:
        """x where the condition holds, else y."""
        y = y if isinstance(y, Term) else self.constant(y, x.dtype)
        return self.op("SelectV2", np.broadcast_shapes(condition.shape, x.shape, y.shape), x.dtype, condition, x, y, T=x.dtype)

    def zeros(self, shape: Sequence[int], dtype: DType) -> Term:
        """Zeros."""
        extents = self.constant(np.array(shape, np.int32), dt.int32)
        return self.op("Fill", shape, dtype, extents, self.constant(0, dtype), T=dtype, index_type=dt.int32)

    def refuse(self, bad: Term) -> None:
        """The op fails if an element is true: its kernel then says why. Its inputs are kept in memory for that, and its outputs come after it."""
        self.op("_Refuse", (), dt.int64, self._all_axes("Any", bad))
        self.checks.append(self.items[-1])

    def _all_axes(self, op_type: str, x: Term) -> Term:
        axes = self.constant(np.arange(len(x.shape), dtype=np.int32), dt.int32)
        return self.op(op_type, (), x.dtype, x, axes, Tidx=dt.int32, keep_dims=False)


def compose_items(items: Sequence[Item]) -> list[Item]:
    """The items, with those replaced that are made of others."""
    result: list[Item] = []
    replaced: dict[Item, list[Item]] = {}
    for item in items:
        parts = _parts(item) if item.node.definition.compose is not None else None
        if parts is None:
            result.append(item)
        else:
            replaced[item] = parts
            result += parts
    for item in result if replaced else ():
        if any(other in replaced for other in item.after):
            item.after = [part for other in item.after for part in replaced.get(other, [other])]
    return result


def _parts(item: Item) -> list[Item] | None:
    definition, b = item.node.definition, Composer(item)
    assert definition.compose is not None
    arguments = definition.arguments([Term(b, value) for value in item.inputs], item.node.attrs)
    names = definition.parameters_of(definition.compose)
    try:
        result = definition.compose(*[b if name == "b" else arguments[name] if isinstance(name, int) else item.node.attrs[name] for name in names])
    except Unsupported:
        return None
    terms = result if isinstance(result, tuple) else (result,)
    own: list[Term] = []
    for term in terms:
        again = term.value.item not in b.items or any(term.value is other.value for other in own)
        own.append(b.op("Identity", term.shape, term.dtype, term, T=term.dtype) if again else term)
    if any(kind_of(part) is Kind.OTHER for part in b.items):
        return None
    for term, output in zip(own, item.outputs, strict=True):
        _hand_over(b, term.value, output)
    _connect(b, item)
    return b.items


def _hand_over(b: Composer, value: Value, output: Value) -> None:
    """Makes a value the item's output: what uses that uses the value's item from now on."""
    maker = value.item
    assert maker is not None
    if value.shape != output.shape or value.dtype is not output.dtype:
        raise AssertionError(f"{maker.node.name} gave {value.dtype.name}{value.shape}, not {output.dtype.name}{output.shape}")
    maker.outputs, output.item = [output], maker
    for part in b.items:
        part.inputs = [output if each is value else each for each in part.inputs]


def _connect(b: Composer, item: Item) -> None:
    for value in item.inputs:
        value.users.remove(item)
        value.wanted |= bool(b.checks)
    for part in b.items:
        part.after = [*item.after, *(b.checks if any(value in item.outputs for value in part.outputs) else ())]
        for value in part.inputs:
            value.users.append(part)
