"""Assertions under the names that they had up to Python 3.11."""
from __future__ import annotations

from types import ModuleType

_ASSERTIONS = {"assertEquals": "assertEqual", "assertNotEquals": "assertNotEqual", "assertAlmostEquals": "assertAlmostEqual",
               "assertNotAlmostEquals": "assertNotAlmostEqual", "assert_": "assertTrue", "assertRegexpMatches": "assertRegex",
               "assertNotRegexpMatches": "assertNotRegex", "assertRaisesRegexp": "assertRaisesRegex", "assertItemsEqual": "assertCountEqual"}


def restore(unittest: ModuleType) -> None:
    """Gives test cases the old names."""
    for old, new in _ASSERTIONS.items():
        if not hasattr(unittest.TestCase, old):
            setattr(unittest.TestCase, old, getattr(unittest.TestCase, new))
