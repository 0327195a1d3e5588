"""The modes that a model function is called with."""
from __future__ import annotations


class ModeKeys:
    """``tf.estimator.ModeKeys``: what the graph is for."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"
