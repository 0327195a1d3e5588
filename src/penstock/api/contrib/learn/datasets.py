"""``tf.contrib.learn.datasets``: data sets by name, from files, and made up."""
from __future__ import annotations

from penstock.api._table import publish

TABLE: dict[str, str] = {
    "penstock.datasets.csv_files": "load_boston load_iris",
    "penstock.datasets.synthetic": "DATASETS SYNTHETIC load_dataset make_dataset",
    "penstock.datasets.csv_files:": "base",
    "penstock.datasets.mnist:": "mnist",
    "penstock.datasets.synthetic:": "synthetic",
    "penstock.datasets.text_datasets:": "text_datasets",
}
publish(__name__, TABLE)
