"""``tools/spread.py``: some of the collected tests, evenly spread."""
from __future__ import annotations

import importlib.util
from pathlib import Path
from unittest.mock import Mock

import pytest

pytestmark = pytest.mark.graph
TOOL = Path(__file__).parent.parent / "tools" / "spread.py"


@pytest.fixture
def plugin():
    spec = importlib.util.spec_from_file_location("spread", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("count, most, chosen", [(10, 0, range(10)), (3, 5, range(3)), (10, 5, [0, 2, 4, 6, 8]), (7, 3, [0, 2, 4]), (5, 1, [0])])
def test_some_tests_evenly_spread(plugin, count, most, chosen):
    assert plugin.spread(list(range(count)), most) == list(chosen)


def test_the_others_are_deselected(plugin):
    config, items = Mock(), list(range(9))
    config.getoption.return_value = 3
    plugin.pytest_collection_modifyitems(config, items)
    assert items == [0, 3, 6]
    config.hook.pytest_deselected.assert_called_once_with(items=[1, 2, 4, 5, 7, 8])
