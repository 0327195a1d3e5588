"""Products that finish what comes after them: adding a bias or a residual, relu, a step of gradient descent, before the result is stored.

The items behind a product whose result they alone use are taken into it (``Item.finish``): they cost no pass over memory of their own. With gradient
descent the product is accumulated straight into the variable, and the gradient is never stored.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.native.contract.product import Epilogue
from penstock.native.values import Item, Value


def absorb(items: Sequence[Item]) -> list[Item]:
    """The items, with those gone that a product finishes."""
    position = {item: index for index, item in enumerate(items)}
    places: dict[int, Item | None] = dict(enumerate(items))
    for item in items:
        chain = _chain(item) if "epilogue" in item.node.definition.native_options else []
        if chain:
            _take(item, chain)
            for other in (item, *chain):
                places[position[other]] = None
            places[position[chain[-1]]] = item
    taken = {other: item for item in items for other in item.finish}
    kept = [item for item in places.values() if item is not None]
    for item in kept if taken else ():
        item.after = [each for each in dict.fromkeys(taken.get(other, other) for other in item.after) if each is not item]
    return _early(kept) if taken else kept


def _early(items: list[Item]) -> list[Item]:
    """The items in an order in which a product that finishes others runs as soon as it can: what it reads need not be kept any longer."""
    place: dict[Item, float] = {}
    for index, item in enumerate(items):
        before = [place[other] for other in (*(value.item for value in item.inputs), *item.after) if other is not None and other in place]
        place[item] = max(before, default=-1.0) + 0.5 if item.finish else index
    return sorted(items, key=place.__getitem__)


def _chain(item: Item) -> list[Item]:
    """The items behind a product that it can finish."""
    found: list[Item] = []
    done: set[str] = set()
    value = item.outputs[0]
    while len(value.users) == 1 and not value.wanted:
        (user,) = value.users
        role = user.node.definition.finishes
        if (role == "add" and not done and _addable(item, user, value)) or (role == "floor" and "floor" not in done):
            pass
        elif role == "descend" and not done and _descends(item, user, value):
            return [user]
        else:
            break
        done |= {role, "add"}  # nothing is added after the floor
        found.append(user)
        value = user.outputs[0]
    return found


def _other(user: Item, value: Value) -> Value | None:
    others = [each for each in user.inputs if each is not value]
    return others[0] if len(others) == 1 else None


def _addable(item: Item, user: Item, value: Value) -> bool:
    """Is what is added a vector along the product's last axis, or an array of its shape?"""
    other, shape = _other(user, value), value.shape
    if other is None or user.outputs[0].shape != shape or other.dtype is not value.dtype or not shape:
        return False
    if _layout(item) != _layout(user) or len(user.inputs) != 2:
        return False
    if _layout(user) == "NCHW":
        return user.inputs[0] is value and len(other.shape) == 1 and "data_format" in user.node.attrs
    return other.shape == shape or other.shape == shape[-1:]


def _layout(item: Item) -> str:
    return str(item.node.attrs.get("data_format", "NHWC"))


def _descends(item: Item, user: Item, value: Value) -> bool:
    variable, rate, delta = user.inputs
    return delta is value and rate.known is not None and variable.shape == value.shape and variable.dtype is value.dtype \
        and "into" in item.node.definition.native_options


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
    item.finish = chain
    item.outputs = chain[-1].outputs
    for output in item.outputs:
        output.item = item


def options(item: Item) -> dict[str, Any]:
    """What to tell ``native`` of a product that finishes others."""
    epilogue = Epilogue()
    for user in item.finish:
        role = user.node.definition.finishes
        if role == "descend":
            variable, rate, _ = user.inputs
            assert rate.known is not None
            return {"epilogue": Epilogue(added=variable.array, alpha=-float(rate.known)), "into": variable.array}
        if role == "add":
            epilogue.added = next(each.array for each in user.inputs if each in item.inputs)
        else:
            epilogue.floor = 0.0
    return {"epilogue": epilogue}
