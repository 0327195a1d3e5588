"""``tensorflow.examples.tutorials.mnist``: the data and the network of the first tutorial."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {"penstock.datasets.mnist:": "input_data", "penstock.datasets.mnist_network:": "mnist"}
publish(__name__, TABLE)
