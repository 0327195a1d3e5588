"""``tf.test.StubOutForTesting``."""
from __future__ import annotations

import math

import pytest

import penstock as tf

pytestmark = pytest.mark.graph


class Base:
    @staticmethod
    def static():
        return 1

    def method(self):
        return 2


class Derived(Base):
    pass


def test_replacements_are_undone():
    floor = math.floor
    with tf.test.StubOutForTesting() as stubs:
        stubs.Set(math, "floor", lambda x: 7)
        stubs.Set(Base, "static", lambda: 8)
        stubs.SmartSet(Derived, "method", lambda self: 9)
        assert math.floor(1.5) == 7 and Base().static() == 8 and Derived().method() == 9
        with pytest.raises(AttributeError):
            stubs.Set(Base, "absent", None)
        with pytest.raises(AttributeError):
            stubs.SmartSet(Derived, "absent", None)
    assert math.floor is floor and Base().static() == 1 and Derived().method() == 2 and "method" not in vars(Derived)


def test_attributes_of_objects():
    thing, stubs = Derived(), tf.test.StubOutForTesting()
    stubs.Set(thing, "method", lambda: 3)
    assert thing.method() == 3
    stubs.CleanUp()
    assert thing.method() == 2 and "method" not in vars(thing)
