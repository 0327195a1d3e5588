"""``tf.keras.datasets``: data sets from local files."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {}
publish(__name__, TABLE, "boston_housing cifar10 cifar100 fashion_mnist imdb mnist reuters")
