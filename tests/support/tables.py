"""Lookup tables for tests."""
from __future__ import annotations

import penstock as tf


def run(fetches):
    """The values of ``fetches`` in a session whose tables are filled."""
    with tf.Session() as session:
        session.run(tf.tables_initializer())
        return session.run(fetches)
