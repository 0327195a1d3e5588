"""What Keras, layers and functions do, by hand: ``mlp_slim`` is ``mlp`` (tf_models.py), ``mlp_fit`` a loop around a session (hand_loops.py)."""
from __future__ import annotations

from models import hand_loops, tf_models
from models.architectures import is_fit
from models.tf_layered import STYLES


def make(case, framework):
    """The step of a case."""
    if is_fit(case):
        return hand_loops.make(case, framework)
    return tf_models.make("_".join(part for part in case.split("_") if part not in (*STYLES, "eager", "function")), framework)
