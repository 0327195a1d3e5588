"""Whether a program has asked for the behaviour of TensorFlow 2 as a whole: names of metrics and the format of saved Keras models depend on it."""
from __future__ import annotations

_enabled = False


def enabled() -> bool:
    """Has ``tf.enable_v2_behavior`` been called, and not been taken back?"""
    return _enabled


def set_enabled(switch: bool) -> None:
    """Says so."""
    global _enabled
    _enabled = switch
