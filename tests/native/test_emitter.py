"""The emitter: families of kernels are loaded by name, and every group of items has an emitter of its own."""
from __future__ import annotations

import numpy as np
import pytest

from penstock.graph.opdef import lookup
from penstock.native.emitter import FAMILIES, Emitter
from penstock.native.items import Item, reported_items
from penstock.program.ir import Node


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_is_made_once_for_an_emitter(name):
    emitter = Emitter(1)
    family = getattr(emitter, name)
    assert type(family).__name__ == FAMILIES[name].partition(":")[2]
    assert getattr(emitter, name) is family
    assert getattr(emitter.for_items([]), name) is not family


def test_what_is_not_a_family_is_an_attribute_error():
    with pytest.raises(AttributeError, match="bananas"):
        _ = Emitter(1).bananas


def item(name):
    return Item(Node(lookup("NoOp"), name, {}), [], [])


def test_calls_name_their_items_whatever_happens_in_between():
    emitter, (a, b) = Emitter(1), (item("a"), item("b"))
    first, second = emitter.for_items([a]), emitter.for_items([b])
    source = emitter.constant(np.zeros(8, "f"))
    for each in (first, second, first):
        each.move.copy_of(source)
    assert [call.nodes for call in emitter.calls] == [[a], [b], [a]]
    assert first.item is a
    with pytest.raises(ValueError, match="unpack"):
        _ = emitter.item


def test_reports_are_about_the_items_that_were_taken_apart():
    whole, other = item("whole"), item("other")
    parts = [Item(whole.node, [], [], part_of=whole) for _ in range(2)]
    other.epilogue = [parts[1]]
    assert reported_items([parts[0], other]) == [whole, other]
