"""Assertions of tests of canned estimators."""
from __future__ import annotations

from typing import Any

from penstock.graph.convert import to_tensor
from penstock.graph.scopes import name_scope
from penstock.ops.flow.checks import assert_less
from penstock.ops.math.elementwise import abs as absolute


def assert_close(expected: Any, actual: Any, rtol: float = 1e-4, message: str = "", name: str = "assert_close") -> Any:
    """An operation that fails unless values are equal up to a share of the expected ones."""
    with name_scope(name, "assert_close", [expected, actual, rtol]) as scope:
        expected, actual = to_tensor(expected, name="expected"), to_tensor(actual, name="actual")
        difference = absolute((expected - actual) / expected, "diff")
        return assert_less(difference, to_tensor(rtol, name="rtol"), name=scope, summarize=expected.shape.num_elements(),
                           data=(message, "Condition expected =~ actual did not hold element-wise: expected = ", expected, "actual = ", actual))
