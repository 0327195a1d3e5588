"""Each test of Keras has a graph of its own, and the session that Keras made for it is closed."""
from __future__ import annotations

import pytest

import penstock as tf
from penstock.layers.sessions import forget_session


@pytest.fixture(autouse=True)
def own_graph():
    with tf.Graph().as_default() as graph:
        yield
        forget_session(graph)
