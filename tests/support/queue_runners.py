"""Input pipelines of queues, run to their end."""
from __future__ import annotations

import contextlib

import penstock as tf
from support.threads import LONG


@contextlib.contextmanager
def running():
    """A session in which variables are initialized and queue runners work; they have ended when it is left."""
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coord)
        try:
            yield session
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=10)


def all_of(session, fetches):
    """What a pipeline gives until its end."""
    results = []
    with contextlib.suppress(tf.errors.OutOfRangeError):
        while True:
            results.append(session.run(fetches, options=LONG))
    return results


def counter(limit):
    """A tensor that counts up."""
    return tf.count_up_to(tf.Variable(0, collections=["local_variables"]), limit)
