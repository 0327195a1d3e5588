"""``from sklearn.externals import joblib, six``: packages of others that scikit-learn carried up to version 0.22."""
from __future__ import annotations

import importlib
from typing import Any

__path__: list[str] = []  # a package: ``import sklearn.externals.joblib``


def __getattr__(name: str) -> Any:
    if name not in ("joblib", "six"):
        raise AttributeError(f"module 'sklearn.externals' has no attribute {name!r}")
    return importlib.import_module(name)
