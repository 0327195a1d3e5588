"""Batches that worker processes make: they arrive in order, and nothing waits for a process that does not answer."""
from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as tf
from support.process import python

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="workers are forked")


class Rows(tf.keras.utils.Sequence):
    """Batch i holds the number i, and the process that made it."""

    def __len__(self):
        return 7

    def __getitem__(self, index):
        return np.array([index, os.getpid()])


def test_processes_give_the_batches_of_a_sequence_in_order():
    enqueuer = tf.keras.utils.OrderedEnqueuer(Rows(), use_multiprocessing=True)
    enqueuer.start(workers=2, max_queue_size=3)
    try:
        batches = enqueuer.get()
        rows = [next(batches) for _ in range(10)]  # over the end of an epoch
    finally:
        enqueuer.stop()
    assert [number for number, _ in rows] == [0, 1, 2, 3, 4, 5, 6, 0, 1, 2]
    assert os.getpid() not in {process for _, process in rows}


def test_an_error_of_a_worker_process_is_told():
    class Broken(Rows):
        def __getitem__(self, index):
            raise KeyError(f"batch {index}")

    enqueuer = tf.keras.utils.OrderedEnqueuer(Broken(), use_multiprocessing=True)
    enqueuer.start(workers=1)
    with pytest.raises(KeyError, match="batch 0"):
        next(enqueuer.get())


INTERRUPTED = """
    import os, signal, threading, time
    import numpy as np
    import penstock as tf

    class Stuck(tf.keras.utils.Sequence):
        def __len__(self):
            return 9

        def __getitem__(self, index):
            if index == 5:
                time.sleep(50)
            return np.ones((4, 3), "f"), np.ones((4, 1), "f")

    class Interrupt(tf.keras.callbacks.Callback):
        def on_batch_end(self, batch, logs=None):
            if batch == 4:
                threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(3,))])
    model.compile("sgd", "mse")
    began = time.monotonic()
    try:
        model.fit_generator(Stuck(), workers=2, use_multiprocessing=True, shuffle=False, verbose=0, callbacks=[Interrupt()])
    except KeyboardInterrupt:
        print("interrupted", time.monotonic() - began < 40)
"""


def test_ctrl_c_does_not_wait_for_a_worker_that_is_stuck():
    assert python(INTERRUPTED).stdout == "interrupted True\n"
