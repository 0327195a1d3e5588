"""Epilogues of products: a bias or a residual that is added, relu, a step of gradient descent, done before the result is stored.

The items behind a product whose result they alone use become part of it (``Item.epilogue``): they cost no pass over memory of their own. With
gradient descent the product is accumulated straight into the variable, and the gradient is never stored. A product that takes over an item also
waits for what that item waits for, so it must not take over one that waits, by way of others, for the product itself.
"""
from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import Any

from penstock.native.contract.product import Epilogue
from penstock.native.items import Item, Value

BOUNDS = {"relu": (0.0, math.inf), "relu6": (0.0, 6.0)}  # of activations: what is below and above becomes these


def absorb_epilogues(items: Sequence[Item], rates: bool) -> list[Item]:
    """The items, without those that became part of a product. ``rates``: products can take a learning rate that is known in the step only."""
    position = {item: index for index, item in enumerate(items)}
    places: dict[int, Item | None] = dict(enumerate(items))
    order = _Order(items)
    for item in items:
        chain = _chain(item, rates) if "epilogue" in item.node.definition.native_options else []
        while chain and order.is_circular(item, chain):
            chain = chain[:-1]
        if chain:
            _take(item, chain)
            order.owner.update(dict.fromkeys(chain, item))
            for other in (item, *chain):
                places[position[other]] = None
            places[position[chain[-1]]] = item
    if not order.owner:
        return list(items)
    kept = [item for item in places.values() if item is not None]
    for item in kept:
        item.after = [each for each in dict.fromkeys(order.owner.get(other, other) for other in item.after) if each is not item]
    return _early(kept)


class _Order:
    """What has to run after what, while products take over other items; ``owner``: the product that each of these is a part of."""

    def __init__(self, items: Sequence[Item]) -> None:
        self.owner: dict[Item, Item] = {}
        self._later: dict[Item, list[Item]] = {}  # the items that name an item in their ``after``
        for item in items:
            for other in item.after:
                self._later.setdefault(other, []).append(item)

    def is_circular(self, product: Item, chain: Sequence[Item]) -> bool:
        """Does one of the chain wait for something that waits for the product, or for another one of the chain?"""
        together = {product, *chain}
        seen: set[Item] = set()
        waiting = [follower for item in (product, *chain) for follower in self._followers(item) if follower not in together]
        while waiting:
            item = waiting.pop()
            if item in together:
                return True
            if item not in seen:
                seen.add(item)
                waiting += self._followers(item)
        return False

    def _followers(self, item: Item) -> Iterator[Item]:
        """What has to run after an item; a product stands for all of its parts."""
        for value in item.outputs:
            yield from value.users
        for part in (item, *item.epilogue):
            for other in self._later.get(part, ()):
                yield self.owner.get(other, other)


def _early(items: list[Item]) -> list[Item]:
    """The items in an order in which a product with an epilogue runs as soon as it can: what it reads need not be kept any longer."""
    place: dict[Item, float] = {}
    for index, item in enumerate(items):
        before = [place[other] for other in _before(item) if other in place]
        place[item] = max(before, default=-1.0) + 0.5 if item.epilogue else index
    return _in_order(sorted(items, key=place.__getitem__))


def _in_order(items: list[Item]) -> list[Item]:
    """The items in an order in which they can run: the given one, as far as that goes."""
    position = {item: index for index, item in enumerate(items)}
    followers: dict[Item, list[Item]] = {}
    missing: dict[Item, int] = {}
    for item in items:
        before = {other for other in _before(item) if other in position}
        missing[item] = len(before)
        for other in before:
            followers.setdefault(other, []).append(item)
    ready = [position[item] for item, count in missing.items() if not count]
    result: list[Item] = []
    while ready:
        item = items[heapq.heappop(ready)]
        result.append(item)
        for other in followers.get(item, ()):
            missing[other] -= 1
            if not missing[other]:
                heapq.heappush(ready, position[other])
    assert len(result) == len(items), "items wait for each other in a circle"
    return result


def _before(item: Item) -> Iterator[Item]:
    yield from (value.item for value in item.inputs if value.item is not None)
    yield from item.after


def _chain(item: Item, rates: bool) -> list[Item]:
    """The items behind a product that can be its epilogue."""
    chain: list[Item] = []
    done: set[str] = set()
    value = item.outputs[0]
    while len(value.users) == 1 and not value.wanted:
        (user,) = value.users
        role = user.node.definition.epilogue
        if (role == "add" and not done and _addable(item, user, value)) or (role in BOUNDS and done.isdisjoint(BOUNDS)):
            pass
        elif role == "descent" and not done and _is_gradient_descent(item, user, value, rates):
            return [user]
        else:
            break
        done |= {role, "add"}  # nothing is added after relu
        chain.append(user)
        value = user.outputs[0]
    return chain


def _other(user: Item, value: Value) -> Value | None:
    others = [each for each in user.inputs if each is not value]
    return others[0] if len(others) == 1 else None


def _addable(item: Item, user: Item, value: Value) -> bool:
    """Is what is added a vector along the product's last axis, or an array of its shape?"""
    other, shape = _other(user, value), value.shape
    if other is None or user.outputs[0].shape != shape or other.dtype is not value.dtype or not shape:
        return False
    if _data_format(item) != _data_format(user) or len(user.inputs) != 2:
        return False
    if _data_format(user) == "NCHW":
        return user.inputs[0] is value and len(other.shape) == 1 and "data_format" in user.node.attrs
    return other.shape == shape or other.shape == shape[-1:]


def _data_format(item: Item) -> str:
    return str(item.node.attrs.get("data_format", "NHWC"))


def _is_gradient_descent(item: Item, user: Item, value: Value, rates: bool) -> bool:
    variable, rate, delta = user.inputs
    fits = delta is value and value.dtype.is_floating and variable.shape == value.shape and variable.dtype is value.dtype
    return fits and (rate.known is not None or (rates and value.dtype.size >= 4)) and "into" in item.node.definition.native_options


def _take(item: Item, chain: list[Item]) -> None:
    """Makes the chain a part of the product's item."""
    value = item.outputs[0]
    for user in chain:
        for other in user.inputs:
            if other is not value:
                item.inputs.append(other)
                other.users[other.users.index(user)] = item
        item.after += user.after
        value = user.outputs[0] if user.outputs else value
    item.epilogue = chain
    item.outputs = chain[-1].outputs
    for output in item.outputs:
        output.item = item


def epilogue_options(item: Item) -> dict[str, Any]:
    """What to tell ``native`` of a product with an epilogue."""
    epilogue = Epilogue()
    for user in item.epilogue:
        role = user.node.definition.epilogue
        if role == "descent":
            variable, rate, _ = user.inputs
            factor = {"alpha": -1.0, "rate": rate.array} if rate.known is None else {"alpha": -float(rate.known)}
            return {"epilogue": Epilogue(variable.array, **factor), "into": variable.array}
        if role == "add":
            epilogue.added = next(each.array for each in user.inputs if each in item.inputs)
        else:
            epilogue.lower_bound, epilogue.upper_bound = BOUNDS[role]
    return {"epilogue": epilogue}
