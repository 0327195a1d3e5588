"""``tf.contrib.data.python.ops``: where transformations were defined."""
from __future__ import annotations

from penstock.api._table import publish

publish(__name__, {
    "penstock.data.transformations:": "batching enumerate_ops error_ops get_single_element iterator_ops prefetching_ops resampling scan_ops "
                                      "shuffle_ops threadpool unique",
    "penstock.data.grouping:": "grouping",
    "penstock.data.interleave:": "interleave_ops",
    "penstock.data.features:": "readers",
    "penstock.data.dataset:": "dataset_ops",
})
