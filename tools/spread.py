"""A plugin of pytest: ``--most N`` runs N of the tests that were collected, evenly spread over them, always the same ones.

For machines that are too slow for all of them: an emulator (``tools/arm.py``).
"""
from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option."""
    parser.addoption("--most", type=int, default=0, metavar="N", help="run N tests at most, evenly spread over those that were collected")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps every k-th test, so that no more than N are left; others, by markers and names, have been left out before."""
    chosen = spread(items, config.getoption("most"))
    if len(chosen) < len(items):
        left_out = set(items) - set(chosen)
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = chosen


def spread(items: list[pytest.Item], most: int) -> list[pytest.Item]:
    """``most`` of the items, evenly spread, in their order; all of them for 0."""
    return [items[index * len(items) // most] for index in range(most)] if 0 < most < len(items) else list(items)
