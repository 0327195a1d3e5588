"""A session on a graph of its own."""
from __future__ import annotations

import pytest

import penstock as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session() as running:
        yield running
