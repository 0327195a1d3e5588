"""How many elements a dataset has, as far as that can be told without making them."""
from __future__ import annotations

import numpy as np

from penstock.graph.opdef import op
from penstock.ops.common import fixed


class _Cardinality:
    stateful = True  # as datasets are
    shape = fixed()

    def kernel(input_dataset):
        return np.int64(input_dataset.cardinality())

    gradient = None


@op("DatasetCardinality", "input_dataset: variant -> cardinality: int64")
class DatasetCardinality(_Cardinality):
    """The number of elements of a dataset; -1: infinitely many, -2: not known."""


@op("ExperimentalDatasetCardinality", "input_dataset: variant -> cardinality: int64")
class ExperimentalDatasetCardinality(_Cardinality):
    """DatasetCardinality by its first name."""
