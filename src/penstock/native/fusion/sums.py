"""Sums of products. The gradient of a matrix that is used more than once (by each step of a recurrent network, say) is one.

    a1 b1 + a2 b2 + ... = [a1 a2 ...] [b1; b2; ...]

The factors are joined along the axis that goes away: one product with a long inner axis is faster than many with short ones, and the terms are never
stored. Where the factors are larger than the terms, the terms are added one after the other instead, which each product does itself: see
``epilogues``. Either way the order of the additions is that of the program, whatever the threads do.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.graph import dtypes as dt
from penstock.native.items import Item, Value
from penstock.ops.array.pack import ConcatV2
from penstock.ops.constant import Const
from penstock.program.ir import Edge, Node

if TYPE_CHECKING:
    from penstock.native.emitter import Emitter


def merge_sums(emitter: Emitter, items: Sequence[Item]) -> list[Item]:
    """The items, with sums of products as fewer of them."""
    merger = _Merger(emitter, items)
    result = [each for item in items for each in (merger.merge(item) if item.node.definition.sums else [item])]
    return [item for item in result if item not in merger.gone]


class _Merger:
    def __init__(self, emitter: Emitter, items: Sequence[Item]) -> None:
        self.emitter = emitter
        self.gone: set[Item] = set()
        bound = {other for item in items for other in item.after}  # what reads or writes a variable has its place in time
        self.free = {item for item in items if item.node.definition.inner is not None and not item.after and item not in bound}

    def merge(self, item: Item) -> list[Item]:
        """The items that a sum becomes; the last of them is the item itself, changed."""
        terms = [value.item for value in item.inputs if value.item in self.free and len(value.users) == 1 and not value.wanted]
        products = [term for term in terms if term is not None and term.outputs[0].dtype in (dt.float32, dt.float64)]
        if len(products) < 2:
            return [item]
        same = [term for term in products if _structure(term) == _structure(products[0])]
        if len(same) > 1 and sum(map(_factors, same)) <= sum(term.outputs[0].nbytes for term in same):
            return self._join(item, same)
        return _chain(item, products)

    def _join(self, item: Item, products: list[Item]) -> list[Item]:
        """One product; what else is in the sum is still to be added to it."""
        axes, first = _inner_axes(products[0]), products[0]
        made = [self._concat(item, [term.inputs[k] for term in products], [term.node.inputs[k] for term in products], axes[k]) for k in range(2)]
        for term in products:
            for value in term.inputs:
                value.users.remove(term)
        self.gone.update(products)
        terms = [term.outputs[0] for term in products]
        rest = [value for value in item.inputs if value not in terms]
        factors = [each.outputs[0] for each in made]
        if not rest:  # the item becomes the product: what waits for it waits for that
            item.node, item.inputs = first.node, factors
            _use(item)
            return [*made, item]
        product = Item(first.node, factors, [])
        product.outputs.append(Value(item.outputs[0].shape, item.outputs[0].dtype, item=product))
        _use(product)
        _sum_of(item, [*rest, product.outputs[0]])
        product.outputs[0].users.append(item)
        return [*made, product, item]

    def _concat(self, item: Item, values: list[Value], edges: list[Edge], axis: int) -> Item:
        name = f"{item.node.name}/factors_{axis}"
        known = np.array(axis, np.int32)
        where = Value((), dt.int32, known, array=self.emitter.constant(known))
        constant = Node(Const, f"{name}/axis", {"value": known, "dtype": dt.int32})
        attrs = {"N": len(values), "T": values[0].dtype, "Tidx": dt.int32}
        made = Item(Node(ConcatV2, name, attrs, [*edges, (constant, 0)], origin=item.node.origin), [*values, where], [])
        shape = list(values[0].shape)
        shape[axis] = sum(value.shape[axis] for value in values)
        made.outputs.append(Value(tuple(shape), values[0].dtype, item=made))
        _use(made)
        return made


def _chain(item: Item, products: list[Item]) -> list[Item]:
    """Sums of two, each of which can be the epilogue of its product."""
    terms = [term.outputs[0] for term in products]
    rest = [value for value in item.inputs if value not in terms]
    for value in item.inputs:
        value.users.remove(item)
    made: list[Item] = []
    total = terms[0]
    if rest:
        if len(rest) > 1:
            made.append(_new_sum(item, rest, len(made)))
        total = made[-1].outputs[0] if made else rest[0]
        terms = [total, *terms]
    for term in terms[1:-1]:
        made.append(_new_sum(item, [total, term], len(made)))
        total = made[-1].outputs[0]
    _sum_of(item, [total, terms[-1]])
    _use(item)
    return [*made, item]


def _new_sum(item: Item, values: list[Value], index: int) -> Item:
    node = Node(item.node.definition, f"{item.node.name}/part_{index}", dict(item.node.attrs), origin=item.node.origin)
    made = Item(node, [], [], part_of=item)
    made.outputs.append(Value(item.outputs[0].shape, item.outputs[0].dtype, item=made))
    _sum_of(made, values)
    _use(made)
    return made


def _sum_of(item: Item, values: list[Value]) -> None:
    """Makes a sum one of these values."""
    (arg,) = item.node.definition.inputs
    assert arg.number_attr is not None
    item.node = replace(item.node, attrs={**item.node.attrs, arg.number_attr: len(values)})
    item.inputs = values


def _use(item: Item) -> None:
    for value in item.inputs:
        value.users.append(item)


def _inner_axes(product: Item) -> tuple[int, int]:
    definition, attrs = product.node.definition, product.node.attrs
    assert definition.inner is not None
    return definition.inner(*[attrs[str(name)] for name in definition.parameters_of(definition.inner)])


def _structure(product: Item) -> object:
    return product.node.definition, _inner_axes(product)


def _factors(product: Item) -> int:
    """Bytes that a product reads."""
    return sum(value.nbytes for value in product.inputs)
