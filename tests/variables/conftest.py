"""A session on a graph of its own."""
from __future__ import annotations

import pytest

import penstock as tf


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as session:
        yield session
