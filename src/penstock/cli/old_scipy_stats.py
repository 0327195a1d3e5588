"""Distributions that SciPy had under other names before version 1.6."""
from __future__ import annotations

from types import ModuleType

_RENAMED = {"frechet_r": "weibull_min", "frechet_l": "weibull_max"}


def restore(stats: ModuleType) -> None:
    """Gives ``scipy.stats`` the old names."""
    for old, new in _RENAMED.items():
        if not hasattr(stats, old):
            setattr(stats, old, getattr(stats, new))
