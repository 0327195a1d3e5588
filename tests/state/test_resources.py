"""Resources: values that were handed out never change, writes go in place where nothing else holds the value."""
from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from penstock.errors import KernelError
from penstock.graph import dtypes
from penstock.state.resources import Ref, Resources


def ref(values) -> Ref:
    made = Ref("v", dtypes.float32)
    made.assign(values)
    return made


def test_assign_copies():
    array = np.zeros(2, np.float32)
    holder = ref(array)
    array[0] = 5
    assert holder.read().tolist() == [0, 0]


def test_write_in_place_when_nobody_holds_the_value():
    holder = ref([0.0, 0.0])
    address = holder.read().ctypes.data
    holder.mutable()[0] = 1
    assert holder.read().ctypes.data == address
    assert holder.read().tolist() == [1, 0]


def test_what_was_read_does_not_change():
    holder = ref([0.0, 0.0])
    seen = holder.read()
    holder.mutable()[0] = 1
    holder.apply(np.add, 10)
    holder.assign([7.0, 7.0])
    assert seen.tolist() == [0, 0]


def test_a_view_protects_the_whole():
    holder = ref([1.0, 2.0])
    view = holder.read()[1:]
    holder.apply(np.multiply, 10)
    assert view.tolist() == [2] and holder.read().tolist() == [10, 20]


def test_uninitialized():
    holder = Ref("v", dtypes.float32)
    assert not holder.initialized
    for use in (holder.read, holder.mutable, lambda: holder.apply(np.add, 1)):
        with pytest.raises(KernelError, match="uninitialized value v"):
            use()


def test_shape_may_change():
    holder = ref([1.0])
    holder.assign([[1.0, 2.0]])
    assert holder.read().shape == (1, 2)


def test_table_makes_each_resource_once():
    table = Resources()
    first = table.variable("", "v", "variable", dtypes.float32)
    assert table.variable("", "v", "variable", dtypes.float32) is first
    assert table.variable("box", "v", "variable", dtypes.float32) is not first
    assert len(table) == 2


def test_containers_are_cleared_one_by_one():
    table = Resources()
    kept = table.variable("keep", "v", "variable", dtypes.float32)
    table.variable("drop", "v", "variable", dtypes.float32)
    table.clear(["drop"])
    assert len(table) == 1 and table.lookup("keep", "v", "variable") is kept
    table.clear()
    with pytest.raises(KernelError):
        table.lookup("keep", "v", "variable")


# --- borrowing -----------------------------------------------------------------------------------------------------------------------------------


def large() -> Ref:
    """A variable whose copy would take so long that a write waits for borrowers. (The pages of its zeros are never touched.)"""
    made = Ref("v", dtypes.float32)
    made.value = np.zeros(1 << 30, np.float32)
    return made


def test_a_write_waits_for_a_borrower_instead_of_copying():
    holder = large()
    address = holder.value.ctypes.data
    lent, writing = threading.Event(), threading.Event()

    def gather():
        def rows(value):
            lent.set()
            writing.wait(10)
            time.sleep(0.02)  # the writer has come to where it waits
            return value[:4].copy()
        holder.lend(rows)

    borrower = threading.Thread(target=gather)
    borrower.start()
    assert lent.wait(10)
    writing.set()
    holder.mutable()[0] = 1
    borrower.join(10)
    assert holder.value.ctypes.data == address


def test_a_borrower_that_stays_makes_the_write_copy():
    holder = ref([1.0, 2.0])
    borrowed = holder.borrow()
    holder.mutable()[0] = 5  # does not wait forever
    assert borrowed.tolist() == [1, 2] and holder.read().tolist() == [5, 2]
    del borrowed
    holder.give_back()
    address = holder.read().ctypes.data
    holder.mutable()[0] = 6
    assert holder.read().ctypes.data == address


def test_a_failed_loan_is_given_back():
    holder = large()
    with pytest.raises(ZeroDivisionError):
        holder.lend(lambda value: 1 / 0)
    address = holder.value.ctypes.data
    holder.mutable()[0] = 1
    assert holder.value.ctypes.data == address


def test_a_resource_that_is_dropped_while_another_one_is_made():
    """The garbage collector runs finalizers where it likes, also in a thread that is at the table."""
    resources, old = Resources(), object()
    resources.lookup_or_create("", "old", "kind", lambda: old)

    def make():
        resources.drop(old)
        return object()

    made = resources.lookup_or_create("", "new", "kind", make)
    assert [resource for _, resource in resources.items()] == [made]
