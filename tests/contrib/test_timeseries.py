"""Windows of series: whole, in order, and from anywhere in the series. Numbers of models are compared in tests/golden (contrib_timeseries)."""
from __future__ import annotations

import numpy as np
import pytest

import penstock as tf

pytestmark = pytest.mark.process


@pytest.mark.parametrize("in_order", [True, False])
def test_random_windows_are_parts_of_the_series(in_order):
    times = np.arange(40)
    reader = tf.contrib.timeseries.NumpyReader({"times": times, "values": times * 2.0})
    features, labels = tf.contrib.timeseries.RandomWindowInputFn(reader, window_size=5, batch_size=3, discard_out_of_order=in_order)()
    assert labels is None and features["times"].shape.as_list() == [3, 5] and features["values"].shape.as_list() == [3, 5, 1]
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        batches = [session.run(features) for _ in range(8)]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10, ignore_live_threads=True)
    starts = set()
    for batch in batches:
        np.testing.assert_array_equal(batch["values"][..., 0], batch["times"] * 2.0)
        assert (np.diff(batch["times"]) >= 0).all()
        if in_order:
            assert (np.diff(batch["times"]) == 1).all()
        starts.update(batch["times"][:, 0])
    assert len(starts) > 5
