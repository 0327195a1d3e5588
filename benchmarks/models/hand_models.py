"""The models of ``tf_layered.py`` as they are written by hand: ``mlp_slim`` is ``mlp``."""
from __future__ import annotations

from models import tf_models
from models.tf_layered import STYLES


def make(case, framework):
    """The step of a case."""
    return tf_models.make("_".join(part for part in case.split("_") if part not in STYLES), framework)
