"""Names of layers: from the name of a class to a name that is unique in the graph."""
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection

from penstock.graph.graph import default_graph

_KEY = ("names of layers",)  # a collection that belongs to the graph but is not exported


def snake_case(name: str) -> str:
    """The name of a class as the name of a scope.

    >>> snake_case("BasicLSTMCell"), snake_case("_Private")
    ('basic_lstm_cell', 'private__private')
    """
    spaced = re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)).lower()
    return "private" + spaced if spaced.startswith("_") else spaced


def name_counts() -> dict[tuple[str, str], int]:
    """{(namespace, name): how many objects of that name the default graph has}."""
    registry = default_graph().get_collection_ref(_KEY)
    if not registry:
        registry.append(defaultdict(int))
    return registry[0]


def unique_object_name(name: str, counts: dict[tuple[str, str], int] | None = None, avoid_names: Collection[str] = (), namespace: str = "",
                       zero_based: bool = False) -> str:
    """``name`` with a number that makes it unique in the default graph: ``dense_1``; ``dense`` for the first one if ``zero_based``."""
    counts = name_counts() if counts is None else counts
    key, proposed = (namespace, name), None
    while proposed is None or proposed in avoid_names:
        number = counts[key] = counts.get(key, 0) + (0 if zero_based and key not in counts else 1)
        proposed = f"{name}_{number}" if number else name
    return proposed
