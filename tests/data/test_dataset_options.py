"""Options of datasets."""
from __future__ import annotations

import pytest

import penstock as tf
from support.pipelines import listed

Dataset, experimental = tf.data.Dataset, tf.data.experimental


def test_options():
    options = tf.data.Options()
    options.experimental_deterministic = False
    options.experimental_optimization.map_fusion = True
    options.experimental_distribute.auto_shard_policy = experimental.AutoShardPolicy.DATA
    dataset = Dataset.range(3).with_options(options).map(lambda x: x)
    assert dataset.options().experimental_deterministic is False and dataset.options().experimental_optimization.map_fusion
    assert listed(dataset) == [0, 1, 2]
    with pytest.raises(AttributeError):
        options.unknown = 3
