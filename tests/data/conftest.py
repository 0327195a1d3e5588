"""A graph of its own for each test."""
from __future__ import annotations

import pytest

import penstock as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
